// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit.dev/remit/api/v1alpha1"
)

// Faults of approval that were seen elsewhere, each with a test here. That a denial does not fail the
// whole Run is shown by TestDenialContinuesTheRun, too.

// noApproval is a Grant that asks nobody.
func noApproval(g *v1alpha1.GrantSpec) { g.Approval = []v1alpha1.ApprovalSelector{} }

// An approval that names a tool of one server catches no tool of that name on another server, whichever
// list names it, and an exemption does not either.
func TestApprovalByNameIsOfOneServer(t *testing.T) {
	for name, row := range map[string]struct{ desk, shop func(*v1alpha1.GrantSpec) }{
		"always": {
			desk: func(g *v1alpha1.GrantSpec) { noApproval(g); g.Always = []v1alpha1.ToolLiteral{"send"} },
			shop: noApproval},
		"approval": {
			desk: func(g *v1alpha1.GrantSpec) { g.Approval = []v1alpha1.ApprovalSelector{"send"} },
			shop: func(g *v1alpha1.GrantSpec) { g.Approval = []v1alpha1.ApprovalSelector{"find"} }},
		"never": {
			desk: func(*v1alpha1.GrantSpec) {}, // a tool that writes needs approval by default
			shop: func(g *v1alpha1.GrantSpec) { g.Never = []v1alpha1.ToolLiteral{"send"} }},
		"policy": {
			desk: func(g *v1alpha1.GrantSpec) {
				noApproval(g)
				g.Policy = []v1alpha1.PolicyRule{{Name: "sending", Action: v1alpha1.PolicyAsk, Expression: "tool == 'send'"}}
			},
			shop: noApproval},
	} {
		t.Run(name, func(t *testing.T) {
			useOperator(t)
			n := newTenant(t)
			servers := map[string]*fakeServer{}
			for grant, change := range map[string]func(*v1alpha1.GrantSpec){"desk": row.desk, "shop": row.shop} {
				servers[grant] = newFakeServer(t, "["+toolFind+","+toolSend+"]")
				n.catalogued(grant, servers[grant].url)
				n.granted(grant, change)
			}
			n.scripted(`{"turns": [{"calls": [{"tool": "shop__send"}, {"tool": "desk__send"}, {"tool": "shop__send"}]}, {"text": "All is sent."}]}`)
			n.agent("desk", "shop")

			run := awaitSuspended(t, n.start("run"))
			checkAsked(t, run, "desk__send")
			checkCalls(t, servers["shop"], "send", "send")
			checkCalls(t, servers["desk"])
			if err := decide(t, approver, run, decisions(run, approved())); err != nil {
				t.Fatal(err)
			}
			checkEnded(t, awaitEnd(t, run), v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
			checkCalls(t, servers["shop"], "send", "send")
			checkCalls(t, servers["desk"], "send")
		})
	}
}

// checkAsked compares the tools whose calls wait.
func checkAsked(t *testing.T, run *v1alpha1.Run, tools ...string) {
	t.Helper()
	var waiting []string
	for _, pending := range run.Status.Pending {
		waiting = append(waiting, pending.Tool)
	}
	if diff := cmp.Diff(tools, waiting); diff != "" {
		t.Errorf("the tools that wait (-want +got):\n%s", diff)
	}
}

// Where the list is empty and there is no policy, nothing ever waits, whatever a tool is or is called
// through (F9).
func TestNoApprovalAppearsWhereNoneIsConfigured(t *testing.T) {
	const toolBare = `{"name":"bare","inputSchema":{"type":"object"}}`
	direct := []string{"desk__find", "desk__send", "desk__wipe", "desk__bare"}
	deferred := []string{"call_tool", "call_tool"}
	for name, row := range map[string]struct {
		tools string
		trust v1alpha1.AnnotationTrust
		calls []string
		made  []string
	}{
		"trusted server":   {"[" + toolFind + "," + toolSend + "," + toolWipe + "," + toolBare + "]", v1alpha1.AnnotationsTrusted, direct, []string{"find", "send", "wipe", "bare"}},
		"untrusted server": {"[" + toolFind + "," + toolSend + "," + toolWipe + "," + toolBare + "]", v1alpha1.AnnotationsUntrusted, direct, []string{"find", "send", "wipe", "bare"}},
		"deferred tools":   {manyTools(), v1alpha1.AnnotationsTrusted, deferred, []string{"wipe_7", "wipe_7"}},
	} {
		t.Run(name, func(t *testing.T) {
			useOperator(t)
			n := newTenant(t)
			fake := newFakeServer(t, row.tools)
			n.catalogued("desk", fake.url, func(s *v1alpha1.MCPServerSpec) { s.Annotations = row.trust })
			n.granted("desk", noApproval)
			var calls []string
			for _, tool := range row.calls {
				calls = append(calls, fmt.Sprintf(`{"tool": %q, "arguments": {"name": "desk__wipe_7", "arguments": {}}}`, tool))
			}
			n.scripted(`{"turns": [{"calls": [` + strings.Join(calls, ",") + `]}, {"text": "Done."}]}`)
			n.agent("desk")

			run := awaitRun(t, n.start("run"), "ends, or waits for somebody", func(r *v1alpha1.Run) bool {
				return r.Status.CompletedAt != nil || r.Status.Phase == v1alpha1.RunSuspended
			})
			checkEnded(t, run, v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
			checkCalls(t, fake, row.made...)
			if types := recordTypes(run); slices.Contains(types, v1alpha1.RecordSuspension) || slices.Contains(types, v1alpha1.RecordDecision) {
				t.Errorf("the Run waited for somebody: %v", types)
			}
			if c := condition(run.Status.Conditions, v1alpha1.ConditionApproved); c.Type != "" || len(run.Status.Decided) > 0 {
				t.Errorf("the Run shows an approval: %+v, %+v", c, run.Status.Decided)
			}
		})
	}
}

// An approved call is made once, and not asked about once more, although everything that its Grant says
// still asks for approval, and by then more of it does.
func TestApprovedCallIsNotAskedAboutAgain(t *testing.T) {
	asks := []v1alpha1.PolicyRule{{Name: "wiping", Action: v1alpha1.PolicyAsk, Expression: "tool == 'wipe'", Message: "It is gone for good."}}
	for name, change := range map[string]func(*v1alpha1.GrantSpec){
		"by class":  func(*v1alpha1.GrantSpec) {},
		"by name":   func(g *v1alpha1.GrantSpec) { g.Approval = []v1alpha1.ApprovalSelector{"wipe"} },
		"by always": func(g *v1alpha1.GrantSpec) { noApproval(g); g.Always = []v1alpha1.ToolLiteral{"wipe"} },
		"by policy": func(g *v1alpha1.GrantSpec) { noApproval(g); g.Policy = asks },
	} {
		t.Run(name, func(t *testing.T) {
			useOperator(t)
			n := newTenant(t)
			fake := newFakeServer(t, twoTools)
			n.catalogued("desk", fake.url)
			grant := n.granted("desk", change)
			n.scripted(wipes)
			n.agent("desk")
			run := awaitSuspended(t, n.start("run"))
			everything := map[string]any{"approval": []string{"@all", "wipe"}, "always": []string{"wipe"}, "policy": asks}
			if err := patch(t, admin, grant, everything); err != nil {
				t.Fatal(err)
			}
			awaitGrant(t, n.read(grant), v1alpha1.ReasonGranted)
			if err := decide(t, approver, run, decisions(run, approved())); err != nil {
				t.Fatal(err)
			}
			run = awaitEnd(t, run)
			checkEnded(t, run, v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
			checkCalls(t, fake, "wipe")
			checkAskedOnce(t, run)
		})
	}
}

// checkAskedOnce looks for a second question about a call that was approved.
func checkAskedOnce(t *testing.T, run *v1alpha1.Run) {
	t.Helper()
	count := map[v1alpha1.RecordType]int{}
	for _, kind := range recordTypes(run) {
		count[kind]++
	}
	if count[v1alpha1.RecordSuspension] != 1 || count[v1alpha1.RecordDecision] != 1 || len(run.Status.Decided) != 1 {
		t.Errorf("asked %d times and decided %d times, want once\n%s",
			count[v1alpha1.RecordSuspension], count[v1alpha1.RecordDecision], describe(run))
	}
	if diff := cmp.Diff([]v1alpha1.ErrorKind{""}, resultKinds(run)); diff != "" {
		t.Errorf("the results (-want +got):\n%s", diff)
	}
}

// The model can tell a call that was denied, by a person or by policy, from one of a tool that does not
// exist: by the kind, by the message, and since the denied tool is still offered. A person's word is
// what it reads even where the tool is gone by then.
func TestDenialIsNotTakenForAMissingTool(t *testing.T) {
	useOperator(t)
	n := newTenant(t)
	fake := newFakeServer(t, "["+toolFind+","+toolSend+","+toolWipe+"]")
	n.catalogued("desk", fake.url)
	grant := awaitGrant(t, n.granted("desk", func(g *v1alpha1.GrantSpec) {
		g.Policy = []v1alpha1.PolicyRule{{Name: "closed", Action: v1alpha1.PolicyDeny, Expression: "tool == 'send'", Message: "The post office is closed."}}
	}), v1alpha1.ReasonGranted)
	model := newEndpoint(t, func(asked int, w http.ResponseWriter, _ *http.Request) {
		if asked > 2 {
			completes(w, says("I know the difference."))
			return
		}
		completes(w, `{"role":"assistant","content":null,"tool_calls":[`+strings.Join([]string{
			chatCallOf("desk__wipe"), chatCallOf("desk__gone"), chatCallOf("desk__send"), chatCallOf("nobody")}, ",")+`]}`)
	})
	n.openAI("model", model.url, "")
	n.agent("desk")

	run := awaitSuspended(t, n.start("run"))
	checkAsked(t, run, "desk__wipe")
	if err := decide(t, approver, run, decisions(run, denied("not before the audit"))); err != nil {
		t.Fatal(err)
	}
	run = awaitAskedAfter(t, run)
	if err := patch(t, admin, grant, map[string]any{"tools": []string{"find"}}); err != nil {
		t.Fatal(err)
	}
	awaitGrant(t, n.read(grant), v1alpha1.ReasonGranted)
	if err := decide(t, approver, run, decisions(run, denied(""))); err != nil {
		t.Fatal(err)
	}
	run = awaitEnd(t, run)
	checkEnded(t, run, v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
	checkCalls(t, fake)

	requests := model.requests()
	if len(requests) != 3 {
		t.Fatalf("the model was asked %d times, want 3", len(requests))
	}
	missing := func(tool string) string {
		return fmt.Sprintf(`{"error":{"kind":"unknown_tool","message":"There is no tool \"%s\". Use one of the tools you were given, by its exact name."}}`, tool)
	}
	closed := `{"error":{"kind":"denied","message":"Policy denies this call: The post office is closed."}}`
	want := []string{
		`{"error":{"kind":"denied","message":"A person denied this call: not before the audit"}}`,
		missing("desk__gone"), closed, missing("nobody"),
		`{"error":{"kind":"denied","message":"A person denied this call and gave no reason."}}`,
		missing("desk__gone"), closed, missing("nobody"),
	}
	if diff := cmp.Diff(want, toolResults(requests[2])); diff != "" {
		t.Errorf("the results that the model reads (-want +got):\n%s", diff)
	}
	for i, offered := range [][]string{{"desk__find", "desk__send", "desk__wipe"}, {"desk__find", "desk__send", "desk__wipe"}, {"desk__find"}} {
		if diff := cmp.Diff(offered, offeredTo(requests[i])); diff != "" {
			t.Errorf("the tools of request %d (-want +got):\n%s", i+1, diff)
		}
	}
}

// chatCallOf is a call within a message.
func chatCallOf(tool string) string {
	return fmt.Sprintf(`{"id":"c","type":"function","function":{"name":%q,"arguments":"{}"}}`, tool)
}

func toolResults(request chatRequest) []string {
	var results []string
	for _, message := range request.Messages {
		if message.Role == "tool" {
			results = append(results, message.Content)
		}
	}
	return results
}

func offeredTo(request chatRequest) []string {
	var names []string
	for _, tool := range request.Tools {
		names = append(names, tool.Function.Name)
	}
	return names
}

// awaitAskedAfter waits until a Run waits for another call than it did.
func awaitAskedAfter(t *testing.T, before *v1alpha1.Run) *v1alpha1.Run {
	t.Helper()
	return awaitRun(t, before, "asks about another call", func(r *v1alpha1.Run) bool {
		if r.Status.CompletedAt != nil {
			t.Fatalf("the Run ended instead of asking again\n%s", describe(r))
		}
		return len(r.Status.Pending) > 0 && r.Status.Pending[0].ID != before.Status.Pending[0].ID
	})
}

// The same through call_tool: a deferred tool that was denied, and one that does not exist.
func TestDenialOfADeferredToolIsNotTakenForAMissingTool(t *testing.T) {
	useOperator(t)
	n := newTenant(t)
	fake := newFakeServer(t, manyTools())
	n.catalogued("desk", fake.url)
	n.granted("desk")
	model := newEndpoint(t, func(asked int, w http.ResponseWriter, _ *http.Request) {
		completes(w, []string{
			toolCallOf("call_tool", `{"name":"desk__wipe_7","arguments":{}}`),
			toolCallOf("call_tool", `{"name":"desk__wipe_70","arguments":{}}`),
			says("I know the difference."),
		}[min(asked, 3)-1])
	})
	n.openAI("model", model.url, "")
	n.agent("desk")
	run := awaitSuspended(t, n.start("run"))
	if err := decide(t, approver, run, decisions(run, denied("disk 7 is in use"))); err != nil {
		t.Fatal(err)
	}
	checkEnded(t, awaitEnd(t, run), v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
	checkCalls(t, fake)
	requests := model.requests()
	want := []string{
		`{"error":{"kind":"denied","message":"A person denied this call: disk 7 is in use"}}`,
		`{"error":{"kind":"unknown_tool","message":"There is no tool \"desk__wipe_70\". Use one of the tools you were given, by its exact name."}}`,
	}
	if diff := cmp.Diff(want, toolResults(requests[len(requests)-1])); diff != "" {
		t.Errorf("the results that the model reads (-want +got):\n%s", diff)
	}
}

// A denial does not fail the Run, however often it comes: the model reads each reason, calls another
// tool, and the Run ends as it should (H17, H18). It is no failure of the tool either (I9).
func TestDenialsDoNotFailTheRun(t *testing.T) {
	useOperator(t)
	const times = 6 // more than the failures in a row that stop a Run
	turns := []string{`{"calls": [{"tool": "desk__wipe", "arguments": {"try": 0}}]}`}
	for i := range times - 1 {
		turns = append(turns, fmt.Sprintf(
			`{"when": "A person denied this call: no %d", "calls": [{"tool": "desk__wipe", "arguments": {"try": %d}}]}`, i, i+1))
	}
	turns = append(turns,
		fmt.Sprintf(`{"when": "A person denied this call: no %d", "calls": [{"tool": "desk__find"}]}`, times-1),
		`{"when": "done", "text": "I have only looked."}`)
	n, fake := desk(t, `{"turns": [`+strings.Join(turns, ",")+`]}`)

	run := awaitSuspended(t, n.start("run"))
	for i := range times {
		if i > 0 {
			run = awaitAskedAfter(t, run)
		}
		if err := decide(t, approver, run, decisions(run, denied(fmt.Sprintf("no %d", i)))); err != nil {
			t.Fatal(err)
		}
	}
	run = awaitEnd(t, run)
	checkEnded(t, run, v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
	checkCalls(t, fake, "find")
	if run.Status.Output != "I have only looked." || len(run.Status.FailureStreaks) > 0 || len(run.Status.Decided) != times {
		t.Errorf("the output is %q, the streaks are %+v, and %d calls were decided", run.Status.Output, run.Status.FailureStreaks, len(run.Status.Decided))
	}
}

// A denied call blocks no later one, be it the very same: that asks again, as another call, and is made
// once where it is approved (H17).
func TestDenialDoesNotBlockARetry(t *testing.T) {
	useOperator(t)
	turn := `{"calls": [{"tool": "desk__wipe", "arguments": {"table": "orders"}}]}`
	n, fake := desk(t, `{"turns": [`+turn+`,`+turn+`,`+turn+`, {"text": "It is wiped."}]}`)
	run := awaitSuspended(t, n.start("run"))
	for i, decision := range []v1alpha1.Decision{denied("not yet"), denied("wait for the backup"), approved()} {
		if i > 0 {
			run = awaitAskedAfter(t, run)
		}
		checkAsked(t, run, "desk__wipe")
		checkCalls(t, fake)
		if err := decide(t, approver, run, decisions(run, decision)); err != nil {
			t.Fatal(err)
		}
	}
	run = awaitEnd(t, run)
	checkEnded(t, run, v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
	checkCalls(t, fake, "wipe")
	if diff := cmp.Diff([]v1alpha1.ErrorKind{v1alpha1.ErrorDenied, v1alpha1.ErrorDenied, ""}, resultKinds(run)); diff != "" {
		t.Errorf("the results (-want +got):\n%s", diff)
	}
}
