// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group and version of every kind in this package.
var GroupVersion = schema.GroupVersion{Group: "remit.dev", Version: "v1alpha1"}

// SchemeBuilder collects the functions that add the kinds to a scheme.
var SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

// AddToScheme adds the five kinds and their lists to a scheme.
var AddToScheme = SchemeBuilder.AddToScheme

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&MCPServer{}, &MCPServerList{},
		&Grant{}, &GrantList{},
		&Spec{}, &SpecList{},
		&Version{}, &VersionList{},
		&Run{}, &RunList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
