// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"remit.dev/remit/api/v1alpha1"
)

// The time that Runs of subagents wait for people is no work of their parent: it is counted once, however
// many of them wait at the same time.
func TestWaited(t *testing.T) {
	suspended := func(minute int) v1alpha1.Record {
		return v1alpha1.Record{Time: metav1.NewTime(began.Add(time.Duration(minute) * time.Minute)), Suspension: &v1alpha1.SuspensionRecord{}}
	}
	other := func(minute int) v1alpha1.Record {
		return v1alpha1.Record{Time: metav1.NewTime(began.Add(time.Duration(minute) * time.Minute)), Decision: &v1alpha1.DecisionRecord{}}
	}
	type logs = [][]v1alpha1.Record
	for name, test := range map[string]struct {
		logs logs
		want time.Duration
	}{
		"no Run":                        {nil, 0},
		"nobody was asked":              {logs{{other(1), other(2)}}, 0},
		"decided":                       {logs{{other(1), suspended(10), other(25), other(26)}}, 15 * time.Minute},
		"still open at minute 60":       {logs{{suspended(50)}}, 10 * time.Minute},
		"twice":                         {logs{{suspended(10), other(20), other(21), suspended(30), other(35)}}, 15 * time.Minute},
		"one after the other":           {logs{{suspended(30), other(35)}, {suspended(10), other(20)}}, 15 * time.Minute},
		"at the same time":              {logs{{suspended(10), other(20)}, {suspended(10), other(20)}}, 10 * time.Minute},
		"overlapping":                   {logs{{suspended(10), other(20)}, {suspended(15), other(30)}}, 20 * time.Minute},
		"one within another":            {logs{{suspended(10), other(40)}, {suspended(15), other(20)}, {suspended(35), other(45)}}, 35 * time.Minute},
		"clocks that run back":          {logs{{suspended(20), other(10)}}, 0},
		"suspended ahead of this clock": {logs{{suspended(70)}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Waited(test.logs, began.Add(time.Hour)); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestLeft(t *testing.T) {
	s := play(t)
	for worked, want := range map[time.Duration]time.Duration{0: time.Hour, 40 * time.Minute: 20 * time.Minute, 2 * time.Hour: 0} {
		s.now = began.Add(worked)
		if got := s.input().Left(); got != want {
			t.Errorf("after %s: %s left, want %s", worked, got, want)
		}
	}
}
