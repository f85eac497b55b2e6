// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"remit.dev/remit/api/v1alpha1"
)

// twoWipes asks for two destructive calls and one that only reads in one message.
const twoWipes = `{"turns": [
	{"calls": [
		{"tool": "desk__wipe", "arguments": {"table": "orders"}},
		{"tool": "desk__find", "arguments": {"table": "orders"}},
		{"tool": "desk__wipe", "arguments": {"table": "notes"}}]},
	{"text": "All is wiped."}]}`

// What the API server refuses: a decision by somebody who may not, on a call that is not pending, on a
// part of the calls, and another one later. What it writes: who decided, whatever the client says.
func TestDecisionsTheAPIServerRefuses(t *testing.T) {
	useOperator(t)
	n, fake := desk(t, twoWipes)
	run := awaitSuspended(t, n.start("run"))
	if got := []string{run.Status.Pending[0].Tool, run.Status.Pending[1].Tool}; !cmp.Equal(got, []string{"desk__wipe", "desk__wipe"}) {
		t.Fatalf("pending are %v", got)
	}
	first, second := run.Status.Pending[0].ID, run.Status.Pending[1].ID
	type all = map[v1alpha1.CallID]v1alpha1.Decision
	refused := func(what, user string, decisions all, message string) {
		t.Helper()
		err := decide(t, user, run, decisions)
		if err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%s: %v, want %q", what, err, message)
		}
	}
	mayNot := fmt.Sprintf(`user "author" may not approve: the verb "approve" on runs.remit.dev/approval in namespace %q is required`, n.namespace)
	refused("by the author", author, all{first: approved(), second: approved()}, mayNot)
	refused("a denial by the author", author, all{first: denied("no"), second: denied("no")}, mayNot)
	refused("a call that is not there", approver, all{"call-0123456789abcdef": approved()},
		"a decision must name a call that is pending in status.pending")
	refused("one call too many", approver, all{first: approved(), second: approved(), "call-0123456789abcdef": approved()},
		"a decision must name a call that is pending in status.pending")
	refused("a part", approver, all{first: approved()}, "one update must decide every call in status.pending")
	if err := decide(t, author, run, all{first: approved(), second: approved()}); !apierrors.IsForbidden(err) {
		t.Errorf("the author's decision is %v, not Forbidden", err)
	}
	checkCalls(t, fake, "find")

	forged := approved()
	forged.By = "somebody-else"
	if err := decide(t, approver, run, all{first: forged, second: denied("keep the notes")}); err != nil {
		t.Fatal(err)
	}
	run = awaitEnd(t, run)
	checkEnded(t, run, v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
	yes, no := true, false
	want := []v1alpha1.DecidedCall{
		{ID: first, Tool: "desk__wipe", Kind: v1alpha1.PendingTool, Approved: &yes, By: approver},
		{ID: second, Tool: "desk__wipe", Kind: v1alpha1.PendingTool, Approved: &no, By: approver, Reason: "keep the notes"},
	}
	if diff := cmp.Diff(want, run.Status.Decided, cmpopts.IgnoreFields(v1alpha1.DecidedCall{}, "DecidedAt")); diff != "" {
		t.Errorf("status.decided (-want +got):\n%s", diff)
	}
	if by := run.Spec.Decisions[string(first)].By; by != approver {
		t.Errorf("by is %q", by)
	}
	checkCalls(t, fake, "find", "wipe")

	refused("another answer", approver, all{second: approved()}, "a recorded decision never changes")
	err := patch(t, approver, run, map[string]any{"decisions": map[string]any{string(second): nil}})
	if err == nil || !strings.Contains(err.Error(), "a recorded decision never changes") {
		t.Errorf("a decision that is taken back: %v", err)
	}
}

// checkCalls compares the tools that were called, in order.
func checkCalls(t *testing.T, fake *fakeServer, tools ...string) {
	t.Helper()
	var made []string
	for _, call := range fake.made() {
		made = append(made, call.Tool)
	}
	if diff := cmp.Diff(tools, made); diff != "" {
		t.Errorf("the tools that were called (-want +got):\n%s", diff)
	}
}

// A Run cannot be created with decisions, and says who created it, whatever its author writes.
func TestRunIsCreatedWithoutDecisions(t *testing.T) {
	useOperator(t)
	n := newTenant(t)
	run := n.start("run", func(r *v1alpha1.RunSpec) { r.CreatedBy = "somebody-else" })
	if run.Spec.CreatedBy != author {
		t.Errorf("createdBy is %q", run.Spec.CreatedBy)
	}
	forged := &v1alpha1.Run{ObjectMeta: n.meta("forged"), Spec: v1alpha1.RunSpec{
		SpecRef: &v1alpha1.NamedReference{Name: "agent"}, Decisions: map[string]v1alpha1.Decision{"call-0123456789abcdef": approved()}}}
	err := env.users[approver].Create(t.Context(), forged)
	if err == nil {
		t.Error("a Run was created with a decision")
	}
	err = env.users[author].Create(t.Context(), forged)
	if err == nil || !strings.Contains(err.Error(), "a decision must name a call that is pending in status.pending") {
		t.Errorf("a Run with a decision: %v", err)
	}
}

// A decision reaches the model with the reconcile that it sets off: the operator's next writes are those
// of the step that takes it in. Nothing polls: until the decision comes there is no write at all.
func TestDecisionIsTakenAtOnce(t *testing.T) {
	useOperator(t)
	n, fake := desk(t, wipes)
	run := awaitSuspended(t, n.start("run"))
	mark := auditMark(t)
	if err := decide(t, approver, run, decisions(run, approved())); err != nil {
		t.Fatal(err)
	}
	run = awaitEnd(t, run)
	checkCalls(t, fake, "wipe")
	want := []v1alpha1.RecordType{
		v1alpha1.RecordMessage, v1alpha1.RecordSuspension, v1alpha1.RecordDecision, v1alpha1.RecordWatermark, v1alpha1.RecordResult,
		v1alpha1.RecordMessage, v1alpha1.RecordEnd,
	}
	if diff := cmp.Diff(want, recordTypes(run)); diff != "" {
		t.Errorf("the log (-want +got):\n%s", diff)
	}
	step := "update runs/status run by " + operatorUser
	wanted := []string{"patch runs run by approver", step, step, step}
	var writes []string
	eventually(t, "the audit log has the end of the Run", func() bool {
		writes = nil
		for _, w := range writesSince(t, mark, n.namespace) {
			if w.Name == run.Name {
				writes = append(writes, w.String())
			}
		}
		return len(writes) >= len(wanted)
	})
	if diff := cmp.Diff(wanted, writes); diff != "" {
		t.Errorf("the writes after the decision: watermark, result, answer (-want +got):\n%s", diff)
	}
}
