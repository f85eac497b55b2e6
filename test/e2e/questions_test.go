// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"

	"remit.dev/remit/api/v1alpha1"
)

// H2: a question suspends as an approval does, and the model reads the answer.
func TestQuestionToAPerson(t *testing.T) {
	useOperator(t)
	n := newTenant(t)
	fake := newFakeServer(t, "["+toolSend+"]")
	n.catalogued("desk", fake.url)
	awaitGrant(t, n.granted("desk"), v1alpha1.ReasonGranted)
	n.scripted("turns:\n" +
		"- calls: [{tool: ask_user, arguments: {question: 'Which order?'}}, {tool: desk__send, arguments: {cents: 1}}]\n" +
		"- calls: [{tool: ask_user, arguments: {question: 'Are you sure?'}}]\n" +
		"- text: Done.\n")
	spec := n.unpublished("desk")
	spec.Spec.Builtins = []v1alpha1.Builtin{v1alpha1.BuiltinAskUser}
	n.create(author, spec)

	run := awaitSuspended(t, n.start("run"))
	question, call := run.Status.Pending[0], run.Status.Pending[1]
	if question.Kind != v1alpha1.PendingQuestion || !strings.Contains(question.Arguments, "Which order?") || call.Kind != v1alpha1.PendingTool {
		t.Fatalf("pending: %+v", run.Status.Pending)
	}
	answer := approved()
	answer.Answer = "Order A-17."
	for what, refused := range map[string]struct {
		user      string
		decisions map[v1alpha1.CallID]v1alpha1.Decision
		says      string
	}{
		"no answer":                {approver, decisions(run, approved()), "approving a Question or a Webhook needs an answer"},
		"an answer to an approval": {approver, decisions(run, answer), "nothing else takes one"},
		"the question alone":       {approver, map[v1alpha1.CallID]v1alpha1.Decision{question.ID: answer}, "one update must decide every call"},
		"the author's own answer":  {author, map[v1alpha1.CallID]v1alpha1.Decision{question.ID: answer, call.ID: approved()}, "may not approve"},
	} {
		if err := decide(t, refused.user, run, refused.decisions); err == nil || !strings.Contains(err.Error(), refused.says) {
			t.Errorf("%s: %v, want %q", what, err, refused.says)
		}
	}
	if err := decide(t, approver, run, map[v1alpha1.CallID]v1alpha1.Decision{question.ID: answer, call.ID: approved()}); err != nil {
		t.Fatal(err)
	}
	run = awaitRun(t, run, "asks again", func(r *v1alpha1.Run) bool {
		return r.Status.Phase == v1alpha1.RunSuspended && len(r.Status.Decided) == 2
	})
	if err := decide(t, approver, run, decisions(run, denied("ask somebody else"))); err != nil {
		t.Fatal(err)
	}
	run = awaitEnd(t, run)
	checkEnded(t, run, v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
	if made := fake.made(); len(made) != 1 {
		t.Errorf("called: %+v", made)
	}
	checkResults(t, run, "Order A-17.", "", "A person does not answer this question: ask somebody else")
	checkEvents(t, n, "ApprovalRequired", "Approved", "Denied")
}

// checkResults compares the contents of the log's results, an empty text with any.
func checkResults(t *testing.T, run *v1alpha1.Run, contents ...string) {
	t.Helper()
	var got []string
	for _, record := range run.Status.Log.Records {
		if record.Result != nil {
			got = append(got, record.Result.Content)
		}
	}
	if len(got) != len(contents) {
		t.Fatalf("%d results, want %d: %q", len(got), len(contents), got)
	}
	for i, want := range contents {
		if want != "" && got[i] != want {
			t.Errorf("result %d is %q, want %q", i, got[i], want)
		}
	}
}

// P24: policy on a whole Run denies it before any step, or asks a person.
func TestPolicyOfRuns(t *testing.T) {
	useOperator(t)
	n := newTenant(t)
	fake := newFakeServer(t, "["+toolFind+"]")
	n.catalogued("desk", fake.url)
	grant := awaitGrant(t, n.granted("desk", func(g *v1alpha1.GrantSpec) {
		g.RunPolicy = []v1alpha1.PolicyRule{
			{Name: "short", Action: v1alpha1.PolicyDeny, Expression: "run.input.size() < 5", MessageExpression: "'say more than ' + run.input"},
			{Name: "urgent", Action: v1alpha1.PolicyAsk, Expression: "run.input.contains('urgent') && scope.namespace != ''", Message: "urgent Runs need a lead"},
		}
	}), v1alpha1.ReasonGranted)
	n.scripted("turns:\n- calls: [{tool: desk__find}]\n- text: Done.\n")
	n.agent("desk")
	withInput := func(text string) func(*v1alpha1.RunSpec) { return func(r *v1alpha1.RunSpec) { r.Input = text } }

	t.Run("denied", func(t *testing.T) {
		run := awaitEnd(t, n.start("short", withInput("hi")))
		accepted := condition(run.Status.Conditions, v1alpha1.ConditionAccepted)
		if run.Status.Phase != v1alpha1.RunFailed || accepted.Status != "False" || accepted.Reason != v1alpha1.ReasonPolicyDenied ||
			!strings.Contains(accepted.Message, "say more than hi") || run.Status.Steps != 0 || len(run.Status.Log.Records) != 0 {
			t.Errorf("phase %s, accepted %+v, %d steps, %d records", run.Status.Phase, accepted, run.Status.Steps, len(run.Status.Log.Records))
		}
	})
	t.Run("not concerned", func(t *testing.T) {
		checkEnded(t, awaitEnd(t, n.start("plain")), v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
	})
	t.Run("approved", func(t *testing.T) {
		run := awaitSuspended(t, n.start("urgent", withInput("urgent: find it")))
		pending := run.Status.Pending[0]
		if pending.Kind != v1alpha1.PendingRun || pending.Reason != "urgent Runs need a lead" || run.Status.Steps != 0 ||
			!strings.Contains(pending.Arguments, "urgent: find it") || !strings.Contains(pending.Arguments, run.Status.Version) {
			t.Errorf("after %d steps pending: %+v", run.Status.Steps, pending)
		}
		if err := decide(t, author, run, decisions(run, approved())); err == nil {
			t.Error("the author let his own Run begin")
		}
		if err := decide(t, approver, run, decisions(run, approved())); err != nil {
			t.Fatal(err)
		}
		run = awaitEnd(t, run)
		checkEnded(t, run, v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
		if run.Status.Decided[0].Kind != v1alpha1.PendingRun || condition(run.Status.Conditions, v1alpha1.ConditionAccepted).Status != "True" {
			t.Errorf("decided %+v, conditions %+v", run.Status.Decided, run.Status.Conditions)
		}
	})
	t.Run("refused", func(t *testing.T) {
		run := awaitSuspended(t, n.start("refused", withInput("urgent: find it")))
		if err := decide(t, approver, run, decisions(run, denied("not today"))); err != nil {
			t.Fatal(err)
		}
		run = awaitEnd(t, run)
		checkEnded(t, run, v1alpha1.RunFailed, v1alpha1.ReasonDenied)
		accepted := condition(run.Status.Conditions, v1alpha1.ConditionAccepted)
		if accepted.Reason != v1alpha1.ReasonDenied || !strings.Contains(accepted.Message, "not today") || run.Status.Steps != 0 {
			t.Errorf("accepted %+v after %d steps", accepted, run.Status.Steps)
		}
	})
	t.Run("a rule that cannot be used", func(t *testing.T) {
		rules := []map[string]any{{"name": "odd", "action": "Ask", "expression": "tool == 'x'"}} // there is no tool
		if err := patch(t, admin, grant, map[string]any{"runPolicy": rules}); err != nil {
			t.Fatal(err)
		}
		changed := awaitGrant(t, grant, v1alpha1.ReasonPolicyInvalid)
		if message := condition(changed.Status.Conditions, v1alpha1.ConditionReady).Message; !strings.HasPrefix(message, "spec.runPolicy[odd].expression: ") {
			t.Errorf("the Grant says %q", message)
		}
		checkEnded(t, awaitEnd(t, n.start("odd")), v1alpha1.RunFailed, v1alpha1.ReasonPolicyDenied)
	})
}
