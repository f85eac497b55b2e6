// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
)

// renamed is an overlay of the installation with a namespace and names of its own.
const renamed = "testdata/renamed"

// The policies know the operator by its service account, by whatever name an overlay gives it.
func TestPoliciesKnowTheOperator(t *testing.T) {
	for dir, want := range map[string]string{
		installation:  "remit-system/remit-operator",
		withoutStamps: "remit-system/remit-operator",
		renamed:       "acme-remit/acme-remit-operator",
	} {
		t.Run(dir, func(t *testing.T) {
			accounts, policies := map[string]string{}, map[string]bool{}
			var bindings []*unstructured.Unstructured
			for _, u := range rendered(t, dir) {
				switch kind := u.GetKind(); {
				case kind == "ServiceAccount":
					accounts[kind] = u.GetNamespace() + "/" + u.GetName()
				case kind == "Deployment":
					accounts[kind] = u.GetNamespace() + "/" + textAt(t, u, "spec", "template", "spec", "serviceAccountName")
				case strings.HasSuffix(kind, "AdmissionPolicy"):
					_, asks, err := unstructured.NestedMap(u.Object, "spec", "paramKind")
					if err != nil {
						t.Fatal(err)
					}
					policies[kind+" "+u.GetName()] = asks
				case strings.HasSuffix(kind, "AdmissionPolicyBinding"):
					bindings = append(bindings, u)
				}
			}
			if diff := cmp.Diff(map[string]string{"ServiceAccount": want, "Deployment": want}, accounts); diff != "" {
				t.Errorf("service account (-want +got):\n%s", diff)
			}
			bound := map[string]bool{}
			for _, binding := range bindings {
				policy := strings.TrimSuffix(binding.GetKind(), "Binding") + " " + textAt(t, binding, "spec", "policyName")
				bound[policy] = policies[policy]
				if !policies[policy] {
					continue
				}
				if got := textAt(t, binding, "spec", "paramRef", "namespace") + "/" + textAt(t, binding, "spec", "paramRef", "name"); got != want {
					t.Errorf("%s takes %s for the operator, want %s", policy, got, want)
				}
			}
			if diff := cmp.Diff(policies, bound); diff != "" {
				t.Errorf("policies that are bound (-want +got):\n%s", diff)
			}
		})
	}
}

// textAt is the text at a path of an object, which must be there.
func textAt(t *testing.T, u *unstructured.Unstructured, path ...string) string {
	t.Helper()
	value, ok, err := unstructured.NestedString(u.Object, path...)
	if err != nil || !ok {
		t.Fatalf("%s %s has no %s: %v", u.GetKind(), u.GetName(), strings.Join(path, "."), err)
	}
	return value
}

// An operator by another name is bound by the policies that came with it. Until its service account
// is there, they let nobody write a Run, and leave Secrets alone.
func TestOperatorByAnotherName(t *testing.T) {
	const acme = "system:serviceaccount:acme-remit:acme-remit-operator"
	r := suspended(t, env.Namespace(t), "teapot", first)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "secret", Namespace: r.Namespace}}
	create := func(ctx context.Context) error {
		return author(t).Create(ctx, &v1alpha1.Run{
			ObjectMeta: metav1.ObjectMeta{Name: "kettle", Namespace: r.Namespace},
			Spec:       v1alpha1.RunSpec{SpecRef: &v1alpha1.NamedReference{Name: "helpdesk"}},
		}, client.DryRunAll)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		eventually(ctx, t, func() error { return create(ctx) })
	})
	// No controller would remove the namespace.
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "acme-remit"}}
	if err := client.IgnoreAlreadyExists(admin.Create(t.Context(), namespace)); err != nil {
		t.Fatal(err)
	}
	install(t, "AdmissionPolicy")
	eventually(t.Context(), t, func() error {
		err := create(t.Context())
		if err == nil || !strings.Contains(err.Error(), "no params found for policy binding with `Deny` parameterNotFoundAction") {
			return errors.Join(errors.New("want a refusal for want of the service account"), err)
		}
		return nil
	})
	if err := admin.Create(t.Context(), secret.DeepCopy(), client.DryRunAll); err != nil {
		t.Errorf("somebody's Secret: %v", err)
	}

	install(t, "ServiceAccount")
	eventually(t.Context(), t, func() error { return create(t.Context()) })
	operator := as(t, acme, "system:masters")
	err := routes(t)[0].write(t.Context(), operator, r, map[string]any{first: approve})
	if diff := cmp.Diff("the operator carries decisions out and never makes one", forbidden(t, err, "acme-remit-run-decisions")); diff != "" {
		t.Errorf("decision: message (-want +got):\n%s", diff)
	}
	err = operator.Create(t.Context(), secret)
	if diff := cmp.Diff("the operator may create only Secrets of type remit.dev/webhook", forbidden(t, err, "acme-remit-operator-secrets")); diff != "" {
		t.Errorf("Secret: message (-want +got):\n%s", diff)
	}
	wantSpec(t, r, undecided)
}

// install creates what the overlay has of kinds with a word in their names, until the test ends.
func install(t *testing.T, word string) {
	t.Helper()
	var objects []*unstructured.Unstructured
	for _, u := range rendered(t, renamed) {
		if !strings.Contains(u.GetKind(), word) {
			continue
		}
		if err := admin.Create(t.Context(), u); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, u)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		for _, u := range objects {
			if err := admin.Delete(ctx, u); err != nil {
				t.Error(err)
			}
		}
	})
}
