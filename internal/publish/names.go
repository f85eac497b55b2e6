// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"remit.dev/remit/api/v1alpha1"
)

// checkNames: the API server refuses duplicates too; what comes another way
// meets them here.
func checkNames(v *validation) {
	spec := v.spec
	uniqueNames(v, root.Child("tools"), "name", spec.Tools, func(t v1alpha1.Tool) string { return t.Name })
	uniqueNames(v, root.Child("schedules"), "name", spec.Schedules, func(s v1alpha1.Schedule) string { return string(s.Name) })
	uniqueNames(v, root.Child("channels"), "name", spec.Channels, func(c v1alpha1.Channel) string { return string(c.Name) })
	uniqueNames(v, root.Child("subagents"), "name", spec.Subagents, func(s v1alpha1.Subagent) string { return string(s.Name) })
	if spec.Workflow != nil {
		uniqueNames(v, root.Child("workflow", "steps"), "id", spec.Workflow.Steps, func(s v1alpha1.WorkflowStep) string { return string(s.ID) })
	}
	uniqueInAgent(v, root, spec.Skills, spec.MCP)
	for i, subagent := range spec.Subagents {
		uniqueInAgent(v, root.Child("subagents").Index(i), subagent.Skills, subagent.MCP)
	}
	for i, tool := range spec.Tools {
		if slices.Contains(reservedNames, tool.Name) {
			v.add(RuleReservedName, root.Child("tools").Index(i).Child("name"),
				"%s is a tool of the operator: choose another name", quoted(tool.Name))
		}
	}
}

// reservedNames are the tools that a Run has besides those of its Version.
var reservedNames = []string{
	string(v1alpha1.BuiltinAskUser),
	string(v1alpha1.BuiltinRunCode),
	string(v1alpha1.BuiltinWaitWebhook),
	v1alpha1.RunSubagent,
	"search_tools",
	"call_tool",
}

// uniqueInAgent checks the collections that an agent and its subagents share.
func uniqueInAgent(v *validation, path *field.Path, skills []v1alpha1.Skill, grants []v1alpha1.MCPGrant) {
	uniqueNames(v, path.Child("skills"), "name", skills, func(s v1alpha1.Skill) string { return string(s.Name) })
	uniqueNames(v, path.Child("mcp"), "grant", grants, func(g v1alpha1.MCPGrant) string { return string(g.Grant) })
}

// uniqueNames reports each entry whose name an earlier one of the same
// collection has.
func uniqueNames[T any](v *validation, path *field.Path, key string, entries []T, name func(T) string) {
	first := make(map[string]int, len(entries))
	for i, entry := range entries {
		n := name(entry)
		if earlier, ok := first[n]; ok {
			v.add(RuleDuplicateName, path.Index(i).Child(key), "%s is the %s of %s too: rename or remove one of them",
				quoted(n), key, path.Index(earlier))
			continue
		}
		first[n] = i
	}
}
