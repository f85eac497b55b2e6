// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"slices"
	"time"

	"remit.dev/remit/api/v1alpha1"
)

// ModelCall is a call as a model asked for it.
type ModelCall struct {
	Tool      string
	Arguments string
	// Via is the tool inside whose call this one was named, or empty.
	Via v1alpha1.CallVia
	// Definition is the digest of the definition that the model was shown, or
	// empty when it was shown none of that name.
	Definition v1alpha1.Digest
	// StepID is the step of the workflow that asks for the call in place of a model.
	StepID v1alpha1.StepID
	// Whole says that the call stands for the whole Run.
	Whole bool
}

// ModelMessage is a model's message before it is recorded.
type ModelMessage struct {
	Grant     string
	Model     string
	Text      string
	Calls     []ModelCall
	Truncated bool
	Usage     v1alpha1.Usage
	Attempts  []v1alpha1.ModelAttempt
}

// TooLargeError says that a model's message exceeds a bound.
type TooLargeError struct {
	What         string
	Limit, Value int
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the model's message has %d %s, and the limit is %d", e.Value, e.What, e.Limit)
}

// Check says whether a model's message fits into a log; what does not is a
// failure of the model, never cut in silence.
func (m *ModelMessage) Check() error {
	if len(m.Calls) > MaxCalls {
		return &TooLargeError{What: "calls", Limit: MaxCalls, Value: len(m.Calls)}
	}
	if size := jsonSize(m.Text); size > MaxText {
		return &TooLargeError{What: "bytes of text", Limit: MaxText, Value: size}
	}
	total := 0
	for _, c := range m.Calls {
		size := jsonSize(c.Arguments)
		if size > MaxArguments {
			return &TooLargeError{What: "bytes of arguments in one call", Limit: MaxArguments, Value: size}
		}
		total += size
	}
	if total > MaxMessageArguments {
		return &TooLargeError{What: "bytes of arguments", Limit: MaxMessageArguments, Value: total}
	}
	return nil
}

// MessageEntry records a model's message. Text and calls are both kept, and each
// call gets an id of its own: a provider's ids may repeat.
func (s *State) MessageEntry(m ModelMessage) Entry {
	record := &v1alpha1.MessageRecord{
		Grant:     m.Grant,
		Model:     cut(clean(m.Model), maxName),
		Text:      clean(m.Text),
		Truncated: m.Truncated,
		Usage:     believable(m.Usage),
	}
	for _, a := range m.Attempts[:min(len(m.Attempts), maxAttempts)] {
		record.Attempts = append(record.Attempts, v1alpha1.ModelAttempt{
			Grant:  a.Grant,
			Model:  cut(clean(a.Model), maxName),
			Kind:   a.Kind,
			Detail: cut(clean(a.Detail), maxReason),
		})
	}
	for i, c := range m.Calls {
		call := v1alpha1.CallRecord{
			Tool:             cut(clean(c.Tool), MaxToolName),
			Arguments:        clean(c.Arguments),
			Via:              c.Via,
			DefinitionDigest: c.Definition,
			StepID:           c.StepID,
			Whole:            c.Whole,
		}
		if call.Tool == "" {
			call.Tool = "(no name)"
		}
		call.ID = s.newCallID(s.NextMessage(), i, call, record.Calls)
		record.Calls = append(record.Calls, call)
	}
	return Entry{Message: record}
}

// believable bounds what an endpoint says it used.
func believable(u v1alpha1.Usage) v1alpha1.Usage {
	return v1alpha1.Usage{
		InputTokens:  min(max(u.InputTokens, 0), maxTokens),
		OutputTokens: min(max(u.OutputTokens, 0), maxTokens),
	}
}

// newCallID derives an id that no other call of the Run has. An id is short
// enough for somebody with time to find two calls that share one, and then the
// approval of the one would be the approval of the other.
func (s *State) newCallID(message int64, index int, c v1alpha1.CallRecord, earlier []v1alpha1.CallRecord) v1alpha1.CallID {
	for ; ; index += MaxCalls {
		id := CallID(s.runUID, message, index, c.Tool, c.Arguments, c.DefinitionDigest)
		used := s.ids[id] || slices.ContainsFunc(earlier, func(e v1alpha1.CallRecord) bool { return e.ID == id })
		if !used {
			return id
		}
	}
}

// Outcome is what came of one call.
type Outcome struct {
	// Content is the tool's text, or the message of the failure.
	Content string
	// Error is the kind of the failure, or empty.
	Error v1alpha1.ErrorKind
	// Envelope says in which form the content is, and Artifacts what was put aside.
	Envelope  *v1alpha1.ResultEnvelope
	Artifacts []v1alpha1.ArtifactReference
	// Inner are the calls that the call's own program made.
	Inner []v1alpha1.InnerCall
}

// childEntry records what came of a call that another Run answered.
func (s *State) childEntry(id v1alpha1.CallID, child Child) Entry {
	entry, seconds := s.ResultEntry(id, *child.Outcome), int64(max(child.Worked, 0)/time.Second)
	entry.Result.WorkedSeconds = &seconds
	return entry
}

// ResultEntry records what came of a call, cut to its share of the bound on all
// results of its message, with a notice where it was cut.
func (s *State) ResultEntry(id v1alpha1.CallID, outcome Outcome) Entry {
	calls := 0
	if t := s.last(); t != nil {
		calls = len(t.calls)
	}
	return Entry{Result: &v1alpha1.ResultRecord{
		ID:      id,
		Content: cutWithNotice(clean(outcome.Content), share(MaxResult, MaxTurnResults, calls)),
		Error:   outcome.Error,

		Envelope:  outcome.Envelope,
		Artifacts: outcome.Artifacts,
		Inner:     outcome.Inner,
	}}
}
