// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"remit.dev/remit/api/v1alpha1"
)

// rights are the ways to the right itself: to be somebody who has it, to give it to oneself, and to put
// away what asks for it.
func (f *forging) rights() []attempt {
	attempts := append(f.impersonations(), f.escalations()...)
	attempts = append(attempts, f.servants()...)
	return append(attempts, f.removals()...)
}

// impersonations speak in the name of somebody else.
func (f *forging) impersonations() []attempt {
	as := func(headers ...string) func(*testing.T, *person) error {
		return f.request("PATCH", "$RUN", mergePatch, `{"spec":{"decisions":$YES}}`, headers...)
	}
	const cannot, nobody = `User "$USER" cannot impersonate`, "without impersonating a user"
	return []attempt{
		{"Impersonate-User", author, as("Impersonate-User", "approver"), cannot},
		{"Impersonate-User and -Group", author, as("Impersonate-User", "approver", "Impersonate-Group", "remit:approvers"), cannot},
		{"Impersonate-User of himself and -Group", author, as("Impersonate-User", "author", "Impersonate-Group", "remit:approvers"), cannot},
		{"Impersonate-User of himself and -Uid", author, as("Impersonate-User", "author", "Impersonate-Uid", "1"), cannot},
		{"Impersonate-Group", author, as("Impersonate-Group", "remit:approvers"), nobody},
		{"Impersonate-Uid", author, as("Impersonate-Uid", "1"), nobody},
		{"Impersonate-User of the operator", author, as("Impersonate-User", operatorUser), cannot},
		{"Impersonate-User of the operator", lead, as("Impersonate-User", operatorUser), cannot},
		{"Impersonate-User", lead, as("Impersonate-User", "approver"), cannot},
		{"Impersonate-Group of the masters", lead, as("Impersonate-User", "$USER", "Impersonate-Group", "system:masters"), cannot},
		{"Impersonate-User", platform, as("Impersonate-User", "approver"), cannot},
		{"Impersonate-User", viewer, as("Impersonate-User", "approver"), cannot},
		{"Impersonate-User", theOperator, as("Impersonate-User", "approver"), cannot},
	}
}

// rbacObject is a manifest of RBAC in the Run's namespace.
func rbacObject(kind, name, rest string) string {
	return `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"` + kind + `","metadata":{"name":"` + name + `"},` + rest + `}`
}

// escalations give the right to somebody who does not have it.
func (f *forging) escalations() []attempt {
	const roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/$NS/roles"
	const bindings = "/apis/rbac.authorization.k8s.io/v1/namespaces/$NS/rolebindings"
	const escalation = "is attempting to grant RBAC permissions not currently held"
	subject := `"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"$USER"}]`
	binds := func(kind, role string) string {
		return rbacObject("RoleBinding", "mine", `"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"`+kind+`","name":"`+role+`"},`+subject)
	}
	role := func(resources, verbs string) string {
		return rbacObject("Role", "mine", `"rules":[{"apiGroups":["remit.dev"],"resources":[`+resources+`],"verbs":[`+verbs+`]}]`)
	}
	cannotCreate := func(what string) string {
		return `User "$USER" cannot create resource "` + what + `" in API group "rbac.authorization.k8s.io" in the namespace "$NS"`
	}
	f.create(admin, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "approvers"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "remit-approver"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "remit:approvers"}}})
	var attempts []attempt
	for _, a := range []struct{ path, resource, body string }{
		{"binding the approver's role", bindings, binds("ClusterRole", "remit-approver")},
		{"binding cluster-admin", bindings, binds("ClusterRole", "cluster-admin")},
		{"binding the operator's role", bindings, binds("ClusterRole", "remit-operator")},
		{"Role with approve", roles, role(`"runs/approval"`, `"approve"`)},
		{"Role with every verb on every subresource", roles, role(`"runs/*"`, `"*"`)},
		{"Role with everything", roles, role(`"*"`, `"*"`)},
		{"Role that writes the status", roles, role(`"runs/status"`, `"update","patch"`)},
	} {
		what := "rolebindings"
		if a.resource == roles {
			what = "roles"
		}
		attempts = append(attempts, each(a.path, f.request("POST", a.resource, plainJSON, a.body), map[string]string{
			author: cannotCreate(what), approver: cannotCreate(what), platform: cannotCreate(what), lead: escalation})...)
	}
	return append(attempts,
		attempt{"joining the approvers' binding", lead, f.request("PATCH", bindings+"/approvers", mergePatch, `{`+subject+`}`), escalation},
		attempt{"joining the approvers' binding", author, f.request("PATCH", bindings+"/approvers", mergePatch, `{`+subject+`}`),
			`User "$USER" cannot patch resource "rolebindings"`},
		attempt{"widening the author's ClusterRole", lead, f.request("PATCH", "/apis/rbac.authorization.k8s.io/v1/clusterroles/remit-author", jsonPatch,
			`[{"op":"add","path":"/rules/-","value":{"apiGroups":["remit.dev"],"resources":["runs/approval"],"verbs":["approve"]}}]`),
			`User "$USER" cannot patch resource "clusterroles"`},
		attempt{"ClusterRole that is aggregated to admin", lead, f.request("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", plainJSON,
			`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"mine","labels":{"rbac.authorization.k8s.io/aggregate-to-admin":"true"}},`+
				`"rules":[{"apiGroups":["remit.dev"],"resources":["runs/approval"],"verbs":["approve"]}]}`),
			`User "$USER" cannot create resource "clusterroles"`},
	)
}

// servants are service accounts: one of the namespace, as which its admin may act, and the operator's.
func (f *forging) servants() []attempt {
	const tokens = "/api/v1/namespaces/remit-system/serviceaccounts/remit-operator/token"
	const token = `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}}`
	const request = `{"apiVersion":"certificates.k8s.io/v1","kind":"CertificateSigningRequest","metadata":{"name":"forged"},` +
		`"spec":{"request":"","signerName":"kubernetes.io/kube-apiserver-client","usages":["client auth"]}}`
	decides := func(headers ...string) func(*testing.T, *person) error {
		return f.request("PATCH", "$RUN", mergePatch, `{"spec":{"decisions":$YES}}`, headers...)
	}
	bot := "system:serviceaccount:" + f.namespace + ":default"
	cannotToken := `User "$USER" cannot create resource "serviceaccounts/token" in API group "" in the namespace "remit-system"`
	attempts := each("token of the operator", f.request("POST", tokens, plainJSON, token),
		map[string]string{author: cannotToken, lead: cannotToken, platform: cannotToken, approver: cannotToken})
	attempts = append(attempts, each("certificate of an approver", f.request("POST", "/apis/certificates.k8s.io/v1/certificatesigningrequests", plainJSON, request),
		map[string]string{author: `cannot create resource "certificatesigningrequests"`, lead: `cannot create resource "certificatesigningrequests"`})...)
	return append(attempts,
		attempt{"service account without rights", lead, decides("Impersonate-User", bot), `User "` + bot + `" cannot patch resource "runs"`},
		attempt{"service account that may write Runs", lead, func(t *testing.T, as *person) error {
			t.Helper()
			f.bindAuthor(t, as, bot)
			return decides("Impersonate-User", bot)(t, as)
		}, `user "` + bot + `" may not approve`},
		attempt{"the operator, which its namespace's admin lets write Runs", theOperator, func(t *testing.T, as *person) error {
			t.Helper()
			f.bindAuthor(t, f.people[lead], operatorUser)
			return decides()(t, as)
		}, "the operator carries decisions out and never makes one"},
		attempt{"the operator, which a mistake lets approve", theOperator, func(t *testing.T, as *person) error {
			t.Helper()
			bind(t, f.namespace, operatorUser, rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "remit-approver"})
			awaitRight(t, operatorUser, f.namespace, "approve", "runs", "approval")
			return decides()(t, as)
		}, "the operator carries decisions out and never makes one"},
	)
}

// bindAuthor lets somebody write Runs, which whoever may write them himself may do.
func (f *forging) bindAuthor(t *testing.T, as *person, user string) {
	t.Helper()
	body := `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"generateName":"author-"},` +
		`"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"remit-author"},` +
		`"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"` + user + `"}]}`
	if err := as.send(t, "POST", f.expand("/apis/rbac.authorization.k8s.io/v1/namespaces/$NS/rolebindings"), plainJSON, body); err != nil {
		t.Fatal(err)
	}
	awaitRight(t, user, f.namespace, "patch", "runs", "")
}

// removals put away what refuses a decision.
func (f *forging) removals() []attempt {
	const admission = "/apis/admissionregistration.k8s.io/v1/"
	const binding = `{"metadata":{"name":"forged"},"spec":{"policyName":"forged"}}`
	var attempts []attempt
	for _, a := range []struct{ path, verb, resource, body, cannot string }{
		{"deleting the policy", "DELETE", admission + "validatingadmissionpolicies/remit-run-decisions", "", `cannot delete resource "validatingadmissionpolicies"`},
		{"deleting the policy's binding", "DELETE", admission + "validatingadmissionpolicybindings/remit-run-decisions", "", `cannot delete resource "validatingadmissionpolicybindings"`},
		{"having the policy's binding only warn", "PATCH", admission + "validatingadmissionpolicybindings/remit-run-decisions",
			`{"spec":{"validationActions":["Warn"]}}`, `cannot patch resource "validatingadmissionpolicybindings"`},
		{"deleting the stamps", "DELETE", admission + "mutatingadmissionpolicies/remit-run-stamps", "", `cannot delete resource "mutatingadmissionpolicies"`},
		{"another mutation, after the stamps", "POST", admission + "mutatingadmissionpolicybindings", binding, `cannot create resource "mutatingadmissionpolicybindings"`},
		{"deleting the schema's rules", "PATCH", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/runs." + v1alpha1.GroupVersion.Group,
			`{"spec":{"preserveUnknownFields":true}}`, `cannot patch resource "customresourcedefinitions"`},
	} {
		wants := map[string]string{}
		for _, user := range []string{author, approver, platform, lead, theOperator} {
			wants[user] = `User "$USER" ` + a.cannot
		}
		attempts = append(attempts, each(a.path, f.request(a.verb, a.resource, mergePatch, a.body), wants)...)
	}
	return attempts
}
