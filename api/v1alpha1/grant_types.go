// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GrantSpec is what a namespace may reach through one slug.
//
// +kubebuilder:validation:XValidation:rule="[has(self.mcpServer), has(self.model), has(self.http)].filter(set, set).size() == 1",message="exactly one of mcpServer, model and http must be set"
// +kubebuilder:validation:XValidation:rule="has(self.mcpServer) || !has(self.tools)",message="tools belongs to a Grant of an mcpServer"
// +kubebuilder:validation:XValidation:rule="!has(self.model) || !(has(self.approval) || has(self.always) || has(self.never) || has(self.policy) || has(self.requireAccess) || has(self.decisionEndpoint))",message="approval, always, never, policy, requireAccess and decisionEndpoint belong to a Grant of an mcpServer or of http"
// +kubebuilder:validation:XValidation:rule="!has(self.model) || self.model.provider != 'Scripted' || !has(self.credential)",message="a Scripted model takes no credential"
type GrantSpec struct {
	// mcpServer grants tools of a catalogued MCP server.
	// +optional
	MCPServer *MCPServerReference `json:"mcpServer,omitempty"`

	// model grants a model endpoint.
	// +optional
	Model *ModelEndpoint `json:"model,omitempty"`

	// http grants HTTP hosts to HTTP tools.
	// +optional
	HTTP *HTTPHosts `json:"http,omitempty"`

	// tools is the allow-list of exact tool names; empty means all.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=512
	Tools []ToolLiteral `json:"tools,omitempty"`

	// approval says which tools need a person's approval. Omitted, the operator's
	// default selectors apply; an empty list means that none does.
	// +optional
	// +nullable
	// +listType=set
	// +kubebuilder:validation:MaxItems=512
	Approval []ApprovalSelector `json:"approval,omitzero"` //nolint:kubeapilinter // null is how a manifest may say "omitted", which differs from []

	// always names tools that need approval whatever approval says.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=512
	Always []ToolLiteral `json:"always,omitempty"`

	// never names tools that need no approval whatever approval and always say.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=512
	Never []ToolLiteral `json:"never,omitempty"`

	// policy are rules that deny a call or ask a person about it, whatever the
	// lists above say. They see the call's arguments and who created the Run. A
	// rule that fails denies.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Policy []PolicyRule `json:"policy,omitempty"`

	// runPolicy are rules about whole Runs of agents that use this Grant. Deny keeps a
	// Run from beginning, and Ask lets it wait for a person before its first step. A
	// rule that fails denies.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	RunPolicy []PolicyRule `json:"runPolicy,omitempty"`

	// requireAccess denies a call unless the creator of the Run may "call" the
	// resource "tools" of remit.dev by the tool's qualified name in this namespace,
	// as the cluster's authorizer says.
	// +optional
	RequireAccess bool `json:"requireAccess,omitempty"`

	// decisionEndpoint is asked about every call, in the form of the REST API of the
	// Open Policy Agent: a POST of {"input": {...}} with the variables of a policy
	// rule, which it answers with {"result": true}, {"result": {"allow": false,
	// "reason": "..."}} or {"result": {"decision": "ask", "reason": "..."}}, where
	// decision is allow, deny or ask. A call is denied while it does not answer so.
	// +optional
	DecisionEndpoint *DecisionEndpoint `json:"decisionEndpoint,omitempty"`

	// credential is the tenant's own.
	// +optional
	Credential *Credential `json:"credential,omitempty"`
}

// PolicyAction is what a policy rule that matches does.
//
// +kubebuilder:validation:Enum=Deny;Ask
type PolicyAction string

// The actions of a policy rule. Deny beats Ask.
const (
	// PolicyDeny refuses the call; the model reads the message.
	PolicyDeny PolicyAction = "Deny"
	// PolicyAsk lets the call wait for a person.
	PolicyAsk PolicyAction = "Ask"
)

// PolicyRule is a CEL expression and what follows when it is true. The variables
// are scope (namespace, principal and groups of the Run's creator) and run (name,
// uid, spec, version and input). A rule about calls has tool (the name as in always
// and never), args, annotations (the hints that were set) and class besides.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.message) && has(self.messageExpression))",message="message and messageExpression exclude each other"
type PolicyRule struct {
	// name of the rule.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`
	Name string `json:"name"`

	// expression is a CEL expression that gives a bool.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Expression string `json:"expression"`

	// action is what follows when the expression is true.
	// +required
	Action PolicyAction `json:"action"`

	// message says why, to the model that was denied or to the person who is asked.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// messageExpression is a CEL expression that gives the message.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	MessageExpression string `json:"messageExpression,omitempty"`
}

// DecisionEndpoint is a rule of an Open Policy Agent, or of what answers like one.
// It gets a POST of {"input": {...}} with the variables of a policy rule, and
// answers {"result": true}, or {"result": {"decision": "allow", "deny" or "ask",
// "reason": "..."}}.
type DecisionEndpoint struct {
	// url of the rule, as in https://opa.example.com/v1/data/remit/decision.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() == 'https' && url(self).getHostname() != '' && !self.contains('@')",message="url must be an https URL with a host and without user information"
	URL string `json:"url"`

	// caBundle is PEM with the certificate authorities to trust in place of the
	// operator's.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	CABundle string `json:"caBundle,omitempty"`

	// timeout of one question.
	// +optional
	// +kubebuilder:default="5s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]{1,6}s)?([0-9]{1,6}ms)?$`
	// +kubebuilder:validation:XValidation:rule="self > duration('0s') && self <= duration('30s')",message="timeout must be more than 0s and at most 30s"
	Timeout metav1.Duration `json:"timeout,omitempty,omitzero"`

	// runs says that the endpoint is asked about whole Runs, too. What it gets then
	// has no tool.
	// +optional
	Runs bool `json:"runs,omitempty"`

	// credential is sent to the endpoint.
	// +optional
	Credential *Credential `json:"credential,omitempty"`
}

// MCPServerReference names an MCPServer of a catalogue namespace.
type MCPServerReference struct {
	// name of the MCPServer.
	// +required
	Name Slug `json:"name"`

	// namespace of the MCPServer; omitted, the Grant's own.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
}

// ModelProvider is the protocol of a model endpoint.
//
// +kubebuilder:validation:Enum=OpenAI;Scripted
type ModelProvider string

// The model providers.
const (
	// ProviderOpenAI is any endpoint that speaks OpenAI's chat completions.
	ProviderOpenAI ModelProvider = "OpenAI"
	// ProviderScripted replays turns from a ConfigMap, without a network.
	ProviderScripted ModelProvider = "Scripted"
)

// ModelEndpoint is where models are.
//
// +kubebuilder:validation:XValidation:rule="(self.provider == 'Scripted') == has(self.scriptRef)",message="scriptRef is required when provider is Scripted, and forbidden otherwise"
// +kubebuilder:validation:XValidation:rule="(self.provider == 'Scripted') != has(self.endpoint)",message="endpoint is required unless provider is Scripted, and forbidden then"
type ModelEndpoint struct {
	// provider is the protocol: OpenAI or Scripted.
	// +required
	Provider ModelProvider `json:"provider"`

	// endpoint is the base URL of the API, as in https://host/v1.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.contains('@') || (isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHostname() != '')",message="endpoint must be an http or https URL with a host"
	// +kubebuilder:validation:XValidation:rule="!self.contains('@')",message="endpoint must not hold user information: a key belongs in credential",reason=FieldValueForbidden
	Endpoint string `json:"endpoint,omitempty"`

	// models is the allow-list of model names; empty means all.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=128
	Models []string `json:"models,omitempty"`

	// scriptRef names the key of a ConfigMap that holds the turns.
	// +optional
	ScriptRef *ConfigMapKeyReference `json:"scriptRef,omitempty"`
}

// ConfigMapKeyReference names one key of a ConfigMap in the same namespace.
type ConfigMapKeyReference struct {
	// name of the ConfigMap.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// key within the ConfigMap's data.
	// +optional
	// +kubebuilder:default=turns.yaml
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}

// HTTPHosts are the hosts that HTTP tools may reach.
type HTTPHosts struct {
	// hosts are exact host names, with a port where it is not the scheme's.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=261
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?$`
	Hosts []string `json:"hosts"`

	// methods are the methods that may be used; empty means all.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=6
	Methods []HTTPMethod `json:"methods,omitempty"`

	// secrets are what a tool may name as {secret:name} in its query, headers and
	// body. They go to every host of this Grant that a tool names, unless the Secret
	// limits its hosts.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	Secrets []HTTPSecret `json:"secrets,omitempty"`
}

// HTTPSecret is a secret that HTTP tools can send without their authors knowing it.
type HTTPSecret struct {
	// name of the secret in a tool's template.
	// +required
	Name Slug `json:"name"`

	// secretRef names the Secret and the key that hold the value: printable ASCII,
	// without the white space around it. The Secret's label must opt it in as for
	// every credential.
	// +required
	SecretRef SecretKeyReference `json:"secretRef"`
}

// GrantStatus is what the Grant gives today.
type GrantStatus struct {
	// observedGeneration is the generation that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// offered is the number of tools that the server offers.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Offered *int32 `json:"offered,omitempty"`

	// permitted is the number of those that this Grant permits.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Permitted *int32 `json:"permitted,omitempty"`

	// tools are the permitted tools, in the order of spec.tools where that is
	// set and of the catalogue where it is not.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=2000
	Tools []PermittedTool `json:"tools,omitempty"`

	// withheld are the tools of the server that this Grant does not give, and
	// where each fell out; at most 256 of them.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=256
	Withheld []WithheldTool `json:"withheld,omitempty"`

	// stale are the entries of spec.tools, spec.approval, spec.always and
	// spec.never that name no tool of the server.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Stale []StaleEntry `json:"stale,omitempty"`

	// conditions of the Grant: Ready, and Stalled when somebody has to act.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// PermittedTool is one tool that a Grant permits.
type PermittedTool struct {
	// name as the server gives it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Name string `json:"name"`

	// qualifiedName is the name that the model sees: GRANT__TOOL, shortened
	// where that is longer than 64 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	QualifiedName string `json:"qualifiedName"`

	// class of the tool.
	// +required
	Class ToolClass `json:"class"`

	// approval says whether a call needs a person's approval.
	// +required
	Approval ApprovalNeed `json:"approval"`
}

// WithheldTool is a tool of the server that a Grant does not give.
type WithheldTool struct {
	// name as the server gives it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Name string `json:"name"`

	// lostAt is the plane that does not hold the tool.
	// +required
	LostAt Plane `json:"lostAt"`

	// message says which list or which fault keeps it out.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Message string `json:"message"`
}

// ApprovalNeed says whether a call needs a person's approval.
//
// +kubebuilder:validation:Enum=Required;NotRequired
type ApprovalNeed string

// The values of ApprovalNeed.
const (
	// ApprovalRequired suspends the Run until somebody decides.
	ApprovalRequired ApprovalNeed = "Required"
	// ApprovalNotRequired lets the call go ahead.
	ApprovalNotRequired ApprovalNeed = "NotRequired"
)

// StaleEntry is an entry of a list that names no tool of the server.
type StaleEntry struct {
	// field is the list, as in spec.tools.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Field string `json:"field"`

	// value is the entry.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Value string `json:"value"`
}

// Grant is what a namespace may reach through one slug.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=remit,shortName=gr
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Offered",type=integer,JSONPath=`.status.offered`
// +kubebuilder:printcolumn:name="Permitted",type=integer,JSONPath=`.status.permitted`
// +kubebuilder:printcolumn:name="Stale",type=string,JSONPath=`.status.stale[*].value`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Server",type=string,priority=1,JSONPath=`.spec.mcpServer.name`
// +kubebuilder:printcolumn:name="Provider",type=string,priority=1,JSONPath=`.spec.model.provider`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 40 && self.metadata.name.matches('^[a-z]([a-z0-9-]*[a-z0-9])?$')",message="metadata.name must be a DNS label of at most 40 characters that begins with a letter",fieldPath=".metadata"
type Grant struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the grant.
	// +required
	Spec GrantSpec `json:"spec"`

	// status is the operator's.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status GrantStatus `json:"status,omitempty,omitzero"`
}

// GrantList is a list of Grants.
//
// +kubebuilder:object:root=true
type GrantList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Grant `json:"items"`
}
