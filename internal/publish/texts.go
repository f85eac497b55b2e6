// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"remit.dev/remit/api/v1alpha1"
)

// checkTexts: the schema wants at least one character, and normalising takes
// the line breaks at the end away.
func checkTexts(v *validation) {
	requireText(v, root.Child("instructions"), v.spec.Instructions)
	requireSkillTexts(v, root, v.spec.Skills)
	for i, tool := range v.spec.Tools {
		if tool.Code != nil {
			requireText(v, root.Child("tools").Index(i).Child("code", "source"), tool.Code.Source)
		}
	}
	for i, subagent := range v.spec.Subagents {
		path := root.Child("subagents").Index(i)
		requireText(v, path.Child("description"), subagent.Description)
		requireText(v, path.Child("instructions"), subagent.Instructions)
		requireSkillTexts(v, path, subagent.Skills)
	}
}

func requireSkillTexts(v *validation, path *field.Path, skills []v1alpha1.Skill) {
	for i, skill := range skills {
		path := path.Child("skills").Index(i)
		requireText(v, path.Child("description"), skill.Description)
		requireText(v, path.Child("body"), skill.Body)
	}
}

func requireText(v *validation, path *field.Path, text string) {
	if text == "" {
		v.add(RuleEmptyText, path, "the text is empty once line breaks at its end are removed: write some")
	}
}
