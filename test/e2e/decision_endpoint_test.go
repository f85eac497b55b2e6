// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"remit.dev/remit/api/v1alpha1"
)

// decider answers as a rule of an Open Policy Agent does, and keeps what it was asked.
type decider struct {
	*httptest.Server

	mu    sync.Mutex
	asked []map[string]any
}

// newDecider allows every call and asks about Runs whose input is urgent.
func newDecider(t *testing.T) *decider {
	t.Helper()
	d := &decider{}
	d.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var question struct {
			Input map[string]any `json:"input"`
		}
		if err := json.NewDecoder(r.Body).Decode(&question); err != nil {
			t.Errorf("the question: %v", err)
		}
		d.mu.Lock()
		d.asked = append(d.asked, question.Input)
		d.mu.Unlock()
		answer := `{"result": true}`
		run, _ := question.Input["run"].(map[string]any)
		if input, _ := run["input"].(string); question.Input["tool"] == nil && strings.HasPrefix(input, "urgent") {
			answer = `{"result": {"decision": "ask", "reason": "urgent Runs need a lead"}}`
		}
		if _, err := w.Write([]byte(answer)); err != nil {
			t.Errorf("the answer: %v", err)
		}
	}))
	t.Cleanup(d.Close)
	return d
}

// endpoint is how a Grant names it.
func (d *decider) endpoint() *v1alpha1.DecisionEndpoint {
	return &v1alpha1.DecisionEndpoint{URL: d.URL + "/v1/data/remit/decision", Runs: true,
		CABundle: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: d.Certificate().Raw}))}
}

// H32 to H37 and P24: a decision endpoint is asked about whole Runs and about calls, and denies while it is down.
func TestDecisionEndpoint(t *testing.T) {
	useOperator(t)
	n := newTenant(t)
	fake := newFakeServer(t, "["+toolFind+"]")
	n.catalogued("desk", fake.url)
	d := newDecider(t)
	awaitGrant(t, n.granted("desk", func(g *v1alpha1.GrantSpec) { g.DecisionEndpoint = d.endpoint() }), v1alpha1.ReasonGranted)
	n.scripted("turns:\n- calls: [{tool: desk__find, arguments: {text: teapot}}]\n- text: Done.\n")
	n.agent("desk")

	run := awaitSuspended(t, n.start("urgent", inputOf("urgent: find it")))
	if pending := run.Status.Pending[0]; pending.Kind != v1alpha1.PendingRun || pending.Reason != "urgent Runs need a lead" {
		t.Errorf("pending: %+v", pending)
	}
	if err := decide(t, approver, run, decisions(run, approved())); err != nil {
		t.Fatal(err)
	}
	checkEnded(t, awaitEnd(t, run), v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
	checkCalls(t, fake, "find")
	d.mu.Lock()
	about := map[bool]int{}
	for _, question := range d.asked {
		scope, _ := question["scope"].(map[string]any)
		if scope["principal"] != author || scope["namespace"] != n.namespace {
			t.Errorf("asked on behalf of %v", scope)
		}
		about[question["tool"] == "find"]++
	}
	d.mu.Unlock()
	if about[true] == 0 || about[false] == 0 {
		t.Errorf("asked %d times about calls, and %d times about Runs", about[true], about[false])
	}

	d.Close()
	run = awaitEnd(t, n.start("down"))
	checkEnded(t, run, v1alpha1.RunFailed, v1alpha1.ReasonPolicyDenied)
	if message := condition(run.Status.Conditions, v1alpha1.ConditionAccepted).Message; !strings.Contains(message, "the decision endpoint gave no decision") {
		t.Errorf("the Run says %q", message)
	}
	checkCalls(t, fake, "find")
}
