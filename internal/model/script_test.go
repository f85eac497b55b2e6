// SPDX-License-Identifier: Apache-2.0

package model

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func mustParse(t testing.TB, document string) *Script {
	t.Helper()
	script, err := ParseScript([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	return script
}

func TestParseScript(t *testing.T) {
	const yaml = `
turns:
- when: order
  model: small
  text: Looking.
  calls:
  - tool: desk__get_order
    arguments: {id: 1001, deep: {b: [1, 2.5, null], a: "x"}}
  - tool: desk__list
  - tool: desk__bad
    rawArguments: '{"id":'
  usage: {inputTokens: 12, outputTokens: 7}
- text: ""
- finish: Length
  text: cut
- error: {kind: RateLimited, status: 429, message: "slow\ndown", retryAfter: 2s}
`
	const asJSON = `{"turns":[{"when":"order","model":"small","text":"Looking.","calls":[{"tool":"desk__get_order","arguments":{"deep":{"a":"x","b":[1,2.5,null]},"id":1001}},{"tool":"desk__list"},{"tool":"desk__bad","rawArguments":"{\"id\":"}],"usage":{"inputTokens":12,"outputTokens":7}},{"text":""},{"finish":"Length","text":"cut"},{"error":{"kind":"RateLimited","status":429,"message":"slow\ndown","retryAfter":"2s"}}]}`
	want := []turn{
		{
			when: "order", model: "small",
			completion: Completion{
				Text: "Looking.",
				Calls: []ToolCall{
					{Name: "desk__get_order", Arguments: `{"deep":{"a":"x","b":[1,2.5,null]},"id":1001}`},
					{Name: "desk__list", Arguments: "{}"},
					{Name: "desk__bad", Arguments: `{"id":`},
				},
				Finish: FinishToolCalls,
				Usage:  Usage{InputTokens: 12, OutputTokens: 7},
			},
		},
		{completion: Completion{Finish: FinishStop}, fails: true},
		{completion: Completion{Text: "cut", Finish: FinishLength}},
		{failure: &Error{Kind: KindRateLimited, Status: 429, Detail: "slow down", RetryAfter: 2 * time.Second}, fails: true},
	}
	for name, document := range map[string]string{"YAML": yaml, "JSON": asJSON} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(want, mustParse(t, document).turns, cmp.AllowUnexported(turn{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseScriptRefuses(t *testing.T) {
	for _, tc := range []struct{ name, document, want string }{
		{"empty", "", "script: turns: has 0 turns; it must have 1 to 256"},
		{"no turns", "turns: []", "script: turns: has 0 turns; it must have 1 to 256"},
		{"too many turns", "turns:\n" + strings.Repeat("- text: x\n", 257), "script: turns: has 257 turns; it must have 1 to 256"},
		{"a list", "- text: x", "script: json: cannot unmarshal array into Go value of type model.scriptDocument"},
		{"unknown key", "turn: []\nturns: [{text: x}]", `script: unknown field "turn"`},
		{"unknown key in a turn", "turns: [{text: x}, {text: x, until: y}]", `script: unknown field "turns[1].until"`},
		{"unknown key in a call", "turns: [{calls: [{tool: t, args: {}}]}]", `script: unknown field "turns[0].calls[0].args"`},
		{"key in another case", "turns: [{Text: x, text: x}]", `script: unknown field "turns[0].Text"`},
		{"repeated key", "turns: [{text: x, text: y}]", `script: yaml: unmarshal errors: line 1: key "text" already set in map`},
		{"nothing to say", "turns: [{when: x}]", `script: turns[0]: needs text, calls or error; write text: "" for a reply without any`},
		{"error and reply", "turns: [{text: x, error: {kind: Server}}]", "script: turns[0]: has an error and a reply; it must have one of them"},
		{"arguments that are no object", "turns: [{calls: [{tool: t, arguments: [1]}]}]", "script: turns[0].calls[0].arguments: must be an object; use rawArguments for any other text"},
		{"two kinds of arguments", `turns: [{calls: [{tool: t, arguments: {}, rawArguments: ""}]}]`, "script: turns[0].calls[0]: has arguments and rawArguments; it must have one of them"},
		{"call of nothing", "turns: [{calls: [{}]}]", "script: turns[0].calls[0].tool: must name a tool in at most 256 bytes"},
		{"too many calls", "turns: [{calls: [" + strings.Repeat("{tool: t},", 65) + "]}]", "script: turns[0].calls: has 65 calls; at most 64 are allowed"},
		{"unknown finish", "turns: [{text: x, finish: Done}]", `script: turns[0].finish: "Done" is none of [Stop ToolCalls Length Refused Other]`},
		{"negative usage", "turns: [{text: x, usage: {inputTokens: -1}}]", "script: turns[0].usage: each count must lie between 0 and 1099511627776"},
		{"unknown kind", "turns: [{error: {kind: Boom}}]", `script: turns[0].error.kind: "Boom" is none of [Unauthorized Forbidden NotFound Rejected RateLimited Server Redirect BadResponse TooLarge Unreachable Denied Timeout]`},
		{"status", "turns: [{error: {kind: Server, status: 5000}}]", "script: turns[0].error.status: 5000 is no HTTP status; it must lie between 100 and 599"},
		{"duration", "turns: [{error: {kind: Server, retryAfter: soon}}]", `script: turns[0].error.retryAfter: "soon" is no duration between 0s and 24h0m0s`},
		{"too long", strings.Repeat(" ", MaxScript+1), "script: is 1048577 bytes long, more than 1048576"},
		{"two problems", "turns: [{}, {error: {kind: Server, status: 1}}]", "script: turns[0]: needs text, calls or error; write text: \"\" for a reply without any\nscript: turns[1].error.status: 1 is no HTTP status; it must lie between 100 and 599"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := ParseScript([]byte(tc.document))
			if err == nil || err.Error() != tc.want {
				t.Errorf("got  %v\nwant %s", err, tc.want)
			}
			if _, ok := errors.AsType[*ScriptError](err); !ok {
				t.Errorf("%T is no *ScriptError", err)
			}
		})
	}
}

func TestParseScriptBoundsItsProblems(t *testing.T) {
	_, err := ParseScript([]byte("turns:\n" + strings.Repeat("- {}\n", 200)))
	if err == nil || strings.Count(err.Error(), "\n") != maxScriptProblems-1 {
		t.Errorf("error = %v, want %d lines", err, maxScriptProblems)
	}
}

// converse lets a script speak until it has no turn left: every call is answered by
// result, every text by the user's next.
func converse(t testing.TB, script *Script, request Request, result string, limit int) ([]Message, *Error) {
	t.Helper()
	for range limit {
		completion, err := script.Complete(t.Context(), request)
		if err != nil {
			var failure *Error
			if !errors.As(err, &failure) {
				t.Fatal(err)
			}
			return request.Messages, failure
		}
		request.Messages = append(request.Messages, Message{Role: RoleAssistant, Text: completion.Text, Calls: completion.Calls})
		for range completion.Calls {
			request.Messages = append(request.Messages, Message{Role: RoleTool, Text: result})
		}
	}
	return request.Messages, nil
}

func texts(messages []Message) []string {
	var texts []string
	for _, message := range messages {
		if message.Role == RoleAssistant {
			texts = append(texts, message.Text)
		}
	}
	return texts
}

// O2: a turn waits for its marker, wherever in the context it comes up.
func TestScriptWaitsForMarkers(t *testing.T) {
	script := mustParse(t, `
turns:
- {when: refunded, text: third}
- {when: skill-x, text: second}
- {text: first, calls: [{tool: lookup}]}
- {when: never, text: unsaid}
`)
	for _, tc := range []struct {
		name, system, result string
		want                 []string
		detail               string
	}{
		{"in no place", "", "ok", []string{"first"}, `1 of 4 turns are used up; waiting are turns[0] the marker "refunded", turns[1] the marker "skill-x", turns[3] the marker "never"`},
		{"in a tool result", "", "refunded", []string{"first", "third"}, `2 of 4 turns are used up; waiting are turns[1] the marker "skill-x", turns[3] the marker "never"`},
		{"in the system text", "You have skill-x.", "ok", []string{"second", "first"}, `2 of 4 turns are used up; waiting are turns[0] the marker "refunded", turns[3] the marker "never"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			request := Request{Model: "m", System: tc.system, Messages: []Message{{Role: RoleUser, Text: "go"}}}
			messages, failure := converse(t, script, request, tc.result, 10)
			if diff := cmp.Diff(tc.want, texts(messages)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(&Error{Kind: KindNoTurn, Detail: tc.detail}, failure); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestScriptKeepsTextAndCalls(t *testing.T) {
	script := mustParse(t, `turns: [{text: both, calls: [{tool: a, arguments: {id: 1}}, {tool: b}]}]`)
	got, err := script.Complete(t.Context(), Request{Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	want := Completion{Model: "m", Text: "both", Calls: []ToolCall{{Name: "a", Arguments: `{"id":1}`}, {Name: "b", Arguments: "{}"}}, Finish: FinishToolCalls}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	got.Calls[0].Name = "changed"
	if again, _ := script.Complete(t.Context(), Request{Model: "m"}); again.Calls[0].Name != "a" {
		t.Error("a caller's change reaches the script")
	}
}

// The caller stores messages in its own form: ids are its own, arguments may be
// reformatted, text may lose its last line break.
func TestScriptRecognisesStoredReplies(t *testing.T) {
	script := mustParse(t, "turns:\n- text: |\n    Looking.\n  calls: [{tool: a, arguments: {a: 1, b: 2}}]\n- text: done\n")
	messages := []Message{
		{Role: RoleAssistant, Text: "A message that no turn gave."},
		{Role: RoleAssistant, Text: "Looking.", Calls: []ToolCall{{ID: "own", Name: "a", Arguments: `{ "b": 2, "a": 1 }`}}},
		{Role: RoleTool, CallID: "own", Text: "ok"},
	}
	got, err := script.Complete(t.Context(), Request{Messages: messages})
	if err != nil || got.Text != "done" {
		t.Errorf("got %q, %v; want done", got.Text, err)
	}
}

// A Run that is resumed anywhere goes on as one that was never stopped: the choice
// follows from the conversation alone.
func TestScriptIsStateless(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var document strings.Builder
		document.WriteString("turns:\n")
		markers := []string{"", "alpha", "beta", "gamma"}
		for range rapid.IntRange(1, 12).Draw(t, "turns") {
			document.WriteString("- when: '" + rapid.SampledFrom(markers).Draw(t, "when") + "'\n")
			document.WriteString("  text: '" + rapid.SampledFrom([]string{"say alpha", "say beta", "say gamma", "nothing"}).Draw(t, "text") + "'\n")
		}
		script, err := ParseScript([]byte(document.String()))
		if err != nil {
			t.Fatal(err)
		}
		// The plain reading: play the turns with a memory of what was used.
		used := make([]bool, len(script.turns))
		var messages []Message
		for {
			context := ""
			for _, message := range messages {
				context += message.Text + "\n"
			}
			want := -1
			for i, turn := range script.turns {
				if !used[i] && strings.Contains(context, turn.when) {
					want = i
					break
				}
			}
			got, err := script.Complete(t.Context(), Request{Messages: messages})
			if want < 0 {
				var failure *Error
				if !errors.As(err, &failure) || failure.Kind != KindNoTurn {
					t.Fatalf("error = %v, want kind NoTurn", err)
				}
				return
			}
			if err != nil || got.Text != script.turns[want].completion.Text {
				t.Fatalf("got %q, %v; want turn %d", got.Text, err, want)
			}
			used[want] = true
			messages = append(messages, Message{Role: RoleAssistant, Text: got.Text})
		}
	})
}

// A failing turn is its model's answer until another model has moved the conversation
// past it.
func TestScriptFailsOver(t *testing.T) {
	script := mustParse(t, `
turns:
- {model: large, error: {kind: RateLimited, status: 429}}
- {model: large, text: large again}
- {model: small, text: small}
- {model: large, text: ""}
- {text: anyone}
`)
	candidates := []Candidate{{Grant: "g", Model: "large", Provider: script}, {Grant: "g", Model: "small", Provider: script}}
	var request Request
	type answer struct {
		Text     string
		Attempts []Kind
	}
	var got []answer
	for range 3 {
		completion, attempts, err := (Failover{}).Complete(t.Context(), candidates, request)
		if err != nil {
			t.Fatal(err)
		}
		answer := answer{Text: completion.Text}
		for _, attempt := range attempts[:len(attempts)-1] {
			answer.Attempts = append(answer.Attempts, attempt.Err.Kind)
		}
		got = append(got, answer)
		request.Messages = append(request.Messages, Message{Role: RoleAssistant, Text: completion.Text})
	}
	want := []answer{{"small", []Kind{KindRateLimited}}, {"large again", nil}, {"anyone", []Kind{KindDegenerate}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzParseScript(f *testing.F) {
	f.Add([]byte("turns: [{text: x, calls: [{tool: t, arguments: {a: 1}}]}]"))
	f.Add([]byte(`{"turns":[{"error":{"kind":"Server","retryAfter":"1s"}}]}`))
	f.Add([]byte("a: &a [x, x]\nturns: [*a, *a]"))
	f.Fuzz(func(t *testing.T, document []byte) {
		script, err := ParseScript(document)
		if err != nil {
			if len(err.Error()) > 16<<10 {
				t.Fatalf("an error of %d bytes", len(err.Error()))
			}
			return
		}
		messages, failure := converse(t, script, Request{}, "ok", MaxTurns+1)
		if failure == nil {
			t.Fatalf("%d messages, and still no end", len(messages))
		}
	})
}
