// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit.dev/remit/api/v1alpha1"
)

// manyTools is the list of 60 destructive tools wipe_0 to wipe_59, as JSON.
func manyTools() string {
	tools := make([]string, 60)
	for i := range tools {
		tools[i] = fmt.Sprintf(`{"name":"wipe_%d","description":"Wipes disk %d.","inputSchema":{"type":"object"},"annotations":{"destructiveHint":true}}`, i, i)
	}
	return "[" + strings.Join(tools, ",") + "]"
}

// toolCallOf is a message with one call.
func toolCallOf(name, arguments string) string {
	return fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":%q,"arguments":%q}}]}`, name, arguments)
}

// P25 and G8: with more tools than fit into a prompt, the model searches and calls by name, and the
// call waits for approval as the tool that it is.
func TestDeferredTool(t *testing.T) {
	useOperator(t)
	n := newTenant(t)
	fake := newFakeServer(t, manyTools())
	n.catalogued("desk", fake.url)
	n.granted("desk")
	model := newEndpoint(t, func(asked int, w http.ResponseWriter, _ *http.Request) {
		completes(w, []string{
			toolCallOf("search_tools", `{"query":"wipe disk 7","limit":1}`),
			toolCallOf("call_tool", `{"name":"desk__wipe_7","arguments":{"disk":7}}`),
			says("Disk 7 is empty."),
		}[min(asked, 3)-1])
	})
	n.openAI("model", model.url, "")
	spec := n.unpublished("desk")
	spec.Spec.MCP[0].Preload = []v1alpha1.AccessSelector{"wipe_3"}
	n.create(author, spec)

	run := awaitSuspended(t, n.start("run"))
	if pending := run.Status.Pending; len(pending) != 1 || pending[0].Tool != "desk__wipe_7" || pending[0].Class != v1alpha1.ClassDestructive {
		t.Fatalf("pending: %+v", pending)
	}
	if made := fake.made(); len(made) != 0 {
		t.Fatalf("called before it was approved: %+v", made)
	}
	if err := decide(t, approver, run, decisions(run, approved())); err != nil {
		t.Fatal(err)
	}
	if run = awaitEnd(t, run); run.Status.Output != "Disk 7 is empty." {
		t.Errorf("output %q, %+v", run.Status.Output, condition(run.Status.Conditions, v1alpha1.ConditionComplete))
	}
	if made := fake.made(); len(made) != 1 || made[0].Tool != "wipe_7" || made[0].Arguments != `{"disk":7}` {
		t.Errorf("called: %+v", made)
	}
	checkDeferredPrompts(t, model.requests())
}

func checkDeferredPrompts(t *testing.T, requests []chatRequest) {
	t.Helper()
	if len(requests) != 3 {
		t.Fatalf("the model was asked %d times", len(requests))
	}
	for _, request := range requests {
		var names []string
		for _, tool := range request.Tools {
			names = append(names, tool.Function.Name)
		}
		if diff := cmp.Diff([]string{"desk__wipe_3", "search_tools", "call_tool"}, names); diff != "" {
			t.Errorf("the prompt's tools (-want +got):\n%s", diff)
		}
	}
	last := requests[2].Messages
	var found, called bool
	for _, message := range last {
		found = found || message.Role == "tool" && strings.Contains(message.Content, `"name":"desk__wipe_7"`)
		for _, call := range message.ToolCalls {
			called = called || call.Function.Name == "call_tool" && strings.Contains(call.Function.Arguments, `"desk__wipe_7"`)
		}
	}
	if !found || !called {
		t.Errorf("the model reads that the search found the tool: %t, and its own call as it wrote it: %t", found, called)
	}
}

// D11: the narrowing is silent, and explain says what it did, with the rights of an author who may
// look at no catalogue.
func TestExplainOnACluster(t *testing.T) {
	useOperator(t)
	n, catalogue := newTenant(t), newTenant(t)
	fake := newFakeServer(t, "["+toolFind+","+toolSend+","+toolWipe+"]")
	server := catalogue.catalogued("desk", fake.url)
	patchServer := map[string]any{"allowedNamespaces": map[string]any{"from": "All"}}
	if err := patch(t, admin, server, patchServer); err != nil {
		t.Fatal(err)
	}
	grant := n.granted("desk", func(g *v1alpha1.GrantSpec) {
		g.MCPServer.Namespace = catalogue.namespace
		g.Tools = []v1alpha1.ToolLiteral{"find", "wipe", "gone"}
	})
	spec := n.unpublished("desk")
	spec.Spec.MCP[0].Disable = []v1alpha1.AccessSelector{"@read-only"}
	n.create(author, spec)
	granted := awaitGrant(t, grant, v1alpha1.ReasonGranted)
	want := []v1alpha1.WithheldTool{{Name: "send", LostAt: v1alpha1.PlanePermitted, Message: "tools of the Grant does not list it"}}
	if diff := cmp.Diff(want, granted.Status.Withheld); diff != "" {
		t.Errorf("withheld (-want +got):\n%s", diff)
	}

	command := exec.CommandContext(t.Context(), env.remit, "explain", "agent",
		"--namespace", n.namespace, "--kubeconfig", env.ready.Kubeconfigs[author])
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	for _, line := range []string{
		"agent: 1 tools callable",
		"find ReadOnly not Enabled - - disable of the Spec's grant matches it by @read-only",
		"wipe Destructive Callable Required Listed class Destructive, matched by @destructive",
		"not Permitted - - tools of the Grant does not list it",
	} {
		if !strings.Contains(strings.Join(strings.Fields(string(output)), " "), line) {
			t.Errorf("it does not say %q:\n%s", line, output)
		}
	}
}
