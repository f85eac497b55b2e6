// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"slices"

	"remit.dev/remit/api/v1alpha1"
)

// ContextMessage is one message of what the model reads. Either it is the
// assistant's own (Result is nil) or the result of one of its calls.
type ContextMessage struct {
	Text   string
	Calls  []v1alpha1.CallRecord
	Result *ContextResult
}

// ContextResult is the result of a call as the model reads it.
type ContextResult struct {
	ID     v1alpha1.CallID
	Text   string
	Failed bool
}

// Context is what the model reads after its instructions and the input: each
// message with its text and its calls, followed by the results in the order of
// the calls. Decisions, watermarks and suspensions are not in it, nor is whether the
// Run may begin.
func (s *State) Context() []ContextMessage {
	var context []ContextMessage
	failures := streaks{}
	for i, t := range s.turns {
		if i == 0 && s.whole() != nil {
			continue
		}
		context = append(context, ContextMessage{Text: t.message.Text, Calls: asWritten(t.message.Calls)})
		for _, c := range t.calls {
			if c.result != nil {
				context = append(context, ContextMessage{Result: c.shown(failures)})
			}
		}
	}
	return context
}

// asWritten gives the calls of a message in the form in which the model made them.
func asWritten(calls []v1alpha1.CallRecord) []v1alpha1.CallRecord {
	written := slices.Clone(calls)
	for i, c := range written {
		if c.Via == "" {
			continue
		}
		// A name and valid JSON, which is all that is unwrapped, always marshal.
		if wrapped, err := json.Marshal(wrappedCall{Name: c.Tool, Arguments: json.RawMessage(c.Arguments)}); err == nil {
			written[i].Tool, written[i].Arguments = string(c.Via), string(wrapped)
		}
	}
	return written
}

// wrappedCall is a call as it stands in the arguments of call_tool.
type wrappedCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// shown renders a result and keeps count of failures, so that the advisory
// stands inside the result that it is about.
func (c *call) shown(failures streaks) *ContextResult {
	if c.result.Error == "" {
		delete(failures, c.record.Tool)
		text := c.result.Content
		if text == "" {
			text = "The tool succeeded and returned no content."
		}
		return &ContextResult{ID: c.record.ID, Text: text}
	}
	failure := shownFailure{Error: shownError{Kind: c.result.Error, Message: c.result.Content}}
	if counts(c.result.Error) {
		failures[c.record.Tool]++
		if n := failures[c.record.Tool]; n >= AdvisoryThreshold {
			failure.Advisory = advisory(n)
		}
	}
	return &ContextResult{ID: c.record.ID, Text: failure.text(), Failed: true}
}

// shownFailure is how a failed call reads: never empty, and always with a kind.
type shownFailure struct {
	Error    shownError `json:"error"`
	Advisory string     `json:"advisory,omitempty"`
}

type shownError struct {
	Kind    v1alpha1.ErrorKind `json:"kind"`
	Message string             `json:"message"`
}

func (f shownFailure) text() string {
	if f.Error.Message == "" {
		f.Error.Message = "the tool gave no message"
	}
	// Two strings and a kind always marshal.
	text, err := json.Marshal(f)
	if err != nil {
		return string(f.Error.Kind)
	}
	return string(text)
}
