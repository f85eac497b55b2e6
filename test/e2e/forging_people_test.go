// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"remit.dev/remit/api/v1alpha1"
)

// Those who try, beside the author, the approver, the operator and the admin of the control plane.
const (
	viewer   = "viewer"
	platform = "platform"
	// lead is the admin of the namespace, by the role that Kubernetes has for it.
	lead = "namespace admin"
	// neighbour writes Runs here, and approves in another namespace.
	neighbour = "approver of another namespace"
	// mechanic was given the right to write the status of Runs, by mistake.
	mechanic = "writer of status"
	// theOperator is who has the credentials of the operator's service account.
	theOperator = "operator"
)

// person sends requests with credentials of his own, not by impersonation.
type person struct {
	// name is who he is to the API server.
	name   string
	client *rest.RESTClient
}

// newPerson takes a configuration as the people of the control plane have it.
func newPerson(t *testing.T, name string, config *rest.Config) *person {
	t.Helper()
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.APIPath, config.GroupVersion = "/apis", &v1alpha1.GroupVersion
	config.NegotiatedSerializer = clientgoscheme.Codecs.WithoutConversion()
	made, err := rest.RESTClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return &person{name, made}
}

// send makes a request and gives the refusal, if it is one. Headers are name and value, in turns.
func (p *person) send(t *testing.T, verb, path, mediaType, body string, headers ...string) error {
	t.Helper()
	request := p.client.Verb(verb).RequestURI(path).SetHeader("Content-Type", mediaType).Body([]byte(body))
	for i := 0; i < len(headers); i += 2 {
		request.SetHeader(headers[i], headers[i+1])
	}
	return request.Do(t.Context()).Error()
}

// get reads one object as it is stored.
func (p *person) get(t *testing.T, path string) *unstructured.Unstructured {
	t.Helper()
	data, err := p.client.Get().RequestURI(path).DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	read := &unstructured.Unstructured{}
	if err := read.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return read
}

// newPeople binds the roles. Those who have no certificate are service accounts of a namespace in which
// none of them has rights, but for the one who approves there.
func newPeople(t *testing.T, namespace string) map[string]*person {
	t.Helper()
	people := map[string]*person{}
	for user, name := range map[string]string{admin: admin, author: author, approver: approver, theOperator: operatorUser} {
		config, err := clientcmd.BuildConfigFromFlags("", env.ready.Kubeconfigs[user])
		if err != nil {
			t.Fatal(err)
		}
		people[user] = newPerson(t, name, config)
	}
	home := newTenant(t)
	home.create(admin, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "write-status"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"remit.dev"}, Resources: []string{"runs", "runs/status"}, Verbs: []string{"get", "list", "patch", "update"}}}})
	for user, account := range map[string]string{
		viewer: "viewer", platform: "platform", lead: "lead", neighbour: "neighbour", mechanic: "mechanic",
	} {
		people[user] = newPerson(t, "system:serviceaccount:"+home.namespace+":"+account, home.account(account))
	}
	cluster := func(role string) rbacv1.RoleRef {
		return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}
	}
	bind(t, namespace, people[viewer].name, cluster("remit-viewer"))
	bind(t, namespace, people[platform].name, cluster("remit-platform"))
	bind(t, namespace, people[lead].name, cluster("admin"))
	bind(t, namespace, people[neighbour].name, cluster("remit-author"))
	bind(t, home.namespace, people[neighbour].name, cluster("remit-approver"))
	bind(t, namespace, people[mechanic].name, rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "write-status"})
	awaitRight(t, people[viewer].name, namespace, "get", "runs", "")
	awaitRight(t, people[platform].name, namespace, "update", "grants", "")
	awaitRight(t, people[lead].name, namespace, "patch", "runs", "")
	awaitRight(t, people[neighbour].name, namespace, "patch", "runs", "")
	awaitRight(t, people[neighbour].name, home.namespace, "approve", "runs", "approval")
	awaitRight(t, people[mechanic].name, namespace, "update", "runs", "status")
	return people
}

// account makes a service account and gives the configuration of whoever has its token.
func (n *tenant) account(name string) *rest.Config {
	n.Helper()
	made := &corev1.ServiceAccount{ObjectMeta: n.meta(name)}
	n.create(admin, made)
	token := &authenticationv1.TokenRequest{}
	if err := env.users[admin].SubResource("token").Create(n.Context(), made, token); err != nil {
		n.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", env.ready.Kubeconfigs[admin])
	if err != nil {
		n.Fatal(err)
	}
	config = rest.AnonymousClientConfig(config)
	config.BearerToken = token.Status.Token
	return config
}

// bind gives a role to a user in a namespace.
func bind(t *testing.T, namespace, user string, role rbacv1.RoleRef) {
	t.Helper()
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "forging-"}, RoleRef: role,
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	if err := env.users[admin].Create(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
}

// awaitRight waits until the API server has taken notice of a binding.
func awaitRight(t *testing.T, user, namespace, verb, resource, subresource string) {
	t.Helper()
	eventually(t, user+" may "+verb+" "+resource+subresource, func() bool {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user,
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: namespace, Verb: verb, Group: v1alpha1.GroupVersion.Group, Resource: resource, Subresource: subresource}}}
		if err := env.users[admin].Create(t.Context(), review); err != nil {
			t.Fatal(err)
		}
		return review.Status.Allowed
	})
}
