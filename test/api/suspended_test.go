// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/test/testenv"
)

// first and second are the calls that the Runs of these tests wait for.
const (
	first  = "call-0000000000000001"
	second = "call-0000000000000002"
)

// digest is one that belongs to nothing.
var digest = v1alpha1.Digest(fmt.Sprintf("sha256:%064x", 0))

func author(t *testing.T) client.Client   { return as(t, "author", testenv.Authors) }
func approver(t *testing.T) client.Client { return as(t, "approver", testenv.Approvers) }

// suspended is a Run of the author that waits for a decision on each of the calls.
func suspended(t *testing.T, ns, name string, calls ...string) *v1alpha1.Run {
	t.Helper()
	r := created(t, ns, name)
	suspend(t, r, calls...)
	return r
}

// created is a Run of the author.
func created(t *testing.T, ns, name string) *v1alpha1.Run {
	t.Helper()
	r := &v1alpha1.Run{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: ns},
		Spec:       v1alpha1.RunSpec{SpecRef: &v1alpha1.NamedReference{Name: "helpdesk"}},
	}
	if err := author(t).Create(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return r
}

// suspend does what the operator does when calls have to wait.
func suspend(t *testing.T, r *v1alpha1.Run, calls ...string) {
	t.Helper()
	r.Status.Phase = v1alpha1.RunSuspended
	r.Status.Pending = nil
	for _, id := range calls {
		r.Status.Pending = append(r.Status.Pending, v1alpha1.PendingCall{
			ID: v1alpha1.CallID(id), Kind: v1alpha1.PendingTool,
			Tool: "desk__refund_order", Class: v1alpha1.ClassDestructive,
			Arguments: "{}", ArgumentsDigest: digest, DefinitionDigest: digest, Reason: "the tool is destructive",
			RequestedAt: metav1.NewTime(time.Unix(1_700_000_000, 0)),
			ExpiresAt:   metav1.NewTime(time.Unix(1_700_086_400, 0)),
		})
	}
	if len(calls) > 0 {
		r.Status.WaitingFor = "desk__refund_order"
	}
	if err := admin.Status().Update(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

// decisions is the body of the merge patch that people are told to send.
func decisions(t *testing.T, byCall map[string]any) []byte {
	t.Helper()
	data, err := json.Marshal(map[string]any{"spec": map[string]any{"decisions": byCall}})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// approve is the decision to let a call go ahead.
var approve = map[string]any{"approved": true}

// A route is one way in which a client can write a field of a Run's spec.
type route struct {
	name string
	set  func(ctx context.Context, c client.Client, r *v1alpha1.Run, field string, value any) error
}

// write writes decisions.
func (route route) write(ctx context.Context, c client.Client, r *v1alpha1.Run, byCall map[string]any) error {
	return route.set(ctx, c, r, "decisions", byCall)
}

// routes are all of them but the status subresource and create.
func routes(t *testing.T) []route {
	return []route{
		{"merge patch", func(ctx context.Context, c client.Client, r *v1alpha1.Run, field string, value any) error {
			data, err := json.Marshal(map[string]any{"spec": map[string]any{field: value}})
			if err != nil {
				return err
			}
			return c.Patch(ctx, r.DeepCopy(), client.RawPatch(types.MergePatchType, data))
		}},
		{"JSON patch", func(ctx context.Context, c client.Client, r *v1alpha1.Run, field string, value any) error {
			data, err := json.Marshal([]map[string]any{{"op": "add", "path": "/spec/" + field, "value": value}})
			if err != nil {
				return err
			}
			return c.Patch(ctx, r.DeepCopy(), client.RawPatch(types.JSONPatchType, data))
		}},
		{"update", func(ctx context.Context, c client.Client, r *v1alpha1.Run, field string, value any) error {
			u := &unstructured.Unstructured{}
			u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Run"))
			if err := c.Get(ctx, client.ObjectKeyFromObject(r), u); err != nil {
				return err
			}
			if err := unstructured.SetNestedField(u.Object, value, "spec", field); err != nil {
				return err
			}
			return c.Update(ctx, u)
		}},
		{"server-side apply with force", func(ctx context.Context, c client.Client, r *v1alpha1.Run, field string, value any) error {
			u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{field: value}}}
			u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Run"))
			u.SetName(r.Name)
			u.SetNamespace(r.Namespace)
			return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.ForceOwnership, client.FieldOwner("test"))
		}},
	}
}

// wantSpec compares the stored spec of a Run with YAML.
func wantSpec(t *testing.T, r *v1alpha1.Run, want string) {
	t.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Run"))
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(r), u); err != nil {
		t.Fatal(err)
	}
	wanted := parse(t, "kind: Run\nspec: "+want).Object["spec"]
	if diff := cmp.Diff(wanted, u.Object["spec"]); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
}

// undecided is the spec of a Run of suspended.
const undecided = "{specRef: {name: helpdesk}, createdBy: author, createdByGroups: ['remit:authors', 'system:authenticated']}"
