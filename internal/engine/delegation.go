// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"time"

	"remit.dev/remit/api/v1alpha1"
)

// Left is how much longer the Run may work.
func (in Input) Left() time.Duration {
	return max(in.Limits.Deadline-in.State.worked(in.Started, in.Now), 0)
}

// Waited is for how long, until now, at least one of several Runs waited for people.
// It reads their logs, each whole and in its order.
func Waited(logs [][]v1alpha1.Record, now time.Time) time.Duration {
	type span struct{ from, to time.Time }
	var spans []span
	for _, records := range logs {
		for i := range records {
			if records[i].Suspension == nil {
				continue
			}
			waited := span{records[i].Time.Time, now}
			if i+1 < len(records) { // the decisions, which come together, or the end
				waited.to = records[i+1].Time.Time
			}
			spans = append(spans, waited)
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return a.from.Compare(b.from) })
	var total time.Duration
	var until time.Time
	for _, s := range spans {
		if s.from.Before(until) {
			s.from = until
		}
		if s.to.After(s.from) {
			total, until = total+s.to.Sub(s.from), s.to
		}
	}
	return total
}
