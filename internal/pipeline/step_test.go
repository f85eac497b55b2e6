// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/engine"
)

// H43: a step's result is what later steps compute with, and so the object that the tool
// returns rather than a text about it; a failure keeps its words.
func TestResultOfAStep(t *testing.T) {
	both := Answer{Outcome: engine.Outcome{Content: "Order A-1."}, Structured: json.RawMessage(`{"order":"A-1"}`)}
	failed := both
	failed.Error = v1alpha1.ErrorTool
	for name, test := range map[string]struct {
		step   v1alpha1.StepID
		answer Answer
		want   string
	}{
		"of a step":               {"order", both, `{"order":"A-1"}`},
		"of the model":            {"", both, "Order A-1."},
		"a failure":               {"order", failed, "Order A-1."},
		"a text and nothing else": {"order", Text("Order A-1."), "Order A-1."},
	} {
		t.Run(name, func(t *testing.T) {
			set, findings := NewToolSet([]Tool{{Name: "find", Definition: "sha256:find", Idempotent: true, Executor: answers(test.answer)}}, NewSchemas(), 40)
			if len(findings) > 0 {
				t.Fatal(findings)
			}
			record := v1alpha1.CallRecord{ID: "call-0000000000000001", Tool: "find", StepID: test.step, DefinitionDigest: "sha256:find"}
			calls := []engine.Execution{{Call: record}}
			if refused := set.Prepare(t.Context(), calls); len(refused) > 0 {
				t.Fatal(refused)
			}
			if diff := cmp.Diff(test.want, set.Execute(t.Context(), "uid", calls)[0].Content); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
