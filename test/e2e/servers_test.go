// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"remit.dev/remit/api/v1alpha1"
)

// Every way in which a server can fail shows on its conditions, with a reason that says what to do.
func TestServerThatFails(t *testing.T) {
	for _, row := range []struct {
		name      string
		behaviour behaviour
		reason    string
		begins    string
		advice    string
		stalled   bool
	}{
		{"answers garbage", babbles, v1alpha1.ReasonProtocolError,
			`the server answered HTTP 200 with content type "text/html" instead of JSON`, "check that spec.transport names an MCP endpoint", true},
		{"wants a credential", refuses, v1alpha1.ReasonUnauthorized,
			"the server refused the credential (HTTP 401 Unauthorized): who are you?", "check spec.credential and the Secret that it names", true},
		{"hangs up", hangsUp, v1alpha1.ReasonUnreachable,
			"the connection broke before the answer was complete", "check spec.transport and that the server is up", false},
		{"never answers", hangs, v1alpha1.ReasonTimeout,
			"no answer before the deadline", "check that the server is up and answers", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			useOperator(t)
			n := newTenant(t)
			fake := newFakeServer(t, twoTools)
			fake.behave(row.behaviour)

			server := awaitServer(t, n.catalogued("desk", fake.url), row.reason)
			checkFailure(t, server, row.begins, row.advice, row.stalled)

			// It is asked again without anybody's help.
			fake.behave(answers)
			checkDiscovered(t, awaitServer(t, server, v1alpha1.ReasonDiscovered))
		})
	}
}

// A server that is down shows as such, and is found as soon as it is up.
func TestServerThatIsDown(t *testing.T) {
	useOperator(t)
	n := newTenant(t)
	address := freeAddress(t)
	server := awaitServer(t, n.catalogued("desk", "http://"+address+"/mcp"), v1alpha1.ReasonUnreachable)
	checkFailure(t, server, "cannot connect", "check spec.transport and that the server is up", false)

	newFakeServerAt(t, twoTools, address)
	checkDiscovered(t, awaitServer(t, server, v1alpha1.ReasonDiscovered))
}

func checkFailure(t *testing.T, server *v1alpha1.MCPServer, begins, advice string, stalled bool) {
	t.Helper()
	ready := condition(server.Status.Conditions, v1alpha1.ConditionReady)
	if ready.Status != metav1.ConditionFalse || !strings.HasPrefix(ready.Message, begins) || !strings.Contains(ready.Message, advice) {
		t.Errorf("Ready is %s with the message %q; want it to begin with %q and to say %q", ready.Status, ready.Message, begins, advice)
	}
	got := condition(server.Status.Conditions, v1alpha1.ConditionStalled).Status == metav1.ConditionTrue
	if got != stalled {
		t.Errorf("Stalled is %t, want %t", got, stalled)
	}
	if waits := condition(server.Status.Conditions, v1alpha1.ConditionReconciling).Status == metav1.ConditionTrue; waits == stalled {
		t.Errorf("Reconciling is %t, and so is Stalled", waits)
	}
}

func checkDiscovered(t *testing.T, server *v1alpha1.MCPServer) {
	t.Helper()
	if diff := cmp.Diff([]string{"find", "wipe"}, toolNames(server)); diff != "" {
		t.Errorf("the tools (-want +got):\n%s", diff)
	}
	for kind, want := range map[string]metav1.ConditionStatus{
		v1alpha1.ConditionReady: metav1.ConditionTrue, v1alpha1.ConditionReachable: metav1.ConditionTrue,
		v1alpha1.ConditionAuthenticated: metav1.ConditionTrue, v1alpha1.ConditionStalled: "", v1alpha1.ConditionReconciling: "",
	} {
		if got := condition(server.Status.Conditions, kind).Status; got != want {
			t.Errorf("%s is %q, want %q", kind, got, want)
		}
	}
}

func toolNames(server *v1alpha1.MCPServer) []string {
	var names []string
	for _, tool := range server.Status.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// One failed connection never empties the catalogue, and Runs go on with the tools they know.
func TestServerFailureKeepsTheCatalogue(t *testing.T) {
	useOperator(t)
	n := newTenant(t)
	fake := newFakeServer(t, twoTools)
	server := awaitServer(t, n.catalogued("desk", fake.url), v1alpha1.ReasonDiscovered)
	grant := awaitGrant(t, n.granted("desk"), v1alpha1.ReasonGranted)

	fake.behave(hangsUp)
	// A change of the spec is one reason to ask again; another is time.
	if err := patch(t, admin, server, map[string]any{"refreshInterval": "20m"}); err != nil {
		t.Fatal(err)
	}
	server.Generation++
	failed := await(t, &v1alpha1.MCPServerList{}, server, "the server is Unreachable", func(s *v1alpha1.MCPServer) bool {
		return s.Status.ObservedGeneration == server.Generation
	})
	if reason := condition(failed.Status.Conditions, v1alpha1.ConditionReady).Reason; reason != v1alpha1.ReasonUnreachable {
		t.Errorf("the reason is %q", reason)
	}
	if diff := cmp.Diff(server.Status.Tools, failed.Status.Tools); diff != "" {
		t.Errorf("the tools after the failure (-before +after):\n%s", diff)
	}
	if *failed.Status.ToolCount != 2 || failed.Status.DiscoveredAt == nil {
		t.Errorf("toolCount is %d, discoveredAt %v", *failed.Status.ToolCount, failed.Status.DiscoveredAt)
	}

	n.scripted(`{"turns": [{"calls": [{"tool": "desk__find"}]}, {"when": "server_unavailable", "text": "The desk is closed."}]}`)
	n.agent("desk")
	run := awaitEnd(t, n.start("run"))
	if run.Status.Output != "The desk is closed." {
		t.Errorf("the model did not read of the failure\n%s", describe(run))
	}
	if now := n.read(grant); !cmp.Equal(grant.Status.Tools, now.Status.Tools) {
		t.Errorf("the Grant permits other tools after the failure: %+v", now.Status.Tools)
	}
}

// An entry of a Grant that matches no tool shows on the Grant (D4, D11).
func TestGrantShowsStaleEntries(t *testing.T) {
	useOperator(t)
	n := newTenant(t)
	fake := newFakeServer(t, twoTools)
	awaitServer(t, n.catalogued("desk", fake.url), v1alpha1.ReasonDiscovered)
	grant := awaitGrant(t, n.granted("desk", func(g *v1alpha1.GrantSpec) {
		g.Tools = []v1alpha1.ToolLiteral{"wipe", "fnid"}
		g.Never = []v1alpha1.ToolLiteral{"nothing"}
	}), v1alpha1.ReasonGranted)

	want := []v1alpha1.StaleEntry{{Field: "spec.tools", Value: "fnid"}, {Field: "spec.never", Value: "nothing"}}
	if diff := cmp.Diff(want, grant.Status.Stale); diff != "" {
		t.Errorf("status.stale (-want +got):\n%s", diff)
	}
	permitted := []v1alpha1.PermittedTool{{
		Name: "wipe", QualifiedName: "desk__wipe", Class: v1alpha1.ClassDestructive, Approval: v1alpha1.ApprovalRequired}}
	if diff := cmp.Diff(permitted, grant.Status.Tools); diff != "" {
		t.Errorf("status.tools (-want +got):\n%s", diff)
	}
	if out := mustKubectl(t, author, "get", "grant", "desk", "-n", n.namespace); !strings.Contains(out, "fnid") {
		t.Errorf("kubectl get does not show the stale entry:\n%s", out)
	}
}

// Two servers of one name in two namespaces share nothing, even at one address (E1 to E3): neither a
// session, nor a credential, nor a call.
func TestServersOfOneNameShareNothing(t *testing.T) {
	useOperator(t)
	fake := newFakeServer(t, twoTools)
	var runs []*v1alpha1.Run
	for _, token := range []string{"token-of-the-first", "token-of-the-second"} {
		n := newTenant(t)
		n.secret("desk", token)
		server := &v1alpha1.MCPServer{ObjectMeta: n.meta("desk"), Spec: v1alpha1.MCPServerSpec{
			Transport:  v1alpha1.Transport{HTTP: &v1alpha1.HTTPTransport{URL: fake.url}},
			Credential: bearer("desk"), Annotations: v1alpha1.AnnotationsTrusted,
		}}
		n.create(admin, server)
		n.granted("desk", func(g *v1alpha1.GrantSpec) { g.Credential = bearer("desk") })
		n.scripted(`{"turns": [{"calls": [{"tool": "desk__find", "arguments": {"caller": "` + token + `"}}]}, {"text": "Done."}]}`)
		n.agent("desk")
		runs = append(runs, n.start("run"))
	}
	for _, run := range runs {
		if ended := awaitEnd(t, run); ended.Status.Phase != v1alpha1.RunComplete {
			t.Errorf("the Run did not complete\n%s", describe(ended))
		}
	}
	calls := map[string]string{}
	for _, call := range fake.made() {
		calls[call.Arguments] += call.Authorization
	}
	want := map[string]string{
		`{"caller":"token-of-the-first"}`:  "Bearer token-of-the-first",
		`{"caller":"token-of-the-second"}`: "Bearer token-of-the-second",
	}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Errorf("who called with which credential (-want +got):\n%s", diff)
	}
	credentials := map[string]string{}
	for _, request := range fake.seen() {
		if known, ok := credentials[request.Session]; ok && request.Session != "" && known != request.Authorization {
			t.Errorf("session %q was used with %q and with %q", request.Session, known, request.Authorization)
		}
		credentials[request.Session] = request.Authorization
	}
}

// A server that is down when the operator starts is found again without another start.
func TestServerDownWhenTheOperatorStarts(t *testing.T) {
	n := newTenant(t)
	address := freeAddress(t)
	server := n.catalogued("desk", "http://"+address+"/mcp")
	grant := n.granted("desk")
	n.scripted(`{"turns": [{"calls": [{"tool": "desk__find"}]}, {"text": "Found."}]}`)
	n.agent("desk")
	run := n.start("run")

	ownOperator(t)
	awaitServer(t, server, v1alpha1.ReasonUnreachable)
	awaitGrant(t, grant, v1alpha1.ReasonServerNotReady)
	awaitRun(t, run, "waits for the server", func(r *v1alpha1.Run) bool {
		return condition(r.Status.Conditions, v1alpha1.ConditionAccepted).Reason == v1alpha1.ReasonWaitingForServer
	})

	fake := newFakeServerAt(t, twoTools, address)
	checkDiscovered(t, awaitServer(t, server, v1alpha1.ReasonDiscovered))
	awaitGrant(t, grant, v1alpha1.ReasonGranted)
	if ended := awaitEnd(t, run); ended.Status.Output != "Found." || len(fake.made()) != 1 {
		t.Errorf("the tool was called %d times\n%s", len(fake.made()), describe(ended))
	}
}
