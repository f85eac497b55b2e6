// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"remit.dev/remit/api/v1alpha1"
)

// An approved call that asks a second time, or never has its effect, after the operator was killed
// between the approval and the call: it is made once, and nobody is asked again, although the Grant
// still matches it, and in more ways than before.
func TestApprovedCallAfterARestart(t *testing.T) {
	o := ownOperator(t)
	n, fake := desk(t, wipes)
	run := awaitSuspended(t, n.start("run"))
	o.crash(t)
	if err := decide(t, approver, run, decisions(run, approved())); err != nil {
		t.Fatal(err)
	}
	grant := &v1alpha1.Grant{ObjectMeta: n.meta("desk")}
	if err := patch(t, admin, grant, map[string]any{"approval": []string{"@all"}, "always": []string{"wipe"}}); err != nil {
		t.Fatal(err)
	}
	o.restart(t)

	run = awaitEnd(t, run)
	checkEnded(t, run, v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
	checkCalls(t, fake, "wipe")
	checkAskedOnce(t, run)
}

// The same while an approved call without effect is under way, of which no watermark tells: it is made
// again, without another question.
func TestApprovedLookupAfterARestart(t *testing.T) {
	o := ownOperator(t)
	n, h := helpdeskTenant(t, `{"turns": [
		{"calls": [{"tool": "desk__lookup_order", "arguments": {"order_id": "A-1001"}}]},
		{"when": "Order A-1001 of Ada", "text": "I have found it."}]}`, "--delay", forever)
	grant := &v1alpha1.Grant{ObjectMeta: n.meta("desk")}
	if err := patch(t, admin, grant, map[string]any{"always": []string{"lookup_order"}}); err != nil {
		t.Fatal(err)
	}
	awaitGrant(t, n.read(grant), v1alpha1.ReasonGranted)
	run := awaitSuspended(t, n.start("run"))
	if err := decide(t, approver, run, decisions(run, approved())); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the lookup begins", func() bool { return h.begun(t, "lookup_order", "") > 0 })
	o.crash(t)
	h.replace(t)
	o.restart(t)

	run = awaitEnd(t, run)
	checkEnded(t, run, v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
	if begun := h.begun(t, "lookup_order", ""); begun != 2 || run.Status.Output != "I have found it." {
		t.Errorf("the lookup was invoked %d times, want 2; the output is %q", begun, run.Status.Output)
	}
	checkAskedOnce(t, run)
}

// The same while policy is being asked about a call that was approved: that the operator stops is no
// answer of policy, and denies nothing.
func TestApprovedCallAfterAStopWhilePolicyIsAsked(t *testing.T) {
	o := ownOperator(t)
	var hangs atomic.Bool
	asked := make(chan struct{}, 1)
	opa := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil { // only then it notices that the client has gone
			return
		}
		if hangs.Load() {
			select {
			case asked <- struct{}{}:
			default:
			}
			<-r.Context().Done()
			return
		}
		w.Write([]byte(`{"result": true}`))
	}))
	t.Cleanup(func() {
		opa.CloseClientConnections()
		opa.Close()
	})
	n := newTenant(t)
	fake := newFakeServer(t, twoTools)
	n.catalogued("desk", fake.url)
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: opa.Certificate().Raw}))
	awaitGrant(t, n.granted("desk", func(g *v1alpha1.GrantSpec) {
		g.DecisionEndpoint = &v1alpha1.DecisionEndpoint{
			URL: opa.URL + "/v1/data/remit/decision", CABundle: authority, Timeout: metav1.Duration{Duration: 20 * time.Second}}
	}), v1alpha1.ReasonGranted)
	n.scripted(wipes)
	n.agent("desk")
	run := awaitSuspended(t, n.start("run"))
	hangs.Store(true)
	if err := decide(t, approver, run, decisions(run, approved())); err != nil {
		t.Fatal(err)
	}
	select {
	case <-asked:
	case <-time.After(patience):
		t.Fatal("policy was not asked about the approved call")
	}
	o.finish(t)
	hangs.Store(false)
	o.restart(t)

	run = awaitEnd(t, run)
	checkEnded(t, run, v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
	checkCalls(t, fake, "wipe")
	checkAskedOnce(t, run)
}

// An approval is not lost where the operator cannot make the call yet: it was given in time, so it does
// not expire while the server is away.
func TestApprovalDoesNotExpireWhileTheServerIsAway(t *testing.T) {
	o := ownOperator(t)
	n, fake := desk(t, wipes)
	run := awaitSuspended(t, n.start("run", func(r *v1alpha1.RunSpec) {
		r.Limits = &v1alpha1.RunLimits{ApprovalExpiry: &metav1.Duration{Duration: 20 * time.Second}}
	}))
	expires := run.Status.Pending[0].ExpiresAt
	o.crash(t)
	fake.behave(hangsUp)
	if err := decide(t, approver, run, decisions(run, approved())); err != nil {
		t.Fatal(err)
	}
	o.restart(t)
	run = awaitRun(t, run, "waits for its server", func(r *v1alpha1.Run) bool {
		return r.Status.CompletedAt != nil ||
			condition(r.Status.Conditions, v1alpha1.ConditionReconciling).Reason == v1alpha1.ReasonWaitingForServer
	})
	if now := time.Now(); !now.Before(expires.Time) {
		t.Fatalf("the operator came to the approval only at %s, and it expires at %s", now, expires)
	}
	run = awaitRun(t, run, "takes the approval into its log, or ends", func(r *v1alpha1.Run) bool {
		return r.Status.CompletedAt != nil || len(r.Status.Decided) > 0
	})
	if run.Status.CompletedAt != nil {
		t.Fatalf("an approval that was given in time was lost\n%s", describe(run))
	}
	<-time.After(time.Until(expires.Add(time.Second)))
	fake.behave(answers)
	run = awaitEnd(t, run)
	checkEnded(t, run, v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
	checkCalls(t, fake, "wipe")
	checkAskedOnce(t, run)
}
