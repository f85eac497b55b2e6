// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Slug is the name of an object or of an entry in a named collection: a DNS
// label that begins with a letter, at most 40 characters. References are by
// slug and never by UID, so they survive a delete and re-create.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=40
// +kubebuilder:validation:Pattern=`^[a-z]([a-z0-9-]*[a-z0-9])?$`
type Slug string

// ToolLiteral is the exact name of one tool as its server or Spec gives it.
// It is compared byte by byte; there are no globs.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=128
// +kubebuilder:validation:XValidation:rule="!self.startsWith('@')",messageExpression="'\"' + self + '\" is a tag, and this list takes exact tool names only'"
type ToolLiteral string

// AccessSelector is an entry of an enable, disable or preload list: the tag
// @all, the tag @read-only, or the exact name of a tool.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=128
// +kubebuilder:validation:XValidation:rule="!self.startsWith('@') || self in ['@all', '@read-only']",messageExpression="'unknown tag \"' + self + '\": this list knows @all and @read-only; anything else is the exact name of a tool'"
type AccessSelector string

// The tags of an AccessSelector.
const (
	// AccessAll matches every tool.
	AccessAll AccessSelector = "@all"
	// AccessReadOnly matches a tool whose readOnlyHint is explicitly true and
	// that is not destructive.
	AccessReadOnly AccessSelector = "@read-only"
)

// ApprovalSelector is an entry of an approval list: the tag @all, @write or
// @destructive, or the exact name of a tool.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=128
// +kubebuilder:validation:XValidation:rule="!self.startsWith('@') || self in ['@all', '@write', '@destructive']",messageExpression="'unknown tag \"' + self + '\": this list knows @all, @write and @destructive; anything else is the exact name of a tool'"
type ApprovalSelector string

// The tags of an ApprovalSelector.
const (
	// ApprovalAll matches every tool.
	ApprovalAll ApprovalSelector = "@all"
	// ApprovalWrite matches tools of class Write.
	ApprovalWrite ApprovalSelector = "@write"
	// ApprovalDestructive matches tools of class Destructive.
	ApprovalDestructive ApprovalSelector = "@destructive"
)

// ToolClass is what a tool may do, as read from its annotations.
//
// +kubebuilder:validation:Enum=ReadOnly;Write;Destructive
type ToolClass string

// The classes of a tool. Destructive beats Write beats ReadOnly.
const (
	// ClassReadOnly is a tool that says explicitly that it only reads.
	ClassReadOnly ToolClass = "ReadOnly"
	// ClassWrite is a tool that changes something, or says nothing at all.
	ClassWrite ToolClass = "Write"
	// ClassDestructive is a tool that may destroy, or that is annotated and
	// does not say otherwise.
	ClassDestructive ToolClass = "Destructive"
)

// ToolAnnotations are the MCP tool hints, each in three states: unset, true and
// false mean different things.
//
// +kubebuilder:validation:MinProperties=1
type ToolAnnotations struct {
	// title is a human-readable title of the tool.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Title string `json:"title,omitempty"`

	// readOnlyHint says that the tool does not change its environment.
	// +optional
	ReadOnlyHint *bool `json:"readOnlyHint,omitempty"`

	// destructiveHint says that the tool may destroy something.
	// +optional
	DestructiveHint *bool `json:"destructiveHint,omitempty"`

	// idempotentHint says that repeating a call has no further effect.
	// +optional
	IdempotentHint *bool `json:"idempotentHint,omitempty"`

	// openWorldHint says that the tool reaches an open world of entities.
	// +optional
	OpenWorldHint *bool `json:"openWorldHint,omitempty"`
}

// SecretKeyReference names one key of a Secret in the namespace of the object
// that holds the reference. The Secret opts in to being sent to servers by the
// label remit.dev/credential=true.
type SecretKeyReference struct {
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// key within the Secret's data.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	Key string `json:"key"`
}

// CredentialType says how a credential is put into a request.
//
// +kubebuilder:validation:Enum=Bearer;Header
type CredentialType string

// The types of a credential.
const (
	// CredentialBearer sends "Authorization: Bearer VALUE".
	CredentialBearer CredentialType = "Bearer"
	// CredentialHeader sends the value alone in a header of its own.
	CredentialHeader CredentialType = "Header"
)

// Credential is a reference to a secret and the way in which it is sent. The
// value is read from the Secret for every call and stored nowhere.
//
// +kubebuilder:validation:XValidation:rule="(self.type == 'Header') == has(self.header)",message="header is required when type is Header, and forbidden otherwise"
type Credential struct {
	// type says how the value is sent: Bearer or Header.
	// +required
	Type CredentialType `json:"type"`

	// header is the name of the header when type is Header.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z][A-Za-z0-9-]*$`
	Header string `json:"header,omitempty"`

	// secretRef names the Secret and the key that hold the value.
	// +required
	SecretRef SecretKeyReference `json:"secretRef"`
}

// CredentialLabel is the label with value "true" by which a Secret opts in to
// being used as a credential.
const CredentialLabel = "remit.dev/credential"

// NamedReference names another object in the same namespace.
type NamedReference struct {
	// name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}
