// SPDX-License-Identifier: Apache-2.0

package tools

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/credentials"
	"remit.dev/remit/internal/gate"
	"remit.dev/remit/internal/mcp"
	"remit.dev/remit/internal/pipeline"
	"remit.dev/remit/internal/schema"
)

func TestResultText(t *testing.T) {
	text := func(s string) mcp.Content { return mcp.Content{Type: mcp.ContentText, Text: s} }
	for name, test := range map[string]struct {
		result mcp.Result
		want   string
	}{
		"text":                       {mcp.Result{Content: []mcp.Content{text("a"), text("b")}}, "a\nb"},
		"text beside structure":      {mcp.Result{Content: []mcp.Content{text(`{"a":1}`)}, Structured: json.RawMessage(`{"a":1}`)}, `{"a":1}`},
		"structure alone":            {mcp.Result{Structured: json.RawMessage(`{"big":9007199254740993}`)}, `{"big":9007199254740993}`},
		"an image is named":          {mcp.Result{Content: []mcp.Content{{Type: mcp.ContentImage, MIMEType: "image/png", Data: "AAAA"}}}, "[image, image/png, left out: it is not text]"},
		"a text resource":            {mcp.Result{Content: []mcp.Content{{Type: mcp.ContentResource, URI: "file:///a", Text: "inside"}}}, "inside"},
		"a binary resource is named": {mcp.Result{Content: []mcp.Content{{Type: mcp.ContentResource, URI: "file:///a", MIMEType: "application/pdf", Data: "AAAA"}}}, "[resource file:///a, application/pdf, left out: it is not text]"},
		"a link":                     {mcp.Result{Content: []mcp.Content{{Type: mcp.ContentResourceLink, URI: "file:///a", Name: "A"}}}, "[link to resource file:///a: A]"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := resultText(test.result); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
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
