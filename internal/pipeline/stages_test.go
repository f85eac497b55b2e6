// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/engine"
	"remit.dev/remit/internal/gate"
)

// locked is an executor whose credential may be missing.
type locked struct{ failure *engine.Failure }

func (l locked) Prepare(context.Context) (Executor, *engine.Failure) {
	return executorFunc(func(context.Context, Invocation) Answer { return Text("done") }), l.failure
}

func (locked) Execute(context.Context, Invocation) Answer {
	panic("it was not prepared")
}

// P26: where each failure stops a call, so that the trace proves which stages it
// has passed; what stops before the watermark is never executed.
func TestTrace(t *testing.T) {
	verdict := func(v gate.Verdict, reason string) Policy {
		return func(context.Context, json.RawMessage) gate.Decision { return gate.Decision{Verdict: v, Reason: reason} }
	}
	plain := func(tool Tool) Tool {
		tool.Name, tool.Executor = "tool", locked{}
		tool.InputSchema = json.RawMessage(`{"type":"object","maxProperties":0}`)
		return tool
	}
	for name, test := range map[string]struct {
		tool      Tool
		call      string
		arguments string
		stage     v1alpha1.Stage
		kind      v1alpha1.ErrorKind
	}{
		"nobody gives the name":      {plain(Tool{}), "other", "{}", v1alpha1.StageResolve, v1alpha1.ErrorUnknownTool},
		"it was narrowed away":       {plain(Tool{}), "taken", "{}", v1alpha1.StageNarrow, v1alpha1.ErrorUnknownTool},
		"no JSON":                    {plain(Tool{}), "tool", "{", v1alpha1.StageDecode, v1alpha1.ErrorInvalidArguments},
		"no fit":                     {plain(Tool{}), "tool", `{"a":1}`, v1alpha1.StageValidate, v1alpha1.ErrorInvalidArguments},
		"H33 policy denies":          {plain(Tool{Policy: verdict(gate.Deny, "not on Sundays")}), "tool", "{}", v1alpha1.StagePolicy, v1alpha1.ErrorDenied},
		"H37 policy does not answer": {plain(Tool{Policy: func(context.Context, json.RawMessage) (d gate.Decision) { return d }}), "tool", "{}", v1alpha1.StagePolicy, v1alpha1.ErrorDenied},
		"no credential": {func() Tool {
			tool := plain(Tool{})
			tool.Executor = locked{&engine.Failure{Kind: v1alpha1.ErrorUnauthorized, Message: "there is no Secret"}}
			return tool
		}(), "tool", "{}", v1alpha1.StageCredential, v1alpha1.ErrorUnauthorized},
		"nothing stops it": {plain(Tool{Policy: verdict(gate.Allow, "")}), "tool", "{}", v1alpha1.StageRecord, ""},
	} {
		t.Run(name, func(t *testing.T) {
			set, _ := NewToolSet([]Tool{test.tool}, NewSchemas(), MaxTools)
			set.IsNarrowed = func(name string) bool { return name == "taken" }
			calls := []engine.Execution{{Call: callOf(test.call, test.arguments), Effect: true}}
			refused := set.Prepare(t.Context(), calls)
			outcome, ok := refused[calls[0].Call.ID]
			if !ok {
				outcome = set.Execute(t.Context(), "uid", calls)[0]
			}
			if outcome.Error != test.kind {
				t.Errorf("outcome %+v", outcome)
			}
			want := []v1alpha1.TraceEntry{{ID: calls[0].Call.ID, Stage: test.stage, Error: test.kind}}
			if diff := cmp.Diff(want, set.Trace()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A call that waits for a person has reached approve and nothing after it.
func TestPolicyAsks(t *testing.T) {
	tool := refundTool()
	tool.Ask = ""
	tool.Policy = func(_ context.Context, arguments json.RawMessage) gate.Decision {
		if string(arguments) == `{"cents":400001}` {
			return gate.Asked("more than 4,000 euros")
		}
		return gate.Allowed()
	}
	set, _ := NewToolSet([]Tool{tool}, NewSchemas(), MaxTools)
	for arguments, want := range map[string]string{`{"cents":400001}`: "more than 4,000 euros", `{"cents":400000}`: ""} {
		if got := set.Judge(t.Context(), callOf("desk__refund_order", arguments)); got.Ask != want || got.Refusal != nil {
			t.Errorf("%s: asked because %q, refused %v", arguments, got.Ask, got.Refusal)
		}
	}
	for _, entry := range set.Trace() {
		if entry.Stage != v1alpha1.StageApprove || entry.Error != "" {
			t.Errorf("%+v", entry)
		}
	}
}

// A call that is made twice in one step is made once.
func TestDedupe(t *testing.T) {
	made := 0
	tool := refundTool()
	tool.Executor = executorFunc(func(context.Context, Invocation) Answer { made++; return Text("done") })
	set, _ := NewToolSet([]Tool{tool}, NewSchemas(), MaxTools)
	calls := []engine.Execution{{Call: callOf("desk__refund_order", `{"cents":1}`), Effect: true}}
	execute(t, set, calls)
	refused := set.Prepare(t.Context(), calls)
	if got := refused[calls[0].Call.ID]; made != 1 || got.Error != v1alpha1.ErrorOutcomeUnknown {
		t.Errorf("made %d times; the second time %+v", made, got)
	}
}

// P27: the newest 256 entries stay.
func TestTraceIsCapped(t *testing.T) {
	var trace []v1alpha1.TraceEntry
	for i := range 300 {
		trace = AppendTrace(trace, []v1alpha1.TraceEntry{{ID: v1alpha1.CallID(fmt.Sprint(i))}})
	}
	if len(trace) != 256 || trace[0].ID != "44" || trace[255].ID != "299" {
		t.Errorf("%d entries, from %s to %s", len(trace), trace[0].ID, trace[len(trace)-1].ID)
	}
}
