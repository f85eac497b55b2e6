// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
)

// bind gives a ClusterRole to a group in one namespace, and waits until the group may read there.
func bind(t *testing.T, ns, role, group string) {
	t.Helper()
	err := admin.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: role + "-", Namespace: ns},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: group}},
	})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t.Context(), t, func() error {
		if !allowed(t, group, ns, "list", "runs") {
			return fmt.Errorf("%s is not in force", role)
		}
		return nil
	})
}

// authors is what an author may do beside reading the five kinds.
var authors = []string{
	"create runs", "delete runs", "patch runs", "update runs",
	"create specs", "delete specs", "patch specs", "update specs",
}

// What each role may do beside reading the five kinds, and nothing else. The last three are those of
// Kubernetes.
var rights = map[string][]string{
	"remit-viewer":   nil,
	"remit-author":   authors,
	"remit-approver": {"approve runs/approval", "cancel runs", "patch runs", "update runs"},
	"remit-platform": {
		"cancel runs", "patch runs", "update runs",
		"create grants", "delete grants", "deletecollection grants", "patch grants", "update grants",
		"create mcpservers", "delete mcpservers", "deletecollection mcpservers", "patch mcpservers", "update mcpservers",
	},
	"view":  nil,
	"edit":  authors,
	"admin": authors,
}

func TestRights(t *testing.T) {
	aggregate(t)
	kinds := []string{"grants", "mcpservers", "runs", "specs", "versions"}
	var resources []string
	for _, kind := range kinds {
		resources = append(resources, kind, kind+"/status", kind+"/finalizers")
	}
	resources = append(resources, "runs/approval")
	verbs := []string{"approve", "bind", "call", "cancel", "create", "delete", "deletecollection", "escalate", "get", "list", "patch", "update", "watch"}

	ns, elsewhere := env.Namespace(t), env.Namespace(t)
	for role, more := range rights {
		t.Run(role, func(t *testing.T) {
			bind(t, ns, role, role)
			want := slices.Clone(more)
			for _, kind := range kinds {
				want = append(want, "get "+kind, "list "+kind, "watch "+kind)
			}
			slices.Sort(want)
			var got []string
			for _, resource := range resources {
				for _, verb := range verbs {
					if allowed(t, role, ns, verb, resource) {
						got = append(got, verb+" "+resource)
					}
					if allowed(t, role, elsewhere, verb, resource) {
						t.Errorf("%s %s is allowed in another namespace", verb, resource)
					}
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("rights (-want +got):\n%s", diff)
			}
		})
	}
}

// allowed asks the authorizer about a member of a group.
func allowed(t *testing.T, group, ns, verb, resource string) bool {
	t.Helper()
	resource, subresource, _ := strings.Cut(resource, "/")
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: "somebody", Groups: []string{group},
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: ns, Verb: verb, Group: v1alpha1.GroupVersion.Group, Resource: resource, Subresource: subresource,
		},
	}}
	if err := admin.Create(t.Context(), review); err != nil {
		t.Fatal(err)
	}
	return review.Status.Allowed
}

func TestAuthorWritesOnlySpecsAndRuns(t *testing.T) {
	ns := env.Namespace(t)
	for kind, text := range map[string]string{
		"grants": grant, "mcpservers": mcpServer, "versions": version, "specs": spec, "runs": aRun,
	} {
		t.Run(kind, func(t *testing.T) {
			u := parse(t, text)
			u.SetNamespace(ns)
			err := author(t).Create(t.Context(), u)
			if kind == "specs" || kind == "runs" {
				if err != nil {
					t.Fatal(err)
				}
				patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"observedGeneration":7}}`))
				err = author(t).Status().Patch(t.Context(), u, patch)
				wantForbidden(t, err, fmt.Sprintf(`%s.remit.dev %q is forbidden: User "author" cannot patch resource "%s/status" in API group "remit.dev" in the namespace %q`,
					kind, u.GetName(), kind, ns))
				return
			}
			wantForbidden(t, err, fmt.Sprintf(`%s.remit.dev is forbidden: User "author" cannot create resource %q in API group "remit.dev" in the namespace %q`,
				kind, kind, ns))
		})
	}
}

// What clients write into status while they create an object is dropped.
func TestStatusIsNotWrittenOnCreate(t *testing.T) {
	u := edits{"status": "{phase: Complete, output: done, observedGeneration: 1}"}.apply(t, parse(t, aRun))
	u.SetNamespace(env.Namespace(t))
	if err := author(t).Create(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"observedGeneration": int64(-1)}, u.Object["status"]); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

func wantForbidden(t *testing.T, err error, want string) {
	t.Helper()
	if !apierrors.IsForbidden(err) || err.Error() != want {
		t.Errorf("want %s\ngot %v", want, err)
	}
}

// The operator's own role is generated from its controllers: nothing in it may approve or cancel,
// and nothing in it may be used to get further rights.
func TestOperatorsRole(t *testing.T) {
	data, err := os.ReadFile("../../config/rbac/role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	for {
		// A ClusterRole and a Role have the same form.
		role := &rbacv1.Role{}
		err := decoder.Decode(role)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if role.Name != "remit-operator" {
			t.Errorf("%s has the name %s", role.Kind, role.Name)
		}
		for _, rule := range role.Rules {
			if slices.Contains(rule.APIGroups, "*") || slices.Contains(rule.Resources, "*") || slices.Contains(rule.APIGroups, rbacv1.GroupName) {
				t.Errorf("rule is too wide: %v", rule)
			}
			for _, verb := range rule.Verbs {
				if slices.Contains([]string{"*", "approve", "cancel", "bind", "escalate", "impersonate"}, verb) {
					t.Errorf("the operator has the verb %s: %v", verb, rule)
				}
			}
			// What admission bounds is creating; nothing bounds these.
			for _, resource := range []string{"runs", "secrets"} {
				if slices.Contains(rule.Resources, resource) && slices.ContainsFunc(rule.Verbs, func(v string) bool {
					return slices.Contains([]string{"patch", "update", "delete", "deletecollection"}, v)
				}) {
					t.Errorf("the operator may change what people wrote: %v", rule)
				}
			}
		}
	}
}
