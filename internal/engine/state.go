// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"time"

	"remit.dev/remit/api/v1alpha1"
)

// State is a log, folded. It is made by Fold and grows by Append.
type State struct {
	runUID   string
	head     v1alpha1.Digest
	sequence int64
	turns    []*turn
	ids      map[v1alpha1.CallID]bool
	end      *endedAt

	steps  int32
	usage  v1alpha1.Usage
	waited time.Duration

	decided []v1alpha1.DecidedCall
	records []v1alpha1.Record
	fresh   int
}

// turn is one message and what became of its calls.
type turn struct {
	sequence int64
	since    time.Time
	message  *v1alpha1.MessageRecord
	calls    []*call
	byID     map[v1alpha1.CallID]*call

	// suspension is nil until calls of the turn wait for people.
	suspension *suspension

	// work is how long the Runs that answered calls of the turn worked, at most, and
	// waited how much of the time until then this Run only waited for them.
	work, waited time.Duration
}

// call is one call of a turn.
type call struct {
	record      v1alpha1.CallRecord
	result      *v1alpha1.ResultRecord
	watermarked bool
	suspended   bool
	decision    *v1alpha1.DecisionRecord
}

// decided says whether a person decided on the call.
func (c *call) decided() bool { return c.decision != nil }

// denied says whether a person denied the call.
func (c *call) denied() bool { return c.decided() && !*c.decision.Approved }

// kind says what the call asks a person for, if it asks one. The names of builtins
// are kept from every other tool.
func (c *call) kind() v1alpha1.PendingKind {
	switch {
	case c.record.Whole:
		return v1alpha1.PendingRun
	case c.record.Tool == string(v1alpha1.BuiltinAskUser):
		return v1alpha1.PendingQuestion
	case c.record.Tool == string(v1alpha1.BuiltinWaitWebhook):
		return v1alpha1.PendingWebhook
	default:
		return v1alpha1.PendingTool
	}
}

// takesAnswer says whether a decision on the call holds what the model reads.
func (c *call) takesAnswer() bool {
	return c.kind() == v1alpha1.PendingQuestion || c.kind() == v1alpha1.PendingWebhook
}

// suspension is the calls of a turn that wait, or waited, for people.
type suspension struct {
	calls []*call
	since time.Time
	open  bool
}

type endedAt struct {
	record v1alpha1.EndRecord
	time   time.Time
}

// Head is the digest of the newest record; it stands for the whole log.
func (s *State) Head() v1alpha1.Digest { return s.head }

// Records are the inline records, with those that were appended.
func (s *State) Records() []v1alpha1.Record { return s.records }

// Ended says whether the log has its last record.
func (s *State) Ended() bool { return s.end != nil }

// Dirty says whether records were appended since the log was folded or saved.
func (s *State) Dirty() bool { return s.fresh > 0 }

// Fresh are the records that were appended since the log was folded or saved.
func (s *State) Fresh() []v1alpha1.Record { return s.records[max(len(s.records)-s.fresh, 0):] }

// ToolOf is the name of the tool that a call of the newest message calls, or empty.
func (s *State) ToolOf(id v1alpha1.CallID) string {
	if t := s.last(); t != nil && t.byID[id] != nil {
		return t.byID[id].record.Tool
	}
	return ""
}

// Saved says that the records are durable now.
func (s *State) Saved() { s.fresh = 0 }

// NextMessage is the sequence that a message appended now would get.
func (s *State) NextMessage() int64 { return s.sequence + 1 }

// RunUID is the uid of the Run whose log this is.
func (s *State) RunUID() string { return s.runUID }

// last is the newest turn, or nil before the first message.
func (s *State) last() *turn {
	if len(s.turns) == 0 {
		return nil
	}
	return s.turns[len(s.turns)-1]
}

// whole is the call that stands for the whole Run, or nil where nobody had to let it
// begin.
func (s *State) whole() *call {
	if len(s.turns) > 0 && len(s.turns[0].calls) > 0 && s.turns[0].calls[0].record.Whole {
		return s.turns[0].calls[0]
	}
	return nil
}

// waiting is the suspension that is still open, or nil.
func (s *State) waiting() *suspension {
	if t := s.last(); t != nil && t.suspension != nil && t.suspension.open {
		return t.suspension
	}
	return nil
}

// open are the calls of the turn that have no result, in the message's order.
func (t *turn) open() []*call {
	var open []*call
	for _, c := range t.calls {
		if c.result == nil {
			open = append(open, c)
		}
	}
	return open
}
