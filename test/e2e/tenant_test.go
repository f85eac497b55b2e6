// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
)

// tenant is the namespace of one test.
type tenant struct {
	*testing.T
	namespace string
}

// newTenant makes a namespace. After a failure what the operators have logged about it is shown.
func newTenant(t *testing.T) *tenant {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: label(t.Name())}}
	if err := env.users[admin].Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the operators' logs about namespace %s:\n%s", ns.Name, linesAbout(t, ns.Name))
		}
		deleteNamespace(t, ns)
	})
	return &tenant{t, ns.Name}
}

// deleteNamespace deletes a namespace at the end of a test, and waits for nothing.
func deleteNamespace(t *testing.T, ns *corev1.Namespace) {
	t.Helper()
	if err := env.users[admin].Delete(context.WithoutCancel(t.Context()), ns); err != nil {
		t.Error(err)
	}
}

// label makes the name of a test fit the beginning of a namespace's.
func label(test string) string {
	return strings.ToLower(strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		default:
			return '-'
		}
	}, test[:min(len(test), 50)]), "-")) + "-"
}

// create makes objects as a user.
func (n *tenant) create(user string, objects ...client.Object) {
	n.Helper()
	for _, object := range objects {
		if err := env.users[user].Create(n.Context(), object); err != nil {
			n.Fatalf("create %T %s as %s: %v", object, object.GetName(), user, err)
		}
	}
}

// read gives a Grant as it is now.
func (n *tenant) read(grant *v1alpha1.Grant) *v1alpha1.Grant {
	n.Helper()
	now := &v1alpha1.Grant{}
	if err := env.users[author].Get(n.Context(), client.ObjectKeyFromObject(grant), now); err != nil {
		n.Fatal(err)
	}
	return now
}

func (n *tenant) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: n.namespace, Name: name}
}

// scripted grants a model under the slug "model" that takes its turns from a document.
func (n *tenant) scripted(turns string) *v1alpha1.Grant {
	n.Helper()
	grant := &v1alpha1.Grant{ObjectMeta: n.meta("model"), Spec: v1alpha1.GrantSpec{Model: &v1alpha1.ModelEndpoint{
		Provider: v1alpha1.ProviderScripted, ScriptRef: &v1alpha1.ConfigMapKeyReference{Name: "script"}}}}
	n.create(admin, &corev1.ConfigMap{ObjectMeta: n.meta("script"), Data: map[string]string{"turns.yaml": turns}}, grant)
	return grant
}

// catalogued makes an MCPServer whose annotations are trusted. A change may come first.
func (n *tenant) catalogued(name, url string, changes ...func(*v1alpha1.MCPServerSpec)) *v1alpha1.MCPServer {
	n.Helper()
	server := &v1alpha1.MCPServer{ObjectMeta: n.meta(name), Spec: v1alpha1.MCPServerSpec{
		Transport:   v1alpha1.Transport{HTTP: &v1alpha1.HTTPTransport{URL: url}},
		Annotations: v1alpha1.AnnotationsTrusted,
	}}
	for _, change := range changes {
		change(&server.Spec)
	}
	n.create(admin, server)
	return server
}

// granted grants an MCPServer of the same namespace under its own name. A change may come first.
func (n *tenant) granted(server string, changes ...func(*v1alpha1.GrantSpec)) *v1alpha1.Grant {
	n.Helper()
	grant := &v1alpha1.Grant{ObjectMeta: n.meta(server), Spec: v1alpha1.GrantSpec{
		MCPServer: &v1alpha1.MCPServerReference{Name: v1alpha1.Slug(server)}}}
	for _, change := range changes {
		change(&grant.Spec)
	}
	n.create(admin, grant)
	return grant
}

// agent applies a Spec of an author that has the slug "model" and tools of the given Grants.
func (n *tenant) agent(grants ...v1alpha1.Slug) *v1alpha1.Spec {
	n.Helper()
	spec := n.unpublished(grants...)
	n.create(author, spec)
	return spec
}

func (n *tenant) unpublished(grants ...v1alpha1.Slug) *v1alpha1.Spec {
	spec := &v1alpha1.Spec{ObjectMeta: n.meta("agent"), Spec: v1alpha1.AgentSpec{
		Instructions: "You work at a help desk.",
		Models:       []v1alpha1.Model{{Grant: "model", Model: "small"}},
	}}
	for _, grant := range grants {
		spec.Spec.MCP = append(spec.Spec.MCP, v1alpha1.MCPGrant{Grant: grant})
	}
	return spec
}

// start makes a Run of the agent. A change may come first.
func (n *tenant) start(name string, changes ...func(*v1alpha1.RunSpec)) *v1alpha1.Run {
	n.Helper()
	run := &v1alpha1.Run{ObjectMeta: n.meta(name), Spec: v1alpha1.RunSpec{
		SpecRef: &v1alpha1.NamedReference{Name: "agent"}, Input: "My teapot arrived in pieces."}}
	for _, change := range changes {
		change(&run.Spec)
	}
	n.create(author, run)
	return run
}

// decisions decides every pending call of a Run in one way.
func decisions(run *v1alpha1.Run, decision v1alpha1.Decision) map[v1alpha1.CallID]v1alpha1.Decision {
	all := map[v1alpha1.CallID]v1alpha1.Decision{}
	for _, pending := range run.Status.Pending {
		all[pending.ID] = decision
	}
	return all
}

func approved() v1alpha1.Decision { yes := true; return v1alpha1.Decision{Approved: &yes} }

func denied(reason string) v1alpha1.Decision {
	no := false
	return v1alpha1.Decision{Approved: &no, Reason: reason}
}

// decide makes the one patch that decides, as a user.
func decide(t *testing.T, user string, run *v1alpha1.Run, decisions map[v1alpha1.CallID]v1alpha1.Decision) error {
	t.Helper()
	return patch(t, user, run, map[string]any{"decisions": decisions})
}

func cancel(t *testing.T, user string, run *v1alpha1.Run) error {
	t.Helper()
	return patch(t, user, run, map[string]any{"cancel": true})
}

func patch(t *testing.T, user string, object client.Object, spec map[string]any) error {
	t.Helper()
	body, err := json.Marshal(map[string]any{"spec": spec})
	if err != nil {
		t.Fatal(err)
	}
	return env.users[user].Patch(t.Context(), object.DeepCopyObject().(client.Object), client.RawPatch(types.MergePatchType, body))
}
