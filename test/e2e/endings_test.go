// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"remit.dev/remit/api/v1alpha1"
)

// wipes is a script that asks for one destructive call and then says something.
const wipes = `{"turns": [
	{"text": "I wipe it.", "calls": [{"tool": "desk__wipe", "arguments": {"table": "orders"}}]},
	{"text": "It is wiped."}]}`

// desk makes a tenant with a fake server that is granted as "desk", and an agent with its tools.
func desk(t *testing.T, turns string) (*tenant, *fakeServer) {
	t.Helper()
	n := newTenant(t)
	fake := newFakeServer(t, twoTools)
	n.catalogued("desk", fake.url)
	n.granted("desk")
	n.scripted(turns)
	n.agent("desk")
	return n, fake
}

// checkEnded compares how a Run ended.
func checkEnded(t *testing.T, run *v1alpha1.Run, phase v1alpha1.RunPhase, reason string) {
	t.Helper()
	complete := condition(run.Status.Conditions, v1alpha1.ConditionComplete)
	if run.Status.Phase != phase || complete.Reason != reason {
		t.Errorf("the Run is %s with reason %s, want %s with %s\n%s", run.Status.Phase, complete.Reason, phase, reason, describe(run))
	}
	if want := phase == v1alpha1.RunComplete; want != (complete.Status == metav1.ConditionTrue) {
		t.Errorf("the condition Complete is %s in phase %s", complete.Status, phase)
	}
	if len(run.Status.Pending) > 0 {
		t.Errorf("an ended Run still shows pending calls: %+v", run.Status.Pending)
	}
}

// A denial is a failed call with the reason, and the Run goes on (H17, H18).
func TestDenialContinuesTheRun(t *testing.T) {
	useOperator(t)
	n, fake := desk(t, `{"turns": [
		{"calls": [{"tool": "desk__wipe"}]},
		{"when": "A person denied this call: not before the audit", "text": "I was told to wait for the audit."},
		{"text": "I do not know why."}]}`)
	run := awaitSuspended(t, n.start("run"))
	if err := decide(t, approver, run, decisions(run, denied("not before the audit"))); err != nil {
		t.Fatal(err)
	}
	run = awaitEnd(t, run)
	checkEnded(t, run, v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
	if run.Status.Output != "I was told to wait for the audit." {
		t.Errorf("the output is %q", run.Status.Output)
	}
	if made := fake.made(); len(made) != 0 {
		t.Errorf("the denied tool was called: %+v", made)
	}
	if decided := run.Status.Decided[0]; *decided.Approved || decided.By != approver || decided.Reason != "not before the audit" {
		t.Errorf("decided: %+v", decided)
	}
}

// A suspended Run can be cancelled, and nobody can decide on it afterwards.
func TestCancelWhileSuspended(t *testing.T) {
	useOperator(t)
	n, fake := desk(t, wipes)
	suspended := awaitSuspended(t, n.start("run"))
	if err := cancel(t, author, suspended); err != nil {
		t.Fatal(err)
	}
	checkEnded(t, awaitEnd(t, suspended), v1alpha1.RunCancelled, v1alpha1.ReasonCancelled)
	checkTooLate(t, suspended)
	if made := fake.made(); len(made) != 0 {
		t.Errorf("the tool of the cancelled Run was called: %+v", made)
	}
}

// checkTooLate makes the decision on a Run that no longer waits for it.
func checkTooLate(t *testing.T, suspended *v1alpha1.Run) {
	t.Helper()
	err := decide(t, approver, suspended, decisions(suspended, approved()))
	if err == nil || !strings.Contains(err.Error(), "a decision must name a call that is pending in status.pending") {
		t.Errorf("the late decision: %v", err)
	}
}

// Cancelling does not wait for a model that takes its time: the call is broken off and not made again.
func TestCancelDuringAModelCall(t *testing.T) {
	useOperator(t)
	n := newTenant(t)
	brokenOff := make(chan struct{})
	endpoint := newEndpoint(t, func(asked int, _ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		if asked == 1 {
			close(brokenOff)
		}
	})
	n.openAI("model", endpoint.url, "")
	n.agent()
	run := n.start("run")
	eventually(t, "the model is asked", func() bool { return len(endpoint.requests()) > 0 })
	if err := cancel(t, author, run); err != nil {
		t.Fatal(err)
	}
	select {
	case <-brokenOff:
	case <-time.After(patience):
		t.Fatal("the model call was not broken off")
	}
	checkEnded(t, awaitEnd(t, run), v1alpha1.RunCancelled, v1alpha1.ReasonCancelled)
	if asked := len(endpoint.requests()); asked != 1 {
		t.Errorf("the model was asked %d times", asked)
	}
}

// A Run that is cancelled before it began never begins.
//
// The event that breaks a step off may be the one that the step takes: many Runs meet both orders.
func TestCancelBeforeTheStart(t *testing.T) {
	useOperator(t)
	n := newTenant(t)
	for i := range 16 {
		run := awaitHeld(t, n.start(fmt.Sprintf("run-%d", i)), v1alpha1.ReasonWaitingForVersion)
		if err := cancel(t, author, run); err != nil {
			t.Fatal(err)
		}
		checkEnded(t, awaitEnd(t, run), v1alpha1.RunCancelled, v1alpha1.ReasonCancelled)
	}
}

// A suspension that nobody decides in time is abandoned, and a late decision runs nothing (H25, H26).
func TestSuspensionExpires(t *testing.T) {
	useOperator(t)
	const expiry = 4 * time.Second
	n, fake := desk(t, wipes)
	suspended := awaitSuspended(t, n.start("run", func(r *v1alpha1.RunSpec) {
		r.Limits = &v1alpha1.RunLimits{ApprovalExpiry: &metav1.Duration{Duration: expiry}}
	}))
	pending := suspended.Status.Pending[0]
	if waits := pending.ExpiresAt.Sub(pending.RequestedAt.Time); waits != expiry {
		t.Errorf("the call expires after %s, want %s", waits, expiry)
	}
	run := awaitEnd(t, suspended)
	checkEnded(t, run, v1alpha1.RunAbandoned, v1alpha1.ReasonSuspensionExpired)
	if run.Status.CompletedAt.Before(&pending.ExpiresAt) {
		t.Errorf("abandoned at %s, ahead of %s", run.Status.CompletedAt, pending.ExpiresAt)
	}
	checkTooLate(t, suspended)
	if made := fake.made(); len(made) != 0 {
		t.Errorf("the tool of the abandoned Run was called: %+v", made)
	}
}

// A tool that fails on and on stops the Run with an explanation, and not as a failure (I9 to I14).
func TestFailureStreakStopsTheRun(t *testing.T) {
	useOperator(t)
	turn := `{"calls": [{"tool": "desk__find"}]}`
	n, fake := desk(t, `{"turns": [`+strings.Repeat(turn+",", 9)+turn+`]}`)
	fake.call = func(toolCall) string {
		return `{"content":[{"type":"text","text":"the shelf is empty"}],"isError":true}`
	}
	run := awaitEnd(t, n.start("run"))
	checkEnded(t, run, v1alpha1.RunComplete, v1alpha1.ReasonFailureStreak)
	const explanation = `I stopped because the tool "desk__find" failed 5 times in a row. ` +
		"Please check what it needs, or ask me to reach the goal in another way."
	if run.Status.Output != explanation {
		t.Errorf("the output is %q", run.Status.Output)
	}
	if diff := cmp.Diff([]v1alpha1.FailureStreak{{Tool: "desk__find", Failures: 5}}, run.Status.FailureStreaks); diff != "" {
		t.Errorf("status.failureStreaks (-want +got):\n%s", diff)
	}
	if made := len(fake.made()); made != 5 || run.Status.Steps != 5 {
		t.Errorf("the tool was called %d times in %d steps, want 5 in 5", made, run.Status.Steps)
	}
}

// A Run stops at the number of steps that it asked for.
func TestStepLimitStopsTheRun(t *testing.T) {
	useOperator(t)
	turn := `{"calls": [{"tool": "desk__find"}]}`
	n, fake := desk(t, `{"turns": [`+strings.Repeat(turn+",", 9)+turn+`]}`)
	steps := int32(2)
	run := awaitEnd(t, n.start("run", func(r *v1alpha1.RunSpec) { r.Limits = &v1alpha1.RunLimits{Steps: &steps} }))
	checkEnded(t, run, v1alpha1.RunFailed, v1alpha1.ReasonStepLimit)
	if made := len(fake.made()); made != 2 || run.Status.Steps != 2 {
		t.Errorf("the tool was called %d times in %d steps, want 2 in 2", made, run.Status.Steps)
	}
}
