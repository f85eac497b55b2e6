// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/canonical"
	"remit.dev/remit/internal/narrowing"
	"remit.dev/remit/internal/schema"
	"remit.dev/remit/internal/workflow"
)

func checkWorkflow(v *validation) {
	if v.spec.Workflow == nil {
		return
	}
	steps, path := v.spec.Workflow.Steps, root.Child("workflow", "steps")
	for i := range steps {
		checkStepTool(v, path.Index(i).Child("tool"), steps[i].Tool)
		checkStepArguments(v, path.Index(i), &steps[i])
	}
	_, err := workflow.Compile(steps)
	wrong, _ := errors.AsType[workflow.Errors](err)
	for _, e := range wrong {
		path := path.Index(e.Index).Child(e.Field)
		switch _, notCanonical := errors.AsType[*canonical.Error](e); {
		case notCanonical:
			v.addCanonicalError(path, e.Err)
		case e.Field == "arguments":
			v.add(RuleWorkflowArguments, path, "%s", e.Detail)
		default:
			v.add(RuleWorkflowExpression, path, "%s", e.Detail)
		}
	}
}

// checkStepTool: a step calls what the model could call, by the same name.
func checkStepTool(v *validation, path *field.Path, name string) {
	switch grant, tool, qualified := strings.Cut(name, narrowing.Separator); {
	case v.ownTool(name) != nil:
	case slices.Contains(reservedNames, name):
		checkStepBuiltin(v, path, name)
	case qualified:
		checkStepMCPTool(v, path, grant, tool)
	default:
		v.add(RuleWorkflowTool, path, "no tool %s is in spec.tools: correct the name, or add the tool there; "+
			"a tool of an MCP server is written GRANT%sTOOL", quoted(name), narrowing.Separator)
	}
}

func (v *validation) ownTool(name string) *v1alpha1.Tool {
	i := slices.IndexFunc(v.spec.Tools, func(t v1alpha1.Tool) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return &v.spec.Tools[i]
}

func checkStepBuiltin(v *validation, path *field.Path, name string) {
	builtins := []v1alpha1.Builtin{v1alpha1.BuiltinAskUser, v1alpha1.BuiltinRunCode, v1alpha1.BuiltinWaitWebhook}
	switch builtin := v1alpha1.Builtin(name); {
	case !slices.Contains(builtins, builtin):
		v.add(RuleWorkflowTool, path, "%s is for the model alone: write the name of the tool itself, or remove the step", quoted(name))
	case !slices.Contains(v.spec.Builtins, builtin):
		v.add(RuleWorkflowTool, path, "the agent may not use %s: add it to spec.builtins, or remove the step", quoted(name))
	}
}

// checkStepMCPTool: what a server offers is not known here, and what the agent leaves
// out is.
func checkStepMCPTool(v *validation, path *field.Path, grantName, tool string) {
	i := slices.IndexFunc(v.spec.MCP, func(g v1alpha1.MCPGrant) bool { return string(g.Grant) == grantName })
	if i < 0 {
		v.add(RuleWorkflowTool, path, "the agent has no grant %s: add it to spec.mcp, or correct the name", quoted(grantName))
		return
	}
	grant := &v.spec.MCP[i]
	name, shortened := narrowing.QualifiedName(grantName, tool)
	switch {
	case !shortened && mayHave(grant, tool), standsForListed(grant, grantName+narrowing.Separator+tool):
	case shortened:
		v.add(RuleWorkflowTool, path, "a model cannot call a tool by this name: write %s, by which it calls it", quoted(name))
	default:
		v.add(RuleWorkflowTool, path, "%s leaves %s out: add it there, or correct the name", root.Child("mcp").Index(i), quoted(tool))
	}
}

// standsForListed says whether a tool that the grant lists is called by that name,
// which may be a shortened one.
func standsForListed(grant *v1alpha1.MCPGrant, name string) bool {
	stands := func(tool string) bool {
		qualified, _ := narrowing.QualifiedName(string(grant.Grant), tool)
		return qualified == name && mayHave(grant, tool)
	}
	return slices.ContainsFunc(grant.Tools, func(t v1alpha1.ToolLiteral) bool { return stands(string(t)) }) ||
		slices.ContainsFunc(grant.Enable, func(s v1alpha1.AccessSelector) bool { return !isTag(s) && stands(string(s)) })
}

// checkStepArguments holds arguments that are written down to the input schema of an
// own tool.
func checkStepArguments(v *validation, path *field.Path, step *v1alpha1.WorkflowStep) {
	tool := v.ownTool(step.Tool)
	if tool == nil || tool.InputSchema == nil || step.ArgumentsExpression != "" {
		return
	}
	arguments := []byte("{}")
	if step.Arguments != nil {
		var err error
		if arguments, err = canonical.JSON(step.Arguments.Raw); err != nil {
			return // a finding of its own
		}
		path = path.Child("arguments")
	}
	compiled, err := schema.Compile(tool.InputSchema.Raw)
	if err != nil {
		return // where the tool is
	}
	invalid, _ := errors.AsType[*schema.ValidationError](compiled.Validate(arguments))
	if invalid == nil {
		return
	}
	for _, violation := range invalid.Violations {
		v.add(RuleWorkflowArguments, PointerPath(path, violation.Pointer), "%s: this does not fit the inputSchema of %s",
			violation.Message, quoted(tool.Name))
	}
}
