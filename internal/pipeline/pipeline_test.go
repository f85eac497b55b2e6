// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/engine"
)

const digestA v1alpha1.Digest = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

// executorFunc is an Executor made of a function.
type executorFunc func(context.Context, Invocation) Answer

func (f executorFunc) Execute(ctx context.Context, invocation Invocation) Answer {
	return f(ctx, invocation)
}

// execute prepares and makes calls, as a step of a Run does.
func execute(t *testing.T, set *ToolSet, calls []engine.Execution) []engine.Outcome {
	t.Helper()
	if refused := set.Prepare(t.Context(), calls); len(refused) > 0 {
		t.Fatalf("refused: %+v", refused)
	}
	return set.Execute(t.Context(), "uid", calls)
}

func refundTool() Tool {
	return Tool{
		Name:        "desk__refund_order",
		InputSchema: json.RawMessage(`{"type":"object","required":["cents"],"properties":{"cents":{"type":"integer","minimum":1}}}`),
		Definition:  digestA,
		Class:       v1alpha1.ClassDestructive,
		Ask:         "class Destructive, matched by @destructive",
	}
}

func callOf(tool, arguments string) v1alpha1.CallRecord {
	return v1alpha1.CallRecord{ID: "call-0123456789abcdef", Tool: tool, Arguments: arguments}
}

func TestJudge(t *testing.T) {
	set, findings := NewToolSet([]Tool{refundTool()}, NewSchemas(), MaxTools)
	if findings != nil {
		t.Fatal(findings)
	}
	for name, test := range map[string]struct {
		call    v1alpha1.CallRecord
		refusal v1alpha1.ErrorKind
		says    string
	}{
		"I6 an unknown name":           {callOf("desk__refund", `{"cents":1}`), v1alpha1.ErrorUnknownTool, `"desk__refund"`},
		"the name of another grant":    {callOf("refund_order", `{"cents":1}`), v1alpha1.ErrorUnknownTool, "exact name"},
		"arguments that are no JSON":   {callOf("desk__refund_order", `{cents:1}`), v1alpha1.ErrorInvalidArguments, "not made"},
		"arguments that are no object": {callOf("desk__refund_order", `[1]`), v1alpha1.ErrorInvalidArguments, "JSON object"},
		"C a duplicate key":            {callOf("desk__refund_order", `{"cents":1,"cents":100000}`), v1alpha1.ErrorInvalidArguments, "cents"},
		"N16 a value out of bounds":    {callOf("desk__refund_order", `{"cents":0}`), v1alpha1.ErrorInvalidArguments, "/cents"},
		"N16 no arguments at all":      {callOf("desk__refund_order", ``), v1alpha1.ErrorInvalidArguments, "cents"},
		"arguments that fit":           {callOf("desk__refund_order", ` {"cents" : 1.0} `), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			judgement := set.Judge(t.Context(), test.call)
			if test.refusal == "" {
				if judgement.Refusal != nil {
					t.Fatalf("refused: %+v", judgement.Refusal)
				}
				return
			}
			if judgement.Refusal == nil || judgement.Refusal.Kind != test.refusal || !strings.Contains(judgement.Refusal.Message, test.says) {
				t.Fatalf("got %+v, want %s that says %q", judgement.Refusal, test.refusal, test.says)
			}
		})
	}
}

func TestJudgeShowsWhatAPersonDecidesOn(t *testing.T) {
	set, _ := NewToolSet([]Tool{refundTool()}, NewSchemas(), MaxTools)
	got := set.Judge(t.Context(), callOf("desk__refund_order", `{"note":"x","cents":1.0}`))
	same := set.Judge(t.Context(), callOf("desk__refund_order", `{"cents":1,"note":"x"}`))
	want := engine.Judgement{
		Ask: "class Destructive, matched by @destructive", Effect: true,
		Tool: "desk__refund_order", Class: v1alpha1.ClassDestructive, DefinitionDigest: digestA,
		ArgumentsDigest: same.ArgumentsDigest,
		Arguments:       "{\n  \"cents\": 1,\n  \"note\": \"x\"\n}",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if other := set.Judge(t.Context(), callOf("desk__refund_order", `{"cents":2,"note":"x"}`)); other.ArgumentsDigest == got.ArgumentsDigest {
		t.Error("two different arguments have one digest")
	}
}

func TestToolSetLeavesOutWhatCannotBeJudged(t *testing.T) {
	named := func(name, schema string, definition v1alpha1.Digest) Tool {
		return Tool{Name: name, InputSchema: json.RawMessage(schema), Definition: definition}
	}
	set, findings := NewToolSet([]Tool{
		named("a", `{"type":"object"}`, "sha256:1"),
		named("twice", `{"type":"object"}`, "sha256:2"),
		named("broken", `{"type":"objekt"}`, "sha256:3"),
		named("twice", `{"type":"object"}`, "sha256:4"),
		named("twice", `{"type":"object"}`, "sha256:5"),
		named("b", ``, "sha256:6"),
	}, NewSchemas(), MaxTools)
	var names []string
	for _, tool := range set.Prompt() {
		names = append(names, tool.Name)
	}
	if diff := cmp.Diff([]string{"a", "b"}, names); diff != "" {
		t.Error(diff)
	}
	if len(findings) != 2 || !strings.Contains(findings[0], "broken") || !strings.Contains(findings[1], "twice") {
		t.Errorf("findings: %q", findings)
	}
	for _, name := range []string{"twice", "broken"} {
		if set.Judge(t.Context(), callOf(name, "{}")).Refusal == nil || set.Definition(name) != "" {
			t.Errorf("%s can be called", name)
		}
	}
}

func TestAStepHasABoundedNumberOfTools(t *testing.T) {
	many := make([]Tool, MaxTools+1)
	for i := range many {
		many[i] = Tool{Name: fmt.Sprintf("t%d", i)}
	}
	set, findings := NewToolSet(many, NewSchemas(), MaxTools)
	if len(set.Prompt()) != MaxTools || len(findings) != 1 {
		t.Fatalf("%d tools and %d findings", len(set.Prompt()), len(findings))
	}
	if set.Judge(t.Context(), callOf(fmt.Sprintf("t%d", MaxTools), "{}")).Refusal == nil {
		t.Error("the tool beyond the bound can be called")
	}
}

// An effect runs alone: what comes before it has ended, what comes after has not
// begun. The trace of begins and ends shows it.
func TestEffectsRunAlone(t *testing.T) {
	var mu sync.Mutex
	var running, most int
	alone := true
	observe := func(effect bool) executorFunc {
		return func(context.Context, Invocation) Answer {
			mu.Lock()
			running++
			most = max(most, running)
			alone = alone && (!effect || running == 1)
			mu.Unlock()
			defer func() { mu.Lock(); running--; mu.Unlock() }()
			return Text("done")
		}
	}
	set, _ := NewToolSet([]Tool{
		{Name: "read", Idempotent: true, Executor: observe(false)},
		{Name: "write", Executor: observe(true)},
	}, NewSchemas(), MaxTools)
	var calls []engine.Execution
	for i := range 200 {
		call := callOf([]string{"read", "write"}[i%5/4], "{}")
		call.ID = v1alpha1.CallID(fmt.Sprintf("call-%d", i))
		calls = append(calls, engine.Execution{Call: call, Effect: call.Tool == "write"})
	}
	outcomes := execute(t, set, calls)
	if slices.ContainsFunc(outcomes, func(o engine.Outcome) bool { return o.Content != "done" }) {
		t.Error("a call has no outcome")
	}
	if !alone || most > MaxParallel {
		t.Errorf("an effect ran alone: %t; at most %d calls ran at a time", alone, most)
	}
}

func TestExecutorGetsCanonicalArgumentsAndAStableKey(t *testing.T) {
	var got []Invocation
	tool := refundTool()
	tool.Executor = executorFunc(func(_ context.Context, invocation Invocation) Answer {
		got = append(got, invocation)
		return Answer{}
	})
	execution := engine.Execution{Call: callOf("desk__refund_order", `{ "cents": 4.2e3 }`), Effect: true}
	for range 2 { // two replicas
		set, _ := NewToolSet([]Tool{tool}, NewSchemas(), MaxTools)
		execute(t, set, []engine.Execution{execution})
	}
	if string(got[0].Arguments) != `{"cents":4200}` || got[0].Idempotent {
		t.Errorf("got %+v", got[0])
	}
	if got[0].IdempotencyKey == "" || got[0].IdempotencyKey != got[1].IdempotencyKey {
		t.Errorf("keys %q and %q", got[0].IdempotencyKey, got[1].IdempotencyKey)
	}
}

func TestAPanicBecomesAnOutcome(t *testing.T) {
	fault := executorFunc(func(context.Context, Invocation) Answer { panic("no such index") })
	set, _ := NewToolSet([]Tool{{Name: "read", Idempotent: true, Executor: fault}, {Name: "write", Executor: fault}}, NewSchemas(), MaxTools)
	outcomes := execute(t, set, []engine.Execution{
		{Call: callOf("read", "{}")}, {Call: callOf("write", "{}"), Effect: true}})
	kinds := []v1alpha1.ErrorKind{outcomes[0].Error, outcomes[1].Error}
	if diff := cmp.Diff([]v1alpha1.ErrorKind{v1alpha1.ErrorTool, v1alpha1.ErrorOutcomeUnknown}, kinds); diff != "" {
		t.Error(diff)
	}
}
