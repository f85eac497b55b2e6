// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
)

// waits asks for a webhook.
const waits = `{"tool": "wait_webhook", "arguments": {"purpose": "The bank reports the payment."}}`

// waitsOnly waits for a webhook and quotes nothing of it unless it is there.
const waitsOnly = `{"turns": [{"calls": [` + waits + `]}, {"when": "paid-4711", "text": "It is paid."}, {"text": "Nothing came."}]}`

// waitsAndWipes waits for a webhook and for a person in one message.
const waitsAndWipes = `{"turns": [
	{"calls": [{"tool": "desk__wipe", "arguments": {"table": "orders"}}, ` + waits + `]},
	{"when": "paid-4711", "text": "It is paid and wiped."}, {"text": "Nothing came."}]}`

const paid = `{"payment": "paid-4711", "cents": 4200}`

// patient is a tenant whose agent has a desk and may wait for webhooks.
func patient(t *testing.T, turns string) (*tenant, *fakeServer) {
	t.Helper()
	n := newTenant(t)
	fake := newFakeServer(t, twoTools)
	n.catalogued("desk", fake.url)
	n.granted("desk")
	n.scripted(turns)
	spec := n.unpublished("desk")
	spec.Spec.Builtins = []v1alpha1.Builtin{v1alpha1.BuiltinWaitWebhook}
	n.create(author, spec)
	return n, fake
}

// H2: webhooks through the real binary, over TLS.
func TestWebhooks(t *testing.T) {
	h := newHooks(t)
	for _, row := range []struct {
		name string
		test func(*testing.T)
	}{
		{"received", h.received},
		{"of many requests one", h.receivedOnce},
		{"before the person", h.beforeThePerson},
		{"after the person", h.afterThePerson},
		{"answered by a person", h.answeredByAPerson},
		{"expired", h.expired},
		{"cancelled", h.cancelled},
		{"over a crash", h.overACrash},
	} {
		t.Run(row.name, row.test)
	}
}

// A request resumes the Run, once, and its URL is seen nowhere but in its Secret.
func (h *hooks) received(t *testing.T) {
	n, _ := patient(t, waitsOnly)
	run := awaitSuspended(t, n.start("run"))
	pending, url := hookOf(t, run)
	if run.Status.WaitingFor != "wait_webhook" || len(run.Status.Pending) != 1 {
		t.Errorf("it waits for %q\n%s", run.Status.WaitingFor, describe(run))
	}
	token := tokenOf(url)
	for _, row := range []struct {
		what, method, url string
		code              int
	}{
		{"a look at the link", "GET", url, http.StatusMethodNotAllowed},
		{"a look at its header", "HEAD", url, http.StatusMethodNotAllowed},
		{"another Run", "POST", strings.Replace(url, "/run/", "/walk/", 1), http.StatusNotFound},
		{"another namespace", "POST", strings.Replace(url, n.namespace, "kube-system", 1), http.StatusNotFound},
		{"another call", "POST", strings.Replace(url, string(pending.ID), "call-0123456789abcdef", 1), http.StatusNotFound},
		{"a wrong token", "POST", strings.TrimSuffix(url, token) + strings.Repeat("A", 43), http.StatusNotFound},
		{"a short token", "POST", url[:len(url)-1], http.StatusNotFound},
	} {
		h.checkSend(t, row.what, row.method, row.url, paid, row.code)
	}
	h.checkSend(t, "a large body", "POST", url, strings.Repeat("x", 16385), http.StatusRequestEntityTooLarge)
	h.checkSend(t, "a body with an escape", "POST", url, "\x1b[2J", http.StatusBadRequest)
	h.checkSend(t, "the request", "POST", url, paid, http.StatusAccepted)

	run = awaitEnd(t, run)
	checkEnded(t, run, v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
	if run.Status.Output != "It is paid." {
		t.Errorf("the model has not read it\n%s", describe(run))
	}
	yes := true
	want := []v1alpha1.DecidedCall{{ID: pending.ID, Tool: "wait_webhook", Kind: v1alpha1.PendingWebhook, Approved: &yes}}
	if diff := cmp.Diff(want, run.Status.Decided, cmpopts.IgnoreFields(v1alpha1.DecidedCall{}, "DecidedAt")); diff != "" {
		t.Errorf("status.decided (-want +got):\n%s", diff)
	}
	h.checkUsed(t, url)

	checkHidden(t, n, token)
	checkHidden(t, n, base64.StdEncoding.EncodeToString([]byte(url)))
	served := h.metrics.text(t)
	if strings.Contains(served, token) {
		t.Error("the metrics hold the token")
	}
	for _, line := range []string{
		`remit_webhook_requests_total{code="202"} 1`, `remit_webhook_requests_total{code="400"} 1`, `remit_webhook_requests_total{code="404"} 6`,
		`remit_webhook_requests_total{code="405"} 2`, `remit_webhook_requests_total{code="410"} 1`, `remit_webhook_requests_total{code="413"} 1`,
	} {
		if !strings.Contains(served, "\n"+line+"\n") {
			t.Errorf("the metrics lack %s", line)
		}
	}
}

// Of 50 requests at one time one is taken.
func (h *hooks) receivedOnce(t *testing.T) {
	n, _ := patient(t, waitsOnly)
	run := awaitSuspended(t, n.start("run"))
	_, url := hookOf(t, run)
	codes := make([]int, 50)
	var group sync.WaitGroup
	for i := range codes {
		group.Go(func() {
			var err error
			if codes[i], err = h.try(t, "POST", url, fmt.Sprintf(`{"payment": "paid-4711", "request": %d}`, i)); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	taken := -1
	for i, code := range codes {
		switch {
		case code == http.StatusAccepted && taken < 0:
			taken = i
		case code != http.StatusGone:
			t.Errorf("request %d is answered with %d", i, code)
		}
	}
	run = awaitEnd(t, run)
	checkEnded(t, run, v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
	if got := answersOf(run); len(got) != 1 || got[0] != fmt.Sprintf(`{"payment": "paid-4711", "request": %d}`, taken) {
		t.Errorf("request %d was taken, and the Run has read %q", taken, got)
	}
}

// answersOf are the answers in a Run's log.
func answersOf(run *v1alpha1.Run) []string {
	var answers []string
	for i := range run.Status.Log.Records {
		if decision := run.Status.Log.Records[i].Decision; decision != nil && decision.Answer != "" {
			answers = append(answers, decision.Answer)
		}
	}
	return answers
}

// The request comes first: it is shown, and kept until a person has decided what waits with it.
func (h *hooks) beforeThePerson(t *testing.T) {
	n, fake := patient(t, waitsAndWipes)
	run := awaitSuspended(t, n.start("run"))
	hook, url := hookOf(t, run)
	h.checkSend(t, "the request", "POST", url, paid, http.StatusAccepted)
	run = awaitRun(t, run, "shows the request", func(r *v1alpha1.Run) bool {
		return len(r.Status.Pending) == 2 && r.Status.Pending[1].Webhook.ReceivedAt != nil
	})
	if got := run.Status.Pending[1].Webhook.Body; got != paid || run.Status.Phase != v1alpha1.RunSuspended {
		t.Errorf("the Run is %s and shows %q", run.Status.Phase, got)
	}
	h.checkUsed(t, url)
	checkCalls(t, fake)
	if err := decide(t, approver, run, map[v1alpha1.CallID]v1alpha1.Decision{run.Status.Pending[0].ID: approved()}); err != nil {
		t.Fatal(err)
	}
	h.checkBoth(t, awaitEnd(t, run), fake, hook.ID)
	h.checkUsed(t, url)
}

// A person decides first: it is recorded at once, and nothing is done until the request comes.
func (h *hooks) afterThePerson(t *testing.T) {
	n, fake := patient(t, waitsAndWipes)
	run := awaitSuspended(t, n.start("run"))
	hook, url := hookOf(t, run)
	if err := decide(t, approver, run, map[v1alpha1.CallID]v1alpha1.Decision{run.Status.Pending[0].ID: approved()}); err != nil {
		t.Fatal(err)
	}
	run = awaitRun(t, run, "shows the decision", func(r *v1alpha1.Run) bool { return len(r.Status.Decided) == 1 })
	if run.Status.Phase != v1alpha1.RunSuspended || len(run.Status.Pending) != 1 || run.Status.Pending[0].ID != hook.ID ||
		run.Status.Decided[0].By != approver {
		t.Errorf("it goes on without the request, or does not say who decided\n%s", describe(run))
	}
	checkEvents(t, n, "Approved")
	checkCalls(t, fake)
	h.checkSend(t, "the request", "POST", url, paid, http.StatusAccepted)
	h.checkBoth(t, awaitEnd(t, run), fake, hook.ID)
	h.checkUsed(t, url)
}

// checkBoth looks at a Run whose call was approved and whose webhook was received.
func (h *hooks) checkBoth(t *testing.T, run *v1alpha1.Run, fake *fakeServer, hook v1alpha1.CallID) {
	t.Helper()
	checkEnded(t, run, v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
	checkCalls(t, fake, "wipe")
	if run.Status.Output != "It is paid and wiped." {
		t.Errorf("the output is %q", run.Status.Output)
	}
	by := map[v1alpha1.CallID]string{}
	for _, decided := range run.Status.Decided {
		by[decided.ID] = decided.By
	}
	if said, ok := by[hook]; !ok || said != "" || len(by) != 2 {
		t.Errorf("decided are %v", by)
	}
}

// A person may answer in place of the system that never reports, and may end the wait.
func (h *hooks) answeredByAPerson(t *testing.T) {
	answer := approved()
	answer.Answer = "They phoned: paid-4711."
	for decision, output := range map[*v1alpha1.Decision]string{&answer: "It is paid.", new(denied("The bank is closed.")): "Nothing came."} {
		n, _ := patient(t, waitsOnly)
		run := awaitSuspended(t, n.start("run"))
		_, url := hookOf(t, run)
		if err := decide(t, approver, run, decisions(run, *decision)); err != nil {
			t.Fatal(err)
		}
		h.checkUsed(t, url)
		run = awaitEnd(t, run)
		checkEnded(t, run, v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
		if run.Status.Output != output {
			t.Errorf("the output is %q, want %q\n%s", run.Status.Output, output, describe(run))
		}
		h.checkUsed(t, url)
	}
}

// P23, P41: a webhook expires like any suspension, and a late request changes nothing.
func (h *hooks) expired(t *testing.T) {
	n, _ := patient(t, waitsOnly)
	run := awaitSuspended(t, n.start("run", func(r *v1alpha1.RunSpec) {
		r.Limits = &v1alpha1.RunLimits{ApprovalExpiry: &metav1.Duration{Duration: 4 * time.Second}}
	}))
	_, url := hookOf(t, run)
	run = awaitEnd(t, run)
	checkEnded(t, run, v1alpha1.RunAbandoned, v1alpha1.ReasonSuspensionExpired)
	h.checkUsed(t, url)
	if len(answersOf(run)) > 0 {
		t.Errorf("it has an answer\n%s", describe(run))
	}
}

func (h *hooks) cancelled(t *testing.T) {
	n, _ := patient(t, waitsOnly)
	run := awaitSuspended(t, n.start("run"))
	_, url := hookOf(t, run)
	if err := cancel(t, author, run); err != nil {
		t.Fatal(err)
	}
	h.checkUsed(t, url)
	checkEnded(t, awaitEnd(t, run), v1alpha1.RunCancelled, v1alpha1.ReasonCancelled)
	h.checkUsed(t, url)
}

// The URL is good after a crash of the operator, and offered once.
func (h *hooks) overACrash(t *testing.T) {
	n, _ := patient(t, waitsOnly)
	run := awaitSuspended(t, n.start("run"))
	hook, url := hookOf(t, run)
	h.crash(t)
	h.restart(t)
	eventually(t, "the operator serves webhooks again", func() bool {
		code, err := h.try(t, "GET", url, "")
		return err == nil && code == http.StatusMethodNotAllowed
	})
	h.checkSend(t, "the request", "POST", url, paid, http.StatusAccepted)
	run = awaitEnd(t, run)
	checkEnded(t, run, v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
	if len(run.Status.Decided) != 1 || run.Status.Decided[0].ID != hook.ID {
		t.Errorf("decided are %v", run.Status.Decided)
	}
	secrets := &corev1.SecretList{}
	if err := env.users[admin].List(t.Context(), secrets, client.InNamespace(n.namespace)); err != nil || len(secrets.Items) != 1 {
		t.Errorf("there are %d Secrets, %v", len(secrets.Items), err)
	}
}

// An operator that serves no webhooks says so, before a model is paid.
func TestNoWebhooks(t *testing.T) {
	useOperator(t)
	n, _ := patient(t, waitsOnly)
	run := awaitEnd(t, n.start("run"))
	checkEnded(t, run, v1alpha1.RunFailed, v1alpha1.ReasonUnsupported)
	if message := condition(run.Status.Conditions, v1alpha1.ConditionComplete).Message; !strings.Contains(message, "--webhook-url") {
		t.Errorf("it says %q", message)
	}
}
