// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"fmt"
	"slices"

	"remit.dev/remit/api/v1alpha1"
)

// DefaultSelectors are the approval selectors where a Grant sets none.
var DefaultSelectors = []v1alpha1.ApprovalSelector{v1alpha1.ApprovalWrite, v1alpha1.ApprovalDestructive}

// Approval is what a Grant says about approval. A nil Selectors means that the
// operator's defaults apply; an empty one that no selector matches.
type Approval struct {
	Selectors []v1alpha1.ApprovalSelector
	Always    []v1alpha1.ToolLiteral
	Never     []v1alpha1.ToolLiteral
}

// ApprovalOf reads a Grant's approval lists.
func ApprovalOf(spec *v1alpha1.GrantSpec) Approval {
	return Approval{Selectors: spec.Approval, Always: spec.Always, Never: spec.Never}
}

// Requires says whether a call of the tool needs a person's approval and why;
// the reason is empty when it does not. The tool is named as its server names
// it, so a name never reaches a tool of another server. An entry of Never takes
// back what a selector or Always matched.
func (a Approval) Requires(defaults []v1alpha1.ApprovalSelector, tool string, class v1alpha1.ToolClass) (reason string, required bool) {
	literal := v1alpha1.ToolLiteral(tool)
	if slices.Contains(a.Never, literal) {
		return "", false
	}
	if slices.Contains(a.Always, literal) {
		return fmt.Sprintf("the Grant always asks for %s", tool), true
	}
	selectors := a.Selectors
	if selectors == nil {
		selectors = defaults
	}
	for _, selector := range selectors {
		if matches(selector, tool, class) {
			return fmt.Sprintf("class %s, matched by %s", class, selector), true
		}
	}
	return "", false
}

func matches(selector v1alpha1.ApprovalSelector, tool string, class v1alpha1.ToolClass) bool {
	switch selector {
	case v1alpha1.ApprovalAll:
		return true
	case v1alpha1.ApprovalWrite:
		return class == v1alpha1.ClassWrite
	case v1alpha1.ApprovalDestructive:
		return class == v1alpha1.ClassDestructive
	default:
		return string(selector) == tool
	}
}
