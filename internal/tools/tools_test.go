// SPDX-License-Identifier: Apache-2.0

package tools

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/credentials"
	"remit.dev/remit/internal/engine"
	"remit.dev/remit/internal/gate"
	"remit.dev/remit/internal/mcp"
	"remit.dev/remit/internal/octool"
	"remit.dev/remit/internal/pipeline"
	"remit.dev/remit/internal/schema"
)

func TestResultText(t *testing.T) {
	text := func(s string) mcp.Content { return mcp.Content{Type: mcp.ContentText, Text: s} }
	for name, test := range map[string]struct {
		result mcp.Result
		want   string
	}{
		"text":                     {mcp.Result{Content: []mcp.Content{text("a"), text("b")}}, "a\nb"},
		"text beside structure":    {mcp.Result{Content: []mcp.Content{text(`{"a":1}`)}, Structured: json.RawMessage(`{"a":1}`)}, `{"a":1}`},
		"structure alone":          {mcp.Result{Structured: json.RawMessage(`{"big":9007199254740993}`)}, ""},
		"an image is a blob":       {mcp.Result{Content: []mcp.Content{{Type: mcp.ContentImage, MIMEType: "image/png", Data: "AAAA"}}}, ""},
		"a block of another type":  {mcp.Result{Content: []mcp.Content{{Type: "hologram"}}}, "[hologram, , left out: it is not text]"},
		"a text resource":          {mcp.Result{Content: []mcp.Content{{Type: mcp.ContentResource, URI: "file:///a", Text: "inside"}}}, "inside"},
		"a binary resource is one": {mcp.Result{Content: []mcp.Content{{Type: mcp.ContentResource, URI: "file:///a", MIMEType: "application/pdf", Data: "AAAA"}}}, ""},
		"a link":                   {mcp.Result{Content: []mcp.Content{{Type: mcp.ContentResourceLink, URI: "file:///a", Name: "A"}}}, "[link to resource file:///a: A]"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := resultText(test.result); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// What is no text is kept as the bytes that were sent.
func TestBlobs(t *testing.T) {
	got := blobs(mcp.Result{Content: []mcp.Content{
		{Type: mcp.ContentText, Text: "a plot"},
		{Type: mcp.ContentImage, MIMEType: "image/png", Data: "cG5n"},
		{Type: mcp.ContentResource, MIMEType: "application/pdf", Data: "not base64!"},
	}})
	want := []pipeline.Blob{{MediaType: "image/png", Data: []byte("png")}, {MediaType: "application/pdf", Data: []byte("not base64!")}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFailuresKeepWhatTheyMeanForTheEffect(t *testing.T) {
	for kind, want := range map[mcp.ErrorKind]v1alpha1.ErrorKind{
		mcp.OutcomeUnknown: v1alpha1.ErrorOutcomeUnknown,
		mcp.Unreachable:    v1alpha1.ErrorServerUnavailable,
		mcp.SessionLost:    v1alpha1.ErrorServerUnavailable,
		mcp.Unauthorized:   v1alpha1.ErrorUnauthorized,
		mcp.Timeout:        v1alpha1.ErrorTimeout,
		mcp.Canceled:       v1alpha1.ErrorCancelled,
		mcp.Rejected:       v1alpha1.ErrorTool,
		mcp.Protocol:       v1alpha1.ErrorBadResult,
		mcp.TooLarge:       v1alpha1.ErrorBadResult,
		"SomethingNew":     v1alpha1.ErrorOutcomeUnknown,
	} {
		outcome := failedCall(&mcp.Error{Kind: kind, Server: "catalogue/desk", Detail: "why"})
		if outcome.Error != want || outcome.Content == "" {
			t.Errorf("%s: got %+v, want %s with a message", kind, outcome, want)
		}
	}
	if outcome := failedCall(errors.New("anything")); outcome.Error != v1alpha1.ErrorOutcomeUnknown {
		t.Errorf("an unknown error: %+v", outcome)
	}
}

func TestACredentialThatCannotBeReadSendsNothing(t *testing.T) {
	tool := &MCPTool{Target: func(context.Context) (mcp.Target, error) {
		return mcp.Target{}, &credentials.Error{Reason: v1alpha1.ReasonCredentialMissing, Detail: `Secret "desk" does not exist`}
	}}
	outcome := tool.Execute(t.Context(), pipeline.Invocation{})
	if outcome.Error != v1alpha1.ErrorUnauthorized || outcome.Content != `Secret "desk" does not exist` {
		t.Errorf("got %+v", outcome)
	}
}

func TestFunctionsAreUsable(t *testing.T) {
	functions := NewFunctions(func() time.Time { return time.Date(2026, 2, 3, 4, 5, 6, 0, time.FixedZone("", 3600)) })
	for _, name := range functions.Names() {
		function, ok := functions.Find(name)
		if !ok || !functions.Has(name) || function.Description == "" {
			t.Errorf("%s: %+v", name, function)
		}
		if _, err := schema.Compile(function.InputSchema); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	now, _ := functions.Find("current_time")
	if got := now.Executor.Execute(t.Context(), pipeline.Invocation{}).Content; got != `{"time":"2026-02-03T03:05:06Z"}` {
		t.Errorf("current_time gives %s", got)
	}
	if gate.Classify(now.Hints) != v1alpha1.ClassReadOnly {
		t.Error("reading the clock is not read-only")
	}
	if functions.Has("rm") {
		t.Error("there is a function rm")
	}
}

// TestFunctionsFailAsTheyAre (J20): what the arguments are to blame for is told
// from what the function is.
func TestFunctionsFailAsTheyAre(t *testing.T) {
	executor := func(result string, err error) pipeline.Executor {
		tool, problem := octool.New(octool.Definition{
			Name: "probe", Description: "Fails. Or not.", Access: octool.AccessLocal, InputSchema: json.RawMessage(`{"type":"object"}`),
			Func: func(context.Context, any, json.RawMessage) (json.RawMessage, error) {
				return json.RawMessage(result), err
			},
		})
		if problem != nil {
			t.Fatal(problem)
		}
		return functionExecutor{tool}
	}
	for name, test := range map[string]struct {
		executor pipeline.Executor
		want     engine.Outcome
	}{
		"a result":         {executor(`{"a":9007199254740993}`, nil), engine.Outcome{Content: `{"a":9007199254740993}`}},
		"an argument":      {executor("", &octool.ArgumentError{Argument: "/zone", Message: "no"}), engine.Outcome{Error: v1alpha1.ErrorInvalidArguments, Content: "/zone: no"}},
		"its own failure":  {executor("", errors.New("broken")), engine.Outcome{Error: v1alpha1.ErrorTool, Content: "broken"}},
		"out of time":      {executor("", context.DeadlineExceeded), engine.Outcome{Error: v1alpha1.ErrorTimeout, Content: "context deadline exceeded"}},
		"cancelled":        {executor("", context.Canceled), engine.Outcome{Error: v1alpha1.ErrorCancelled, Content: "context canceled"}},
		"no object at all": {executor("null", nil), engine.Outcome{Error: v1alpha1.ErrorTool, Content: `result: tool "probe": it must be a JSON object: it is null`}},
	} {
		t.Run(name, func(t *testing.T) {
			got := test.executor.Execute(t.Context(), pipeline.Invocation{Arguments: json.RawMessage(`{}`)})
			if diff := cmp.Diff(test.want, got.Outcome); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestHintsOfDescriptors (J12, J13, P17): the defaults are those of a function that
// only reads, and a claim to destroy is believed beside any other.
func TestHintsOfDescriptors(t *testing.T) {
	yes, no := true, false
	for name, test := range map[string]struct {
		readOnly, destructive, idempotent *bool
		class                             v1alpha1.ToolClass
		twice                             bool
	}{
		"the defaults":               {nil, nil, nil, v1alpha1.ClassReadOnly, true},
		"read-only, yet it destroys": {&yes, &yes, &no, v1alpha1.ClassDestructive, false},
		"it writes":                  {&no, nil, nil, v1alpha1.ClassWrite, true},
		"it writes, each time":       {&no, nil, &no, v1alpha1.ClassWrite, false},
		"it destroys":                {&no, &yes, &no, v1alpha1.ClassDestructive, false},
	} {
		t.Run(name, func(t *testing.T) {
			tool, err := octool.New(octool.Definition{
				Name: "probe", Description: "Probes. Or not.", Access: octool.AccessRemote, InputSchema: json.RawMessage(`{"type":"object"}`),
				ReadOnlyHint: test.readOnly, DestructiveHint: test.destructive, IdempotentHint: test.idempotent,
				Func: func(context.Context, any, json.RawMessage) (json.RawMessage, error) { return nil, nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			hints := hintsOf(tool)
			if class, twice := gate.Classify(hints), gate.Idempotent(hints); class != test.class || twice != test.twice {
				t.Errorf("got %s, twice %t", class, twice)
			}
		})
	}
}
