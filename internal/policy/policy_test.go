// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/gate"
)

func refund(cents string) *Question {
	return &Question{
		Tool:        "refund_order",
		Args:        json.RawMessage(`{"cents":` + cents + `,"order":"A-1"}`),
		Annotations: map[string]bool{"destructiveHint": true},
		Class:       "Destructive",
		Scope:       Scope{Namespace: "team-a", Principal: "alice", Groups: []string{"support", "leads"}},
		Run:         Run{Name: "r1", UID: "u1", Spec: "helpdesk", Version: "v-1", Input: "Refund A-1."},
	}
}

func when(action v1alpha1.PolicyAction, expression string) v1alpha1.PolicyRule {
	return v1alpha1.PolicyRule{Name: "rule", Action: action, Expression: expression, Message: string(action) + " it"}
}

// H31 to H37, P19: what expressions see, and what follows.
func TestEvaluate(t *testing.T) {
	deny, ask := v1alpha1.PolicyDeny, v1alpha1.PolicyAsk
	allowed := gate.Allowed()
	for name, test := range map[string]struct {
		rules    []v1alpha1.PolicyRule
		question *Question
		want     gate.Decision
	}{
		"H38 no rules":                      {nil, refund("1"), allowed},
		"H34 an argument over a threshold":  {[]v1alpha1.PolicyRule{when(ask, "args.cents > 400000")}, refund("400001"), gate.Asked("Ask it")},
		"H34 an argument at the threshold":  {[]v1alpha1.PolicyRule{when(ask, "args.cents > 400000")}, refund("400000"), allowed},
		"a fraction compares with a number": {[]v1alpha1.PolicyRule{when(ask, "args.cents > 400000")}, refund("400000.5"), gate.Asked("Ask it")},
		"P19 a denial beats a question":     {[]v1alpha1.PolicyRule{when(ask, "true"), when(deny, "true")}, refund("1"), gate.Denied("Deny it")},
		"the first question counts": {[]v1alpha1.PolicyRule{{Name: "a", Action: ask, Expression: "true", Message: "one"},
			{Name: "b", Action: ask, Expression: "true", Message: "two"}}, refund("1"), gate.Asked("one")},
		"the tool":                      {[]v1alpha1.PolicyRule{when(deny, "tool == 'refund_order'")}, refund("1"), gate.Denied("Deny it")},
		"the class":                     {[]v1alpha1.PolicyRule{when(deny, "class == 'Destructive'")}, refund("1"), gate.Denied("Deny it")},
		"F5 a hint is set":              {[]v1alpha1.PolicyRule{when(deny, "has(annotations.destructiveHint) && annotations.destructiveHint")}, refund("1"), gate.Denied("Deny it")},
		"F5 a hint is not":              {[]v1alpha1.PolicyRule{when(deny, "has(annotations.readOnlyHint)")}, refund("1"), allowed},
		"the principal":                 {[]v1alpha1.PolicyRule{when(deny, "scope.principal == 'alice' && scope.namespace == 'team-a'")}, refund("1"), gate.Denied("Deny it")},
		"the groups":                    {[]v1alpha1.PolicyRule{when(deny, "!('leads' in scope.groups)")}, refund("1"), allowed},
		"no groups at all":              {[]v1alpha1.PolicyRule{when(deny, "!('leads' in scope.groups)")}, &Question{Args: json.RawMessage(`{}`)}, gate.Denied("Deny it")},
		"the Run":                       {[]v1alpha1.PolicyRule{when(deny, "run.name == 'r1' && run.uid == 'u1' && run.spec == 'helpdesk' && run.version == 'v-1' && run.input.contains('A-1')")}, refund("1"), gate.Denied("Deny it")},
		"a library of the API server's": {[]v1alpha1.PolicyRule{when(deny, "args.order.find('[0-9]+') == '1'")}, refund("1"), gate.Denied("Deny it")},
		"an integer beyond a float's":   {[]v1alpha1.PolicyRule{when(deny, "args.cents == 9007199254740993")}, refund("9007199254740993"), gate.Denied("Deny it")},
		"a message of its own": {[]v1alpha1.PolicyRule{{Name: "rule", Action: deny, Expression: "true",
			MessageExpression: "'refunds of ' + string(args.cents) + ' need a lead'"}}, refund("7"), gate.Denied("refunds of 7 need a lead")},
		"a message that fails": {[]v1alpha1.PolicyRule{{Name: "rule", Action: deny, Expression: "true", MessageExpression: "string(args.absent)"}},
			refund("7"), gate.Denied("rule rule of the Grant's policy")},
		"no message": {[]v1alpha1.PolicyRule{{Name: "rule", Action: ask, Expression: "true"}}, refund("7"), gate.Asked("rule rule of the Grant's policy")},
		"a message that would break a line": {[]v1alpha1.PolicyRule{{Name: "rule", Action: deny, Expression: "true", MessageExpression: `"a\n\u001bb"`}},
			refund("7"), gate.Denied("a  b")},
	} {
		t.Run(name, func(t *testing.T) {
			rules, err := Compile(test.rules)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, rules.Evaluate(t.Context(), test.question)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// H37: a rule that fails is a denial that says so, whatever its action.
func TestFailureDenies(t *testing.T) {
	for name, test := range map[string]struct{ expression, says string }{
		"an argument that is not there": {"args.absent > 1", "no such key: absent"},
		"a wrong type":                  {"args.order > 1", "no such overload"},
		"no bool":                       {"args.order", "gave no bool"},
		"too much work":                 {"[0,1,2,3,4,5,6,7,8,9].all(a, [0,1,2,3,4,5,6,7,8,9].all(b, [0,1,2,3,4,5,6,7,8,9].all(c, [0,1,2,3,4,5,6,7,8,9].all(d, [0,1,2,3,4,5,6,7,8,9].all(e, [0,1,2,3,4,5,6,7,8,9].all(f, args.cents == 1))))))", "cost"},
	} {
		t.Run(name, func(t *testing.T) {
			rules, err := Compile([]v1alpha1.PolicyRule{when(v1alpha1.PolicyAsk, test.expression)})
			if err != nil {
				t.Fatal(err)
			}
			got := rules.Evaluate(t.Context(), refund("1"))
			if got.Verdict != gate.Deny || !strings.Contains(got.Reason, test.says) || !strings.Contains(got.Reason, "rule rule") {
				t.Errorf("got %+v, want a denial that says %q", got, test.says)
			}
		})
	}
	rules, err := Compile([]v1alpha1.PolicyRule{when(v1alpha1.PolicyAsk, "false")})
	if err != nil {
		t.Fatal(err)
	}
	if got := rules.Evaluate(t.Context(), &Question{Args: json.RawMessage(`{`)}); got.Verdict != gate.Deny {
		t.Errorf("arguments that cannot be read: %+v", got)
	}
}

// Many rules share one budget.
func TestBudget(t *testing.T) {
	expression := "[0,1,2,3,4,5,6,7,8,9].all(a, [0,1,2,3,4,5,6,7,8,9].all(b, [0,1,2,3,4,5,6,7,8,9].all(c, [0,1,2,3,4,5,6,7,8,9].all(d, [0,1,2,3,4,5,6,7,8,9].all(e, args.cents == 1)))))"
	var policy []v1alpha1.PolicyRule
	for range 32 {
		policy = append(policy, when(v1alpha1.PolicyAsk, "!("+expression+")"))
	}
	rules, err := Compile(policy)
	if err != nil {
		t.Fatal(err)
	}
	if got := rules.Evaluate(t.Context(), refund("1")); got.Verdict != gate.Deny || !strings.Contains(got.Reason, "the rules cost more than") {
		t.Errorf("got %+v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := rules.Evaluate(ctx, refund("1")); got.Verdict != gate.Deny || !strings.Contains(got.Reason, "interrupted") {
		t.Errorf("after a cancel: %+v", got)
	}
}

func TestCompileRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		rule       v1alpha1.PolicyRule
		path, says string
	}{
		"syntax":                 {when(v1alpha1.PolicyDeny, "args."), "spec.policy[rule].expression", "Syntax error"},
		"an unknown variable":    {when(v1alpha1.PolicyDeny, "user == 'x'"), "spec.policy[rule].expression", "undeclared reference to 'user'"},
		"an unknown field":       {when(v1alpha1.PolicyDeny, "scope.prinicpal == 'x'"), "spec.policy[rule].expression", "undefined field 'prinicpal'"},
		"an unknown hint":        {when(v1alpha1.PolicyDeny, "annotations.readonly"), "spec.policy[rule].expression", "undefined field 'readonly'"},
		"a number":               {when(v1alpha1.PolicyDeny, "1"), "spec.policy[rule].expression", "it gives int, and must give bool"},
		"a chain that doubles":   {when(v1alpha1.PolicyDeny, "optional.of(1)"+strings.Repeat(".optMap(x, x)", 300)+".hasValue()"), "spec.policy[rule].expression", "it has optMap and optFlatMap 300 times, and 4 is the limit"},
		"a message that is none": {v1alpha1.PolicyRule{Name: "rule", Expression: "true", MessageExpression: "1"}, "spec.policy[rule].messageExpression", "must give string"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Compile([]v1alpha1.PolicyRule{test.rule})
			problem, ok := errors.AsType[*RuleError](err)
			if !ok || problem.Path != test.path || !strings.Contains(problem.Detail, test.says) || strings.Contains(problem.Detail, "\n") {
				t.Errorf("got %v, want %s: %s", err, test.path, test.says)
			}
		})
	}
}
