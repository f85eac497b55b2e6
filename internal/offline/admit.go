// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/publish"
)

// admission is what an API server says to an object.
type admission struct {
	findings []v1alpha1.Finding
	// refused says that the object would not be stored.
	refused bool
	// incomplete says that rules were not asked, because of the findings.
	incomplete bool
	// unbounded says that a text, list or map is longer than the schema lets it be.
	unbounded bool
	// settled are the paths of values that are required and not there, or of another
	// type: there is no more to say of them.
	settled sets.Set[string]
}

// refuse adds findings that keep the object from being stored.
func (a *admission) refuse(findings ...v1alpha1.Finding) {
	a.findings = append(a.findings, findings...)
	a.refused = a.refused || len(findings) > 0
}

// says reports whether what publication finds was said already: of a value that is
// none, of what would be within it, of an empty text, or under the name of the same rule.
func (a *admission) says(f v1alpha1.Finding) bool {
	for path := range a.settled {
		if rest, ok := strings.CutPrefix(f.Path, path); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return true
		}
	}
	return slices.ContainsFunc(a.findings, func(said v1alpha1.Finding) bool {
		return said.Path == f.Path && (said.Rule == f.Rule || f.Rule == publish.RuleEmptyText)
	})
}

// admit does to object what an API server does when it is created, in the same
// order, and returns what it would refuse and what it would drop silently.
// Afterwards object is what would be stored.
func (k *kind) admit(ctx context.Context, object map[string]any) *admission {
	a := &admission{settled: sets.New[string]()}
	meta, found, unknown, err := objectmeta.GetObjectMetaWithOptions(object, objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
	if err != nil {
		a.refuse(v1alpha1.Finding{Rule: RuleMetadata, Path: "metadata", Message: err.Error()})
		a.incomplete = true
		return a
	}
	unknown = append(unknown, pruning.PruneWithOptions(object, k.structural, true,
		schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})...)
	defaulting.PruneNonNullableNullsWithoutDefaults(object, k.structural)
	if found {
		if meta.Name == "" && meta.GenerateName != "" {
			meta.Name = meta.GenerateName + generatedSuffix
		}
		if err := objectmeta.SetObjectMeta(object, meta); err != nil {
			a.refuse(v1alpha1.Finding{Rule: RuleMetadata, Path: "metadata", Message: err.Error()})
			a.incomplete = true
			return a
		}
	} else {
		meta = &metav1.ObjectMeta{}
	}
	defaulting.Default(object, k.structural)
	// Whoever creates an object cannot set its status.
	delete(object, "status")

	for _, path := range unknown {
		a.findings = append(a.findings, v1alpha1.Finding{
			Rule: RuleUnknownField, Path: path, Message: "unknown field: correct its name, or remove it",
		})
	}
	k.checkMetadata(a, meta)
	k.validate(ctx, a, object)
	return a
}

// generatedSuffix stands for what an API server appends to a generateName.
const generatedSuffix = "xxxxx"

func (k *kind) checkMetadata(a *admission, meta *metav1.ObjectMeta) {
	checked := meta.DeepCopy()
	if k.namespaced && checked.Namespace == "" {
		// Given by the user's context or by kustomize.
		checked.Namespace = metav1.NamespaceDefault
	}
	for _, err := range apivalidation.ValidateObjectMeta(checked, k.namespaced, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata")) {
		a.refuse(v1alpha1.Finding{Rule: RuleMetadata, Path: err.Field, Message: messageOf(err)})
	}
}

// validate stops where an API server does: CEL rules are not asked about values
// of the wrong type or size.
func (k *kind) validate(ctx context.Context, a *admission, object map[string]any) {
	errs := validation.ValidateCustomResource(nil, object, k.values)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, k.structural, object)...)
	if slices.ContainsFunc(errs, blocksRules) {
		a.incomplete = true
	} else {
		broken, _ := k.rules.Validate(ctx, nil, k.structural, object, nil, celconfig.RuntimeCELCostBudget)
		errs = append(errs, broken...)
	}
	for _, err := range errs {
		a.refuse(schemaFinding(err))
		switch err.Type {
		case field.ErrorTypeTooLong, field.ErrorTypeTooMany:
			a.unbounded = true
		case field.ErrorTypeRequired, field.ErrorTypeTypeInvalid:
			a.settled.Insert(err.Field)
		default:
		}
	}
}

func blocksRules(err *field.Error) bool {
	switch err.Type {
	case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
		return true
	default:
		return false
	}
}
