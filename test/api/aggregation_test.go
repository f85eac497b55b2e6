// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// aggregate does what a controller of Kubernetes does that does not run here: it gives the roles
// view, edit and admin the rules of those that are aggregated to them.
func aggregate(t *testing.T) {
	t.Helper()
	// In this order, as each is aggregated to the next.
	for _, name := range []string{"view", "edit", "admin"} {
		role := &rbacv1.ClusterRole{}
		if err := admin.Get(t.Context(), client.ObjectKey{Name: name}, role); err != nil {
			t.Fatal(err)
		}
		if role.AggregationRule == nil {
			t.Fatalf("%s has no aggregationRule", name)
		}
		role.Rules = nil
		for i := range role.AggregationRule.ClusterRoleSelectors {
			selector, err := metav1.LabelSelectorAsSelector(&role.AggregationRule.ClusterRoleSelectors[i])
			if err != nil {
				t.Fatal(err)
			}
			var parts rbacv1.ClusterRoleList
			if err := admin.List(t.Context(), &parts, client.MatchingLabelsSelector{Selector: selector}); err != nil {
				t.Fatal(err)
			}
			for _, part := range parts.Items {
				role.Rules = append(role.Rules, part.Rules...)
			}
		}
		if err := admin.Update(t.Context(), role); err != nil {
			t.Fatal(err)
		}
	}
}

// Viewing and authoring come with the roles that Kubernetes has; approving and granting never do.
// Nobody but the approver may approve, and no role is wider than what is listed.
func TestRolesAsInstalled(t *testing.T) {
	labels := map[string]map[string]string{}
	holders := map[string][]string{}
	for _, u := range rendered(t, installation) {
		if kind := u.GetKind(); kind != "ClusterRole" && kind != "Role" {
			continue
		}
		// A ClusterRole and a Role have the same form.
		role := &rbacv1.ClusterRole{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, role); err != nil {
			t.Fatal(err)
		}
		if role.Labels != nil {
			labels[role.Name] = role.Labels
		}
		if role.AggregationRule != nil {
			t.Errorf("%s takes in other roles", role.Name)
		}
		for _, rule := range role.Rules {
			for _, entry := range slices.Concat(rule.APIGroups, rule.Resources, rule.NonResourceURLs, rule.Verbs) {
				if strings.Contains(entry, "*") || slices.Contains([]string{"approve", "bind", "call", "cancel", "escalate", "impersonate"}, entry) {
					holders[entry] = append(holders[entry], role.Name)
				}
			}
			if slices.Contains(rule.Resources, "grants") && slices.Contains(rule.Verbs, "update") {
				holders["update grants"] = append(holders["update grants"], role.Name)
			}
		}
	}
	if diff := cmp.Diff(map[string]map[string]string{
		"remit-viewer": {"rbac.authorization.k8s.io/aggregate-to-view": "true"},
		"remit-author": {"rbac.authorization.k8s.io/aggregate-to-edit": "true"},
	}, labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string][]string{
		"approve":       {"remit-approver"},
		"cancel":        {"remit-approver", "remit-platform"},
		"update grants": {"remit-platform"},
	}, holders); diff != "" {
		t.Errorf("who has what (-want +got):\n%s", diff)
	}
}

// namespaceAdmin is a client of somebody who administers one namespace.
func namespaceAdmin(t *testing.T, ns string) client.Client {
	t.Helper()
	aggregate(t)
	bind(t, ns, "admin", "admins-of-"+ns)
	return as(t, "nora", "admins-of-"+ns)
}

// Who administers a namespace neither decides there, nor grants, nor cancels what others created.
func TestNamespaceAdminCannotDecide(t *testing.T) {
	ns := env.Namespace(t)
	nora := namespaceAdmin(t, ns)
	r := suspended(t, ns, "teapot", first)
	for _, route := range routes(t) {
		err := route.write(t.Context(), nora, r, map[string]any{first: approve})
		if diff := cmp.Diff(mayNotApprove("nora", ns), forbidden(t, err, decisionsPolicy)); diff != "" {
			t.Errorf("%s: message (-want +got):\n%s", route.name, diff)
		}
	}
	err := routes(t)[0].set(t.Context(), nora, r, "cancel", true)
	if diff := cmp.Diff(mayNotCancel("nora", "teapot", ns), forbidden(t, err, cancelPolicy)); diff != "" {
		t.Errorf("cancel: message (-want +got):\n%s", diff)
	}
	wantSpec(t, r, undecided)
	for kind, text := range map[string]string{"grants": grant, "mcpservers": mcpServer, "versions": version} {
		u := parse(t, text)
		u.SetNamespace(ns)
		wantForbidden(t, nora.Create(t.Context(), u), fmt.Sprintf(
			`%s.remit.dev is forbidden: User "nora" cannot create resource %q in API group "remit.dev" in the namespace %q`, kind, kind, ns))
	}
}

// RBAC lets nobody give a right that he does not have, so that none of these leads to one.
func TestNamespaceAdminCannotGiveHimselfRights(t *testing.T) {
	ns := env.Namespace(t)
	nora := namespaceAdmin(t, ns)
	rule := func(verb, group, resource string) client.Object {
		return &rbacv1.Role{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "role-", Namespace: ns},
			Rules:      []rbacv1.PolicyRule{{APIGroups: []string{group}, Resources: []string{resource}, Verbs: []string{verb}}},
		}
	}
	binding := func(role string) client.Object {
		return &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "binding-", Namespace: ns},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "nora"}},
		}
	}
	for name, o := range map[string]client.Object{
		"approver":          binding("remit-approver"),
		"platform":          binding("remit-platform"),
		"cluster-admin":     binding("cluster-admin"),
		"approve":           rule("approve", "remit.dev", "runs/approval"),
		"approve all":       rule("approve", "*", "*"),
		"all of approval":   rule("*", "remit.dev", "runs/approval"),
		"all of remit.dev":  rule("*", "remit.dev", "*"),
		"cancel":            rule("cancel", "remit.dev", "runs"),
		"grants":            rule("update", "remit.dev", "grants"),
		"status":            rule("update", "remit.dev", "runs/status"),
		"bind roles":        rule("bind", rbacv1.GroupName, "clusterroles"),
		"escalate":          rule("escalate", rbacv1.GroupName, "roles"),
		"impersonate users": rule("impersonate", "", "users"),
	} {
		err := nora.Create(t.Context(), o)
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "is attempting to grant RBAC permissions not currently held") {
			t.Errorf("%s: want Forbidden, got %v", name, err)
		}
	}
	if err := nora.Create(t.Context(), binding("remit-author")); err != nil {
		t.Errorf("what he has himself: %v", err)
	}
	for _, err := range []error{
		nora.Create(t.Context(), &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "nora"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "remit-approver"},
		}),
		nora.Update(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}),
	} {
		if !apierrors.IsForbidden(err) {
			t.Errorf("outside of what a namespace holds: want Forbidden, got %v", err)
		}
	}
}

// Whoever administers a namespace acts as its service accounts, so those must not have the right.
func TestServiceAccountsOfANamespaceCannotDecide(t *testing.T) {
	ns := env.Namespace(t)
	namespaceAdmin(t, ns)
	bind(t, ns, "remit-author", "system:serviceaccounts:"+ns)
	robot := "system:serviceaccount:" + ns + ":robot"
	config := env.As("nora", "admins-of-"+ns)
	config.Impersonate = rest.ImpersonationConfig{UserName: robot}
	c, err := newClient(config)
	if err != nil {
		t.Fatal(err)
	}
	r := suspended(t, ns, "teapot", first)
	for _, route := range routes(t) {
		err := route.write(t.Context(), c, r, map[string]any{first: approve})
		if diff := cmp.Diff(mayNotApprove(robot, ns), forbidden(t, err, decisionsPolicy)); diff != "" {
			t.Errorf("%s: message (-want +got):\n%s", route.name, diff)
		}
	}
	err = routes(t)[0].set(t.Context(), c, r, "cancel", true)
	if diff := cmp.Diff(mayNotCancel(robot, "teapot", ns), forbidden(t, err, cancelPolicy)); diff != "" {
		t.Errorf("cancel: message (-want +got):\n%s", diff)
	}
	wantSpec(t, r, undecided)
}
