// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"
	"testing"
	"time"

	"remit.dev/remit/api/v1alpha1"
)

// The time that Runs of subagents wait for people is no work of their parent: a turn of theirs counts
// as long as the one that worked longest.
func TestWorkOfChildren(t *testing.T) {
	minutes := func(n int) time.Duration { return time.Duration(n) * time.Minute }
	s := play(t)
	s.later(minutes(5))
	s.model("", "run_subagent a", "run_subagent b")
	left := func(want int) {
		t.Helper()
		if got := s.input().Left(); got != minutes(want) {
			t.Errorf("%s left, want %d minutes", got, want)
		}
	}
	s.children = map[v1alpha1.CallID]Child{s.id(0): {Worked: minutes(10), WithPeople: true}, s.id(1): {Worked: minutes(2)}}
	s.later(10 * time.Hour)
	left(45)
	s.expect("wait until " + (10*time.Hour + minutes(50)).String())
	s.children[s.id(1)] = Child{Worked: minutes(12), WithPeople: true}
	left(43)
	s.expect("wait") // no time runs while people have all of them
	s.children[s.id(0)] = Child{Outcome: &Outcome{Content: "done"}, Worked: minutes(20)}
	s.expect("append result of run_subagent: ok")
	left(35)
	s.later(10 * time.Hour)
	left(35)
	s.children[s.id(1)] = Child{Outcome: &Outcome{Content: "done"}, Worked: minutes(15)}
	s.expect("append result of run_subagent: ok")
	s.children = nil // they may be deleted: what they worked is in the log
	left(35)
	if got, want := s.project().WaitedSeconds, int64((20*time.Hour - minutes(20)).Seconds()); got != want {
		t.Errorf("waited %d seconds, want %d", got, want)
	}
	s.later(minutes(35))
	s.expect("append end Failed, DeadlineExceeded")
}

// A Run that ends while it waits says how long it did.
func TestWaitedUntilTheEnd(t *testing.T) {
	s := play(t)
	s.model("", "refund 1")
	s.expect("append suspension of refund")
	s.later(24 * time.Hour)
	s.expect("append end Abandoned, SuspensionExpired")
	if got := s.project().WaitedSeconds; got != 24*60*60 {
		t.Errorf("waited %d seconds", got)
	}
}

// A Run that stops for another tool's failures does not say that a subagent never began.
func TestStreakBesideAChild(t *testing.T) {
	s := play(t)
	s.limits.FailureStreak = 1
	s.model("", "run_subagent a", "lookup b")
	s.expect("delegate run_subagent")
	s.children = map[v1alpha1.CallID]Child{s.id(0): {}}
	s.expect("execute lookup")
	s.outcomes("tool_error")
	s.expect("append result of run_subagent: cancelled; message of 0 calls; end Complete, FailureStreak")
	for _, record := range s.state.Records() {
		if r := record.Result; r != nil && r.Error == v1alpha1.ErrorCancelled && !strings.Contains(r.Content, "What it did until then remains done") {
			t.Errorf("the log says %q", r.Content)
		}
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
