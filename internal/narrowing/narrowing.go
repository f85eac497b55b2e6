// SPDX-License-Identifier: Apache-2.0

// Package narrowing computes which tools may be called: the offer of a server,
// less what a Grant permits, less what a Spec grants itself, less what it
// disables, less what no call can be judged for. Each plane returns a subset of
// what it was given, so access can only shrink, and an empty list narrows
// nothing. It is pure.
package narrowing

import (
	"slices"

	"remit.dev/remit/api/v1alpha1"
)

// Tool is what narrowing knows of a tool.
type Tool struct {
	// Name as its server gives it.
	Name string
	// Class as its believed annotations give it.
	Class v1alpha1.ToolClass
	// Recommended says that its server wants it loaded by default.
	Recommended bool
	// Unusable is why no call of it can be judged, or empty.
	Unusable string
}

// Permitted is the tenant plane. A non-empty allow-list is walked in its own
// order and keeps what the server offers, so an entry for a tool that is gone
// disappears silently; Stale finds those.
func Permitted(offered []Tool, allow []v1alpha1.ToolLiteral) []Tool {
	if len(allow) == 0 {
		return offered
	}
	byName := make(map[v1alpha1.ToolLiteral]Tool, len(offered))
	for _, tool := range offered {
		byName[v1alpha1.ToolLiteral(tool.Name)] = tool
	}
	permitted := make([]Tool, 0, min(len(allow), len(offered)))
	for _, name := range allow {
		if tool, ok := byName[name]; ok {
			permitted = append(permitted, tool)
			delete(byName, name)
		}
	}
	return permitted
}

// Granted is the grant plane: it filters what is permitted, never the offer.
func Granted(permitted []Tool, allow []v1alpha1.ToolLiteral) []Tool {
	if len(allow) == 0 {
		return permitted
	}
	return keep(permitted, func(tool Tool) bool {
		return slices.Contains(allow, v1alpha1.ToolLiteral(tool.Name))
	})
}

// Enabled keeps what enable matches and disable does not. Disable always wins,
// whatever the order and however specific enable is.
func Enabled(granted []Tool, enable, disable []v1alpha1.AccessSelector) []Tool {
	return keep(granted, func(tool Tool) bool {
		return (len(enable) == 0 || Matches(enable, tool)) && !Matches(disable, tool)
	})
}

// Judged keeps what a call can be judged for: the tool is usable, and no other
// one has the same qualified name in the Grant of that name.
func Judged(enabled []Tool, grant v1alpha1.Slug) []Tool {
	shared := sharedNames(enabled, string(grant))
	return keep(enabled, func(tool Tool) bool {
		name, _ := QualifiedName(string(grant), tool.Name)
		return tool.Unusable == "" && !shared[name]
	})
}

// Callable applies every plane in their one order.
func Callable(offered []Tool, permit []v1alpha1.ToolLiteral, grant *v1alpha1.MCPGrant) []Tool {
	enabled := Enabled(Granted(Permitted(offered, permit), grant.Tools), grant.Enable, grant.Disable)
	return Judged(enabled, grant.Grant)
}

// Matches says whether any selector matches the tool.
func Matches(selectors []v1alpha1.AccessSelector, tool Tool) bool {
	return slices.ContainsFunc(selectors, func(selector v1alpha1.AccessSelector) bool {
		switch selector {
		case v1alpha1.AccessAll:
			return true
		case v1alpha1.AccessReadOnly:
			return tool.Class == v1alpha1.ClassReadOnly
		default:
			return string(selector) == tool.Name
		}
	})
}

// Stale returns the entries of a list, in its order, that name no tool on offer.
// Tags are never stale.
func Stale[S ~string](offered []Tool, list []S) []S {
	var stale []S
	for _, entry := range list {
		known := len(entry) > 0 && entry[0] == '@' || slices.ContainsFunc(offered, func(tool Tool) bool {
			return tool.Name == string(entry)
		})
		if !known {
			stale = append(stale, entry)
		}
	}
	return stale
}

// keep filters into a new slice, so that no plane writes into another's.
func keep(tools []Tool, match func(Tool) bool) []Tool {
	kept := make([]Tool, 0, len(tools))
	for _, tool := range tools {
		if match(tool) {
			kept = append(kept, tool)
		}
	}
	return kept
}
