// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit.dev/remit/api/v1alpha1"
)

// TestContextKeepsTextAndCalls: a reply that holds both keeps both, and each call
// is followed by its own result, in the order of the calls.
func TestContextKeepsTextAndCalls(t *testing.T) {
	s := play(t)
	s.model("I look and note.", "lookup a", "nonsense", "note b")
	s.expect("append result of nonsense: unknown_tool")
	s.expect("execute lookup, note! after watermark note")
	s.outcomes("ok found", "ok")
	s.model("Done.")
	calls := s.state.turns[0].message.Calls
	want := []ContextMessage{
		{Text: "I look and note.", Calls: calls},
		{Result: &ContextResult{ID: calls[0].ID, Text: "found"}},
		{Result: &ContextResult{ID: calls[1].ID, Failed: true,
			Text: `{"error":{"kind":"unknown_tool","message":"There is no such tool."}}`}},
		{Result: &ContextResult{ID: calls[2].ID, Text: "The tool succeeded and returned no content."}},
		{Text: "Done."},
	}
	if diff := cmp.Diff(want, s.state.Context()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if want := `[{"id":"` + string(calls[0].ID) + `","tool":"lookup","arguments":"a","definitionDigest":"sha256:lookup"}]`; mustJSON(t, calls[:1]) != want {
		t.Errorf("the call became %s", mustJSON(t, calls[:1]))
	}
}

func mustJSON(t *testing.T, value any) string {
	t.Helper()
	content, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// TestFailureIsNeverEmpty: the model always reads a kind and a message, and a
// failure can be told from a success.
func TestFailureIsNeverEmpty(t *testing.T) {
	kinds := []v1alpha1.ErrorKind{
		v1alpha1.ErrorUnknownTool, v1alpha1.ErrorToolUnavailable, v1alpha1.ErrorToolChanged, v1alpha1.ErrorInvalidArguments,
		v1alpha1.ErrorDenied, v1alpha1.ErrorTool, v1alpha1.ErrorTimeout, v1alpha1.ErrorCancelled,
		v1alpha1.ErrorServerUnavailable, v1alpha1.ErrorUnauthorized, v1alpha1.ErrorOutcomeUnknown, v1alpha1.ErrorBadResult,
	}
	for _, kind := range kinds {
		for name, content := range hostile {
			s := play(t)
			s.model("", "lookup a")
			s.expect("execute lookup")
			s.append(s.state.ResultEntry(s.executing[0].Call.ID, Outcome{Content: content, Error: kind}))
			result := s.state.Context()[1].Result
			var shown struct {
				Error struct{ Kind, Message string }
			}
			if err := json.Unmarshal([]byte(result.Text), &shown); err != nil {
				t.Fatalf("%s, %s: %v", kind, name, err)
			}
			want := strings.ToValidUTF8(content, "\uFFFD")
			if want == "" {
				want = "the tool gave no message"
			}
			if !result.Failed || shown.Error.Kind != string(kind) || shown.Error.Message != want {
				t.Errorf("%s, %s: failed is %t, and the model reads %s", kind, name, result.Failed, result.Text)
			}
		}
	}
}

// TestRecordsTheModelNeverSees: decisions, watermarks, suspensions and the end are
// no part of the context (H14).
func TestRecordsTheModelNeverSees(t *testing.T) {
	state, err := Fold(uid, nil, wholeLog(t))
	if err != nil {
		t.Fatal(err)
	}
	var shape []string
	for _, message := range state.Context() {
		switch {
		case message.Result != nil:
			shape = append(shape, "result")
		case len(message.Calls) > 0:
			shape = append(shape, "calls")
		default:
			shape = append(shape, "text")
		}
	}
	if diff := cmp.Diff([]string{"calls", "result", "result", "result", "text"}, shape); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestContextShowsWhatTheModelWrote: a call that came through call_tool is
// recorded as the tool that it names, and shown to the model as it wrote it (G8).
func TestContextShowsWhatTheModelWrote(t *testing.T) {
	s := play(t)
	entry := s.state.MessageEntry(ModelMessage{Grant: "models", Model: "m", Calls: []ModelCall{
		{Tool: "lookup", Arguments: `{"a":1}`, Via: v1alpha1.ViaCallTool}, {Tool: "lookup", Arguments: `{"a":1}`}}})
	if err := s.state.Append(s.now, entry); err != nil {
		t.Fatal(err)
	}
	recorded := s.state.turns[0].message.Calls
	if recorded[0].Tool != "lookup" || recorded[0].Via != v1alpha1.ViaCallTool || recorded[0].ID == recorded[1].ID {
		t.Errorf("recorded as %+v", recorded)
	}
	shown := s.state.Context()[0].Calls
	if shown[0].Tool != "call_tool" || shown[0].Arguments != `{"name":"lookup","arguments":{"a":1}}` {
		t.Errorf("shown as %+v", shown[0])
	}
	if diff := cmp.Diff(recorded[1], shown[1]); diff != "" {
		t.Error(diff)
	}
}
