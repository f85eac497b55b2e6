// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"remit.dev/remit/api/v1alpha1"
)

func checkSelectors(v *validation) {
	checkGrantSelectors(v, root.Child("mcp"), v.spec.MCP)
	for i, subagent := range v.spec.Subagents {
		path := root.Child("subagents").Index(i)
		refuseTags(v, path.Child("tools"), subagent.Tools)
		checkGrantSelectors(v, path.Child("mcp"), subagent.MCP)
	}
}

func checkGrantSelectors(v *validation, path *field.Path, grants []v1alpha1.MCPGrant) {
	for i, grant := range grants {
		path := path.Index(i)
		refuseTags(v, path.Child("tools"), grant.Tools)
		checkTags(v, path.Child("enable"), grant.Enable)
		checkTags(v, path.Child("disable"), grant.Disable)
		checkTags(v, path.Child("preload"), grant.Preload)
	}
}

func checkTags(v *validation, path *field.Path, selectors []v1alpha1.AccessSelector) {
	for i, selector := range selectors {
		if isTag(selector) && selector != v1alpha1.AccessAll && selector != v1alpha1.AccessReadOnly {
			v.add(RuleUnknownTag, path.Index(i),
				"unknown tag %s: this list knows @all and @read-only; anything else is the exact name of a tool", quoted(selector))
		}
	}
}

func refuseTags(v *validation, path *field.Path, names []v1alpha1.ToolLiteral) {
	for i, name := range names {
		if isTag(name) {
			v.add(RuleUnknownTag, path.Index(i), "%s is a tag, and this list takes exact tool names only", quoted(name))
		}
	}
}

func isTag[S ~string](s S) bool { return strings.HasPrefix(string(s), "@") }
