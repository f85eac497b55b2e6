// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"context"
	"slices"
	"unicode/utf8"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"remit.dev/remit/api/v1alpha1"
)

// The rules of an API server, as findings carry them.
const (
	// RuleUnknownField: the schema has no such field.
	RuleUnknownField = "unknown_field"
	// RuleSchema: the schema or one of its CEL rules refuses the value.
	RuleSchema = "schema"
	// RuleMetadata: the metadata is none that an object can have.
	RuleMetadata = "metadata"
)

// admit does to object what an API server does when it is created, in the same
// order, and returns what it would refuse and what it would drop silently.
// Afterwards object is what would be stored.
func (k *kind) admit(ctx context.Context, object map[string]any) []v1alpha1.Finding {
	meta, found, unknown, err := objectmeta.GetObjectMetaWithOptions(object, objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
	if err != nil {
		return []v1alpha1.Finding{{Rule: RuleMetadata, Path: "metadata", Message: err.Error()}}
	}
	unknown = append(unknown, pruning.PruneWithOptions(object, k.structural, true,
		schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})...)
	defaulting.PruneNonNullableNullsWithoutDefaults(object, k.structural)
	if found {
		if meta.Name == "" && meta.GenerateName != "" {
			meta.Name = meta.GenerateName + generatedSuffix
		}
		if err := objectmeta.SetObjectMeta(object, meta); err != nil {
			return []v1alpha1.Finding{{Rule: RuleMetadata, Path: "metadata", Message: err.Error()}}
		}
	} else {
		meta = &metav1.ObjectMeta{}
	}
	defaulting.Default(object, k.structural)
	// Whoever creates an object cannot set its status.
	delete(object, "status")

	var findings []v1alpha1.Finding
	slices.Sort(unknown)
	for _, path := range unknown {
		findings = append(findings, v1alpha1.Finding{
			Rule: RuleUnknownField, Path: path, Message: "unknown field: correct its name, or remove it",
		})
	}
	findings = append(findings, k.checkMetadata(meta)...)
	return append(findings, k.validate(ctx, object)...)
}

// generatedSuffix stands for what an API server appends to a generateName.
const generatedSuffix = "xxxxx"

func (k *kind) checkMetadata(meta *metav1.ObjectMeta) []v1alpha1.Finding {
	checked := meta.DeepCopy()
	if k.namespaced && checked.Namespace == "" {
		// Given by the user's context or by kustomize.
		checked.Namespace = metav1.NamespaceDefault
	}
	errs := apivalidation.ValidateObjectMeta(checked, k.namespaced, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	return findingsOf(RuleMetadata, errs)
}

// validate stops where an API server does: CEL rules are not asked about values
// of the wrong type or size.
func (k *kind) validate(ctx context.Context, object map[string]any) []v1alpha1.Finding {
	errs := validation.ValidateCustomResource(nil, object, k.values)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, k.structural, object)...)
	if !slices.ContainsFunc(errs, blocksRules) {
		broken, _ := k.rules.Validate(ctx, nil, k.structural, object, nil, celconfig.RuntimeCELCostBudget)
		errs = append(errs, broken...)
	}
	return findingsOf(RuleSchema, errs)
}

func blocksRules(err *field.Error) bool {
	switch err.Type {
	case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
		return true
	default:
		return false
	}
}

func findingsOf(rule string, errs field.ErrorList) []v1alpha1.Finding {
	var findings []v1alpha1.Finding
	for _, err := range errs {
		path := err.Field
		if path == "" || path == "<nil>" {
			path = "metadata"
		}
		findings = append(findings, v1alpha1.Finding{Rule: rule, Path: path, Message: messageOf(err)})
	}
	return findings
}

// maxMessage bounds a message, in characters, as the CRD bounds those of
// findings.
const maxMessage = 1024

// messageOf is the error without its path, and without the value if that is too
// long.
func messageOf(err *field.Error) string {
	text := err.ErrorBody()
	if utf8.RuneCountInString(text) > maxMessage {
		text = string(err.Type) + ": " + err.Detail
	}
	if runes := []rune(text); len(runes) > maxMessage {
		return string(runes[:maxMessage-1]) + "…"
	}
	return text
}
