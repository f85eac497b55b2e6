// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SpecStatus says which Version the Spec is, or why it is none.
type SpecStatus struct {
	// observedGeneration is the generation that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// version is the name of the current Version.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Version string `json:"version,omitempty"`

	// hash is the whole digest of the current Version.
	// +optional
	Hash Digest `json:"hash,omitempty"`

	// findings are what publication refused, sorted by path and rule.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Findings []Finding `json:"findings,omitempty"`

	// history lists the published Versions, the newest first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	History []PublishedVersion `json:"history,omitempty"`

	// conditions of the Spec: Ready, and Stalled while it cannot be published.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// HistoryLimit is the largest number of entries of a Spec's history.
const HistoryLimit = 10

// Finding is one reason why a Spec is not published.
type Finding struct {
	// rule is the name of the rule.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Rule string `json:"rule"`

	// path of the field, as in spec.tools[0].name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Path string `json:"path"`

	// message says what is wrong and what to do.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message"`

	// severity is Warning for advice that keeps nothing from being published;
	// omitted, the finding is an error.
	// +optional
	Severity FindingSeverity `json:"severity,omitempty"`
}

// FindingSeverity says what a finding means for publication.
//
// +kubebuilder:validation:Enum=Error;Warning
type FindingSeverity string

// The severities. An omitted one is an error.
const (
	// SeverityError keeps the Spec from being published.
	SeverityError FindingSeverity = "Error"
	// SeverityWarning is advice.
	SeverityWarning FindingSeverity = "Warning"
)

// PublishedVersion is one entry of a Spec's history.
type PublishedVersion struct {
	// version is the name of the Version.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Version string `json:"version"`

	// generation of the Spec that was published as this Version.
	// +required
	// +kubebuilder:validation:Minimum=1
	Generation int64 `json:"generation"`

	// publishedAt is when the Spec became this Version.
	// +required
	PublishedAt metav1.Time `json:"publishedAt"`
}

// Spec is an agent as its author writes it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=remit,shortName=spec
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.version`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 40 && self.metadata.name.matches('^[a-z]([a-z0-9-]*[a-z0-9])?$')",message="metadata.name must be a DNS label of at most 40 characters that begins with a letter",fieldPath=".metadata"
type Spec struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the agent.
	// +required
	Spec AgentSpec `json:"spec"`

	// status is the operator's.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status SpecStatus `json:"status,omitempty,omitzero"`
}

// SpecList is a list of Specs.
//
// +kubebuilder:object:root=true
type SpecList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Spec `json:"items"`
}
