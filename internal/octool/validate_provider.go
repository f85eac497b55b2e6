// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"fmt"
	"slices"
)

// ValidateProvider finds every rule that a provider and its tools break: first
// those of the listing, then those of each tool in its order. It lists the tools
// twice, to see whether their order holds.
func ValidateProvider(provider Provider) []Finding {
	tools := provider.AllTools()
	found := validateListing(tools, provider.AllTools())
	listed := make(map[string]bool, len(tools))
	for _, tool := range tools {
		if tool.made() {
			listed[tool.name] = true
		}
	}
	for i, tool := range tools {
		if !tool.made() {
			found = append(found, Finding{Rule: RuleNotOCTool, Message: fmt.Sprintf("AllTools()[%d] is not a tool that New made", i)})
			continue
		}
		found = append(found, ValidateTool(tool)...)
		if target := tool.AliasOf(); tool.deprecated && !isBlank(target) && !listed[target] {
			found = append(found, Finding{Rule: RuleAliasTargetMissing, Tool: tool.name,
				Message: fmt.Sprintf("the provider does not list %s, which replaces this tool: list both", quoted(target))})
		}
	}
	return found
}

// validateListing compares two listings of one provider, and finds the names that
// the first has more than once.
func validateListing(first, second []*Tool) []Finding {
	var found []Finding
	names := namesOf(first)
	if !slices.Equal(names, namesOf(second)) {
		found = append(found, Finding{Rule: RuleUnstableOrder,
			Message: "two calls of AllTools list different tools, or the same in another order: keep one order"})
	}
	count := make(map[string]int, len(names))
	for i, name := range names {
		if !first[i].made() {
			continue
		}
		if count[name]++; count[name] == 2 {
			found = append(found, Finding{Rule: RuleDuplicateName, Tool: name,
				Message: fmt.Sprintf("the name %s is listed more than once: keep one tool of it", quoted(name))})
		}
	}
	return found
}

// namesOf gives the names of a listing, empty where there is no tool.
func namesOf(tools []*Tool) []string {
	names := make([]string, 0, len(tools))
	for _, tool := range tools {
		name := ""
		if tool != nil {
			name = tool.name
		}
		names = append(names, name)
	}
	return names
}
