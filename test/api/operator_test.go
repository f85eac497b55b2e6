// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/test/testenv"
)

const (
	operatorRuns    = "remit-operator-runs"
	operatorSecrets = "remit-operator-secrets"
)

// operator is the operator with an admin's rights, so that only the policies bound it.
func operator(t *testing.T) client.Client { return as(t, testenv.Operator, "system:masters") }

// owner is an owner reference to the Run teapot with the uid u-1.
const owner = "apiVersion: remit.dev/v1alpha1, kind: Run, name: teapot, uid: u-1"

const aWebhook = `
apiVersion: v1
kind: Secret
metadata: {name: webhook, ownerReferences: [{` + owner + `}]}
type: remit.dev/webhook
data: {url: aHR0cHM6Ly9leGFtcGxlLmNvbS8=}
`

// The operator may create the Secret of a webhook, and no other.
func TestOperatorsSecrets(t *testing.T) {
	const (
		otherType  = "the operator may create only Secrets of type remit.dev/webhook"
		otherOwner = "the operator may create only Secrets that a Run owns"
		otherKey   = "the operator may create only Secrets without another key than url"
	)
	ns := env.Namespace(t)
	for i, tc := range []struct {
		name  string
		edits edits
		want  string
	}{
		{name: "as it should be"},
		{name: "as text", edits: edits{"data": absent, "stringData": "{url: 'https://example.com/'}"}},
		{name: "of a controller", edits: edits{"metadata.ownerReferences": "[{" + owner + ", controller: true, blockOwnerDeletion: true}]"}},
		{name: "of another version", edits: edits{"metadata.ownerReferences": "[{apiVersion: remit.dev/v1, kind: Run, name: teapot, uid: u-1}]"}},
		{name: "of a Run and something else", edits: edits{
			"metadata.ownerReferences": "[{apiVersion: v1, kind: ConfigMap, name: teapot, uid: u-2}, {" + owner + "}]",
		}},
		{name: "without a type", edits: edits{"type": absent}, want: otherType},
		{name: "of another type", edits: edits{"type": "example.com/webhook"}, want: otherType},
		{name: "token of a service account", edits: edits{
			"type": "kubernetes.io/service-account-token", "metadata.annotations": "{kubernetes.io/service-account.name: default}",
		}, want: otherType},
		{name: "of nobody", edits: edits{"metadata.ownerReferences": absent}, want: otherOwner},
		{name: "of no owner in the list", edits: edits{"metadata.ownerReferences": "[]"}, want: otherOwner},
		{name: "of a Spec", edits: edits{"metadata.ownerReferences": "[{apiVersion: remit.dev/v1alpha1, kind: Spec, name: teapot, uid: u-1}]"}, want: otherOwner},
		{name: "of a Run of another group", edits: edits{"metadata.ownerReferences": "[{apiVersion: remit.dev.example.com/v1, kind: Run, name: teapot, uid: u-1}]"}, want: otherOwner},
		{name: "of a Run of a group without a name", edits: edits{"metadata.ownerReferences": "[{apiVersion: v1, kind: Run, name: teapot, uid: u-1}]"}, want: otherOwner},
		{name: "another key beside url", edits: edits{"data.token": "YQ=="}, want: otherKey},
		{name: "another key", edits: edits{"data": "{URL: YQ==}"}, want: otherKey},
		{name: "another key as text", edits: edits{"stringData": "{token: a}"}, want: otherKey},
	} {
		t.Run(tc.name, func(t *testing.T) {
			u := tc.edits.apply(t, parse(t, aWebhook))
			u.SetName(fmt.Sprint("webhook-", i))
			u.SetNamespace(ns)
			err := operator(t).Create(t.Context(), u.DeepCopy())
			if tc.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if diff := cmp.Diff(tc.want, forbidden(t, err, operatorSecrets)); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
			if err := admin.Create(t.Context(), u); err != nil {
				t.Errorf("somebody else: %v", err)
			}
		})
	}
}

// What is there the operator leaves as it is, its own Secrets included.
func TestOperatorChangesNoSecret(t *testing.T) {
	ns := env.Namespace(t)
	own, foreign := parse(t, aWebhook), edits{
		"metadata": "{name: foreign}", "type": absent,
	}.apply(t, parse(t, aWebhook))
	for c, u := range map[client.Client]*unstructured.Unstructured{operator(t): own, admin: foreign} {
		u.SetNamespace(ns)
		if err := c.Create(t.Context(), u); err != nil {
			t.Fatal(err)
		}
	}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`))
	for _, u := range []*unstructured.Unstructured{own, foreign} {
		for name, change := range map[string]func(c client.Client) error{
			"update": func(c client.Client) error {
				return c.Update(t.Context(), edits{"metadata.labels": "{a: b}"}.apply(t, u))
			},
			"patch": func(c client.Client) error { return c.Patch(t.Context(), u.DeepCopy(), patch) },
			"apply": func(c client.Client) error {
				applied := edits{"metadata": "{}"}.apply(t, u)
				applied.SetName(u.GetName())
				applied.SetNamespace(ns)
				return c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(applied), client.ForceOwnership, client.FieldOwner("test"))
			},
			"delete": func(c client.Client) error { return c.Delete(t.Context(), u.DeepCopy()) },
			"delete all": func(c client.Client) error {
				return c.DeleteAllOf(t.Context(), &corev1.Secret{}, client.InNamespace(ns))
			},
		} {
			want := "the operator may create Secrets, and never change or delete one"
			if diff := cmp.Diff(want, forbidden(t, change(operator(t)), operatorSecrets)); diff != "" {
				t.Errorf("%s %s: message (-want +got):\n%s", name, u.GetName(), diff)
			}
		}
	}
	for _, u := range []*unstructured.Unstructured{own, foreign} {
		if err := admin.Patch(t.Context(), u, patch); err != nil {
			t.Errorf("somebody else: %v", err)
		}
		if err := admin.Delete(t.Context(), u); err != nil {
			t.Errorf("somebody else: %v", err)
		}
	}
}

const aSubagentsRun = `
apiVersion: remit.dev/v1alpha1
kind: Run
metadata: {name: child, ownerReferences: [{` + owner + `}]}
spec:
  versionRef: {name: v-0123456789abcdef0123}
  parentRef: {name: teapot, uid: u-1, callID: call-0000000000000001}
  subagent: billing
  createdBy: author
  createdByGroups: ['remit:authors', 'system:authenticated']
`

// subagentsRun is a Run that the operator created for a call of a subagent.
func subagentsRun(t *testing.T, ns, name string, more edits) *v1alpha1.Run {
	t.Helper()
	u := more.apply(t, parse(t, aSubagentsRun))
	u.SetName(name)
	u.SetNamespace(ns)
	if err := operator(t).Create(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	r := &v1alpha1.Run{}
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(u), r); err != nil {
		t.Fatal(err)
	}
	return r
}

// The operator may create the Run of a subagent, and no other.
func TestOperatorsRuns(t *testing.T) {
	const orphan = "the operator may create only Runs that spec.parentRef and an owner reference give the same parent"
	ns := env.Namespace(t)
	for i, tc := range []struct {
		name  string
		edits edits
		want  string
	}{
		{name: "as it should be"},
		{name: "of a parent that is nobody's", edits: edits{"spec.createdBy": absent, "spec.createdByGroups": absent}},
		{name: "of a controller", edits: edits{"metadata.ownerReferences": "[{" + owner + ", controller: true, blockOwnerDeletion: true}]"}},
		{name: "of its parent and something else", edits: edits{
			"metadata.ownerReferences": "[{apiVersion: v1, kind: ConfigMap, name: teapot, uid: u-2}, {" + owner + "}]",
		}},
		{name: "without a parent", edits: edits{"spec.parentRef": absent, "spec.subagent": absent}, want: orphan},
		{name: "without an owner", edits: edits{"metadata.ownerReferences": absent}, want: orphan},
		{name: "with neither", edits: edits{"metadata.ownerReferences": absent, "spec.parentRef": absent, "spec.subagent": absent}, want: orphan},
		{name: "of an owner with another name", edits: edits{"spec.parentRef.name": "kettle"}, want: orphan},
		{name: "of an owner with another uid", edits: edits{"spec.parentRef.uid": "u-2"}, want: orphan},
		{name: "of two owners that are the parent together", edits: edits{
			"metadata.ownerReferences": "[{apiVersion: remit.dev/v1alpha1, kind: Run, name: teapot, uid: u-2}, {apiVersion: remit.dev/v1alpha1, kind: Run, name: kettle, uid: u-1}]",
		}, want: orphan},
		{name: "of an owner that is no Run", edits: edits{"metadata.ownerReferences": "[{apiVersion: remit.dev/v1alpha1, kind: Spec, name: teapot, uid: u-1}]"}, want: orphan},
		{name: "of a Run of another group", edits: edits{"metadata.ownerReferences": "[{apiVersion: example.com/v1, kind: Run, name: teapot, uid: u-1}]"}, want: orphan},
	} {
		t.Run(tc.name, func(t *testing.T) {
			u := tc.edits.apply(t, parse(t, aSubagentsRun))
			u.SetName(fmt.Sprint("child-", i))
			u.SetNamespace(ns)
			written := u.DeepCopy()
			err := operator(t).Create(t.Context(), u)
			if tc.want != "" {
				if diff := cmp.Diff(tc.want, forbidden(t, err, operatorRuns)); diff != "" {
					t.Errorf("message (-want +got):\n%s", diff)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(written.Object["spec"], u.Object["spec"]); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
		})
	}
}

// Nobody else says that a Run is a subagent's, or whose it is.
func TestOnlyTheOperatorNamesParents(t *testing.T) {
	ns := env.Namespace(t)
	for user, c := range map[string]client.Client{
		"author":                                 author(t),
		"root":                                   as(t, "root", "system:masters"),
		"system:serviceaccount:remit-system:eve": as(t, "system:serviceaccount:remit-system:eve", "system:masters"),
		"system:serviceaccount:" + ns + ":remit-operator": as(t, "system:serviceaccount:"+ns+":remit-operator", "system:masters"),
	} {
		want := fmt.Sprintf("user %q may not set spec.parentRef and spec.subagent: leave them out, as only the operator creates the Run of a subagent", user)
		u := parse(t, aSubagentsRun)
		u.SetNamespace(ns)
		if diff := cmp.Diff(want, forbidden(t, c.Create(t.Context(), u.DeepCopy()), operatorRuns)); diff != "" {
			t.Errorf("create: message (-want +got):\n%s", diff)
		}
		err := c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("test"))
		if diff := cmp.Diff(want, forbidden(t, err, operatorRuns)); diff != "" {
			t.Errorf("apply: message (-want +got):\n%s", diff)
		}
	}
	t.Run("afterwards", func(t *testing.T) {
		r := created(t, ns, "teapot")
		want := []string{`spec: Invalid value: parentRef is immutable: create another Run`, `spec: Invalid value: subagent is immutable: create another Run`}
		for _, c := range []client.Client{author(t), admin, operator(t)} {
			patch := client.RawPatch(types.MergePatchType,
				[]byte(`{"spec":{"parentRef":{"name":"teapot","uid":"u-1","callID":"call-0000000000000001"},"subagent":"billing"}}`))
			if diff := cmp.Diff(want, causes(t, c.Patch(t.Context(), r.DeepCopy(), patch))); diff != "" {
				t.Errorf("causes (-want +got):\n%s", diff)
			}
		}
		wantSpec(t, r, undecided)
	})
}

// A subagent's Run belongs to whoever created its parent, for those who ask.
func TestSubagentsRunHasItsParentsCreator(t *testing.T) {
	ns := env.Namespace(t)
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"cancel":true}}`))
	known := subagentsRun(t, ns, "known", nil)
	unknown := subagentsRun(t, ns, "unknown", edits{"spec.createdBy": absent, "spec.createdByGroups": absent})
	if err := author(t).Patch(t.Context(), known, patch); err != nil {
		t.Errorf("the creator of the parent may not cancel: %v", err)
	}
	err := author(t).Patch(t.Context(), unknown.DeepCopy(), patch)
	if diff := cmp.Diff(mayNotCancel("author", "unknown", ns), forbidden(t, err, cancelPolicy)); diff != "" {
		t.Errorf("nobody's Run: message (-want +got):\n%s", diff)
	}
	if err := approver(t).Patch(t.Context(), unknown, patch); err != nil {
		t.Errorf("nobody's Run, with the right to cancel: %v", err)
	}
	// Nor does the operator decide there.
	suspend(t, known, first)
	err = routes(t)[0].write(t.Context(), operator(t), known, map[string]any{first: approve})
	if !apierrors.IsForbidden(err) {
		t.Errorf("want Forbidden, got %v", err)
	}
}
