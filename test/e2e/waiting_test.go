// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"remit.dev/remit/api/v1alpha1"
)

// awaitHeld waits until a Run says that it waits for something that is not there yet.
func awaitHeld(t *testing.T, run *v1alpha1.Run, reason string) *v1alpha1.Run {
	t.Helper()
	return awaitRun(t, run, "is "+reason, func(r *v1alpha1.Run) bool {
		if r.Status.CompletedAt != nil {
			t.Fatalf("the Run ended instead of waiting\n%s", describe(r))
		}
		return condition(r.Status.Conditions, v1alpha1.ConditionAccepted).Reason == reason
	})
}

func checkHeld(t *testing.T, run *v1alpha1.Run, message string) {
	t.Helper()
	accepted := condition(run.Status.Conditions, v1alpha1.ConditionAccepted)
	if run.Status.Phase != v1alpha1.RunPending || accepted.Status != metav1.ConditionFalse || accepted.Message != message {
		t.Errorf("the Run is %s, Accepted is %s: %q; want Pending, False: %q", run.Status.Phase, accepted.Status, accepted.Message, message)
	}
	if reconciling := condition(run.Status.Conditions, v1alpha1.ConditionReconciling); reconciling.Status != metav1.ConditionTrue {
		t.Errorf("a Run that waits is not Reconciling: %+v", reconciling)
	}
}

// A Run may be applied ahead of everything it needs. It says what it waits for, one thing after the
// other, and goes on when that is there.
func TestRunWaitsForWhatItNeeds(t *testing.T) {
	useOperator(t)
	n := newTenant(t)
	run := awaitHeld(t, n.start("run"), v1alpha1.ReasonWaitingForVersion)
	checkHeld(t, run, fmt.Sprintf(`Spec "agent" does not exist in namespace %q: create it, or create another Run with the right spec.specRef`, n.namespace))

	n.agent("desk")
	run = awaitHeld(t, run, v1alpha1.ReasonWaitingForGrant)
	checkHeld(t, run, fmt.Sprintf(`Grant "model" of model "small" does not exist in namespace %q: ask the platform team for it`, n.namespace))

	n.scripted(`{"turns": [{"calls": [{"tool": "desk__find"}]}, {"text": "Found."}]}`)
	run = awaitRun(t, run, "waits for the other Grant", func(r *v1alpha1.Run) bool {
		return condition(r.Status.Conditions, v1alpha1.ConditionAccepted).Message ==
			fmt.Sprintf(`Grant "desk" does not exist in namespace %q: ask the platform team for it`, n.namespace)
	})

	n.granted("desk")
	run = awaitHeld(t, run, v1alpha1.ReasonWaitingForServer)
	checkHeld(t, run, fmt.Sprintf(`the MCPServer of Grant "desk" does not exist or is not open to namespace %q`, n.namespace))

	fake := newFakeServer(t, twoTools)
	n.catalogued("desk", fake.url)
	run = awaitEnd(t, run)
	checkEnded(t, run, v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
	if made := len(fake.made()); made != 1 || run.Status.Output != "Found." {
		t.Errorf("the tool was called %d times, the output is %q", made, run.Status.Output)
	}
}

// A server that is not open to a namespace is not told apart from one that does not exist.
func TestServerOfAnotherTenant(t *testing.T) {
	useOperator(t)
	owner, other := newTenant(t), newTenant(t)
	awaitServer(t, owner.catalogued("desk", newFakeServer(t, twoTools).url), v1alpha1.ReasonDiscovered)
	for _, name := range []v1alpha1.Slug{"desk", "nothing"} {
		grant := &v1alpha1.Grant{ObjectMeta: other.meta(string(name)), Spec: v1alpha1.GrantSpec{
			MCPServer: &v1alpha1.MCPServerReference{Name: name, Namespace: owner.namespace}}}
		other.create(admin, grant)
		want := fmt.Sprintf("no MCPServer %q in namespace %q is open to namespace %q: "+
			"check spec.mcpServer, and the server's allowedNamespaces", name, owner.namespace, other.namespace)
		refused := awaitGrant(t, grant, v1alpha1.ReasonServerNotFound)
		if got := condition(refused.Status.Conditions, v1alpha1.ConditionReady).Message; got != want {
			t.Errorf("the Grant says %q, want %q", got, want)
		}
	}
}

// What is published but not executed yet is refused at the start, rather than left out of the agent.
func TestRunOfUnsupportedParts(t *testing.T) {
	useOperator(t)
	n := newTenant(t)
	n.scripted(`{"turns": [{"text": "Hello."}]}`)
	spec := n.unpublished()
	spec.Spec.Tools = []v1alpha1.Tool{
		{Name: "now", Kind: v1alpha1.ToolFunction, Function: &v1alpha1.FunctionTool{Name: "current_time"}},
	}
	spec.Spec.Skills = []v1alpha1.Skill{{Name: "refunds", Description: "How to refund.", Body: "Ask first."}}
	n.create(author, spec)
	version := awaitPublished(t, spec)
	run := awaitEnd(t, n.start("run"))
	checkEnded(t, run, v1alpha1.RunFailed, v1alpha1.ReasonUnsupported)
	want := fmt.Sprintf("Version %q holds what this release publishes but does not execute: skill refunds", version.Name)
	for _, kind := range []string{v1alpha1.ConditionComplete, v1alpha1.ConditionAccepted, v1alpha1.ConditionStalled} {
		if got := condition(run.Status.Conditions, kind).Message; got != want {
			t.Errorf("%s says %q, want %q", kind, got, want)
		}
	}
}

// A tool that is a function of the operator's own is executed.
func TestRunCallsAFunction(t *testing.T) {
	useOperator(t)
	n := newTenant(t)
	n.scripted(`{"turns": [{"calls": [{"tool": "now"}]}, {"when": "\"time\"", "text": "It is late."}]}`)
	spec := n.unpublished()
	spec.Spec.Tools = []v1alpha1.Tool{{Name: "now", Kind: v1alpha1.ToolFunction, Function: &v1alpha1.FunctionTool{Name: "current_time"}}}
	n.create(author, spec)
	run := awaitEnd(t, n.start("run"))
	checkEnded(t, run, v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
	if run.Status.Output != "It is late." {
		t.Errorf("the output is %q", run.Status.Output)
	}
}
