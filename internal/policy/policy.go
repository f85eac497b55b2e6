// SPDX-License-Identifier: Apache-2.0

// Package policy decides by the rules of a Grant whether a call may be made now:
// CEL expressions over the call and over who created its Run. What cannot be
// decided is denied.
package policy

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/gate"
)

const (
	// costBudget bounds the cost of all rules for one call, in units of CEL; a unit
	// is about the time of one comparison.
	costBudget = 4 * celconfig.PerCallLimit
	// maxMessage bounds a message, in bytes.
	maxMessage = 1024
	// maxDoubling bounds the macros in one expression that hold what they are called on
	// twice: in a chain each doubles the work of compiling it.
	maxDoubling = 4
	// interruptEvery is how often a comprehension looks whether it is to stop.
	interruptEvery = 100
)

// Rules are the rules of one generation of a Grant, ready to be evaluated by any
// number of goroutines.
type Rules struct{ rules []rule }

type rule struct {
	name    string
	action  v1alpha1.PolicyAction
	matches cel.Program
	// text or message is the message; neither when the rule has none.
	text    string
	message cel.Program
}

// RuleError says which expression cannot be used and why.
type RuleError struct {
	// Path of the expression within the Grant, as in spec.policy[large].expression.
	Path   string
	Detail string
}

func (e *RuleError) Error() string { return e.Path + ": " + e.Detail }

// Compile checks the types of the expressions of a Grant's rules about calls. It
// returns a *RuleError for the first that cannot be used.
func Compile(policy []v1alpha1.PolicyRule) (*Rules, error) {
	return compileAll(policy, "spec.policy", callVariables())
}

// CompileRuns does the same for a Grant's rules about whole Runs.
func CompileRuns(policy []v1alpha1.PolicyRule) (*Rules, error) {
	return compileAll(policy, "spec.runPolicy", runVariables())
}

func compileAll(policy []v1alpha1.PolicyRule, path string, variables *environment.EnvSet) (*Rules, error) {
	compiled := &Rules{rules: make([]rule, 0, len(policy))}
	for i := range policy {
		r, err := compile(&policy[i], path, variables)
		if err != nil {
			return nil, err
		}
		compiled.rules = append(compiled.rules, r)
	}
	return compiled, nil
}

func compile(from *v1alpha1.PolicyRule, path string, variables *environment.EnvSet) (rule, error) {
	r := rule{name: from.Name, action: from.Action, text: from.Message}
	path += "[" + from.Name + "]"
	var err error
	if r.matches, err = program(variables, from.Expression, cel.BoolType); err != nil {
		return rule{}, &RuleError{path + ".expression", err.Error()}
	}
	if from.MessageExpression != "" {
		if r.message, err = program(variables, from.MessageExpression, cel.StringType); err != nil {
			return rule{}, &RuleError{path + ".messageExpression", err.Error()}
		}
	}
	return r, nil
}

func program(variables *environment.EnvSet, expression string, gives *cel.Type) (cel.Program, error) {
	if n := strings.Count(expression, "optMap") + strings.Count(expression, "optFlatMap"); n > maxDoubling {
		return nil, fmt.Errorf("it has optMap and optFlatMap %d times, and %d is the limit", n, maxDoubling)
	}
	env, err := variables.Env(environment.NewExpressions)
	if err != nil {
		return nil, err
	}
	ast, issues := env.Compile(expression)
	if issues.Err() != nil {
		return nil, fmt.Errorf("%s", oneLine(issues.Err().Error()))
	}
	if !ast.OutputType().IsExactType(gives) && !ast.OutputType().IsExactType(cel.DynType) {
		return nil, fmt.Errorf("it gives %s, and must give %s", ast.OutputType(), gives)
	}
	return env.Program(ast, cel.InterruptCheckFrequency(interruptEvery))
}

// oneLine takes the picture of the place out of an error of CEL, which a condition
// could not show.
func oneLine(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if trimmed := strings.TrimSpace(line); trimmed != "" && !strings.HasPrefix(trimmed, "|") {
			lines = append(lines, trimmed)
		}
	}
	return strings.Join(lines, "; ")
}

// Evaluate gives what the rules say of a call or a Run: the first denial, or else the first
// question, or else nothing against it.
func (r *Rules) Evaluate(ctx context.Context, question *Question) gate.Decision {
	asked := gate.Allowed()
	vars, err := question.activation()
	if err != nil {
		return gate.Denied("what is asked about could not be read: " + err.Error())
	}
	budget := int64(costBudget)
	for i := range r.rules {
		rule := &r.rules[i]
		matched, cost, err := evaluate(ctx, rule.matches, vars)
		if budget -= cost; err == nil && budget < 0 {
			err = fmt.Errorf("the rules cost more than %d units", costBudget)
		}
		if err != nil {
			return gate.Denied(fmt.Sprintf("rule %s could not be evaluated: %s", rule.name, oneLine(err.Error())))
		}
		hit, ok := matched.(bool)
		switch {
		case !ok:
			return gate.Denied(fmt.Sprintf("rule %s gave no bool", rule.name))
		case !hit:
		case rule.action == v1alpha1.PolicyAsk:
			if asked.Verdict == gate.Allow {
				asked = gate.Asked(rule.say(ctx, vars))
			}
		default:
			return gate.Denied(rule.say(ctx, vars))
		}
	}
	return asked
}

func evaluate(ctx context.Context, program cel.Program, vars map[string]any) (value any, cost int64, err error) {
	result, details, err := program.ContextEval(ctx, vars)
	if details != nil && details.ActualCost() != nil {
		cost = int64(*details.ActualCost())
	}
	if err != nil {
		return nil, cost, err
	}
	if types.IsUnknownOrError(result) {
		return nil, cost, fmt.Errorf("%v", result)
	}
	return result.Value(), cost, nil
}

// say gives the message of a rule that matched. What cannot be said does not
// change the verdict.
func (r *rule) say(ctx context.Context, vars map[string]any) string {
	text := r.text
	if r.message != nil {
		value, _, err := evaluate(ctx, r.message, vars)
		if said, ok := value.(string); err == nil && ok {
			text = said
		}
	}
	text = clean(text)
	if text == "" {
		return fmt.Sprintf("rule %s of the Grant's policy", r.name)
	}
	return text
}

// clean bounds a message and takes out what would break a line or a terminal. An
// expression may have put arguments into it, which a model wrote.
func clean(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage-len("…")], "") + "…"
	}
	return strings.TrimSpace(text)
}
