// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MCPServerSpec is a server of the catalogue: where it is, how the operator
// authenticates to look at it, and who may be granted it.
//
// +kubebuilder:validation:XValidation:rule="!has(self.credential) || !has(self.transport.stdio) || has(self.transport.stdio.credentialEnv)",message="a stdio server has no use for credential unless transport.stdio.credentialEnv names the variable for it",fieldPath=".credential",reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule="!has(self.credential) || !has(self.transport.stdio) || self.credential.type in ['Bearer', 'OAuth2']",message="a stdio server takes a credential of type Bearer or OAuth2",fieldPath=".credential"
//
// +kubebuilder:validation:XValidation:rule="!has(self.transport.stdio) || !has(self.transport.stdio.credentialEnv) || !has(self.allowedNamespaces) || !has(self.allowedNamespaces.from) || self.allowedNamespaces.from == 'Same'",message="must be Same where transport.stdio.credentialEnv is set: the processes of one Pod can read each other's credentials, so they belong to one namespace",fieldPath=".allowedNamespaces.from",reason=FieldValueForbidden
type MCPServerSpec struct {
	// transport says how the server is reached.
	// +required
	Transport Transport `json:"transport"`

	// credential is used for discovery only; a Run uses its Grant's.
	// +optional
	Credential *Credential `json:"credential,omitempty"`

	// allowedNamespaces says in which namespaces a Grant may name this server.
	// +optional
	// +kubebuilder:default={from: Same}
	AllowedNamespaces AllowedNamespaces `json:"allowedNamespaces,omitempty,omitzero"`

	// annotations says whether the server's hints may loosen anything. On an
	// Untrusted server a hint can only make a tool stricter.
	// +optional
	// +kubebuilder:default=Untrusted
	Annotations AnnotationTrust `json:"annotations,omitempty"`

	// refreshInterval is how often the catalogue is read again.
	// +optional
	// +kubebuilder:default="10m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]{1,6}h)?([0-9]{1,6}m)?([0-9]{1,6}s)?([0-9]{1,6}ms)?$`
	// +kubebuilder:validation:XValidation:rule="self >= duration('10s') && self <= duration('24h')",message="refreshInterval must be between 10s and 24h"
	RefreshInterval metav1.Duration `json:"refreshInterval,omitempty,omitzero"`
}

// Transport is exactly one way of reaching a server.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type Transport struct {
	// http is a server that speaks streamable HTTP.
	// +optional
	HTTP *HTTPTransport `json:"http,omitempty"`

	// hosted is an image that speaks streamable HTTP, and that the operator runs
	// in the namespace of the MCPServer.
	// +optional
	Hosted *HostedTransport `json:"hosted,omitempty"`

	// stdio is an image whose program speaks MCP on its standard input and output,
	// and that the operator runs in the namespace of the MCPServer.
	// +optional
	Stdio *StdioTransport `json:"stdio,omitempty"`
}

// HTTPTransport is a server at a URL.
type HTTPTransport struct {
	// url of the MCP endpoint.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.contains('@') || (isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHostname() != '')",message="url must be an http or https URL with a host"
	// +kubebuilder:validation:XValidation:rule="!self.contains('@')",message="url must not hold user information: a key belongs in credential",reason=FieldValueForbidden
	URL string `json:"url"`

	// headers are sent with every request; a credential belongs in credential.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	// +kubebuilder:validation:XValidation:rule="self.all(name, name.matches('^[A-Za-z][A-Za-z0-9-]{0,63}$') && !(name.lowerAscii() in ['authorization', 'proxy-authorization', 'cookie', 'host', 'content-length', 'content-type', 'accept', 'mcp-session-id', 'mcp-protocol-version']))",message="a header name is letters, digits and dashes, and none that carries a credential or belongs to the protocol"
	Headers map[string]HeaderValue `json:"headers,omitempty"`

	// network says which addresses the server may have.
	// +optional
	// +kubebuilder:default=Public
	Network Network `json:"network,omitempty"`
}

// Network says which addresses a server may have beside those that the operator's
// configuration allows. Loopback, link-local and metadata addresses are in none.
//
// +kubebuilder:validation:Enum=Public;ClusterInternal
type Network string

// The values of Network.
const (
	// NetworkPublic is every public address.
	NetworkPublic Network = "Public"
	// NetworkClusterInternal is the public addresses and the private ranges, where
	// the Services of clusters are.
	NetworkClusterInternal Network = "ClusterInternal"
)

// HeaderValue is the value of an HTTP header.
//
// +kubebuilder:validation:MaxLength=1024
// +kubebuilder:validation:XValidation:rule="!self.matches('\\\\p{Cc}')",message="a header value has no control characters",reason=FieldValueForbidden
type HeaderValue string

// NamespacesFrom says which namespaces are meant.
//
// +kubebuilder:validation:Enum=Same;All;Selector
type NamespacesFrom string

// The values of NamespacesFrom.
const (
	// NamespacesSame is the object's own namespace.
	NamespacesSame NamespacesFrom = "Same"
	// NamespacesAll is every namespace.
	NamespacesAll NamespacesFrom = "All"
	// NamespacesSelector is the namespaces that the selector matches.
	NamespacesSelector NamespacesFrom = "Selector"
)

// AllowedNamespaces says in which namespaces a server may be granted.
//
// +kubebuilder:validation:XValidation:rule="(self.from == 'Selector') == has(self.selector)",message="selector is required when from is Selector, and forbidden otherwise"
type AllowedNamespaces struct {
	// from is Same, All or Selector.
	// +optional
	// +kubebuilder:default=Same
	From NamespacesFrom `json:"from,omitempty"`

	// selector matches the labels of namespaces.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}

// AnnotationTrust says whether hints that loosen are believed.
//
// +kubebuilder:validation:Enum=Trusted;Untrusted
type AnnotationTrust string

// The values of AnnotationTrust.
const (
	// AnnotationsTrusted believes every hint.
	AnnotationsTrusted AnnotationTrust = "Trusted"
	// AnnotationsUntrusted believes only the hints that make a tool stricter.
	AnnotationsUntrusted AnnotationTrust = "Untrusted"
)

// MCPServerStatus is what the last successful discovery found.
type MCPServerStatus struct {
	// observedGeneration is the generation that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// serverName is what the server calls itself.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	ServerName string `json:"serverName,omitempty"`

	// serverVersion is the version that the server gives itself.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	ServerVersion string `json:"serverVersion,omitempty"`

	// protocolVersion is the MCP version that was agreed on.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	ProtocolVersion string `json:"protocolVersion,omitempty"`

	// toolCount is the number of tools.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ToolCount *int32 `json:"toolCount,omitempty"`

	// tools are the tools of the catalogue, sorted by name. A failed discovery
	// leaves them as they were. The list is atomic, since the operator alone writes
	// it and to keep track of each item would double the size of the object.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=2000
	Tools []CataloguedTool `json:"tools,omitempty"`

	// prompts are the prompts of the catalogue, sorted by name. They live as long
	// as the catalogue does: nothing durable refers to one.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Prompts []CataloguedPrompt `json:"prompts,omitempty"`

	// changes are the tools that came, went or changed since the first discovery,
	// the newest first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Changes []CatalogueChange `json:"changes,omitempty"`

	// findings are what was wrong with the server's answers and was left out.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=256
	Findings []string `json:"findings,omitempty"`

	// discoveredAt is when the catalogue last changed.
	// +optional
	DiscoveredAt *metav1.Time `json:"discoveredAt,omitempty"`

	// conditions of the server: Ready, Reachable, Authenticated, Stalled and
	// Reconciling.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// CataloguedTool is one tool of a server. Its description and schemas are not
// kept here; definitionDigest stands for them.
type CataloguedTool struct {
	// name as the server gives it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Name string `json:"name"`

	// title as the server gives it, cut to fit.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Title string `json:"title,omitempty"`

	// class as read from the annotations and the trust in them.
	// +required
	Class ToolClass `json:"class"`

	// idempotent says whether a call may be repeated after a crash.
	// +optional
	Idempotent bool `json:"idempotent,omitempty"`

	// tags are words of the tool's author about when to load it, as in
	// recommended; those that are not known have no effect.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=64
	Tags []string `json:"tags,omitempty"`

	// annotations are the hints as they came; without the whole object there
	// were none, and an unset hint was not sent.
	// +optional
	Annotations *CataloguedAnnotations `json:"annotations,omitempty"`

	// unusable says why no call of the tool can be judged, as for an input schema
	// that is none; such a tool is never callable.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Unusable string `json:"unusable,omitempty"`

	// findings are the rules of tool descriptors that the definition breaks, each
	// once. They are advice to its author and keep the tool from nothing.
	// +optional
	// +listType=map
	// +listMapKey=rule
	// +kubebuilder:validation:MaxItems=16
	Findings []ToolFinding `json:"findings,omitempty"`

	// definitionDigest is the digest of the tool's whole definition.
	// +required
	DefinitionDigest Digest `json:"definitionDigest"`
}

// ToolFinding is a rule of tool descriptors that a definition breaks.
type ToolFinding struct {
	// rule is the name of the rule, as in description_sentences.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Rule string `json:"rule"`

	// count is how often the definition breaks it.
	// +required
	// +kubebuilder:validation:Minimum=1
	Count int32 `json:"count"`

	// path is a JSON pointer to the first place, where the rule is about a schema.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Path string `json:"path,omitempty"`

	// message says what is wrong at the first place, cut to fit.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=160
	Message string `json:"message,omitempty"`
}

// CataloguedAnnotations are the hints of a tool as its server sent them. The
// object is there, and empty, when the server sent one without hints.
type CataloguedAnnotations struct {
	// readOnlyHint as it was sent.
	// +optional
	ReadOnlyHint *bool `json:"readOnlyHint,omitempty"`

	// destructiveHint as it was sent.
	// +optional
	DestructiveHint *bool `json:"destructiveHint,omitempty"`

	// idempotentHint as it was sent.
	// +optional
	IdempotentHint *bool `json:"idempotentHint,omitempty"`

	// openWorldHint as it was sent.
	// +optional
	OpenWorldHint *bool `json:"openWorldHint,omitempty"`
}

// CataloguedPrompt is one prompt of a server.
type CataloguedPrompt struct {
	// name as the server gives it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Name string `json:"name"`

	// title as the server gives it, cut to fit.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Title string `json:"title,omitempty"`

	// digest is the digest of the prompt's whole definition.
	// +required
	// +kubebuilder:validation:MinLength=71
	Digest Digest `json:"digest"`
}

// ToolChange is what became of a tool from one discovery to the next.
//
// +kubebuilder:validation:Enum=Added;Changed;Removed
type ToolChange string

// The values of ToolChange.
const (
	// ToolAdded is a tool that was not there before.
	ToolAdded ToolChange = "Added"
	// ToolChanged is a tool whose definition is another one.
	ToolChanged ToolChange = "Changed"
	// ToolRemoved is a tool that is not there any more.
	ToolRemoved ToolChange = "Removed"
)

// Reasons of the Events on an MCPServer. Where many tools change at once, the most
// telling have Events of their own and one more counts the rest.
const (
	// EventToolAdded is an Event of a tool that was not there before.
	EventToolAdded = "ToolAdded"
	// EventToolChanged is an Event of a tool whose definition is another one. It is a
	// warning: what people permitted or approved may not be what is called now.
	EventToolChanged = "ToolChanged"
	// EventToolRemoved is an Event of a tool that is not there any more.
	EventToolRemoved = "ToolRemoved"
	// EventCatalogueChanged is the Event that counts the other tools.
	EventCatalogueChanged = "CatalogueChanged"
)

// CatalogueChange is one tool that came, went or changed.
type CatalogueChange struct {
	// tool is the name of the tool.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Tool string `json:"tool"`

	// change is Added, Changed or Removed.
	// +required
	Change ToolChange `json:"change"`

	// oldDigest is the definitionDigest until then; there is none for an Added one.
	// +optional
	// +kubebuilder:validation:MinLength=71
	OldDigest *Digest `json:"oldDigest,omitempty"`

	// newDigest is the definitionDigest from then on; there is none for a Removed
	// one.
	// +optional
	// +kubebuilder:validation:MinLength=71
	NewDigest *Digest `json:"newDigest,omitempty"`

	// time is when the operator found it.
	// +required
	Time metav1.Time `json:"time"`
}

// MCPServer is a server of the catalogue.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=remit,shortName=mcps
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Tools",type=integer,JSONPath=`.status.toolCount`
// +kubebuilder:printcolumn:name="Annotations",type=string,JSONPath=`.spec.annotations`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="URL",type=string,priority=1,JSONPath=`.spec.transport.http.url`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 40 && self.metadata.name.matches('^[a-z]([a-z0-9-]*[a-z0-9])?$')",message="metadata.name must be a DNS label of at most 40 characters that begins with a letter",fieldPath=".metadata"
type MCPServer struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the server.
	// +required
	Spec MCPServerSpec `json:"spec"`

	// status is the operator's.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status MCPServerStatus `json:"status,omitempty,omitzero"`
}

// MCPServerList is a list of MCPServers.
//
// +kubebuilder:object:root=true
type MCPServerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []MCPServer `json:"items"`
}
