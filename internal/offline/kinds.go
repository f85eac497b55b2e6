// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"fmt"
	"io/fs"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

// kind is what an API server knows of one kind.
type kind struct {
	structural *structuralschema.Structural
	values     validation.SchemaValidator
	rules      *cel.Validator
	namespaced bool
}

// loadKinds reads the CRDs as an API server does when they are installed.
func loadKinds(bases fs.FS) (map[schema.GroupVersionKind]*kind, error) {
	names, err := fs.Glob(bases, "bases/*.yaml")
	if err != nil {
		return nil, err
	}
	kinds := map[schema.GroupVersionKind]*kind{}
	for _, name := range names {
		text, err := fs.ReadFile(bases, name)
		if err != nil {
			return nil, err
		}
		if err := addKinds(kinds, text); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return kinds, nil
}

func addKinds(kinds map[schema.GroupVersionKind]*kind, text []byte) error {
	var external apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &external); err != nil {
		return err
	}
	for _, version := range external.Spec.Versions {
		var internal apiextensions.CustomResourceValidation
		err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(version.Schema, &internal, nil)
		if err != nil {
			return err
		}
		k := &kind{namespaced: external.Spec.Scope == apiextensionsv1.NamespaceScoped}
		if k.structural, err = structuralschema.NewStructural(internal.OpenAPIV3Schema); err != nil {
			return err
		}
		if err := defaulting.PruneDefaults(k.structural); err != nil {
			return err
		}
		if k.values, _, err = validation.NewSchemaValidator(internal.OpenAPIV3Schema); err != nil {
			return err
		}
		k.rules = cel.NewValidator(k.structural, true, celconfig.PerCallLimit)
		kinds[schema.GroupVersionKind{
			Group: external.Spec.Group, Version: version.Name, Kind: external.Spec.Names.Kind,
		}] = k
	}
	return nil
}
