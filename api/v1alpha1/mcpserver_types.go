// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MCPServerSpec is a server of the catalogue: where it is, how the operator
// authenticates to look at it, and who may be granted it.
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
}

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
	// leaves them as they were.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=2000
	Tools []CataloguedTool `json:"tools,omitempty"`

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

	// annotations are the hints as they came; without the whole object there
	// were none, and an unset hint was not sent.
	// +optional
	Annotations *CataloguedAnnotations `json:"annotations,omitempty"`

	// definitionDigest is the digest of the tool's whole definition.
	// +required
	DefinitionDigest Digest `json:"definitionDigest"`
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
