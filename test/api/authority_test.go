// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/test/testenv"
)

const decisionsPolicy = "remit-run-decisions"

// mayNotApprove is the message that tells somebody which right is missing.
func mayNotApprove(user, ns string) string {
	return fmt.Sprintf("user %q may not approve: the verb \"approve\" on runs.remit.dev/approval in namespace %q is required", user, ns)
}

// Being able to edit Runs is not enough to decide, on whichever way.
func TestAuthorCannotDecide(t *testing.T) {
	ns := env.Namespace(t)
	r := suspended(t, ns, "teapot", first)
	for _, route := range routes(t) {
		t.Run(route.name, func(t *testing.T) {
			for _, decision := range []map[string]any{
				{"approved": true}, {"approved": false}, {"approved": true, "by": "approver"},
			} {
				err := route.write(t.Context(), author(t), r, map[string]any{first: decision})
				if diff := cmp.Diff(mayNotApprove("author", ns), forbidden(t, err, decisionsPolicy)); diff != "" {
					t.Errorf("%v: message (-want +got):\n%s", decision, diff)
				}
			}
		})
	}
	t.Run("together with something allowed", func(t *testing.T) {
		body := `{"metadata":{"labels":{"a":"b"}},"spec":{"cancel":true,"decisions":{"` + first + `":{"approved":true}}}}`
		err := author(t).Patch(t.Context(), r.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(body)))
		if diff := cmp.Diff(mayNotApprove("author", ns), forbidden(t, err, decisionsPolicy)); diff != "" {
			t.Errorf("message (-want +got):\n%s", diff)
		}
	})
	t.Run("by impersonation", func(t *testing.T) {
		config := env.As("author", testenv.Authors)
		config.Impersonate = rest.ImpersonationConfig{UserName: "approver", Groups: []string{testenv.Approvers}}
		c, err := newClient(config)
		if err != nil {
			t.Fatal(err)
		}
		err = routes(t)[0].write(t.Context(), c, r, map[string]any{first: approve})
		// How the right is called differs between versions of Kubernetes.
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `User "author" cannot impersonate`) {
			t.Errorf("want Forbidden, got %v", err)
		}
	})
	t.Run("through status", func(t *testing.T) {
		patch := client.RawPatch(types.MergePatchType, decisions(t, map[string]any{first: approve}))
		err := author(t).Status().Patch(t.Context(), r.DeepCopy(), patch)
		want := fmt.Sprintf(`runs.remit.dev "teapot" is forbidden: User "author" cannot patch resource "runs/status" in API group "remit.dev" in the namespace %q`, ns)
		if !apierrors.IsForbidden(err) || err.Error() != want {
			t.Errorf("want %s\ngot %v", want, err)
		}
	})
	wantSpec(t, r, undecided)
}

// The status subresource takes no decision from anybody, so it needs no policy of its own.
func TestStatusTakesNoDecision(t *testing.T) {
	r := suspended(t, env.Namespace(t), "teapot", first)
	patch := client.RawPatch(types.MergePatchType, decisions(t, map[string]any{first: approve}))
	if err := admin.Status().Patch(t.Context(), r.DeepCopy(), patch); err != nil {
		t.Fatal(err)
	}
	wantSpec(t, r, undecided)
}

// Not even with an admin's rights.
func TestOperatorCannotDecide(t *testing.T) {
	r := suspended(t, env.Namespace(t), "teapot", first)
	operator := as(t, testenv.Operator, "system:masters")
	for _, route := range routes(t) {
		err := route.write(t.Context(), operator, r, map[string]any{first: approve})
		want := "the operator carries decisions out and never makes one"
		if diff := cmp.Diff(want, forbidden(t, err, decisionsPolicy)); diff != "" {
			t.Errorf("%s: message (-want +got):\n%s", route.name, diff)
		}
	}
	wantSpec(t, r, undecided)
}

// H23: the right holds in the namespaces where it was given, and for the Runs for which it was.
func TestRightToApproveIsScoped(t *testing.T) {
	mine, theirs := env.Namespace(t), env.Namespace(t)
	anna := as(t, "anna", "editors")
	for _, ns := range []string{mine, theirs} {
		bind(t, ns, "remit-author", "editors")
	}
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "one-run", Namespace: mine},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{"remit.dev"}, Resources: []string{"runs/approval"}, Verbs: []string{"approve"},
			ResourceNames: []string{"teapot"},
		}},
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "one-run", Namespace: mine},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "one-run"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "anna"}},
	}
	for _, o := range []client.Object{role, binding} {
		if err := admin.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	byCall := map[string]any{first: approve}
	decide := routes(t)[0].write
	for _, tc := range []struct{ ns, run string }{{mine, "kettle"}, {theirs, "teapot"}} {
		err := decide(t.Context(), anna, suspended(t, tc.ns, tc.run, first), byCall)
		if diff := cmp.Diff(mayNotApprove("anna", tc.ns), forbidden(t, err, decisionsPolicy)); diff != "" {
			t.Errorf("%v: message (-want +got):\n%s", tc, diff)
		}
	}
	if err := decide(t.Context(), anna, suspended(t, mine, "teapot", first), byCall); err != nil {
		t.Errorf("the Run for which the right was given: %v", err)
	}
}

// The creator is stamped as well, and nobody changes it.
func TestCreatedByIsTheRequester(t *testing.T) {
	ns := env.Namespace(t)
	for name, createdBy := range map[string]string{"unset": "", "somebody-else": "eve"} {
		r := &v1alpha1.Run{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: ns},
			Spec: v1alpha1.RunSpec{SpecRef: &v1alpha1.NamedReference{Name: "helpdesk"}, CreatedBy: createdBy,
				CreatedByGroups: []string{"system:masters"}},
		}
		if err := author(t).Create(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		wantSpec(t, r, undecided)
	}
	t.Run("by server-side apply", func(t *testing.T) {
		u := parse(t, aRun)
		u.SetNamespace(ns)
		delete(u.Object["spec"].(map[string]any), "input")
		delete(u.Object["spec"].(map[string]any), "limits")
		for _, c := range []client.Client{author(t), admin} {
			err := c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(u.DeepCopy()), client.FieldOwner("gitops"))
			if err != nil {
				t.Fatal(err)
			}
		}
		wantSpec(t, &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Name: u.GetName(), Namespace: ns}}, undecided)
	})
}

// What a tool keeps applying from Git leaves decisions alone.
func TestApplyLeavesDecisions(t *testing.T) {
	ns := env.Namespace(t)
	manifest := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"specRef": map[string]any{"name": "helpdesk"}}}}
	manifest.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Run"))
	manifest.SetName("teapot")
	manifest.SetNamespace(ns)
	applied := func() {
		t.Helper()
		err := author(t).Apply(t.Context(), client.ApplyConfigurationFromUnstructured(manifest.DeepCopy()), client.FieldOwner("gitops"))
		if err != nil {
			t.Fatal(err)
		}
	}
	applied()
	r := &v1alpha1.Run{}
	if err := admin.Get(t.Context(), types.NamespacedName{Namespace: ns, Name: "teapot"}, r); err != nil {
		t.Fatal(err)
	}
	suspend(t, r, first)
	if err := routes(t)[0].write(t.Context(), approver(t), r, map[string]any{first: approve}); err != nil {
		t.Fatal(err)
	}
	applied()
	wantSpec(t, r, `{specRef: {name: helpdesk}, createdBy: author, createdByGroups: ['remit:authors', 'system:authenticated'], decisions: {`+first+`: {approved: true, by: approver}}}`)
}
