// SPDX-License-Identifier: Apache-2.0

package publish_test

import (
	"strings"
	"testing"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/narrowing"
)

// withSteps is an agent with a tool that has a schema, one that has none, grants and a
// builtin.
func withSteps(steps ...v1alpha1.WorkflowStep) func(*agent) {
	return func(a *agent) {
		a.Tools = []v1alpha1.Tool{httpTool("find", "GET"), functionTool("weather", "lookup_weather")}
		a.Tools[1].InputSchema = raw(`{"type":"object","required":["city"],"properties":{"city":{"type":"string"},"days":{"type":"integer"}},"additionalProperties":false}`)
		a.MCP = []v1alpha1.MCPGrant{grant("github", "read_file", v1alpha1.ToolLiteral(longTool), "Create Issue"), grant("files"), {
			Grant: "wiki", Enable: []v1alpha1.AccessSelector{"@read-only", "edit"}, Disable: []v1alpha1.AccessSelector{"wipe"},
		}}
		a.Builtins = []v1alpha1.Builtin{"ask_user"}
		a.Workflow = &v1alpha1.Workflow{Steps: steps}
	}
}

var longTool = "list_" + strings.Repeat("x", 80)

func called(tool string) v1alpha1.WorkflowStep { return v1alpha1.WorkflowStep{ID: "a", Tool: tool} }

func qualified(t *testing.T, tool string) string {
	t.Helper()
	name, shortened := narrowing.QualifiedName("github", tool)
	if !shortened {
		t.Fatalf("%s fits", tool)
	}
	return name
}

func TestWorkflowIDs(t *testing.T) {
	runRuleTests(t, map[string]ruleTest{
		"B2 steps": {
			breaks: withSteps(called("find"), called("find"), v1alpha1.WorkflowStep{ID: "b", Tool: "find"}, called("ask_user")),
			want: []finding{
				{Rule: "duplicate_name", Path: "spec.workflow.steps[1].id", Message: `"a" is the id of spec.workflow.steps[0] too: rename or remove one of them`},
				{Rule: "duplicate_name", Path: "spec.workflow.steps[3].id", Message: `"a" is the id of spec.workflow.steps[0] too: rename or remove one of them`},
			},
			keeps: withSteps(called("find"), v1alpha1.WorkflowStep{ID: "b", Tool: "find"}),
		},
		"a word of CEL": {
			breaks: withSteps(v1alpha1.WorkflowStep{ID: "in", Tool: "find"}),
			want: []finding{{Rule: "workflow_expression", Path: "spec.workflow.steps[0].id",
				Message: "in is a word of CEL, and no expression could name the step: choose another id"}},
			keeps: withSteps(v1alpha1.WorkflowStep{ID: "for", Tool: "find"}, v1alpha1.WorkflowStep{ID: "b", Tool: "find", ArgumentsExpression: "{'a': steps.for.text}"}),
		},
	})
}

// Issue 5, 8: a step calls a tool that the agent has, by the name that the model uses.
func TestWorkflowTools(t *testing.T) {
	tool := func(message string) []finding {
		return []finding{{Rule: "workflow_tool", Path: "spec.workflow.steps[0].tool", Message: message}}
	}
	runRuleTests(t, map[string]ruleTest{
		"an own tool": {
			breaks: withSteps(called("fetch")),
			want:   tool(`no tool "fetch" is in spec.tools: correct the name, or add the tool there; a tool of an MCP server is written GRANT__TOOL`),
			keeps:  withSteps(called("find")),
		},
		"a builtin that the agent has not": {
			breaks: withSteps(called("wait_webhook")),
			want:   tool(`the agent may not use "wait_webhook": add it to spec.builtins, or remove the step`),
			keeps:  withSteps(called("ask_user")),
		},
		"a tool that finds tools": {
			breaks: withSteps(called("call_tool")),
			want:   tool(`"call_tool" is for the model alone: write the name of the tool itself, or remove the step`),
			keeps:  withSteps(called("files__call_tool")),
		},
		"a grant that the agent has not": {
			breaks: withSteps(called("gitlab__read_file")),
			want:   tool(`the agent has no grant "gitlab": add it to spec.mcp, or correct the name`),
			keeps:  withSteps(called("github__read_file")),
		},
		"a tool that the grant does not list": {
			breaks: withSteps(called("github__delete_repo")),
			want:   tool(`spec.mcp[0] leaves "delete_repo" out: add it there, or correct the name`),
			keeps:  withSteps(called("files__delete_repo")),
		},
		"a tool that the grant disables": {
			breaks: withSteps(called("wiki__wipe")),
			want:   tool(`spec.mcp[2] leaves "wipe" out: add it there, or correct the name`),
			// Whether "page" is read-only is not known before its server is.
			keeps: withSteps(called("wiki__page")),
		},
		"P32 the whole of a long name": {
			breaks: withSteps(called("github__" + longTool)),
			want:   tool(`a model cannot call a tool by this name: write "` + qualified(t, longTool) + `", by which it calls it`),
			keeps:  withSteps(called(qualified(t, longTool))),
		},
		"P32 a name with other characters": {
			breaks: withSteps(called("github__Create Issue")),
			want:   tool(`a model cannot call a tool by this name: write "` + qualified(t, "Create Issue") + `", by which it calls it`),
			keeps:  withSteps(called(qualified(t, "Create Issue"))),
		},
		"P32 a shortened name of a tool that is not listed": {
			breaks: withSteps(called(qualified(t, longTool+"y"))),
			want:   tool(`spec.mcp[0] leaves "` + strings.TrimPrefix(qualified(t, longTool+"y"), "github__") + `" out: add it there, or correct the name`),
			keeps:  withSteps(called("files__" + strings.Repeat("x", 47) + "_0123abcd")),
		},
	})
}

func TestWorkflowArguments(t *testing.T) {
	arguments := func(text string) v1alpha1.WorkflowStep {
		return v1alpha1.WorkflowStep{ID: "a", Tool: "weather", Arguments: raw(text)}
	}
	runRuleTests(t, map[string]ruleTest{
		"against the schema": {
			breaks: withSteps(arguments(`{"city":1,"days":1.5,"hours":2}`)),
			want: []finding{
				{Rule: "workflow_arguments", Path: "spec.workflow.steps[0].arguments", Message: `additional properties 'hours' not allowed: this does not fit the inputSchema of "weather"`},
				{Rule: "workflow_arguments", Path: "spec.workflow.steps[0].arguments.city", Message: `got number, want string: this does not fit the inputSchema of "weather"`},
				{Rule: "workflow_arguments", Path: "spec.workflow.steps[0].arguments.days", Message: `got number, want integer: this does not fit the inputSchema of "weather"`},
			},
			keeps: withSteps(arguments(`{"city":"Berlin","days":2}`)),
		},
		"none at all": {
			breaks: withSteps(called("weather")),
			want: []finding{
				{Rule: "workflow_arguments", Path: "spec.workflow.steps[0]", Message: `missing property 'city': this does not fit the inputSchema of "weather"`},
			},
			keeps: withSteps(called("find"), v1alpha1.WorkflowStep{ID: "b", Tool: "weather", ArgumentsExpression: "{'city': input}"}),
		},
		"no object": {
			breaks: withSteps(v1alpha1.WorkflowStep{ID: "a", Tool: "find", Arguments: raw(`[]`)}),
			want: []finding{
				{Rule: "workflow_arguments", Path: "spec.workflow.steps[0].arguments", Message: `the arguments must be a JSON object`},
			},
			keeps: withSteps(v1alpha1.WorkflowStep{ID: "a", Tool: "find", Arguments: raw(`null`)}),
		},
		"without a canonical form": {
			breaks: withSteps(v1alpha1.WorkflowStep{ID: "a", Tool: "weather", Arguments: raw(`{"a":{"b":1,"b":2}}`)}),
			want: []finding{
				{Rule: "not_canonical", Path: "spec.workflow.steps[0].arguments.a.b", Message: "the key is there more than once; keep one"},
			},
			keeps: withSteps(v1alpha1.WorkflowStep{ID: "a", Tool: "find", Arguments: raw(`{"a":{"b":1}}`)}),
		},
	})
}

// Everything that is wrong with a workflow is said at once.
func TestWorkflowExpressions(t *testing.T) {
	expression := func(id v1alpha1.StepID, text string) v1alpha1.WorkflowStep {
		return v1alpha1.WorkflowStep{ID: id, Tool: "find", ArgumentsExpression: text}
	}
	runRuleTests(t, map[string]ruleTest{
		"valid, and of earlier steps": {
			breaks: withSteps(expression("a", "{'x': steps.b.text}"), expression("b", "{'x': user}"), expression("c", "input"),
				v1alpha1.WorkflowStep{ID: "d", Tool: "fetch", ArgumentsExpression: "{"}),
			want: []finding{
				{Rule: "workflow_expression", Path: "spec.workflow.steps[0].argumentsExpression", Message: "1:12: undefined field 'b'; the steps before this one are [], and each has text and json"},
				{Rule: "workflow_expression", Path: "spec.workflow.steps[1].argumentsExpression", Message: "1:7: undeclared reference to 'user'"},
				{Rule: "workflow_expression", Path: "spec.workflow.steps[2].argumentsExpression", Message: "it gives string, and must give a map with text keys"},
				{Rule: "workflow_expression", Path: "spec.workflow.steps[3].argumentsExpression", Message: "1:2: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '}', '(', '.', ',', '-', '!', '?', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"},
				{Rule: "workflow_tool", Path: "spec.workflow.steps[3].tool", Message: `no tool "fetch" is in spec.tools: correct the name, or add the tool there; a tool of an MCP server is written GRANT__TOOL`},
			},
			keeps: withSteps(expression("a", "{'x': input}"), expression("b", "{'x': steps.a.text}"), expression("c", "steps.b.json")),
		},
	})
}

// P3: the order of the steps carries meaning; that of arguments, and nothing written as
// no arguments, do not.
func TestHashOfAWorkflow(t *testing.T) {
	name := func(steps ...v1alpha1.WorkflowStep) string {
		result, findings := published(minimal(withSteps(steps...)))
		if len(findings) > 0 {
			t.Fatal(findings)
		}
		return result.Name
	}
	a := v1alpha1.WorkflowStep{ID: "a", Tool: "find", Arguments: raw(`{"a":1,"b":[1,2]}`)}
	b := v1alpha1.WorkflowStep{ID: "b", Tool: "find"}
	want := name(a, b)
	same, empty := a, b
	same.Arguments, empty.Arguments = raw(`{ "b": [1.0, 2], "a": 1e0 }`), raw(`{}`)
	if got := name(same, empty); got != want {
		t.Errorf("written in another way: %s and %s", got, want)
	}
	other := a
	other.Arguments = raw(`{"a":1,"b":[2,1]}`)
	expression := b
	expression.ArgumentsExpression = "{}"
	for what, got := range map[string]string{
		"swapped": name(b, a), "with other arguments": name(other, b), "with an expression": name(a, expression), "with one step": name(a),
	} {
		if got == want {
			t.Errorf("%s: still %s", what, got)
		}
	}
	if lines := expression; name(a, lines) != name(a, func() v1alpha1.WorkflowStep { lines.ArgumentsExpression = "{}\r\n"; return lines }()) {
		t.Error("the end of a line counts")
	}
}
