// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"fmt"
	"slices"
)

// LoadedByDefault says whether a tool with these tags is one that its library
// recommends. Tags that are not known here say nothing, so a tool that has no
// others is loaded only on request.
func LoadedByDefault(tags []string) bool { return slices.Contains(tags, TagRecommended) }

// SelectTools lists the tools of a provider that have any of the tags, in its
// order. A deprecated alias is left out where the tool that it names is, and so on
// for aliases of aliases; no tool is let in because an alias names it. For tools
// with a tag of each of two sets, select twice.
func SelectTools(provider Provider, tags ...string) Provider {
	return ProviderFunc(func() []*Tool {
		var selected []*Tool
		for _, tool := range provider.AllTools() {
			if tool.made() && slices.ContainsFunc(tool.tags, func(tag string) bool { return slices.Contains(tags, tag) }) {
				selected = append(selected, tool)
			}
		}
		return withoutDangling(selected)
	})
}

// withoutDangling leaves out aliases of tools that are not in the list. Each round
// takes out one link of every chain of aliases, and the last finds none.
func withoutDangling(tools []*Tool) []*Tool {
	for {
		listed := make(map[string]bool, len(tools))
		for _, tool := range tools {
			listed[tool.name] = true
		}
		kept := slices.DeleteFunc(slices.Clone(tools), func(tool *Tool) bool {
			target := tool.AliasOf()
			return tool.deprecated && target != "" && !listed[target]
		})
		if len(kept) == len(tools) {
			return kept
		}
		tools = kept
	}
}

// ValidateTags finds each tag that is neither well known nor allowed, in the order
// of the listing. It is asked for where a host has a vocabulary of its own;
// ValidateProvider does not ask.
func ValidateTags(provider Provider, allowed ...string) []Finding {
	known := append(ToolTags(), allowed...)
	var found []Finding
	for _, tool := range provider.AllTools() {
		if !tool.made() {
			continue
		}
		for _, tag := range tool.tags {
			if !slices.Contains(known, tag) {
				found = append(found, Finding{Rule: RuleUnknownTag, Tool: tool.name,
					Message: fmt.Sprintf("the tag %s is not known: use one of %q, or allow it", quoted(tag), known)})
			}
		}
	}
	return found
}
