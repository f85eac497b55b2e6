// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/engine"
)

// catalogueOf makes tools desk__t0, desk__t1, … of which the first ones are preloaded.
func catalogueOf(n, preloaded int) []Tool {
	tools := make([]Tool, n)
	for i := range tools {
		tools[i] = Tool{Name: fmt.Sprintf("desk__t%d", i), Definition: v1alpha1.Digest(fmt.Sprintf("sha256:%d", i)), Preloaded: i < preloaded}
	}
	return tools
}

func promptNames(set *ToolSet) []string {
	var names []string
	for _, tool := range set.Prompt() {
		names = append(names, tool.Name)
	}
	return names
}

// P25: tools are deferred where there are more than the bound, and those that are
// preloaded stay in the prompt.
func TestDeferral(t *testing.T) {
	for name, test := range map[string]struct {
		tools []Tool
		want  []string
	}{
		"none":                   {nil, nil},
		"as many as the bound":   {catalogueOf(3, 0), []string{"desk__t0", "desk__t1", "desk__t2"}},
		"one more":               {catalogueOf(4, 1), []string{"desk__t0", SearchTools, CallTool}},
		"one more, none of them": {catalogueOf(4, 0), []string{SearchTools, CallTool}},
		"all are preloaded":      {catalogueOf(4, 4), []string{"desk__t0", "desk__t1", "desk__t2", "desk__t3"}},
	} {
		t.Run(name, func(t *testing.T) {
			set, _ := NewToolSet(test.tools, NewSchemas(), 3)
			if diff := cmp.Diff(test.want, promptNames(set)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// G8: what call_tool names is what is judged and recorded; what names nothing is
// refused as it is.
func TestUnwrap(t *testing.T) {
	tools := catalogueOf(3, 0)
	tools[1].Ask, tools[1].Class, tools[1].Definition = "the Grant always asks for t1", v1alpha1.ClassDestructive, digestA
	set, _ := NewToolSet(tools, NewSchemas(), 1)
	for name, test := range map[string]struct {
		tool, arguments string
		want            engine.ModelCall
		refusal         v1alpha1.ErrorKind
		ask             string
	}{
		"a tool": {CallTool, `{"name":"desk__t1","arguments":{"a": 1}}`,
			engine.ModelCall{Tool: "desk__t1", Arguments: `{"a":1}`, Via: v1alpha1.ViaCallTool}, "", "the Grant always asks for t1"},
		"without arguments": {CallTool, `{"name":"desk__t0"}`,
			engine.ModelCall{Tool: "desk__t0", Arguments: `{}`, Via: v1alpha1.ViaCallTool}, "", ""},
		"a direct call": {"desk__t1", `{}`, engine.ModelCall{Tool: "desk__t1", Arguments: `{}`}, "", "the Grant always asks for t1"},
		"G9 a tool that is none": {CallTool, `{"name":"desk__drop_all"}`,
			engine.ModelCall{Tool: "desk__drop_all", Arguments: `{}`, Via: v1alpha1.ViaCallTool}, v1alpha1.ErrorUnknownTool, ""},
		"itself": {CallTool, `{"name":"call_tool","arguments":{"name":"desk__t1"}}`,
			engine.ModelCall{Tool: CallTool, Arguments: `{"name":"call_tool","arguments":{"name":"desk__t1"}}`}, v1alpha1.ErrorInvalidArguments, ""},
		"no name":      {CallTool, `{}`, engine.ModelCall{Tool: CallTool, Arguments: `{}`}, v1alpha1.ErrorInvalidArguments, ""},
		"no JSON":      {CallTool, `{`, engine.ModelCall{Tool: CallTool, Arguments: `{`}, v1alpha1.ErrorInvalidArguments, ""},
		"an empty one": {CallTool, `{"name":""}`, engine.ModelCall{Tool: CallTool, Arguments: `{"name":""}`}, v1alpha1.ErrorInvalidArguments, ""},
		"arguments that are text": {CallTool, `{"name":"desk__t1","arguments":"{}"}`,
			engine.ModelCall{Tool: CallTool, Arguments: `{"name":"desk__t1","arguments":"{}"}`}, v1alpha1.ErrorInvalidArguments, ""},
		"two names": {CallTool, `{"name":"desk__t0","name":"desk__t1"}`,
			engine.ModelCall{Tool: CallTool, Arguments: `{"name":"desk__t0","name":"desk__t1"}`}, v1alpha1.ErrorInvalidArguments, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := set.Unwrap(engine.ModelCall{Tool: test.tool, Arguments: test.arguments})
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			judgement := set.Judge(t.Context(), v1alpha1.CallRecord{Tool: got.Tool, Arguments: got.Arguments, Via: got.Via})
			var refusal v1alpha1.ErrorKind
			if judgement.Refusal != nil {
				refusal = judgement.Refusal.Kind
			}
			if refusal != test.refusal || judgement.Ask != test.ask {
				t.Errorf("refused as %q and asked because %q, want %q and %q", refusal, judgement.Ask, test.refusal, test.ask)
			}
			if refusal == v1alpha1.ErrorUnknownTool && judgement.Class != v1alpha1.ClassDestructive {
				t.Errorf("class %s", judgement.Class)
			}
		})
	}
}

// A model that was given no call_tool does not get round anything by its name.
func TestCallToolWithoutDeferral(t *testing.T) {
	set, _ := NewToolSet(catalogueOf(1, 0), NewSchemas(), 1)
	call := engine.ModelCall{Tool: CallTool, Arguments: `{"name":"desk__t0"}`}
	if diff := cmp.Diff(call, set.Unwrap(call)); diff != "" {
		t.Error(diff)
	}
	if refusal := set.Judge(t.Context(), callOf(CallTool, `{"name":"desk__t0"}`)).Refusal; refusal == nil || refusal.Kind != v1alpha1.ErrorUnknownTool {
		t.Errorf("refused with %+v", refusal)
	}
}

func TestSearch(t *testing.T) {
	set, _ := NewToolSet([]Tool{
		{Name: "desk__refund_order", Description: "Gives the money of an order back.", Class: v1alpha1.ClassDestructive, Ask: "asked"},
		{Name: "desk__listOrders", Description: "Lists what a customer bought.", Class: v1alpha1.ClassReadOnly,
			InputSchema: json.RawMessage(`{"type":"object"}`)},
		{Name: "wiki__search", Description: "Searches pages about refunds and orders.", Class: v1alpha1.ClassReadOnly},
		{Name: "wiki__preloaded_refund", Preloaded: true},
	}, NewSchemas(), 0)
	for name, test := range map[string]struct {
		query string
		want  []string
	}{
		"a word of a name first":        {"refund", []string{"desk__refund_order", "wiki__search"}},
		"a capital begins a word":       {"orders", []string{"desk__listOrders", "desk__refund_order", "wiki__search"}},
		"words of a description":        {"customer bought", []string{"desk__listOrders"}},
		"the exact name beats the rest": {"wiki__search", []string{"wiki__search"}},
		"nothing":                       {"weather", nil},
		"no words":                      {"?!", nil},
	} {
		t.Run(name, func(t *testing.T) {
			answer := search(t, set, map[string]any{"query": test.query})
			var names []string
			for _, record := range answer.Records {
				names = append(names, record.Name)
			}
			if diff := cmp.Diff(test.want, names); diff != "" {
				t.Error(diff)
			}
		})
	}
	first := search(t, set, map[string]any{"query": "refund_order", "limit": 1})
	want := found{Count: 1, Truncated: true, TotalCount: 3, Resumable: new(bool), Records: []foundTool{{
		Name: "desk__refund_order", Description: "Gives the money of an order back.", Class: v1alpha1.ClassDestructive,
		NeedsApproval: true, InputSchema: json.RawMessage(`{"type":"object"}`)}}}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Error(diff)
	}
}

// An answer keeps below the bound on a result, and shows at least one tool.
func TestSearchIsBounded(t *testing.T) {
	large := json.RawMessage(`{"type":"object","description":"` + strings.Repeat("x", 40<<10) + `"}`)
	tools := catalogueOf(20, 0)
	for i := range tools {
		tools[i].Description, tools[i].InputSchema = "a tool", large
	}
	set, _ := NewToolSet(tools, NewSchemas(), 0)
	answer := search(t, set, map[string]any{"query": "tool", "limit": 20})
	if answer.Count != 2 || len(answer.Records) != 2 || !answer.Truncated || answer.TotalCount != 20 {
		t.Errorf("%d records, count %d of %d, truncated %t", len(answer.Records), answer.Count, answer.TotalCount, answer.Truncated)
	}
}

func search(t *testing.T, set *ToolSet, arguments map[string]any) found {
	t.Helper()
	text, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	outcome := execute(t, set, []engine.Execution{{Call: callOf(SearchTools, string(text))}})[0]
	if outcome.Error != "" {
		t.Fatalf("%s: %s", outcome.Error, outcome.Content)
	}
	var answer found
	if err := json.Unmarshal([]byte(outcome.Content), &answer); err != nil {
		t.Fatal(err)
	}
	return answer
}
