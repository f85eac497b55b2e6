// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"slices"
	"strings"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
)

// refundRules asks above 4,000 euros and denies above 10,000, whatever the approval lists say.
func refundRules(g *v1alpha1.GrantSpec) {
	g.Approval = []v1alpha1.ApprovalSelector{}
	g.Policy = []v1alpha1.PolicyRule{
		{Name: "large", Action: v1alpha1.PolicyAsk, Expression: "tool == 'send' && args.cents > 400000",
			MessageExpression: "'a refund of ' + string(args.cents) + ' cents for ' + scope.principal"},
		{Name: "huge", Action: v1alpha1.PolicyDeny, Expression: "args.cents > 1000000", Message: "Refunds over 10,000 euros are made by the accountants."},
	}
}

// H31 to H36 and P19: what policy says of a call depends on its arguments and on who made the Run.
func TestPolicyOfAGrant(t *testing.T) {
	useOperator(t)
	n := newTenant(t)
	fake := newFakeServer(t, "["+toolSend+"]")
	n.catalogued("desk", fake.url)
	awaitGrant(t, n.granted("desk", refundRules), v1alpha1.ReasonGranted)
	n.scripted("turns:\n" +
		"- calls: [{tool: desk__send, arguments: {cents: 400000}}, {tool: desk__send, arguments: {cents: 2000000}}, {tool: desk__send, arguments: {cents: 400001}}]\n" +
		"- text: Done.\n")
	n.agent("desk")

	run := awaitSuspended(t, n.start("run"))
	pending := run.Status.Pending
	if want := "a refund of 400001 cents for " + run.Spec.CreatedBy; len(pending) != 1 || pending[0].Reason != want {
		t.Fatalf("pending: %+v, want the reason %q", pending, want)
	}
	if made := fake.made(); len(made) != 1 || made[0].Arguments != `{"cents":400000}` {
		t.Errorf("called: %+v", made)
	}
	if err := decide(t, approver, run, decisions(run, approved())); err != nil {
		t.Fatal(err)
	}
	run = awaitEnd(t, run)
	if made := fake.made(); len(made) != 2 || made[1].Arguments != `{"cents":400001}` {
		t.Errorf("called: %+v", made)
	}
	denied := slices.ContainsFunc(run.Status.Log.Records, func(r v1alpha1.Record) bool {
		return r.Result != nil && r.Result.Error == v1alpha1.ErrorDenied && strings.Contains(r.Result.Content, "made by the accountants")
	})
	if !denied {
		t.Error("the model does not read why the third refund was denied")
	}
	checkEvents(t, n, "ApprovalRequired", "Approved")
}

// checkEvents waits for Events of the namespace's Runs with these reasons.
func checkEvents(t *testing.T, n *tenant, reasons ...string) {
	t.Helper()
	eventually(t, "there are the Events "+strings.Join(reasons, ", "), func() bool {
		var events eventsv1.EventList
		if err := env.users[admin].List(t.Context(), &events, client.InNamespace(n.namespace)); err != nil {
			t.Fatal(err)
		}
		return !slices.ContainsFunc(reasons, func(reason string) bool {
			return !slices.ContainsFunc(events.Items, func(e eventsv1.Event) bool { return e.Regarding.Kind == "Run" && e.Reason == reason })
		})
	})
}

// P37: what an approval let through is denied when policy denies it by then.
func TestPolicyThatDeniesAfterTheApproval(t *testing.T) {
	useOperator(t)
	n := newTenant(t)
	fake := newFakeServer(t, "["+toolSend+"]")
	n.catalogued("desk", fake.url)
	grant := awaitGrant(t, n.granted("desk", refundRules), v1alpha1.ReasonGranted)
	n.scripted("turns:\n- calls: [{tool: desk__send, arguments: {cents: 500000}}]\n- text: Done.\n")
	n.agent("desk")
	run := awaitSuspended(t, n.start("run"))
	rules := []map[string]any{{"name": "closed", "action": "Deny", "expression": "true", "message": "The desk is closed."}}
	if err := patch(t, admin, grant, map[string]any{"policy": rules}); err != nil {
		t.Fatal(err)
	}
	if err := decide(t, approver, run, decisions(run, approved())); err != nil {
		t.Fatal(err)
	}
	awaitEnd(t, run)
	if made := fake.made(); len(made) != 0 {
		t.Errorf("called: %+v", made)
	}
}

// An error in a rule shows at once, and until it is corrected every call is denied (H37).
func TestPolicyThatIsInvalid(t *testing.T) {
	useOperator(t)
	n := newTenant(t)
	fake := newFakeServer(t, "["+toolFind+"]")
	n.catalogued("desk", fake.url)
	grant := awaitGrant(t, n.granted("desk", func(g *v1alpha1.GrantSpec) {
		g.Policy = []v1alpha1.PolicyRule{{Name: "odd", Action: v1alpha1.PolicyAsk, Expression: "scope.user == 'x'"}}
	}), v1alpha1.ReasonPolicyInvalid)
	message := condition(grant.Status.Conditions, v1alpha1.ConditionReady).Message
	if !strings.HasPrefix(message, "spec.policy[odd].expression: ") || !strings.Contains(message, "undefined field 'user'") {
		t.Errorf("the Grant says %q", message)
	}
	n.scripted("turns:\n- calls: [{tool: desk__find}]\n- text: Done.\n")
	n.agent("desk")
	awaitEnd(t, n.start("run"))
	if made := fake.made(); len(made) != 0 {
		t.Errorf("called: %+v", made)
	}
}

// With requireAccess the cluster's authorizer says who may call which tool.
func TestAccessIsRequired(t *testing.T) {
	useOperator(t)
	n := newTenant(t)
	fake := newFakeServer(t, twoTools)
	n.catalogued("desk", fake.url)
	awaitGrant(t, n.granted("desk", func(g *v1alpha1.GrantSpec) {
		g.Approval, g.RequireAccess = []v1alpha1.ApprovalSelector{}, true
	}), v1alpha1.ReasonGranted)
	n.scripted("turns:\n- calls: [{tool: desk__find}, {tool: desk__wipe}, {tool: desk__gone}, {tool: nobody}]\n- text: Done.\n")
	n.agent("desk")
	n.create(admin,
		&rbacv1.Role{ObjectMeta: n.meta("finders"), Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"remit.dev"}, Resources: []string{"tools"}, ResourceNames: []string{"desk__find"}, Verbs: []string{"call"}}}},
		&rbacv1.RoleBinding{ObjectMeta: n.meta("finders"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "finders"},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: author}}})
	run := awaitEnd(t, n.start("run"))
	if made := fake.made(); len(made) != 1 || made[0].Tool != "find" {
		t.Errorf("%s called: %+v", run.Spec.CreatedBy, made)
	}
	// N15: the trace says at which stage each call stopped.
	var stages []v1alpha1.Stage
	for _, entry := range run.Status.Log.Trace {
		stages = append(stages, entry.Stage)
	}
	slices.Sort(stages)
	if want := []v1alpha1.Stage{v1alpha1.StageNarrow, v1alpha1.StagePolicy, v1alpha1.StageRecord, v1alpha1.StageResolve}; !slices.Equal(stages, want) {
		t.Errorf("the calls stopped at %v, want %v", stages, want)
	}
}
