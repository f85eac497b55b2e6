// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/engine"
	"remit.dev/remit/internal/gate"
)

// recordsOutput declares records whose token is secret (K64).
const recordsOutput = `{"type":"object","required":["records","count","truncated"],"properties":{
	"records":{"type":"array","items":{"type":"object","properties":{
		"name":{"type":"string"},"token":{"type":"string","x-sensitivity":"secret"},"odd":{"x-sensitivity":"top-secret"}}}},
	"count":{"type":"integer"},"truncated":{"type":"boolean"}}}`

// call makes one call of a tool without effect.
func call(t *testing.T, tool Tool, keep Keep, arguments string) engine.Outcome {
	t.Helper()
	tool.Name, tool.Idempotent, tool.Class = "tool", true, v1alpha1.ClassReadOnly
	set, findings := NewToolSet([]Tool{tool}, NewSchemas(), MaxTools)
	if findings != nil {
		t.Fatal(findings)
	}
	set.Keep = keep
	return execute(t, set, []engine.Execution{{Call: callOf("tool", arguments)}})[0]
}

func answers(answer Answer) Executor {
	return executorFunc(func(context.Context, Invocation) Answer { return answer })
}

func structured(text string) Answer { return Answer{Structured: json.RawMessage(text)} }

func TestEnvelope(t *testing.T) {
	for name, test := range map[string]struct {
		output  string
		answer  Answer
		content string
		want    *v1alpha1.ResultEnvelope
	}{
		"text":                      {"", Text("hello"), "hello", nil},
		"an object that is none":    {"", Text(`{"a":1}`), `{"a":1}`, nil},
		"structured without a text": {"", structured(`{"a":12345678901234567890}`), `{"a":12345678901234567890}`, nil},
		"records in a text": {"", Text(`{"records":[{"a":1}],"count":1,"truncated":true,"resumable":false,"stop_reason":"record_limit","warnings":["one source failed"]}`),
			`{"records":[{"a":1}],"count":1,"truncated":true,"resumable":false,"stop_reason":"record_limit","warnings":["one source failed"]}`,
			&v1alpha1.ResultEnvelope{Kind: "Records", Count: 1, Truncated: true, StopReason: "record_limit", Warnings: []string{"one source failed"}}},
		"K67 a table with an unknown kind": {"", structured(`{"columns":["a"],"rows":[[1]],"row_count":1,"truncated":false,"column_kinds":["colour"],"later":1}`),
			`{"columns":["a"],"rows":[[1]],"row_count":1,"truncated":false,"column_kinds":["colour"],"later":1}`,
			&v1alpha1.ResultEnvelope{Kind: "Tabular", Count: 1, Notices: 2}},
		"what only looks like records": {"", Text(`{"records":"none","count":1,"truncated":false}`), `{"records":"none","count":1,"truncated":false}`, nil},
		"what is declared and is not": {recordsOutput, structured(`{"records":[],"count":3,"truncated":false}`), `{"records":[],"count":3,"truncated":false}`,
			&v1alpha1.ResultEnvelope{Kind: "Unreadable", Warnings: []string{"?"}}},
		"an artifact": {"", structured(`{"artifact":{"reference":"plan-1","media_type":"text/csv","bytes":5},"warnings":[]}`),
			`{"artifact":{"reference":"plan-1","media_type":"text/csv","bytes":5},"warnings":[]}`, &v1alpha1.ResultEnvelope{Kind: "Artifact", Count: 1}},
		"a failure":                            {"", Failure(v1alpha1.ErrorTool, "out of paper"), "out of paper", nil},
		"K64 a failure of a tool with secrets": {recordsOutput, Failure(v1alpha1.ErrorTool, "out of paper"), withheldResult, nil},
		"a failure of the network":             {recordsOutput, Failure(v1alpha1.ErrorTimeout, "no answer"), "no answer", nil},
		"K5 a text that says something else": {"", Answer{Outcome: engine.Outcome{Content: `{"records":[1,2,3],"count":3,"truncated":false}`},
			Structured: json.RawMessage(`{"records":[],"count":0,"truncated":false}`)}, `{"records":[],"count":0,"truncated":false}`,
			&v1alpha1.ResultEnvelope{Kind: "Records"}},
	} {
		t.Run(name, func(t *testing.T) {
			outcome := call(t, Tool{Executor: answers(test.answer), OutputSchema: json.RawMessage(test.output)}, nil, "{}")
			if outcome.Content != test.content {
				t.Errorf("content %s, want %s", outcome.Content, test.content)
			}
			if test.want != nil && outcome.Envelope != nil && len(test.want.Warnings) == 1 && test.want.Warnings[0] == "?" {
				test.want.Warnings = outcome.Envelope.Warnings // the words are octool's
			}
			if diff := cmp.Diff(test.want, outcome.Envelope); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// K64: what the output schema marks as secret, and what it marks in a word that is
// not known, is in no log, whichever way the server sent it.
func TestSecretFieldsAreRedacted(t *testing.T) {
	const canary = "canary-4711"
	result := `{"records":[{"name":"a","token":"` + canary + `","odd":"` + canary + `"}],"count":1,"truncated":false}`
	const redacted = `{"records":[{"name":"a","token":"[redacted]","odd":"[redacted]"}],"count":1,"truncated":false}`
	for name, test := range map[string]struct {
		answer Answer
		want   string
	}{
		"structured":            {structured(result), redacted},
		"in a text":             {Text(result), redacted},
		"in both":               {Answer{Outcome: engine.Outcome{Content: "token: " + canary}, Structured: json.RawMessage(result)}, redacted},
		"in a text that is not": {Text("the token is " + canary), withheldResult},
		"in a failure":          {Failure(v1alpha1.ErrorTool, result), redacted},
		"in a failure's words":  {Failure(v1alpha1.ErrorTool, "no "+canary), withheldResult},
		"in a picture":          {Answer{Structured: json.RawMessage(result), Blobs: []Blob{{"image/png", []byte(canary)}}}, redacted},
	} {
		t.Run(name, func(t *testing.T) {
			kept := ""
			keep := func(_ context.Context, blob Blob) (string, error) {
				kept += string(blob.Data)
				return "artifact-1", nil
			}
			outcome := call(t, Tool{Executor: answers(test.answer), OutputSchema: json.RawMessage(recordsOutput)}, keep, "{}")
			if strings.Contains(outcome.Content+kept, canary) || test.want != "" && outcome.Content != test.want {
				t.Errorf("content %s, kept %q", outcome.Content, kept)
			}
		})
	}
}

// pager is a tool of numbered pages of one record each.
func pager(pages int, cursor func(page int) string) (Executor, *[]string) {
	var asked []string
	return executorFunc(func(_ context.Context, invocation Invocation) Answer {
		asked = append(asked, string(invocation.Arguments))
		page := len(asked)
		if page == pages {
			return structured(fmt.Sprintf(`{"records":[{"n":%d}],"count":1,"truncated":false}`, page))
		}
		return structured(fmt.Sprintf(`{"records":[{"n":%d}],"count":1,"truncated":true,"next_cursor":%q,"resumable":true}`, page, cursor(page)))
	}), &asked
}

func numbered(page int) string { return fmt.Sprintf("c%d", page) }

// K46 to K50: a cursor is followed up to the tool's bound and passed back as it came.
func TestPages(t *testing.T) {
	for name, test := range map[string]struct {
		pages, bound int
		cursor       func(int) string
		schema       string
		asked        int
		content      string
		warning      string
	}{
		"one page unless more are wanted": {3, 0, numbered, "", 1, `{"records":[{"n":1}],"count":1,"truncated":true,"next_cursor":"c1","resumable":true}`, ""},
		"to the end":                      {3, 5, numbered, "", 3, `{"records":[{"n":1},{"n":2},{"n":3}],"count":3,"truncated":false}`, ""},
		"to the bound":                    {9, 2, numbered, "", 2, `{"records":[{"n":1},{"n":2}],"count":2,"truncated":true,"next_cursor":"c2","resumable":true}`, ""},
		"K51 a cursor that stands still": {9, 9, func(int) string { return "same" }, "", 2,
			`{"records":[{"n":1},{"n":2}],"count":2,"truncated":true,"stop_reason":"cursor_stalled","resumable":false}`, ""},
		"a tool that takes no cursor": {9, 9, numbered, `{"type":"object","additionalProperties":false,"properties":{"q":{}}}`, 1, "", "page 2 could not be read: the tool takes no cursor"},
	} {
		t.Run(name, func(t *testing.T) {
			executor, asked := pager(test.pages, test.cursor)
			outcome := call(t, Tool{Executor: executor, MaxPages: test.bound, InputSchema: json.RawMessage(test.schema)}, nil, `{"q":1}`)
			if len(*asked) != test.asked || len(*asked) > 1 && (*asked)[1] != fmt.Sprintf(`{"cursor":%q,"q":1}`, test.cursor(1)) {
				t.Errorf("asked %q", *asked)
			}
			if test.content != "" && outcome.Content != test.content {
				t.Errorf("content %s", outcome.Content)
			}
			if warned := strings.Join(outcome.Envelope.Warnings, ""); !strings.HasPrefix(warned, test.warning) || test.warning == "" && warned != "" {
				t.Errorf("warned %q", warned)
			}
		})
	}
}

// Only a tool that reads, that nobody must approve and that policy allows is called
// again: an approval holds for the arguments that were shown (P37).
func TestNoPagesBeyondTheApproval(t *testing.T) {
	for name, test := range map[string]struct {
		tool   Tool
		effect bool
	}{
		"an effect":                      {Tool{Class: v1alpha1.ClassReadOnly}, true},
		"a write that may be repeated":   {Tool{Class: v1alpha1.ClassWrite, Idempotent: true}, false},
		"a destructive one":              {Tool{Class: v1alpha1.ClassDestructive, Idempotent: true}, false},
		"one that a person has approved": {Tool{Class: v1alpha1.ClassReadOnly, Idempotent: true, Ask: "always"}, false},
		"a page that policy denies": {Tool{Class: v1alpha1.ClassReadOnly, Idempotent: true, Policy: func(_ context.Context, arguments json.RawMessage) gate.Decision {
			if strings.Contains(string(arguments), "cursor") {
				return gate.Denied("no cursors")
			}
			return gate.Allowed()
		}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			executor, asked := pager(3, numbered)
			test.tool.Name, test.tool.Executor, test.tool.MaxPages = "tool", executor, 5
			set, _ := NewToolSet([]Tool{test.tool}, NewSchemas(), MaxTools)
			execute(t, set, []engine.Execution{{Call: callOf("tool", "{}"), Effect: test.effect}})
			if len(*asked) != 1 {
				t.Errorf("called %d times", len(*asked))
			}
		})
	}
}

// scriptedPages answers with each document in turn.
func scriptedPages(pages ...Answer) Executor {
	n := 0
	return executorFunc(func(context.Context, Invocation) Answer { n++; return pages[min(n, len(pages))-1] })
}

// What the pages say together is what the envelope says, or the first page stands.
func TestPagesThatDoNotFit(t *testing.T) {
	first := structured(`{"records":[1,2],"count":2,"truncated":true,"next_cursor":"b","resumable":true,"total_count":3,"source":{"snapshot":"1"}}`)
	large := `{"records":["` + strings.Repeat("x", 300<<10) + `"],"count":1,"truncated":true,"next_cursor":"%s"}`
	for name, test := range map[string]struct {
		arguments string
		pages     []Answer
		count     int64
		truncated bool
		warning   string
	}{
		"K52 a total that is too small": {"{}", []Answer{first, structured(`{"records":[3,4],"count":2,"truncated":false,"total_count":3}`)}, 4, false, "total count"},
		"K63 another snapshot":          {"{}", []Answer{first, structured(`{"records":[3],"count":1,"truncated":false,"source":{"snapshot":"2"}}`)}, 2, true, "another source"},
		"K51 the cursor that was given": {`{"cursor":"b"}`, []Answer{first}, 2, true, ""},
		"K64 a failure with a secret":   {"{}", []Answer{first, Failure(v1alpha1.ErrorTool, "canary")}, 2, true, "page 2 could not be read: tool_error"},
		"more than can be put aside":    {"{}", []Answer{structured(fmt.Sprintf(large, "b")), structured(fmt.Sprintf(large, "c"))}, 1, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			outcome := call(t, Tool{Executor: scriptedPages(test.pages...), MaxPages: 5}, nil, test.arguments)
			if e := outcome.Envelope; e.Count != test.count || e.Truncated != test.truncated ||
				!strings.Contains(strings.Join(e.Warnings, ""), test.warning) || test.warning == "" && len(e.Warnings) > 0 {
				t.Errorf("envelope %+v", e)
			}
			var read struct {
				Records []json.RawMessage `json:"records"`
				Count   int64             `json:"count"`
			}
			if err := json.Unmarshal([]byte(outcome.Content), &read); err != nil || read.Count != test.count || int64(len(read.Records)) != test.count {
				t.Errorf("content %.300s, %v", outcome.Content, err)
			}
			if strings.Contains(outcome.Content, "canary") {
				t.Error("the words of a failure are in the result")
			}
		})
	}
}

// K64: warnings and reasons that are marked are in no record.
func TestMarkedWarningsAreRedacted(t *testing.T) {
	const output = `{"type":"object","x-sensitivity":"secret"}`
	outcome := call(t, Tool{OutputSchema: json.RawMessage(output), Executor: answers(structured(
		`{"columns":["CANARY"],"rows":[["CANARY"]],"row_count":1,"truncated":true,"stop_reason":"CANARY","warnings":["CANARY"]}`))}, nil, "{}")
	if text := fmt.Sprintf("%+v %+v", outcome, outcome.Envelope); strings.Contains(text, "CANARY") {
		t.Error(text)
	}
}

// A large text and what is no text are put aside, and the model reads a reference
// and the beginning.
func TestArtifacts(t *testing.T) {
	large := strings.Repeat("0123456789", MaxInline/10+1)
	kept := map[string]int{}
	keep := func(_ context.Context, blob Blob) (string, error) {
		kept[blob.MediaType] += len(blob.Data)
		return fmt.Sprintf("artifact-%d", len(blob.Data)), nil
	}
	outcome := call(t, Tool{Executor: answers(Answer{Outcome: engine.Outcome{Content: "a plot"}, Blobs: []Blob{{"image/png", []byte("png")}}})}, keep, "{}")
	if outcome.Content != "a plot\n[image/png, 3 bytes, put aside as artifact artifact-3]" {
		t.Errorf("content %q", outcome.Content)
	}
	outcome = call(t, Tool{Executor: answers(Text(large))}, keep, "{}")
	begins := fmt.Sprintf(`{"artifact":{"reference":"artifact-%d","media_type":"text/plain; charset=utf-8","bytes":%d}`, len(large), len(large))
	if !strings.HasPrefix(outcome.Content, begins) || len(outcome.Content) > MaxInline || !strings.Contains(outcome.Content, large[:excerpt]) {
		t.Errorf("content %.200q of %d bytes", outcome.Content, len(outcome.Content))
	}
	want := []v1alpha1.ArtifactReference{{Reference: fmt.Sprintf("artifact-%d", len(large)), MediaType: "text/plain; charset=utf-8", Bytes: int64(len(large))}}
	if diff := cmp.Diff(want, outcome.Artifacts); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]int{"image/png": 3, "text/plain; charset=utf-8": len(large)}, kept); diff != "" {
		t.Error(diff)
	}
}

// What cannot be kept is named; a text stays as it is.
func TestArtifactThatCannotBeKept(t *testing.T) {
	broken := func(context.Context, Blob) (string, error) { return "", errors.New("no room") }
	large := strings.Repeat("x", MaxInline+1)
	for name, test := range map[string]struct {
		answer Answer
		keep   Keep
		want   string
	}{
		"a failure":     {Answer{Blobs: []Blob{{"image/png", []byte("png")}}}, broken, "[image/png, 3 bytes, left out: no room]"},
		"no place":      {Answer{Blobs: []Blob{{"image/png", []byte("png")}}}, nil, "[image/png, 3 bytes, left out: it is not text]"},
		"too large":     {Answer{Blobs: []Blob{{"image/png", make([]byte, MaxArtifact+1)}}}, broken, fmt.Sprintf("[image/png, %d bytes, left out: an artifact has %d bytes at most]", MaxArtifact+1, MaxArtifact)},
		"a large text":  {Text(large), broken, large},
		"a large error": {Failure(v1alpha1.ErrorTool, large), broken, large},
	} {
		t.Run(name, func(t *testing.T) {
			if outcome := call(t, Tool{Executor: answers(test.answer)}, test.keep, "{}"); outcome.Content != test.want || outcome.Artifacts != nil {
				t.Errorf("content %.200q, artifacts %v", outcome.Content, outcome.Artifacts)
			}
		})
	}
}
