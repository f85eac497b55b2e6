// SPDX-License-Identifier: Apache-2.0

package tools

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/schema"
)

func TestRunSubagentTakesACallOfOneOfThem(t *testing.T) {
	tool := RunSubagent([]v1alpha1.Subagent{{Name: "refunds", Description: "Pays money back."}, {Name: "search", Description: "Finds orders."}})
	if !tool.Delegated || !tool.Idempotent || !tool.Preloaded || tool.Ask != "" || tool.Executor != nil || tool.Class != v1alpha1.ClassReadOnly {
		t.Errorf("the tool is %+v", tool)
	}
	if !strings.HasSuffix(tool.Description, "\n- refunds: Pays money back.\n- search: Finds orders.") {
		t.Errorf("the description is %q", tool.Description)
	}
	compiled, err := schema.Compile(tool.InputSchema)
	if err != nil {
		t.Fatal(err)
	}
	for arguments, fits := range map[string]bool{
		`{"name":"refunds","input":"Pay A-1 back."}`:                             true,
		`{"name":"nobody","input":"Pay A-1 back."}`:                              false,
		`{"name":"refunds"}`:                                                     false,
		`{"name":"refunds","input":""}`:                                          false,
		`{"name":"refunds","input":"x","as":"admin"}`:                            false,
		fmt.Sprintf(`{"name":"refunds","input":%q}`, strings.Repeat("x", 16384)): true,
		fmt.Sprintf(`{"name":"refunds","input":%q}`, strings.Repeat("x", 16385)): false,
	} {
		if err := compiled.Validate([]byte(arguments)); (err == nil) != fits {
			t.Errorf("%.60s: %v", arguments, err)
		}
	}
	call, err := ReadSubagentCall(`{"input":"Pay\nit back.","name":"refunds"}`)
	if diff := cmp.Diff(SubagentCall{Name: "refunds", Input: "Pay\nit back."}, call); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := ReadSubagentCall(`["refunds"]`); err == nil {
		t.Error("arguments that are no object were read")
	}
}

// The definition changes with whom the agent may call and with what it is told of them.
func TestRunSubagentDefinition(t *testing.T) {
	one := []v1alpha1.Subagent{{Name: "refunds", Description: "Pays money back."}}
	seen := map[v1alpha1.Digest]string{}
	for name, subagents := range map[string][]v1alpha1.Subagent{
		"one": one, "another name": {{Name: "refund", Description: "Pays money back."}},
		"another description": {{Name: "refunds", Description: "Pays."}}, "two": append(one, v1alpha1.Subagent{Name: "search", Description: "Finds."}),
	} {
		digest := RunSubagent(subagents).Definition
		if other, ok := seen[digest]; ok {
			t.Errorf("%q and %q share the definition %s", name, other, digest)
		}
		seen[digest] = name
	}
	if again := RunSubagent(slices.Clone(one)).Definition; again != RunSubagent(one).Definition {
		t.Error("the same subagents have two definitions")
	}
}

// The prompt holds a bounded list, and each subagent keeps its share of it.
func TestRunSubagentDescriptionIsBounded(t *testing.T) {
	var many []v1alpha1.Subagent
	for i := range 16 {
		many = append(many, v1alpha1.Subagent{Name: v1alpha1.Slug(fmt.Sprintf("agent-%d", i)), Description: strings.Repeat("é", 1024)})
	}
	description := RunSubagent(many).Description
	if len(description) > 16<<10 || !utf8.ValidString(description) {
		t.Errorf("the description has %d bytes, valid: %t", len(description), utf8.ValidString(description))
	}
	for i := range many {
		if !strings.Contains(description, fmt.Sprintf("\n- agent-%d: éé", i)) {
			t.Errorf("agent-%d is missing", i)
		}
	}
}
