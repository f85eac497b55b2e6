// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RunSpec is one execution of one Version. It is immutable but for decisions
// and cancel.
//
// +kubebuilder:validation:XValidation:rule="has(self.specRef) != has(self.versionRef)",message="exactly one of specRef and versionRef must be set"
// +kubebuilder:validation:XValidation:rule="has(self.specRef) == has(oldSelf.specRef) && (!has(self.specRef) || self.specRef == oldSelf.specRef)",message="specRef is immutable: create another Run"
// +kubebuilder:validation:XValidation:rule="has(self.versionRef) == has(oldSelf.versionRef) && (!has(self.versionRef) || self.versionRef == oldSelf.versionRef)",message="versionRef is immutable: create another Run"
// +kubebuilder:validation:XValidation:rule="has(self.input) == has(oldSelf.input) && (!has(self.input) || self.input == oldSelf.input)",message="input is immutable: create another Run"
// +kubebuilder:validation:XValidation:rule="has(self.limits) == has(oldSelf.limits) && (!has(self.limits) || self.limits == oldSelf.limits)",message="limits are immutable: create another Run"
// +kubebuilder:validation:XValidation:rule="has(self.createdBy) == has(oldSelf.createdBy) && (!has(self.createdBy) || self.createdBy == oldSelf.createdBy)",message="createdBy is set when the Run is created and never changes"
// +kubebuilder:validation:XValidation:rule="has(self.createdByGroups) == has(oldSelf.createdByGroups) && (!has(self.createdByGroups) || self.createdByGroups == oldSelf.createdByGroups)",message="createdByGroups are set when the Run is created and never change"
// +kubebuilder:validation:XValidation:rule="has(self.parentRef) == has(oldSelf.parentRef) && (!has(self.parentRef) || self.parentRef == oldSelf.parentRef)",message="parentRef is immutable: create another Run"
// +kubebuilder:validation:XValidation:rule="has(self.subagent) == has(oldSelf.subagent) && (!has(self.subagent) || self.subagent == oldSelf.subagent)",message="subagent is immutable: create another Run"
// +kubebuilder:validation:XValidation:rule="has(self.parentRef) == has(self.subagent)",message="subagent must be set exactly when parentRef is"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.cancel) || !oldSelf.cancel || (has(self.cancel) && self.cancel)",message="a cancelled Run stays cancelled: create another Run"
type RunSpec struct {
	// specRef names a Spec; its current Version is pinned at the start.
	// +optional
	SpecRef *NamedReference `json:"specRef,omitempty"`

	// versionRef names a Version.
	// +optional
	VersionRef *NamedReference `json:"versionRef,omitempty"`

	// input is the first message to the model.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	Input string `json:"input,omitempty"`

	// limits bound this Run, within what the Version and the operator allow.
	// +optional
	Limits *RunLimits `json:"limits,omitempty"`

	// decisions are people's answers to pending calls, by call id. One update
	// decides every pending call, and a recorded decision never changes.
	// +optional
	// +kubebuilder:validation:MaxProperties=512
	Decisions map[string]Decision `json:"decisions,omitempty"`

	// cancel ends the Run at the next opportunity.
	// +optional
	Cancel bool `json:"cancel,omitempty"`

	// parentRef is the call of another Run for which this one executes a subagent of
	// the same Version. Only the operator sets it.
	// +optional
	ParentRef *RunParent `json:"parentRef,omitempty"`

	// subagent is the name of that subagent.
	// +optional
	Subagent Slug `json:"subagent,omitempty"`

	// createdBy is the user who created the Run, or the creator of its parent. The API
	// server sets it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	CreatedBy string `json:"createdBy,omitempty"`

	// createdByGroups are the groups of that user, as they were then. The API server
	// sets them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=1024
	CreatedByGroups []string `json:"createdByGroups,omitempty"`
}

// RunParent names the call that a Run answers.
type RunParent struct {
	// name of the parent Run in the same namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// uid of the parent Run.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	UID string `json:"uid"`

	// callID is the call of the parent that waits for this Run.
	// +required
	// +kubebuilder:validation:MinLength=1
	CallID CallID `json:"callID"`
}

// RunLimits ask for less than the Version allows, and for a time to wait that the
// operator allows; a larger value than theirs is read as theirs.
//
// +kubebuilder:validation:MinProperties=1
type RunLimits struct {
	// steps is the largest number of model calls.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=500
	Steps *int32 `json:"steps,omitempty"`

	// deadline bounds the time that the Run works.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]{1,6}h)?([0-9]{1,6}m)?([0-9]{1,6}s)?([0-9]{1,6}ms)?$`
	// +kubebuilder:validation:XValidation:rule="self > duration('0s') && self <= duration('168h')",message="deadline must be more than 0s and at most 168h"
	Deadline *metav1.Duration `json:"deadline,omitempty"`

	// approvalExpiry is how long a call waits for a decision. Omitted, it is the
	// operator's default; it may be longer than that, up to the operator's maximum.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]{1,6}h)?([0-9]{1,6}m)?([0-9]{1,6}s)?([0-9]{1,6}ms)?$`
	// +kubebuilder:validation:XValidation:rule="self > duration('0s') && self <= duration('8760h')",message="approvalExpiry must be more than 0s and at most 8760h"
	ApprovalExpiry *metav1.Duration `json:"approvalExpiry,omitempty"`
}

// Decision is a person's answer to one pending call.
type Decision struct {
	// approved lets the call go ahead, or does not.
	// +required
	Approved *bool `json:"approved"`

	// answer is what the model reads of a pending item of kind Question or Webhook;
	// approving one needs an answer, and nothing else takes one.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16384
	Answer string `json:"answer,omitempty"`

	// reason is what the model reads when the call is denied.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`

	// by is the user who decided. The API server sets it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	By string `json:"by,omitempty"`
}

// Run is one execution of one Version.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=remit
// +kubebuilder:selectablefield:JSONPath=.status.version
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Waiting",type=string,JSONPath=`.status.waitingFor`
// +kubebuilder:printcolumn:name="Since",type=date,JSONPath=`.status.pending[0].requestedAt`
// +kubebuilder:printcolumn:name="Until",type=string,JSONPath=`.status.pending[0].expiresAt`
// +kubebuilder:printcolumn:name="Steps",type=integer,JSONPath=`.status.steps`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Complete")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Version",type=string,priority=1,JSONPath=`.status.version`
// +kubebuilder:printcolumn:name="Approval",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Approved")].message`
// +kubebuilder:printcolumn:name="Created-By",type=string,priority=1,JSONPath=`.spec.createdBy`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Complete")].message`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="metadata.name must be at most 63 characters",fieldPath=".metadata"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.decisions) || (oldSelf.hasValue() ? self.spec.decisions.all(id, (has(oldSelf.value().spec.decisions) && id in oldSelf.value().spec.decisions) || (has(self.status) && has(self.status.pending) && self.status.pending.exists(p, p.id == id))) : self.spec.decisions.size() == 0)",optionalOldSelf=true,message="a decision must name a call that is pending in status.pending",reason=FieldValueForbidden,fieldPath=".spec.decisions"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.decisions) || !has(self.status) || !has(self.status.pending) || self.status.pending.all(p, !(p.id in self.spec.decisions) || (has(oldSelf.spec.decisions) && p.id in oldSelf.spec.decisions) || !has(p.webhook) || !has(p.webhook.receivedAt))",message="a webhook that has had its request cannot be decided any more",reason=FieldValueForbidden,fieldPath=".spec.decisions"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.decisions) || !has(self.status) || !has(self.status.pending) || self.spec.decisions.all(id, has(oldSelf.spec.decisions) && id in oldSelf.spec.decisions) || self.status.pending.all(p, p.id in self.spec.decisions || p.kind == 'Webhook')",message="one update must decide every call in status.pending, but for those of kind Webhook",reason=FieldValueForbidden,fieldPath=".spec.decisions"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.decisions) || !has(self.status) || !has(self.status.pending) || self.status.pending.all(p, !(p.id in self.spec.decisions) || (p.kind in ['Question', 'Webhook'] && self.spec.decisions[p.id].approved) == has(self.spec.decisions[p.id].answer))",message="approving a Question or a Webhook needs an answer, and nothing else takes one",reason=FieldValueInvalid,fieldPath=".spec.decisions"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.spec.decisions) || (has(self.spec.decisions) && oldSelf.spec.decisions.all(id, id in self.spec.decisions && self.spec.decisions[id] == oldSelf.spec.decisions[id]))",message="a recorded decision never changes",reason=FieldValueForbidden,fieldPath=".spec.decisions"
type Run struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what to run, and people's decisions.
	// +required
	Spec RunSpec `json:"spec"`

	// status is the operator's.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status RunStatus `json:"status,omitempty,omitzero"`
}

// RunList is a list of Runs.
//
// +kubebuilder:object:root=true
type RunList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Run `json:"items"`
}
