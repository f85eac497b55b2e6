// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/test/testenv"
)

const cancelPolicy = "remit-run-cancel"

// mayNotCancel is the message that tells somebody which right is missing.
func mayNotCancel(user, run, ns string) string {
	return fmt.Sprintf("user %q may not cancel what somebody else created: the verb \"cancel\" on runs.remit.dev %q in namespace %q is required", user, run, ns)
}

// Whoever created a Run may cancel it; for everybody else it is a right of its own.
func TestWhoMayCancel(t *testing.T) {
	ns := env.Namespace(t)
	bind(t, ns, "remit-platform", "platform")
	grantCancel(t, ns, "carol", "teapot")
	for _, tc := range []struct {
		name  string
		user  string
		group string
		run   string
		may   bool
	}{
		{name: "its author", user: "author", group: testenv.Authors, may: true},
		{name: "another author", user: "eve", group: testenv.Authors},
		{name: "an approver", user: "anna", group: testenv.Approvers, may: true},
		{name: "the platform team", user: "paul", group: "platform", may: true},
		{name: "an author with the right to this one Run", user: "carol", group: testenv.Authors, run: "teapot", may: true},
		{name: "an author with the right to another Run", user: "carol", group: testenv.Authors, run: "kettle"},
		{name: "an admin of the cluster", user: "root", group: "system:masters", may: true},
		{name: "the operator with an author's rights", user: testenv.Operator, group: testenv.Authors},
		{name: "the operator with the right", user: testenv.Operator, group: testenv.Approvers, may: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for i, route := range routes(t) {
				run := tc.run
				if run == "" {
					run = fmt.Sprint("run-", i)
				}
				r := created(t, ns, run)
				err := route.set(t.Context(), as(t, tc.user, tc.group), r, "cancel", true)
				switch {
				case tc.may && err != nil:
					t.Errorf("%s: %v", route.name, err)
				case !tc.may:
					if diff := cmp.Diff(mayNotCancel(tc.user, run, ns), forbidden(t, err, cancelPolicy)); diff != "" {
						t.Errorf("%s: message (-want +got):\n%s", route.name, diff)
					}
				}
				wantCancel(t, r, tc.may)
				if err := admin.Delete(t.Context(), r); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// grantCancel gives a user the right to cancel one Run.
func grantCancel(t *testing.T, ns, user, run string) {
	t.Helper()
	meta := metav1.ObjectMeta{Name: "cancel-" + run, Namespace: ns}
	for _, o := range []client.Object{
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{"remit.dev"}, Resources: []string{"runs"}, ResourceNames: []string{run}, Verbs: []string{"cancel"},
		}}},
		&rbacv1.RoleBinding{
			ObjectMeta: meta,
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		},
	} {
		if err := admin.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}

// wantCancel compares the stored spec.cancel.
func wantCancel(t *testing.T, r *v1alpha1.Run, want bool) {
	t.Helper()
	stored := &v1alpha1.Run{}
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(r), stored); err != nil {
		t.Fatal(err)
	}
	if stored.Spec.Cancel != want {
		t.Errorf("cancel is %t, want %t", stored.Spec.Cancel, want)
	}
}

// Only turning cancel on is a matter of who created the Run.
func TestCancelIsAskedForOnce(t *testing.T) {
	ns := env.Namespace(t)
	eve := as(t, "eve", testenv.Authors)
	patch := func(c client.Client, r *v1alpha1.Run, body string) error {
		return c.Patch(t.Context(), r.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(body)))
	}
	live := created(t, ns, "live")
	t.Run("labels of somebody else's Run", func(t *testing.T) {
		if err := patch(eve, live, `{"metadata":{"labels":{"a":"b"}},"spec":{"cancel":false}}`); err != nil {
			t.Error(err)
		}
	})
	t.Run("together with something allowed", func(t *testing.T) {
		err := patch(eve, live, `{"metadata":{"labels":{"a":"c"}},"spec":{"cancel":true}}`)
		if diff := cmp.Diff(mayNotCancel("eve", "live", ns), forbidden(t, err, cancelPolicy)); diff != "" {
			t.Errorf("message (-want +got):\n%s", diff)
		}
	})
	t.Run("after it was cancelled", func(t *testing.T) {
		done := created(t, ns, "done")
		if err := patch(author(t), done, `{"spec":{"cancel":true}}`); err != nil {
			t.Fatal(err)
		}
		if err := patch(eve, done, `{"metadata":{"labels":{"a":"b"}},"spec":{"cancel":true}}`); err != nil {
			t.Error(err)
		}
	})
	t.Run("through status", func(t *testing.T) {
		status := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"cancel":true}}`))
		if err := admin.Status().Patch(t.Context(), live.DeepCopy(), status); err != nil {
			t.Error(err)
		}
	})
	t.Run("by whom may only read", func(t *testing.T) {
		bind(t, ns, "remit-viewer", "viewers")
		err := patch(as(t, "vera", "viewers"), live, `{"spec":{"cancel":true}}`)
		if !apierrors.IsForbidden(err) {
			t.Errorf("want Forbidden, got %v", err)
		}
	})
	wantCancel(t, live, false)
}

// A Run may be created cancelled, by whoever may create it.
func TestCreateCancelled(t *testing.T) {
	r := &v1alpha1.Run{
		ObjectMeta: metav1.ObjectMeta{Name: "teapot", Namespace: env.Namespace(t)},
		Spec:       v1alpha1.RunSpec{SpecRef: &v1alpha1.NamedReference{Name: "helpdesk"}, Cancel: true},
	}
	if err := author(t).Create(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	wantCancel(t, r, true)
}

// The rights of the platform team over other people's Runs end at their decisions.
func TestPlatformCannotDecide(t *testing.T) {
	ns := env.Namespace(t)
	bind(t, ns, "remit-platform", "platform")
	r := suspended(t, ns, "teapot", first)
	for _, route := range routes(t) {
		err := route.write(t.Context(), as(t, "paul", "platform"), r, map[string]any{first: approve})
		if diff := cmp.Diff(mayNotApprove("paul", ns), forbidden(t, err, decisionsPolicy)); diff != "" {
			t.Errorf("%s: message (-want +got):\n%s", route.name, diff)
		}
	}
	wantSpec(t, r, undecided)
}
