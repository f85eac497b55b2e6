// SPDX-License-Identifier: Apache-2.0

package engine

import "time"

// Child is the Run that answers a delegated call.
type Child struct {
	// Outcome is nil while it goes on.
	Outcome *Outcome
	// Worked is how long it has been at work; the time that it waited for people is
	// none.
	Worked time.Duration
	// WithPeople says that it waits for people now.
	WithPeople bool
}

// Left is how much longer the Run may work.
func (in Input) Left() time.Duration {
	return max(in.Limits.Deadline-in.worked(), 0)
}

// worked is the time that the Run has been at work: since it started, less the time
// that it waited for people. While others answer its calls it works as long as the
// one of them that worked longest.
func (in Input) worked() time.Duration {
	waited := in.State.waited
	if t := in.State.last(); t != nil {
		work, delegated := t.work, false
		for _, c := range t.open() {
			if child, ok := in.Children[c.record.ID]; ok {
				work, delegated = max(work, child.Worked), true
			}
		}
		if delegated {
			waited += max(in.Now.Sub(t.since)-work, 0) - t.waited
		}
	}
	return max(in.Now.Sub(in.Started)-waited, 0)
}

// awaitChildren waits for calls that other Runs answer. While people have each of
// them, no time runs.
func (in Input) awaitChildren(t *turn) (Action, bool) {
	running, timed := false, false
	for _, c := range t.open() {
		if child, ok := in.Children[c.record.ID]; ok && child.Outcome == nil {
			running, timed = true, timed || !child.WithPeople
		}
	}
	switch {
	case !running:
		return nil, false
	case timed:
		return Wait{Until: in.Now.Add(in.Left())}, true
	default:
		return Wait{}, true
	}
}

// answered notes how long the Run worked that answered a call of the turn.
func (s *State) answered(t *turn, seconds int64, at time.Time) {
	s.waited -= t.waited
	t.work = max(t.work, time.Duration(seconds)*time.Second)
	t.waited = max(at.Sub(t.since)-t.work, 0)
	s.waited += t.waited
}
