// SPDX-License-Identifier: Apache-2.0

package octool

import "fmt"

// The rules of ValidateTool and ValidateDescribed, beside those of StrictClean.
const (
	// RuleNamePattern: a name that breaks the pattern of names.
	RuleNamePattern = "name_pattern"
	// RuleDescriptionSentences: fewer than two sentences, or more than four.
	RuleDescriptionSentences = "description_sentences"
	// RuleOutputSchemaEscape: no output schema, or an open one, and no reason.
	RuleOutputSchemaEscape = "output_schema_escape"
	// RuleArtifactEnvelope: a result that is an artifact, and a schema without one.
	RuleArtifactEnvelope = "artifact_envelope"
	// RuleDeprecatedAlias: a deprecated tool that names no other tool.
	RuleDeprecatedAlias = "deprecated_alias"
)

// The rules that ValidateProvider adds.
const (
	// RuleAliasTargetMissing: an alias of a tool that the provider does not list.
	RuleAliasTargetMissing = "alias_target_missing"
	// RuleUnstableOrder: two listings differ in their order.
	RuleUnstableOrder = "unstable_order"
	// RuleDuplicateName: a name that is listed more than once.
	RuleDuplicateName = "duplicate_name"
	// RuleNotOCTool: an entry that is nil, or a Tool that New did not make.
	RuleNotOCTool = "not_octool"
)

// The rules that are asked for one by one.
const (
	// RuleUnknownTag, by ValidateTags: a tag that is neither well known nor allowed.
	RuleUnknownTag = "unknown_tag"
	// RuleNamespaceMissing, by ValidateNamespace: the namespace is empty.
	RuleNamespaceMissing = "namespace_missing"
	// RuleNamespacePattern, by ValidateNamespace: it breaks the pattern.
	RuleNamespacePattern = "namespace_pattern"
	// RuleNameOutsideNamespace, by ValidateNamespace: a name that is not the
	// namespace, an underscore and a name.
	RuleNameOutsideNamespace = "name_outside_namespace"
)

// The rules of StrictClean.
const (
	// RuleRootNotObject: the schema is not of type object, or cannot be read.
	RuleRootNotObject = "root_not_object"
	// RuleAdditionalProperties: an object schema that is not closed.
	RuleAdditionalProperties = "additional_properties"
	// RuleKeyword: a keyword outside the subset, or a value that it cannot have.
	RuleKeyword = "keyword"
	// RuleType: a type outside the subset, or true or false in place of a schema.
	RuleType = "type"
	// RuleOptionalField: a field that may be left out, in another form than anyOf
	// with null and the default null.
	RuleOptionalField = "optional_field"
	// RuleFormat: a format outside the subset.
	RuleFormat = "format"
	// RuleMinItems: minItems other than 0 and 1.
	RuleMinItems = "min_items"
	// RuleEnumValue: a value of an enum that is an object or an array.
	RuleEnumValue = "enum_value"
	// RuleRefTarget: a $ref to anything but an entry of $defs at the root.
	RuleRefTarget = "ref_target"
	// RuleRefRecursive: a $ref by which a definition comes to contain itself.
	RuleRefRecursive = "ref_recursive"
	// RuleRefInAllOf: a $ref within allOf.
	RuleRefInAllOf = "ref_in_all_of"
)

// RuleMoreFindings stands last where there are more findings than the limit, and
// says how many are left out.
const RuleMoreFindings = "more_findings"

const (
	// MaxFindings bounds the findings of one discovered tool.
	MaxFindings = 64
	// MaxSchemaFindings bounds those of a schema, or of a tool of the author's own.
	MaxSchemaFindings = 1000
)

// findings collects what a walk over a schema finds.
type findings struct {
	list []Finding
	more int
}

func (f *findings) add(rule string, at *place, format string, args ...any) {
	if len(f.list) == MaxSchemaFindings {
		f.more++
		return
	}
	f.list = append(f.list, Finding{Rule: rule, Path: at.String(), Message: fmt.Sprintf(format, args...)})
}

// upTo cuts a list to a limit; the last entry then says how many findings are left
// out, of which more were never listed.
func upTo(limit int, list []Finding, more int) []Finding {
	if more == 0 && len(list) <= limit {
		return list
	}
	kept := list[: limit-1 : limit-1]
	return append(kept, Finding{
		Rule:    RuleMoreFindings,
		Message: fmt.Sprintf("%d more findings are not shown: correct these first", more+len(list)-len(kept)),
	})
}
