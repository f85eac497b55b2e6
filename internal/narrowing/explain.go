// SPDX-License-Identifier: Apache-2.0

package narrowing

import (
	"fmt"
	"slices"

	"remit.dev/remit/api/v1alpha1"
)

// Verdict is what became of one tool on its way through the planes.
type Verdict struct {
	Tool
	// LostAt is the first plane that does not hold the tool, or empty for one
	// that passed them all.
	LostAt v1alpha1.Plane
	// Why says which list kept the tool out, and is empty for one that passed.
	Why string
}

// Explain says of every tool on offer, in its order, and then of every name that
// a list asks for and nobody offers, what Callable does with it and why. With a
// grant that has a name and no lists it explains the tenant plane alone.
func Explain(offered []Tool, permit []v1alpha1.ToolLiteral, grant *v1alpha1.MCPGrant) []Verdict {
	permitted := Permitted(offered, permit)
	granted := Granted(permitted, grant.Tools)
	enabled := Enabled(granted, grant.Enable, grant.Disable)
	callable := Judged(enabled, grant.Grant)

	inPermitted, inGranted, inEnabled, inCallable := nameSet(permitted), nameSet(granted), nameSet(enabled), nameSet(callable)
	verdicts := make([]Verdict, 0, len(offered))
	for _, tool := range offered {
		verdict := Verdict{Tool: tool}
		switch {
		case !inPermitted[tool.Name]:
			verdict.LostAt, verdict.Why = v1alpha1.PlanePermitted, "tools of the Grant does not list it"
		case !inGranted[tool.Name]:
			verdict.LostAt, verdict.Why = v1alpha1.PlaneGranted, "tools of the Spec's grant does not list it"
		case !inEnabled[tool.Name]:
			verdict.LostAt, verdict.Why = v1alpha1.PlaneEnabled, disabledBecause(tool, grant)
		case !inCallable[tool.Name]:
			verdict.LostAt, verdict.Why = v1alpha1.PlaneCallable, unjudgedBecause(tool, grant.Grant)
		}
		verdicts = append(verdicts, verdict)
	}
	return append(verdicts, missing(offered, permit, grant)...)
}

func nameSet(tools []Tool) map[string]bool {
	set := make(map[string]bool, len(tools))
	for _, tool := range tools {
		set[tool.Name] = true
	}
	return set
}

func disabledBecause(tool Tool, grant *v1alpha1.MCPGrant) string {
	for _, selector := range grant.Disable {
		if Matches([]v1alpha1.AccessSelector{selector}, tool) {
			return fmt.Sprintf("disable of the Spec's grant matches it by %s", selector)
		}
	}
	return "no entry of enable of the Spec's grant matches it"
}

func unjudgedBecause(tool Tool, grant v1alpha1.Slug) string {
	if tool.Unusable != "" {
		return tool.Unusable
	}
	name, _ := QualifiedName(string(grant), tool.Name)
	return fmt.Sprintf("several tools would be called %s", name)
}

// missing are the names that a list asks for and nobody offers, each once.
func missing(offered []Tool, permit []v1alpha1.ToolLiteral, grant *v1alpha1.MCPGrant) []Verdict {
	var verdicts []Verdict
	add := func(list string, stale []string) {
		for _, name := range stale {
			if slices.ContainsFunc(verdicts, func(v Verdict) bool { return v.Name == name }) {
				continue
			}
			verdicts = append(verdicts, Verdict{
				Tool: Tool{Name: name}, LostAt: v1alpha1.PlaneOffered,
				Why: fmt.Sprintf("%s names it, and the server does not offer it", list),
			})
		}
	}
	add("tools of the Grant", staleNames(offered, permit))
	add("tools of the Spec's grant", staleNames(offered, grant.Tools))
	add("enable of the Spec's grant", staleNames(offered, grant.Enable))
	add("disable of the Spec's grant", staleNames(offered, grant.Disable))
	add("preload of the Spec's grant", staleNames(offered, grant.Preload))
	return verdicts
}

func staleNames[S ~string](offered []Tool, list []S) []string {
	stale := Stale(offered, list)
	names := make([]string, len(stale))
	for i, entry := range stale {
		names[i] = string(entry)
	}
	return names
}
