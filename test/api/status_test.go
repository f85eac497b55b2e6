// SPDX-License-Identifier: Apache-2.0

package api

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"remit.dev/remit/api/v1alpha1"
)

var everyKind = map[string]string{
	"MCPServer": mcpServer, "Grant": grant, "Spec": spec, "Version": version, "Run": aRun,
}

// Tools that wait for objects read each kind as kstatus does: nothing is settled before the
// operator has seen it.
func TestKstatus(t *testing.T) {
	ns := env.Namespace(t)
	for kind, text := range everyKind {
		t.Run(kind, func(t *testing.T) {
			u := parse(t, text)
			u.SetNamespace(ns)
			if err := admin.Create(t.Context(), u); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(map[string]any{"observedGeneration": int64(-1)}, u.Object["status"]); diff != "" {
				t.Errorf("status of a new object (-want +got):\n%s", diff)
			}
			wantKstatus(t, u, "new", status.InProgressStatus)

			ready := v1alpha1.ConditionReady
			if kind == "Run" {
				ready = v1alpha1.ConditionComplete
			}
			setConditions(t, u, metav1.Condition{Type: v1alpha1.ConditionReconciling, Status: metav1.ConditionTrue})
			wantKstatus(t, u, "reconciling", status.InProgressStatus)
			setConditions(t, u, metav1.Condition{Type: ready, Status: metav1.ConditionFalse},
				metav1.Condition{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue})
			wantKstatus(t, u, "stalled", status.FailedStatus)
			setConditions(t, u, metav1.Condition{Type: ready, Status: metav1.ConditionTrue})
			wantKstatus(t, u, ready, status.CurrentStatus)

			if kind == "Version" {
				return // its generation stays what it is
			}
			change := map[string]string{
				"MCPServer": "spec.annotations", "Grant": "spec.mcpServer.name", "Spec": "spec.instructions", "Run": "spec.cancel",
			}[kind]
			value := map[string]string{"MCPServer": "Trusted", "Grant": "other", "Spec": "Help more.", "Run": "true"}[kind]
			u = edits{change: value}.apply(t, u)
			if err := admin.Update(t.Context(), u); err != nil {
				t.Fatal(err)
			}
			wantKstatus(t, u, "changed", status.InProgressStatus)
		})
	}
}

// A Run has no Ready: settled is one on which the operator no longer works.
func TestKstatusOfRun(t *testing.T) {
	u := parse(t, aRun)
	u.SetNamespace(env.Namespace(t))
	if err := admin.Create(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	setConditions(t, u, metav1.Condition{Type: v1alpha1.ConditionComplete, Status: metav1.ConditionFalse},
		metav1.Condition{Type: v1alpha1.ConditionReconciling, Status: metav1.ConditionTrue})
	wantKstatus(t, u, "Complete is False, reconciling", status.InProgressStatus)
	setConditions(t, u, metav1.Condition{Type: v1alpha1.ConditionComplete, Status: metav1.ConditionFalse})
	wantKstatus(t, u, "Complete is False, not reconciling", status.CurrentStatus)
}

// setConditions writes a status that describes the present generation, with these conditions only.
func setConditions(t *testing.T, u *unstructured.Unstructured, conditions ...metav1.Condition) {
	t.Helper()
	list := make([]any, 0, len(conditions))
	for _, c := range conditions {
		list = append(list, map[string]any{
			"type": c.Type, "status": string(c.Status), "reason": "Test", "message": "A test.",
			"lastTransitionTime": "2026-01-01T00:00:00Z",
		})
	}
	u.Object["status"] = map[string]any{"observedGeneration": u.GetGeneration(), "conditions": list}
	if err := admin.Status().Update(t.Context(), u); err != nil {
		t.Fatal(err)
	}
}

func wantKstatus(t *testing.T, u *unstructured.Unstructured, when string, want status.Status) {
	t.Helper()
	got, err := status.Compute(u)
	if err != nil {
		t.Fatal(err)
	}
	if got.Status != want {
		t.Errorf("%s: %s, want %s (%s)", when, got.Status, want, got.Message)
	}
}

// What kubectl get shows is what a person decides on.
func TestColumns(t *testing.T) {
	ns := env.Namespace(t)
	suspended(t, ns, "teapot", first)
	for _, text := range everyKind {
		u := parse(t, text)
		u.SetNamespace(ns)
		u.SetName(strings.Replace(u.GetName(), "teapot", "kettle", 1))
		if err := admin.Create(t.Context(), u); err != nil {
			t.Fatal(err)
		}
	}
	wide := strings.Fields(kubectl(t, "get", "run", "teapot", "-n", ns, "-o", "wide"))
	if want := []string{"VERSION", "APPROVAL", "CREATED-BY", "MESSAGE"}; !slices.Equal(wide[8:12], want) {
		t.Errorf("runs: wide columns %q, want %q", wide[8:12], want)
	}
	for resource, want := range map[string][]string{
		"mcps":  {"NAME", "READY", "REASON", "TOOLS", "ANNOTATIONS", "AGE"},
		"gr":    {"NAME", "READY", "REASON", "OFFERED", "PERMITTED", "STALE", "AGE"},
		"spec":  {"NAME", "READY", "REASON", "VERSION", "AGE"},
		"ver":   {"NAME", "READY", "SPECS", "AGE"},
		"runs":  {"NAME", "PHASE", "WAITING", "SINCE", "UNTIL", "STEPS", "REASON", "AGE"},
		"remit": {"NAME", "READY", "REASON", "OFFERED", "PERMITTED", "STALE", "AGE"},
	} {
		header, _, _ := strings.Cut(kubectl(t, "get", resource, "-n", ns), "\n")
		if diff := cmp.Diff(want, strings.Fields(header)); diff != "" {
			t.Errorf("%s: columns (-want +got):\n%s", resource, diff)
		}
	}
	row := strings.Fields(kubectl(t, "get", "run", "teapot", "-n", ns, "--no-headers"))
	if !slices.Equal(row[:3], []string{"teapot", "Suspended", "desk__refund_order"}) || !slices.Contains(row, "2023-11-15T22:13:20Z") {
		t.Errorf("the suspended Run shows as %q", row)
	}
}
