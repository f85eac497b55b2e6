// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
)

// probeTurns call the same tools for another order, so that the ledger tells them apart.
const probeTurns = `turns:
- calls:
  - {tool: desk__lookup_order, arguments: {order_id: A-1003}}
  - {tool: desk__refund_order, arguments: {order_id: A-1003, cents: 1, reason: Probe.}}
- text: Done.
`

// grants change, while the Run waits, what the platform team says about calls like those that it waits
// for. Where calls need nobody's approval any more, another Run shows that it is so; a call that was put
// before people still waits for them (H16, P37, P38).
func (f *forging) grants() []attempt {
	f.makeProbe()
	const grant, server = "/apis/remit.dev/v1alpha1/namespaces/$NS/grants/desk", "/apis/remit.dev/v1alpha1/namespaces/$NS/mcpservers/desk"
	cannot := func(resource string) map[string]string {
		wants := map[string]string{}
		for _, user := range []string{author, approver, viewer, lead, neighbour, theOperator} {
			wants[user] = `User "$USER" cannot patch resource "` + resource + `" in API group "remit.dev" in the namespace "$NS"`
		}
		return wants
	}
	attempts := each("approval: []", f.request("PATCH", grant, mergePatch, `{"spec":{"approval":[]}}`), cannot("grants"))
	attempts = append(attempts, each("a trusted server", f.request("PATCH", server, mergePatch, `{"spec":{"annotations":"Trusted"}}`), cannot("mcpservers"))...)
	type spec = map[string]any
	both := []string{"lookup_order", "refund_order"}
	return append(attempts,
		attempt{"approval: []", platform, f.granting(spec{"approval": []string{}}, both...), ""},
		attempt{"approval of another tool", platform, f.granting(spec{"approval": []string{"add_note"}}, both...), ""},
		attempt{"never, of both tools", platform, f.granting(spec{"never": both}, both...), ""},
		attempt{"never, beside always", platform, f.granting(spec{"always": both, "never": both}, both...), ""},
		attempt{"approval: [] beside a rule that asks about another order", platform, f.granting(spec{"approval": []string{}, "policy": []spec{
			{"name": "other", "action": "Ask", "expression": "args.order_id == 'A-1001'", "message": "Look at this one."}}}, both...), ""},
		attempt{"always", platform, f.granting(spec{"always": both}), ""},
		attempt{"rule that asks", platform, f.granting(spec{"policy": []spec{{"name": "all", "action": "Ask", "expression": "true"}}}), ""},
		attempt{"rule that denies", platform, f.granting(spec{"policy": []spec{{"name": "all", "action": "Deny", "expression": "true"}}}), ""},
		attempt{"rule that fails", platform, f.granting(spec{"policy": []spec{{"name": "all", "action": "Ask", "expression": "args.nothing"}}}), ""},
		attempt{"tools without the refund", platform, f.granting(spec{"tools": []string{"lookup_order"}}), ""},
		attempt{"a Grant of nothing that there is", platform, f.granting(spec{"tools": []string{"gone"}}), ""},
		attempt{"a trusted server", platform, f.trust(v1alpha1.AnnotationsTrusted, "lookup_order"), ""},
		attempt{"an untrusted server again", platform, f.trust(v1alpha1.AnnotationsUntrusted), ""},
		attempt{"another Grant of the same name, with approval: []", platform, f.regranted, ""},
	)
}

// makeProbe publishes an agent for the Runs that show what a Grant now says.
func (f *forging) makeProbe() {
	f.Helper()
	probe := f.unpublished("desk")
	probe.Name = "probe"
	probe.Spec.Models[0].Grant = "probe-model"
	f.create(admin, &corev1.ConfigMap{ObjectMeta: f.meta("probe-script"), Data: map[string]string{"turns.yaml": probeTurns}},
		&v1alpha1.Grant{ObjectMeta: f.meta("probe-model"), Spec: v1alpha1.GrantSpec{Model: &v1alpha1.ModelEndpoint{
			Provider: v1alpha1.ProviderScripted, ScriptRef: &v1alpha1.ConfigMapKeyReference{Name: "probe-script"}}}})
	f.create(author, probe)
}

// granting gives the Grant nothing but the server and what is said, as somebody, and waits until the
// operator says so. The named tools then need no approval, which another Run proves.
func (f *forging) granting(said map[string]any, free ...string) func(*testing.T, *person) error {
	return func(t *testing.T, as *person) error {
		t.Helper()
		spec := map[string]any{"approval": nil, "always": nil, "never": nil, "policy": nil, "tools": nil}
		maps.Copy(spec, said)
		body := jsonOf(t, map[string]any{"spec": spec})
		if err := as.send(t, "PATCH", f.expand("/apis/remit.dev/v1alpha1/namespaces/$NS/grants/desk"), mergePatch, body); err != nil {
			return err
		}
		await(t, &v1alpha1.GrantList{}, f.grant, "the Grant is observed", func(g *v1alpha1.Grant) bool {
			return g.Status.ObservedGeneration == g.Generation
		})
		f.prove(t, free...)
		return nil
	}
}

// trust says whether the server's annotations count, and waits until the operator has judged its tools.
func (f *forging) trust(annotations v1alpha1.AnnotationTrust, free ...string) func(*testing.T, *person) error {
	return func(t *testing.T, as *person) error {
		t.Helper()
		if err := f.granting(nil)(t, as); err != nil {
			return err
		}
		path := f.expand("/apis/remit.dev/v1alpha1/namespaces/$NS/mcpservers/desk")
		if err := as.send(t, "PATCH", path, mergePatch, fmt.Sprintf(`{"spec":{"annotations":%q}}`, annotations)); err != nil {
			return err
		}
		awaitServer(t, f.server, v1alpha1.ReasonDiscovered)
		f.prove(t, free...)
		return nil
	}
}

// regranted deletes the Grant and makes another one of its name.
func (f *forging) regranted(t *testing.T, as *person) error {
	t.Helper()
	const grants = "/apis/remit.dev/v1alpha1/namespaces/$NS/grants"
	if err := as.send(t, "DELETE", f.expand(grants+"/desk"), plainJSON, ""); err != nil {
		return err
	}
	f.unmoved(t)
	body := `{"apiVersion":"remit.dev/v1alpha1","kind":"Grant","metadata":{"name":"desk"},"spec":{"mcpServer":{"name":"desk"},"approval":[]}}`
	if err := as.send(t, "POST", f.expand(grants), plainJSON, body); err != nil {
		return err
	}
	awaitGrant(t, f.grant, v1alpha1.ReasonGranted)
	f.prove(t, "lookup_order", "refund_order")
	return f.granting(nil)(t, as)
}

// prove starts a Run whose calls of the named tools are made at once, without anybody's approval.
func (f *forging) prove(t *testing.T, free ...string) {
	t.Helper()
	if len(free) == 0 {
		return
	}
	before := map[string]int{}
	for _, tool := range free {
		before[tool] = f.desk.begun(t, tool, "A-1003")
	}
	f.probes++
	n := &tenant{t, f.namespace}
	run := n.start(fmt.Sprintf("probe-%d", f.probes), func(r *v1alpha1.RunSpec) { r.SpecRef.Name = "probe" })
	run = awaitRun(t, run, "has come to its calls", func(r *v1alpha1.Run) bool {
		return r.Status.CompletedAt != nil || r.Status.Phase == v1alpha1.RunSuspended
	})
	for _, tool := range free {
		if made := f.desk.begun(t, tool, "A-1003") - before[tool]; made != 1 {
			t.Errorf("another Run called %s %d times, so the change is not in force\n%s", tool, made, describe(run))
		}
	}
	if err := client.IgnoreNotFound(env.users[author].Delete(t.Context(), run)); err != nil {
		t.Fatal(err)
	}
}
