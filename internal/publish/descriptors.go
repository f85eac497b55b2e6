// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/octool"
)

// checkDescriptor holds an HTTP or code tool to the rules that discovered tools and
// registered functions are held to. A model that reads a poor description still
// works, so what is reported here is advice.
func checkDescriptor(v *validation, path *field.Path, tool *v1alpha1.Tool) {
	described := octool.DescribedTool{Name: tool.Name, Description: tool.Description, InputSchema: emptyObject}
	if tool.InputSchema != nil {
		described.InputSchema = tool.InputSchema.Raw
	}
	for _, found := range octool.ValidateDescribed(described) {
		switch found.Rule {
		case octool.RuleOutputSchemaEscape: // a Spec's tool declares no result
		case octool.RuleNamePattern, octool.RuleRootNotObject: // the CRD and RuleInputSchema refuse those
		case octool.RuleDescriptionSentences:
			v.warn(RuleDescription, path.Child("description"), "%s", found.Message)
		default:
			v.warn(found.Rule, schemaPath(path, found.Path), "%s", found.Message)
		}
	}
}

var emptyObject = []byte(`{"type":"object","properties":{},"additionalProperties":false}`)

// schemaPath is the place in the Spec that a pointer of a descriptor's finding names.
func schemaPath(path *field.Path, pointer string) *field.Path {
	const prefix = "/input_schema"
	if len(pointer) < len(prefix) {
		return path.Child("inputSchema")
	}
	return PointerPath(path.Child("inputSchema"), pointer[len(prefix):])
}

// Refused says whether any of the findings keeps a Spec from being published.
func Refused(findings []v1alpha1.Finding) bool {
	for i := range findings {
		if findings[i].Severity != v1alpha1.SeverityWarning {
			return true
		}
	}
	return false
}
