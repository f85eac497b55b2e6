// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
)

// delegates is a script for a parent that calls its subagent "wiper" once, and for the subagent, which
// wipes something. A turn waits for the instructions of the agent that it is for.
const delegates = `{"turns": [
	{"when": "You wipe tables.", "calls": [{"tool": "desk__wipe", "arguments": {"table": "orders"}}]},
	{"when": "A person denied this call", "text": "I was not allowed to."},
	{"when": "You wipe tables.", "text": "I have wiped it."},
	{"when": "You work at a help desk.", "calls": [{"tool": "run_subagent", "arguments": {"name": "wiper", "input": "Wipe the orders."}}]},
	{"when": "did not come to an answer", "text": "My subagent did not answer."},
	{"when": "was deleted before it came to an end", "text": "My subagent is gone."},
	{"when": "I was not allowed to.", "text": "My subagent was not allowed to."},
	{"when": "I have wiped it.", "text": "My subagent has wiped it."}]}`

// subagentDesk makes a tenant with a fake server that is granted as "desk", and an agent with a subagent
// that has the same tools.
func subagentDesk(t *testing.T) (*tenant, *fakeServer) {
	t.Helper()
	n := newTenant(t)
	fake := newFakeServer(t, twoTools)
	n.catalogued("desk", fake.url)
	grant, model := n.granted("desk"), n.scripted(delegates)
	spec := n.unpublished("desk")
	spec.Spec.Subagents = []v1alpha1.Subagent{{Name: "wiper", Description: "Wipes tables.", Instructions: "You wipe tables."}}
	n.create(author, spec)
	for _, needed := range []*v1alpha1.Grant{grant, model} {
		awaitGrant(t, needed, v1alpha1.ReasonGranted)
	}
	awaitPublished(t, spec)
	return n, fake
}

// awaitChild waits until a Run waits for one of a subagent, and gives that one.
func awaitChild(t *testing.T, parent *v1alpha1.Run) *v1alpha1.Run {
	t.Helper()
	parent = awaitRun(t, parent, "waits for a subagent", func(r *v1alpha1.Run) bool {
		return len(r.Status.Children) > 0 || r.Status.CompletedAt != nil
	})
	if len(parent.Status.Children) == 0 {
		t.Fatalf("the Run ended without its subagent\n%s", describe(parent))
	}
	return &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Namespace: parent.Namespace, Name: parent.Status.Children[0].Name}}
}

// An approval inside of a subagent: the effect waits in the child, the parent waits for the child, and both
// come to their end with the decision (H2, H28).
func TestApprovalInASubagent(t *testing.T) {
	useOperator(t)
	n, fake := subagentDesk(t)
	mark := auditMark(t)
	parent := n.start("run")
	child := awaitSuspended(t, awaitChild(t, parent))
	checkChild(t, parent, child)
	checkCalls(t, fake)
	out := mustKubectl(t, author, "get", "runs", "-n", n.namespace, "--no-headers",
		"-o", "custom-columns=N:.metadata.name,P:.status.phase,W:.status.waitingFor")
	want := [][]string{{parent.Name, "Running", "run_subagent"}, {child.Name, "Suspended", "desk__wipe"}}
	if diff := cmp.Diff(want, fieldsOf(out)); diff != "" {
		t.Errorf("kubectl get runs (-want +got):\n%s", diff)
	}
	if err := decide(t, author, child, decisions(child, approved())); !apierrors.IsForbidden(err) {
		t.Errorf("the author's approval: %v", err)
	}

	if err := decide(t, approver, child, decisions(child, approved())); err != nil {
		t.Fatal(err)
	}
	parent = awaitEnd(t, parent)
	checkEnded(t, parent, v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
	checkEnded(t, awaitEnd(t, child), v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
	checkCalls(t, fake, "wipe")
	if parent.Status.Output != "My subagent has wiped it." {
		t.Errorf("the parent did not read the answer: %q", parent.Status.Output)
	}
	checkDelegatedWrites(t, n, mark, parent, child)
}

// fieldsOf splits lines into words.
func fieldsOf(text string) [][]string {
	var lines [][]string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.Fields(line))
	}
	return lines
}

// checkChild compares a child with what its parent waits for.
func checkChild(t *testing.T, parent, child *v1alpha1.Run) {
	t.Helper()
	parent = awaitRun(t, parent, "is there", func(*v1alpha1.Run) bool { return true })
	if owner := metav1.GetControllerOf(child); owner == nil || owner.UID != parent.UID {
		t.Errorf("the child belongs to %+v", owner)
	}
	listed := parent.Status.Children[0]
	if listed.UID != string(child.UID) {
		t.Errorf("the parent lists %+v, and the child has the uid %s", listed, child.UID)
	}
	reference := v1alpha1.RunParent{Name: parent.Name, UID: string(parent.UID), CallID: listed.CallID}
	if child.Spec.ParentRef == nil || *child.Spec.ParentRef != reference || child.Spec.Input != "Wipe the orders." || child.Status.Version != parent.Status.Version {
		t.Errorf("the child is %s", describe(child))
	}
	if limit := child.Spec.Limits.Deadline.Duration; limit <= 0 || limit > time.Hour {
		t.Errorf("the child may work for %s, and its parent for an hour", limit)
	}
	complete := condition(parent.Status.Conditions, v1alpha1.ConditionComplete)
	if complete.Message != "1 model calls so far; waits for run_subagent" {
		t.Errorf("the parent says %q", complete.Message)
	}
}

// checkDelegatedWrites looks for writes that nothing needs: the parent is not written while its child waits.
func checkDelegatedWrites(t *testing.T, n *tenant, mark int64, parent, child *v1alpha1.Run) {
	t.Helper()
	of := func(name string) []string {
		var writes []string
		for _, w := range writesSince(t, mark, n.namespace) {
			if w.Name == name && w.Verb != "patch" { // the decision
				writes = append(writes, w.String())
			}
		}
		return writes
	}
	step := func(name string) string { return "update runs/status " + name + " by " + operatorUser }
	eventually(t, "the audit log has the end of the parent", func() bool { return len(of(parent.Name)) >= 5 })
	want := []string{"create runs " + parent.Name + " by " + author,
		step(parent.Name), step(parent.Name), step(parent.Name), step(parent.Name)} // pinned, waits, result, answer
	if diff := cmp.Diff(want, of(parent.Name)); diff != "" {
		t.Errorf("the writes of the parent (-want +got):\n%s", diff)
	}
	want = []string{"create runs " + child.Name + " by " + operatorUser,
		step(child.Name), step(child.Name), step(child.Name), step(child.Name), step(child.Name)} // pinned, waits, watermark, result, answer
	if diff := cmp.Diff(want, of(child.Name)); diff != "" {
		t.Errorf("the writes of the child (-want +got):\n%s", diff)
	}
}

// A denial inside of a subagent fails neither the child nor the parent (H17).
func TestDenialInASubagent(t *testing.T) {
	useOperator(t)
	n, fake := subagentDesk(t)
	parent := n.start("run")
	child := awaitSuspended(t, awaitChild(t, parent))
	if err := decide(t, approver, child, decisions(child, denied("not today"))); err != nil {
		t.Fatal(err)
	}
	parent = awaitEnd(t, parent)
	checkEnded(t, parent, v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
	checkEnded(t, awaitEnd(t, child), v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
	if parent.Status.Output != "My subagent was not allowed to." {
		t.Errorf("the output is %q", parent.Status.Output)
	}
	checkCalls(t, fake)
}

// What nobody decides ends the child, and the parent reads that and goes on (H25, H28).
func TestExpiryInASubagent(t *testing.T) {
	useOperator(t)
	n, fake := subagentDesk(t)
	parent := n.start("run", func(r *v1alpha1.RunSpec) {
		r.Limits = &v1alpha1.RunLimits{ApprovalExpiry: &metav1.Duration{Duration: 4 * time.Second}}
	})
	child := awaitSuspended(t, awaitChild(t, parent))
	parent = awaitEnd(t, parent)
	checkEnded(t, parent, v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
	if parent.Status.Output != "My subagent did not answer." {
		t.Errorf("the output is %q", parent.Status.Output)
	}
	if diff := cmp.Diff([]v1alpha1.ErrorKind{v1alpha1.ErrorTool}, resultKinds(parent)); diff != "" {
		t.Errorf("the results (-want +got):\n%s", diff)
	}
	checkEnded(t, awaitEnd(t, child), v1alpha1.RunAbandoned, v1alpha1.ReasonSuspensionExpired)
	checkTooLate(t, child)
	checkCalls(t, fake)
}

// The end of a parent ends its child, and what is approved afterwards has no effect.
func TestCancelledParentEndsItsChild(t *testing.T) {
	useOperator(t)
	n, fake := subagentDesk(t)
	parent := n.start("run")
	child := awaitSuspended(t, awaitChild(t, parent))
	if err := cancel(t, author, parent); err != nil {
		t.Fatal(err)
	}
	checkEnded(t, awaitEnd(t, parent), v1alpha1.RunCancelled, v1alpha1.ReasonCancelled)
	checkEnded(t, awaitEnd(t, child), v1alpha1.RunCancelled, v1alpha1.ReasonParentEnded)
	checkTooLate(t, child)
	checkCalls(t, fake)
}

// A child that somebody deletes is not started again: the parent reads that it is gone.
func TestDeletedChildIsNotRepeated(t *testing.T) {
	useOperator(t)
	n, fake := subagentDesk(t)
	parent := n.start("run")
	child := awaitSuspended(t, awaitChild(t, parent))
	if err := env.users[admin].Delete(t.Context(), child); err != nil {
		t.Fatal(err)
	}
	parent = awaitEnd(t, parent)
	checkEnded(t, parent, v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
	if parent.Status.Output != "My subagent is gone." {
		t.Errorf("the output is %q", parent.Status.Output)
	}
	if runs := runsOf(t, n); len(runs) != 1 {
		t.Errorf("there are %d Runs, want the parent alone", len(runs))
	}
	checkCalls(t, fake)
}

func runsOf(t *testing.T, n *tenant) []v1alpha1.Run {
	t.Helper()
	list := &v1alpha1.RunList{}
	if err := env.users[admin].List(t.Context(), list, client.InNamespace(n.namespace)); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// Kill -9 while a child waits for a decision, which comes when no operator runs: nothing is lost, and
// nothing is made twice.
func TestKilledWhileASubagentWaits(t *testing.T) {
	o := ownOperator(t)
	n, fake := subagentDesk(t)
	parent := n.start("run")
	child := awaitSuspended(t, awaitChild(t, parent))
	o.crash(t)
	if err := decide(t, approver, child, decisions(child, approved())); err != nil {
		t.Fatal(err)
	}
	checkCalls(t, fake)
	o.restart(t)
	parent = awaitEnd(t, parent)
	checkEnded(t, parent, v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
	checkCalls(t, fake, "wipe")
	if parent.Status.Output != "My subagent has wiped it." || parent.Status.Steps != 2 {
		t.Errorf("after %d steps the output is %q", parent.Status.Steps, parent.Status.Output)
	}
	if runs := runsOf(t, n); len(runs) != 2 {
		t.Errorf("there are %d Runs, want the parent and one child", len(runs))
	}
}

// A subagent reaches what its own lists and its parent's hold, and none of the tools of the operator
// (B3, B5, P13). Two subagents of one message run beside each other.
func TestSubagentIsWithinItsParent(t *testing.T) {
	useOperator(t)
	n := newTenant(t)
	fake := newFakeServer(t, "["+toolFind+","+toolSend+","+toolWipe+"]")
	n.catalogued("desk", fake.url)
	n.granted("desk", func(g *v1alpha1.GrantSpec) { g.Approval = []v1alpha1.ApprovalSelector{} })
	everything := `"calls": [{"tool": "desk__wipe"}, {"tool": "desk__send"}, {"tool": "weigh"}, {"tool": "count"},
		{"tool": "run_code", "arguments": {"code": "def main(): return 1"}}, {"tool": "run_subagent", "arguments": {"name": "all", "input": "Go."}}, {"tool": "desk__find"}]`
	n.scripted(`{"turns": [
		{"when": "You only read.", ` + everything + `}, {"when": "You only read.", "text": "Read."},
		{"when": "You may do all.", ` + everything + `}, {"when": "You may do all.", "text": "Done."},
		{"calls": [{"tool": "run_subagent", "arguments": {"name": "reader", "input": "Go."}}, {"tool": "run_subagent", "arguments": {"name": "all", "input": "Go."}}]},
		{"text": "Both are done."}]}`)
	spec := n.unpublished("desk")
	spec.Spec.MCP[0].Disable = []v1alpha1.AccessSelector{"send"}
	spec.Spec.Builtins, spec.Spec.Sandbox.Enabled = []v1alpha1.Builtin{v1alpha1.BuiltinRunCode}, true
	for _, name := range []string{"weigh", "count"} {
		yes := true
		spec.Spec.Tools = append(spec.Spec.Tools, v1alpha1.Tool{Name: name, Kind: v1alpha1.ToolCode, Description: "Counts.",
			InputSchema: object(`{"type":"object"}`), Annotations: &v1alpha1.ToolAnnotations{ReadOnlyHint: &yes},
			Code: &v1alpha1.CodeTool{Source: "def main():\n  return 1\n"}})
	}
	spec.Spec.Subagents = []v1alpha1.Subagent{
		{Name: "reader", Description: "Reads.", Instructions: "You only read.", Tools: []v1alpha1.ToolLiteral{"weigh"},
			MCP: []v1alpha1.MCPGrant{{Grant: "desk", Enable: []v1alpha1.AccessSelector{v1alpha1.AccessReadOnly}}}},
		{Name: "all", Description: "Does all.", Instructions: "You may do all."},
	}
	n.create(author, spec)
	parent := awaitEnd(t, n.start("run"))
	checkEnded(t, parent, v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)

	const unknown, made = v1alpha1.ErrorUnknownTool, v1alpha1.ErrorKind("")
	for _, run := range runsOf(t, n) {
		want := map[v1alpha1.Slug][]v1alpha1.ErrorKind{
			"":       {made, made},
			"reader": {unknown, unknown, unknown, unknown, unknown, made, made}, // what is refused is answered first
			"all":    {unknown, unknown, unknown, made, made, made, made},
		}[run.Spec.Subagent]
		if diff := cmp.Diff(want, resultKinds(&run)); diff != "" {
			t.Errorf("the results of %q (-want +got):\n%s", run.Spec.Subagent, diff)
		}
	}
	calls := map[string]int{}
	for _, call := range fake.made() {
		calls[call.Tool]++
	}
	if diff := cmp.Diff(map[string]int{"find": 2, "wipe": 1}, calls); diff != "" {
		t.Errorf("the tools that were called (-want +got):\n%s", diff)
	}
}

// Kill -9 at other points of a parent and its child: there is one child, its approved effect happens at most
// once, and both come to their end.
func TestKilledAtAnyPointOfASubagent(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1)) // the points of a seed are always the same
			o := ownOperator(t)
			n, fake := subagentDesk(t)
			changes := watchRuns(t, n.namespace)
			parent := n.start("run")
			until, decided := 1+rng.IntN(4), false
			for deadline := time.After(patience); parent.Status.CompletedAt == nil; {
				select {
				case <-deadline:
					t.Fatalf("the Run did not end within %s\n%s", patience, describe(parent))
				case run := <-changes:
					if run.Name == parent.Name {
						parent = run
					}
					if len(run.Status.Pending) > 0 && !decided {
						decided = true
						if err := decide(t, approver, run, decisions(run, approved())); err != nil {
							t.Fatal(err)
						}
					}
					if until--; until == 0 {
						<-time.After(time.Duration(rng.Int64N(int64(maxPause))))
						o.crash(t)
						o.restart(t)
						until = 1 + rng.IntN(6)
					}
				}
			}
			checkKilledSubagent(t, n, fake, parent)
		})
	}
}

func checkKilledSubagent(t *testing.T, n *tenant, fake *fakeServer, parent *v1alpha1.Run) {
	t.Helper()
	checkEnded(t, parent, v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
	if parent.Status.Output != "My subagent has wiped it." || parent.Status.Steps != 2 {
		t.Errorf("after %d steps the output is %q", parent.Status.Steps, parent.Status.Output)
	}
	runs := slices.DeleteFunc(runsOf(t, n), func(r v1alpha1.Run) bool { return r.Name == parent.Name })
	if len(runs) != 1 {
		t.Fatalf("there are %d children", len(runs))
	}
	checkEnded(t, &runs[0], v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
	switch results, made := resultKinds(&runs[0]), len(fake.made()); {
	case len(results) != 1 || made > 1:
		t.Errorf("one approval led to %d effects and the results %v", made, results)
	case made == 0 && results[0] != v1alpha1.ErrorOutcomeUnknown:
		t.Error("the model was told of an effect that there never was")
	}
}
