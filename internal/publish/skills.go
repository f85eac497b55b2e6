// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"remit.dev/remit/api/v1alpha1"
)

// checkSkillLinks resolves the links of instructions and skill bodies. Those of
// a subagent resolve in its own skills, then its parent's.
func checkSkillLinks(v *validation) {
	own := skillNames(nil, v.spec.Skills)
	checkLinks(v, root, v.spec.Instructions, v.spec.Skills, own)
	for i, subagent := range v.spec.Subagents {
		known := skillNames(slices.Clone(own), subagent.Skills)
		checkLinks(v, root.Child("subagents").Index(i), subagent.Instructions, subagent.Skills, known)
	}
}

func skillNames(names []string, skills []v1alpha1.Skill) []string {
	for _, skill := range skills {
		names = append(names, string(skill.Name))
	}
	return names
}

func checkLinks(v *validation, agent *field.Path, instructions string, skills []v1alpha1.Skill, known []string) {
	resolve(v, agent.Child("instructions"), instructions, known)
	for i, skill := range skills {
		resolve(v, agent.Child("skills").Index(i).Child("body"), skill.Body, known)
	}
}

func resolve(v *validation, path *field.Path, source string, known []string) {
	for _, link := range skillLinks(source) {
		if !slices.Contains(known, link.name) {
			v.add(RuleDanglingSkillLink, path, "line %d links to %s, and there is no skill of this name: correct the link, or add the skill",
				link.line, quoted("[[skill:"+link.name+"]]"))
		}
	}
}
