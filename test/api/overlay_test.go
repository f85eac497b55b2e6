// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
)

const (
	installation = "../../config/default"
	// withoutStamps is for clusters without MutatingAdmissionPolicy.
	withoutStamps = "../../config/overlays/no-mutating-admission"
)

// rendered are the objects of a kustomization.
func rendered(t *testing.T, dir string) []*unstructured.Unstructured {
	t.Helper()
	decoder := utilyaml.NewYAMLOrJSONDecoder(strings.NewReader(kubectl(t, "kustomize", dir)), 4096)
	var objects []*unstructured.Unstructured
	for {
		u := &unstructured.Unstructured{}
		err := decoder.Decode(u)
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, u)
	}
}

// The overlay differs from what is installed by default in nothing but the stamps.
func TestOverlayWithoutStamps(t *testing.T) {
	var stamps []string
	var want []*unstructured.Unstructured
	for _, u := range rendered(t, installation) {
		if strings.HasPrefix(u.GetKind(), "MutatingAdmissionPolicy") {
			stamps = append(stamps, u.GetKind())
			continue
		}
		want = append(want, u)
	}
	if diff := cmp.Diff([]string{"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"}, stamps); diff != "" {
		t.Errorf("stamps (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, rendered(t, withoutStamps)); diff != "" {
		t.Errorf("objects (-default +overlay):\n%s", diff)
	}
}

// Where the mutating policy is missing, as before Kubernetes 1.36, the validating ones let nobody
// write anything but the truth, and say what that is.
func TestWithoutStamps(t *testing.T) {
	ns := env.Namespace(t)
	waiting := suspended(t, ns, "waiting", first)
	removeStamps(t, ns)
	kubectl(t, "apply", "--server-side", "--force-conflicts", "-k", withoutStamps)

	truth := []string{"remit:authors", "system:authenticated"}
	for _, tc := range []struct {
		name   string
		by     string
		groups []string
		may    bool
	}{
		{name: "nothing"},
		{name: "somebody else", by: "eve", groups: truth},
		{name: "only the user", by: "author"},
		{name: "only the groups", groups: truth},
		{name: "no group", by: "author", groups: []string{}},
		{name: "a group less", by: "author", groups: truth[:1]},
		{name: "a group more", by: "author", groups: []string{"remit:authors", "system:authenticated", "system:masters"}},
		{name: "another group", by: "author", groups: []string{"system:masters"}},
		{name: "the truth", by: "author", groups: truth, may: true},
	} {
		t.Run("created by "+tc.name, func(t *testing.T) {
			r := &v1alpha1.Run{
				ObjectMeta: metav1.ObjectMeta{GenerateName: "run-", Namespace: ns},
				Spec: v1alpha1.RunSpec{
					SpecRef: &v1alpha1.NamedReference{Name: "helpdesk"}, CreatedBy: tc.by, CreatedByGroups: tc.groups,
				},
			}
			err := author(t).Create(t.Context(), r)
			if tc.may {
				if err != nil {
					t.Fatal(err)
				}
				wantSpec(t, r, undecided)
				return
			}
			want := `spec must say who creates the Run: write createdBy: "author" and createdByGroups: ["remit:authors", "system:authenticated"]`
			if diff := cmp.Diff(want, forbidden(t, err, decisionsPolicy)); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
		})
	}
	for _, route := range routes(t) {
		for _, decision := range []map[string]any{{"approved": true}, {"approved": true, "by": "eve"}, {"approved": false, "by": "author"}} {
			err := route.write(t.Context(), approver(t), waiting, map[string]any{first: decision})
			if diff := cmp.Diff(`every new decision must say who makes it: write by: "approver"`, forbidden(t, err, decisionsPolicy)); diff != "" {
				t.Errorf("%s of %v: message (-want +got):\n%s", route.name, decision, diff)
			}
		}
	}
	t.Run("decided with the truth", func(t *testing.T) {
		decision := map[string]any{"approved": true, "by": "approver"}
		if err := routes(t)[0].write(t.Context(), approver(t), waiting, map[string]any{first: decision}); err != nil {
			t.Fatal(err)
		}
		wantSpec(t, waiting, strings.TrimSuffix(undecided, "}")+", decisions: {"+first+": {approved: true, by: approver}}}")
	})
	t.Run("by the operator for a subagent", func(t *testing.T) {
		u := parse(t, aSubagentsRun)
		u.SetNamespace(ns)
		if err := operator(t).Create(t.Context(), u); err != nil {
			t.Error(err)
		}
	})
}

// removeStamps takes the mutating policy away until the test ends.
func removeStamps(t *testing.T, ns string) {
	t.Helper()
	createdBy := func(ctx context.Context, user string) error {
		return author(t).Create(ctx, &v1alpha1.Run{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "run-", Namespace: ns},
			Spec:       v1alpha1.RunSpec{SpecRef: &v1alpha1.NamedReference{Name: "helpdesk"}, CreatedBy: user},
		}, client.DryRunAll)
	}
	kubectl(t, "delete", "mutatingadmissionpolicies,mutatingadmissionpolicybindings", "remit-run-stamps")
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if _, err := env.Kubectl(ctx, "apply", "--server-side", "--force-conflicts", "-k", "../../config/admission"); err != nil {
			t.Fatal(err)
		}
		eventually(ctx, t, func() error { return createdBy(ctx, "") })
	})
	eventually(t.Context(), t, func() error {
		if createdBy(t.Context(), "") == nil {
			return errors.New("createdBy is still stamped")
		}
		return nil
	})
}
