// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/engine"
)

// forgedStatus is the status that the operator would write once all pending calls of a Run were approved:
// with a log whose digests are right, as their computation is no secret.
func forgedStatus(t *testing.T, run *v1alpha1.Run) *v1alpha1.RunStatus {
	t.Helper()
	log, err := engine.Fold(string(run.UID), nil, run.Status.Log.Records)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for _, pending := range run.Status.Pending {
		yes := true
		decision := &v1alpha1.DecisionRecord{ID: pending.ID, Approved: &yes, By: approver}
		if err := log.Append(now, engine.Entry{Decision: decision}); err != nil {
			t.Fatal(err)
		}
	}
	status := run.Status.DeepCopy()
	engine.Project(engine.Input{State: log, Now: now}, run.Generation, status)
	if status.Phase != v1alpha1.RunRunning || len(status.Pending) > 0 {
		t.Fatalf("the forged status: %+v", status)
	}
	return status
}

// jsonOf is a value as it stands in a request.
func jsonOf(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A status that somebody wrote who may write statuses, and may not approve, leads to no effect. What people
// are shown is folded from the log again, and a log with decisions that the API server does not have is no
// log (P35, P37, P38, H21).
func TestForgedStatusDecidesNothing(t *testing.T) {
	useOperator(t)
	n, h := helpdeskTenant(t, `turns:
- calls:
  - {tool: desk__refund_order, arguments: {order_id: A-1001, cents: 4200, reason: Broken.}}
  - {tool: desk__refund_order, arguments: {order_id: A-1002, cents: 12900, reason: Lost.}}
- text: Done.
`)
	people := newPeople(t, n.namespace)
	for _, p := range statusPatches {
		t.Run(p.path, func(t *testing.T) {
			f := another(t, n, h, people)
			if err := f.request("PATCH", "$RUN/status", p.mediaType, p.body)(t, people[mechanic]); err != nil {
				t.Fatal(err)
			}
			f.reconciled(t) // what was renamed is taken out by one step and shown again by the next
			f.unmoved(t)
		})
	}
	for _, forged := range []struct {
		path  string
		user  string
		spoil bool
	}{
		{"decisions in the log, with digests that do not follow", mechanic, true},
		{"decisions in the log, with digests that follow", mechanic, false},
		{"decisions in the log, from the service account of the operator", theOperator, false},
	} {
		t.Run(forged.path, func(t *testing.T) {
			f := another(t, n, h, people)
			status := forgedStatus(t, f.run)
			if records := status.Log.Records; forged.spoil {
				records[len(records)-1].Decision.By = "somebody"
			}
			f.words["FORGED"] = jsonOf(t, status)
			if err := f.update("/status", f.withForgedStatus)(t, people[forged.user]); err != nil {
				t.Fatal(err)
			}
			run := awaitEnd(t, f.run)
			checkEnded(t, run, v1alpha1.RunFailed, v1alpha1.ReasonLogCorrupt)
			if made := f.made(t); made != f.before || len(run.Spec.Decisions) != 0 {
				t.Errorf("with the decisions %v the server was called %d times", run.Spec.Decisions, made-f.before)
			}
		})
	}
}

// another is another Run that waits for its first two calls.
func another(t *testing.T, n *tenant, h *helpdesk, people map[string]*person) *forging {
	t.Helper()
	run := &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Namespace: n.namespace, GenerateName: "run-"},
		Spec: v1alpha1.RunSpec{SpecRef: &v1alpha1.NamedReference{Name: "agent"}, Input: "My teapot arrived in pieces."}}
	n.create(author, run)
	return suspendedOf(&tenant{t, n.namespace}, h, people, run)
}

// suspendedOf waits until a Run waits for two calls.
func suspendedOf(n *tenant, h *helpdesk, people map[string]*person, run *v1alpha1.Run) *forging {
	n.Helper()
	f := &forging{tenant: n, desk: h, people: people}
	f.begin(n.T, awaitSuspended(n.T, run))
	f.words["DENIED"] = "call-0123456789abcdef"
	return f
}
