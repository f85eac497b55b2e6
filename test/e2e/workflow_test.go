// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"slices"
	"strings"
	"testing"

	"remit.dev/remit/api/v1alpha1"
)

// refundWorkflow looks an order up and refunds what it cost.
func refundWorkflow() *v1alpha1.Workflow {
	return &v1alpha1.Workflow{Steps: []v1alpha1.WorkflowStep{
		{ID: "find", Tool: "desk__find", Arguments: object(`{"text":"teapot"}`)},
		{ID: "refund", Tool: "desk__send", ArgumentsExpression: "{'cents': inputJSON.cents, 'about': steps.find.text}"},
	}}
}

// newWorkflow makes an agent whose steps come before its model, which says one word.
func newWorkflow(t *testing.T, workflow *v1alpha1.Workflow) (*tenant, *fakeServer) {
	n := newTenant(t)
	fake := newFakeServer(t, "["+toolFind+","+toolSend+"]")
	n.catalogued("desk", fake.url)
	awaitGrant(t, n.granted("desk"), v1alpha1.ReasonGranted)
	n.scripted("turns:\n- text: Done.\n")
	spec := n.unpublished("desk")
	spec.Spec.Workflow = workflow
	n.create(author, spec)
	return n, fake
}

func inputOf(text string) func(*v1alpha1.RunSpec) {
	return func(r *v1alpha1.RunSpec) { r.Input = text }
}

// H43 to H45: steps come in their order before the model, and each is gated.
func TestWorkflowSteps(t *testing.T) {
	useOperator(t)
	n, fake := newWorkflow(t, refundWorkflow())

	t.Run("approved", func(t *testing.T) {
		run := awaitSuspended(t, n.start("approved", inputOf(`{"cents": 9007199254740993}`)))
		pending := run.Status.Pending[0]
		if pending.StepID != "refund" || pending.Tool != "desk__send" || !strings.Contains(pending.Arguments, `"cents": 9007199254740993`) ||
			run.Status.Steps != 0 {
			t.Fatalf("after %d model calls pending: %+v", run.Status.Steps, pending)
		}
		if err := decide(t, approver, run, decisions(run, approved())); err != nil {
			t.Fatal(err)
		}
		run = awaitEnd(t, run)
		checkEnded(t, run, v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
		if run.Status.Steps != 1 || run.Status.Output != "Done." || run.Status.Decided[0].StepID != "refund" {
			t.Errorf("%d model calls, output %q, decided %+v", run.Status.Steps, run.Status.Output, run.Status.Decided)
		}
		checkCalls(t, fake, "find", "send")
	})
	t.Run("denied", func(t *testing.T) {
		run := awaitSuspended(t, n.start("denied", inputOf(`{"cents": 5}`)))
		if err := decide(t, approver, run, decisions(run, denied("too late"))); err != nil {
			t.Fatal(err)
		}
		run = awaitEnd(t, run)
		checkEnded(t, run, v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
		checkResults(t, run, "", "A person denied this call: too late")
		checkCalls(t, fake, "find", "send", "find")
	})
	t.Run("arguments that cannot be computed", func(t *testing.T) {
		run := awaitEnd(t, n.start("failed", inputOf("no JSON")))
		checkEnded(t, run, v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
		failed := slices.ContainsFunc(run.Status.Log.Records, func(r v1alpha1.Record) bool {
			return r.Result != nil && r.Result.Error == v1alpha1.ErrorInvalidArguments && strings.Contains(r.Result.Content, "could not be computed")
		})
		if !failed {
			t.Errorf("no result says that the arguments could not be computed: %+v", run.Status.Log.Records)
		}
		checkCalls(t, fake, "find", "send", "find", "find")
	})
}
