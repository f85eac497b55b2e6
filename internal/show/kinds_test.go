// SPDX-License-Identifier: Apache-2.0

package show

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"remit.dev/remit/api/v1alpha1"
)

// Who asks and who answers shows where it is neither the model nor a person.
func TestLogOfOtherKinds(t *testing.T) {
	yes := true
	run := &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "r1"}}
	run.Status = v1alpha1.RunStatus{Phase: v1alpha1.RunRunning, Version: "v-1"}
	run.Status.Log.Records = []v1alpha1.Record{
		{Time: noon, Message: &v1alpha1.MessageRecord{Calls: []v1alpha1.CallRecord{{ID: "call-1", Tool: v1alpha1.RunItem, Whole: true, Arguments: `{}`}}}},
		{Time: noon, Decision: &v1alpha1.DecisionRecord{ID: "call-1", Approved: &yes, By: "bob"}},
		{Time: noon, Message: &v1alpha1.MessageRecord{Calls: []v1alpha1.CallRecord{{ID: "call-2", Tool: "wait_webhook", StepID: "paid", Arguments: `{}`}}}},
		{Time: noon, Decision: &v1alpha1.DecisionRecord{ID: "call-2", Approved: &yes, Answer: "paid"}},
	}
	want := `Run team-a/r1: Running, Version v-1, 0 model calls

2026-01-02T12:00:00Z  Remit
  asks whether to begin: (run), call-1
  {}

2026-01-02T12:00:00Z  bob approved (run) (call-1)

2026-01-02T12:00:00Z  Remit
  step paid calls wait_webhook, call-2
  {}

2026-01-02T12:00:00Z  A request answered wait_webhook (call-2)
  paid
`
	if diff := cmp.Diff(want, shown(t, run, DefaultOptions)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A Run without records says why, and one that waits for others says for which.
func TestLogOfWhatHasNoRecord(t *testing.T) {
	denied := &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "r1"}}
	denied.Status.Phase = v1alpha1.RunFailed
	denied.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionComplete, Reason: v1alpha1.ReasonPolicyDenied, Message: "not\ntoday"}}
	waits := &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "r2"}}
	waits.Status.Phase = v1alpha1.RunRunning
	waits.Status.Log.Records = []v1alpha1.Record{{Time: noon, Message: &v1alpha1.MessageRecord{Grant: "g", Model: "m", Calls: []v1alpha1.CallRecord{{ID: "call-1", Tool: "run_subagent"}}}}}
	waits.Status.Children = []v1alpha1.ChildRun{{CallID: "call-1", Name: "r2-1"}}
	for run, want := range map[*v1alpha1.Run]string{
		denied: "Run team-a/r1: Failed, Version -, 0 model calls\n\nPolicyDenied: not\uFFFDtoday\n",
		waits: "Run team-a/r2: Running, Version -, 0 model calls\n\n2026-01-02T12:00:00Z  Model m of g\n  calls run_subagent, call-1\n" +
			"\nRun r2-1 answers run_subagent (call-1)\n",
	} {
		if diff := cmp.Diff(want, shown(t, run, DefaultOptions)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", run.Name, diff)
		}
	}
}
