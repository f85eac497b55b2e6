// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"slices"
	"time"

	"remit.dev/remit/api/v1alpha1"
)

// CorruptError says that a log does not fold: somebody else has written it.
type CorruptError struct {
	// Segment is the ConfigMap of the sealed segment that cannot be read, or empty
	// where it is the record of that sequence.
	Segment  string
	Sequence int64
	Detail   string
}

func (e *CorruptError) Error() string {
	if e.Segment != "" {
		return fmt.Sprintf("segment %s of the log: %s", e.Segment, e.Detail)
	}
	return fmt.Sprintf("record %d of the log: %s", e.Sequence, e.Detail)
}

// Fold reads a whole log, the sealed records before the inline ones, into a
// State. It checks the chain of digests and that each record fits those before.
func Fold(runUID string, sealed, inline []v1alpha1.Record) (*State, error) {
	s := &State{runUID: runUID, head: start(runUID), ids: map[v1alpha1.CallID]bool{}}
	for _, records := range [][]v1alpha1.Record{sealed, inline} {
		for i := range records {
			if err := s.verify(&records[i]); err != nil {
				return nil, err
			}
			if err := s.apply(&records[i]); err != nil {
				return nil, err
			}
		}
	}
	if w := s.waiting(); w != nil && w.halfDecided() {
		return nil, &CorruptError{Sequence: s.sequence, Detail: "some of the calls that wait were decided, and not all"}
	}
	s.records = slices.Clip(inline)
	return s, nil
}

// Append adds entries to the log, in order, at the given time.
func (s *State) Append(now time.Time, entries ...Entry) error {
	for _, entry := range entries {
		record, err := entry.record(s.head, s.sequence+1, now)
		if err != nil {
			return err
		}
		if err := s.apply(&record); err != nil {
			return err
		}
		s.records = append(s.records, record)
		s.fresh++
	}
	return nil
}

// verify checks that the record is the one that follows.
func (s *State) verify(record *v1alpha1.Record) error {
	if record.Sequence != s.sequence+1 {
		return s.corrupt(record, fmt.Sprintf("its sequence should be %d", s.sequence+1))
	}
	expected, err := chain(s.head, *record)
	if err != nil {
		return err
	}
	if record.Digest != expected {
		return s.corrupt(record, "its digest does not follow from the record before it")
	}
	return nil
}

// apply folds one record into the State.
func (s *State) apply(record *v1alpha1.Record) error {
	if s.end != nil {
		return s.corrupt(record, "the log has already ended")
	}
	if err := s.applyMember(record); err != nil {
		return err
	}
	s.head = record.Digest
	s.sequence = record.Sequence
	return nil
}

func (s *State) applyMember(record *v1alpha1.Record) error {
	if n := members(record); n != 1 {
		return s.corrupt(record, fmt.Sprintf("it has %d members, and should have the one that its type names", n))
	}
	at := record.Time.Time
	switch {
	case record.Type == v1alpha1.RecordMessage && record.Message != nil:
		return s.applyMessage(record)
	case record.Type == v1alpha1.RecordWatermark && record.Watermark != nil:
		return s.applyWatermark(record)
	case record.Type == v1alpha1.RecordResult && record.Result != nil:
		return s.applyResult(record)
	case record.Type == v1alpha1.RecordSuspension && record.Suspension != nil:
		return s.applySuspension(record, at)
	case record.Type == v1alpha1.RecordDecision && record.Decision != nil:
		return s.applyDecision(record, at)
	case record.Type == v1alpha1.RecordEnd && record.End != nil:
		if w := s.waiting(); w != nil {
			s.waited += max(at.Sub(w.since), 0)
		}
		s.end = &endedAt{record: *record.End, time: at}
		return nil
	}
	return s.corrupt(record, fmt.Sprintf("it has no member for its type %q", record.Type))
}

func members(record *v1alpha1.Record) int {
	n := 0
	for _, set := range []bool{
		record.Message != nil, record.Watermark != nil, record.Result != nil,
		record.Suspension != nil, record.Decision != nil, record.End != nil,
	} {
		if set {
			n++
		}
	}
	return n
}

func (s *State) applyMessage(record *v1alpha1.Record) error {
	if t := s.last(); t != nil && len(t.open()) > 0 {
		return s.corrupt(record, "a message follows calls that have no result")
	}
	t := &turn{sequence: record.Sequence, since: record.Time.Time, message: record.Message, byID: map[v1alpha1.CallID]*call{}}
	for i, c := range record.Message.Calls {
		if id := s.newCallID(record.Sequence, i, c, record.Message.Calls[:i]); c.ID != id {
			return s.corrupt(record, fmt.Sprintf("call %s should have the id %s", c.ID, id))
		}
		if c.Whole && (record.Sequence != 1 || len(record.Message.Calls) != 1 || record.Message.Grant != "") {
			return s.corrupt(record, fmt.Sprintf("call %s cannot stand for the whole Run", c.ID))
		}
		t.calls = append(t.calls, &call{record: c})
		t.byID[c.ID] = t.calls[i]
	}
	for id := range t.byID {
		s.ids[id] = true
	}
	s.turns = append(s.turns, t)
	if record.Message.Grant != "" {
		s.steps++
	}
	s.usage.InputTokens += record.Message.Usage.InputTokens
	s.usage.OutputTokens += record.Message.Usage.OutputTokens
	return nil
}

func (s *State) applyWatermark(record *v1alpha1.Record) error {
	for _, marked := range record.Watermark.Calls {
		if marked.Parent != "" {
			// A program is being run: its own watermark came before.
			if parent, err := s.openCall(record, marked.Parent); err != nil || !parent.watermarked {
				return s.corrupt(record, fmt.Sprintf("the program of call %s is not being run", marked.Parent))
			}
			continue
		}
		c, err := s.openCall(record, marked.ID)
		if err != nil {
			return err
		}
		if s.waiting() != nil || c.denied() || c.watermarked {
			return s.corrupt(record, fmt.Sprintf("call %s may not be made now", marked.ID))
		}
		c.watermarked = true
	}
	return nil
}

func (s *State) applyResult(record *v1alpha1.Record) error {
	c, err := s.openCall(record, record.Result.ID)
	if err != nil {
		return err
	}
	if s.waiting() != nil {
		return s.corrupt(record, "calls of its message still wait for a decision")
	}
	if c.denied() && record.Result.Error == "" {
		return s.corrupt(record, fmt.Sprintf("call %s was denied, and did not fail", c.record.ID))
	}
	c.result = record.Result
	if seconds := record.Result.WorkedSeconds; seconds != nil {
		s.answered(s.last(), *seconds, record.Time.Time)
	}
	return nil
}

func (s *State) applySuspension(record *v1alpha1.Record, at time.Time) error {
	t := s.last()
	if t == nil || t.sequence != record.Suspension.Message {
		return s.corrupt(record, "it suspends calls of another message than the newest")
	}
	if t.suspension != nil {
		return s.corrupt(record, "calls of this message were suspended before")
	}
	t.suspension = &suspension{since: at, open: true}
	for _, id := range record.Suspension.Calls {
		c, err := s.openCall(record, id)
		if err != nil {
			return err
		}
		if c.suspended {
			return s.corrupt(record, fmt.Sprintf("call %s is there twice", id))
		}
		if c.watermarked {
			return s.corrupt(record, fmt.Sprintf("call %s was about to be made", id))
		}
		c.suspended = true
		t.suspension.calls = append(t.suspension.calls, c)
	}
	// A call that was left out could never be decided.
	if open := len(t.open()); open == 0 || open != len(t.suspension.calls) {
		return s.corrupt(record, fmt.Sprintf("it suspends %d of %d open calls", len(t.suspension.calls), open))
	}
	return nil
}

func (s *State) applyDecision(record *v1alpha1.Record, at time.Time) error {
	c, err := s.openCall(record, record.Decision.ID)
	if err != nil {
		return err
	}
	if !c.suspended || c.decided() || record.Decision.Approved == nil {
		return s.corrupt(record, fmt.Sprintf("call %s does not wait for a decision", c.record.ID))
	}
	c.decision = record.Decision
	s.noteDecided(c, record)
	w := s.last().suspension
	if slices.ContainsFunc(w.calls, func(c *call) bool { return !c.decided() }) {
		return nil
	}
	w.open = false
	s.waited += max(at.Sub(w.since), 0) // the clocks of two replicas may differ
	return nil
}

func (s *State) noteDecided(c *call, record *v1alpha1.Record) {
	s.decided = append(s.decided, v1alpha1.DecidedCall{
		ID:        c.record.ID,
		Tool:      cut(c.record.Tool, maxToolView),
		Kind:      c.kind(),
		StepID:    c.record.StepID,
		Approved:  record.Decision.Approved,
		By:        record.Decision.By,
		Reason:    record.Decision.Reason,
		DecidedAt: record.Time,
	})
	if over := len(s.decided) - maxDecided; over > 0 {
		s.decided = s.decided[over:]
	}
}

// openCall finds a call of the newest message that has no result yet.
func (s *State) openCall(record *v1alpha1.Record, id v1alpha1.CallID) (*call, error) {
	if t := s.last(); t != nil {
		if c := t.byID[id]; c != nil && c.result == nil {
			return c, nil
		}
	}
	return nil, s.corrupt(record, fmt.Sprintf("call %s is not open", id))
}

func (s *State) corrupt(record *v1alpha1.Record, detail string) error {
	return &CorruptError{Sequence: record.Sequence, Detail: detail}
}
