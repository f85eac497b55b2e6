// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/narrowing"
)

func checkSubagents(v *validation) {
	for i := range v.spec.Subagents {
		subagent, path := &v.spec.Subagents[i], root.Child("subagents").Index(i)
		for j, name := range subagent.Tools {
			if !isTag(name) {
				checkSubagentTool(v, path, j, name)
			}
		}
		for j := range subagent.MCP {
			checkSubagentGrant(v, path.Child("mcp").Index(j), &subagent.MCP[j])
		}
	}
}

func checkSubagentTool(v *validation, subagent *field.Path, index int, name v1alpha1.ToolLiteral) {
	known := slices.ContainsFunc(v.spec.Tools, func(t v1alpha1.Tool) bool { return t.Name == string(name) })
	path := subagent.Child("tools").Index(index)
	switch {
	case known:
	case qualifiedName.MatchString(string(name)) || inGrantTools(v.spec.MCP, name):
		v.add(RuleSubagentMCPTool, path,
			"%s is a tool of an MCP server, which a subagent reaches through its own grants: remove it here and grant it in %s",
			quoted(name), subagent.Child("mcp"))
	default:
		v.add(RuleUnknownTool, path, "no tool %s is in spec.tools: correct the name, or add the tool there", quoted(name))
	}
}

// qualifiedName is how a model sees a tool of an MCP server: GRANT__TOOL.
var qualifiedName = regexp.MustCompile(`^[a-z]([a-z0-9-]{0,38}[a-z0-9])?` + narrowing.Separator + `.`)

func inGrantTools(grants []v1alpha1.MCPGrant, name v1alpha1.ToolLiteral) bool {
	return slices.ContainsFunc(grants, func(g v1alpha1.MCPGrant) bool { return slices.Contains(g.Tools, name) })
}

// checkSubagentGrant: a subagent's lists are applied to what its parent has, so
// they could not widen anything; asking for more is an error of the author.
func checkSubagentGrant(v *validation, path *field.Path, grant *v1alpha1.MCPGrant) {
	parent := slices.IndexFunc(v.spec.MCP, func(g v1alpha1.MCPGrant) bool { return g.Grant == grant.Grant })
	if parent < 0 {
		v.add(RuleSubagentGrant, path.Child("grant"),
			"the agent itself has no grant %s: add it to spec.mcp, or remove it here", quoted(grant.Grant))
		return
	}
	for i, name := range grant.Tools {
		if !isTag(name) {
			checkSubagentGrantTool(v, path.Child("tools").Index(i), string(name), parent)
		}
	}
	for i, selector := range grant.Enable {
		if !isTag(selector) {
			checkSubagentGrantTool(v, path.Child("enable").Index(i), string(selector), parent)
		}
	}
}

func checkSubagentGrantTool(v *validation, path *field.Path, name string, parent int) {
	if !mayHave(&v.spec.MCP[parent], name) {
		v.add(RuleSubagentGrantTool, path, "%s leaves %s out: add it there, or remove it here",
			root.Child("mcp").Index(parent), quoted(name))
	}
}

// mayHave asks the function that a Run asks. Which class a tool is of is not
// known before its server is, so the class that lets it through counts.
func mayHave(grant *v1alpha1.MCPGrant, name string) bool {
	for _, class := range []v1alpha1.ToolClass{v1alpha1.ClassReadOnly, v1alpha1.ClassDestructive} {
		offered := []narrowing.Tool{{Name: name, Class: class}}
		if len(narrowing.Callable(offered, nil, grant)) > 0 {
			return true
		}
	}
	return false
}
