// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Digest is a SHA-256 digest as text: "sha256:" and 64 hexadecimal digits.
//
// +kubebuilder:validation:MaxLength=71
// +kubebuilder:validation:Pattern=`^sha256:[0-9a-f]{64}$`
type Digest string

// Canonicalization names the rules by which a body was made into bytes.
//
// +kubebuilder:validation:Enum=v1
type Canonicalization string

// CanonicalizationV1 is the first set of rules.
const CanonicalizationV1 Canonicalization = "v1"

// VersionFinalizer holds a Version that an unfinished Run pins.
const VersionFinalizer = "remit.dev/pinned"

// VersionSpec is the immutable content of a Version.
type VersionSpec struct {
	// hash is the digest of the canonical body.
	// +required
	Hash Digest `json:"hash"`

	// canonicalization names the rules by which the body was hashed.
	// +required
	Canonicalization Canonicalization `json:"canonicalization"`

	// body is the validated, defaulted and normalised body of the Spec. It is
	// kept as it was hashed: a later release adds no defaults to it.
	// +required
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Body apiextensionsv1.JSON `json:"body"`
}

// VersionStatus says whether the body is what the digest says.
type VersionStatus struct {
	// observedGeneration is the generation that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions of the Version: Ready, and Stalled when its digest is wrong.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Version is the immutable body of a Spec, named by its digest.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=remit,shortName=ver
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Specs",type=string,JSONPath=`.metadata.ownerReferences[*].name`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Hash",type=string,priority=1,JSONPath=`.spec.hash`
// +kubebuilder:validation:XValidation:rule="self.metadata.name == 'v-' + self.spec.hash.substring(7, 27)",message="metadata.name must be v- and the first 20 digits of spec.hash",fieldPath=".metadata"
type Version struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the content, which never changes.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a Version is immutable: change the Spec, which makes another Version"
	Spec VersionSpec `json:"spec"`

	// status is the operator's.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status VersionStatus `json:"status,omitempty,omitzero"`
}

// VersionList is a list of Versions.
//
// +kubebuilder:object:root=true
type VersionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Version `json:"items"`
}
