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

// Plane is one step of the narrowing from what a server offers to what a Run may
// call. Each holds a subset of the one before it.
//
// +kubebuilder:validation:Enum=Offered;Permitted;Granted;Enabled;Callable
type Plane string

// The planes, in their order.
const (
	// PlaneOffered is what the server lists.
	PlaneOffered Plane = "Offered"
	// PlanePermitted is what the Grant permits to its namespace.
	PlanePermitted Plane = "Permitted"
	// PlaneGranted is what the Spec grants its agent.
	PlaneGranted Plane = "Granted"
	// PlaneEnabled is what the Spec enables and does not disable.
	PlaneEnabled Plane = "Enabled"
	// PlaneCallable is what a call can be judged for: its schema is usable, and
	// no other tool shares its qualified name.
	PlaneCallable Plane = "Callable"
)

// TagRecommended is the tag of a tool that its author wants loaded by default.
const TagRecommended = "recommended"

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
// +kubebuilder:validation:Enum=Bearer;Header;Basic;OAuth2
type CredentialType string

// The types of a credential.
const (
	// CredentialBearer sends "Authorization: Bearer VALUE".
	CredentialBearer CredentialType = "Bearer"
	// CredentialHeader sends the value alone in a header of its own.
	CredentialHeader CredentialType = "Header"
	// CredentialBasic sends a user name and a password (RFC 7617).
	CredentialBasic CredentialType = "Basic"
	// CredentialOAuth2 gets an access token by the client credentials grant (RFC
	// 6749 section 4.4) and sends it as a bearer token.
	CredentialOAuth2 CredentialType = "OAuth2"
)

// Credential is a reference to a secret and the way in which it is sent. The
// value is read from the Secret for every call and stored nowhere.
//
// +kubebuilder:validation:XValidation:rule="(self.type in ['Bearer', 'Header']) == has(self.secretRef)",message="secretRef is required when type is Bearer or Header, and forbidden otherwise"
// +kubebuilder:validation:XValidation:rule="(self.type == 'Header') == has(self.header)",message="header is required when type is Header, and forbidden otherwise"
// +kubebuilder:validation:XValidation:rule="(self.type == 'Basic') == has(self.basic)",message="basic is required when type is Basic, and forbidden otherwise"
// +kubebuilder:validation:XValidation:rule="(self.type == 'OAuth2') == has(self.oauth2)",message="oauth2 is required when type is OAuth2, and forbidden otherwise"
type Credential struct {
	// type says how the value is sent: Bearer, Header, Basic or OAuth2.
	// +required
	Type CredentialType `json:"type"`

	// header is the name of the header when type is Header.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z][A-Za-z0-9-]*$`
	// +kubebuilder:validation:XValidation:rule="!(self.lowerAscii() in ['host', 'connection', 'content-length', 'content-type', 'accept', 'transfer-encoding', 'te', 'trailer', 'upgrade', 'keep-alive', 'proxy-connection', 'last-event-id', 'mcp-session-id', 'mcp-protocol-version'])",message="header must not be one that belongs to the protocol"
	Header string `json:"header,omitempty"`

	// secretRef names the Secret and the key that hold the value when type is
	// Bearer or Header.
	// +optional
	SecretRef SecretKeyReference `json:"secretRef,omitempty,omitzero"`

	// basic says where the user name and the password are when type is Basic.
	// +optional
	Basic *BasicCredential `json:"basic,omitempty"`

	// oauth2 says how an access token is obtained when type is OAuth2.
	// +optional
	OAuth2 *OAuth2Credential `json:"oauth2,omitempty"`
}

// BasicCredential is a user name and a password, two keys of one Secret. Its
// defaults are those of a Secret of type kubernetes.io/basic-auth.
type BasicCredential struct {
	// secretRef names the Secret; its label must opt it in as for every credential.
	// +required
	SecretRef NamedReference `json:"secretRef"`

	// usernameKey is the key of the user name, which holds no colon.
	// +optional
	// +kubebuilder:default=username
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	UsernameKey string `json:"usernameKey,omitempty"`

	// passwordKey is the key of the password.
	// +optional
	// +kubebuilder:default=password
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	PasswordKey string `json:"passwordKey,omitempty"`
}

// ClientAuthentication says how a client shows its secret to a token endpoint, by
// the names that OpenID Connect gives the two ways of RFC 6749 section 2.3.1.
//
// +kubebuilder:validation:Enum=ClientSecretBasic;ClientSecretPost
type ClientAuthentication string

// The values of ClientAuthentication.
const (
	// ClientSecretBasic sends id and secret in the Authorization header.
	ClientSecretBasic ClientAuthentication = "ClientSecretBasic"
	// ClientSecretPost sends id and secret in the body.
	ClientSecretPost ClientAuthentication = "ClientSecretPost"
)

// OAuth2Credential is a client that gets its access tokens from a token endpoint.
// The Secret holds the client's secret, and may hold its id; both are read from it
// at one time.
//
// +kubebuilder:validation:XValidation:rule="has(self.clientID) != has(self.clientIDKey)",message="exactly one of clientID and clientIDKey must be set"
type OAuth2Credential struct {
	// tokenURL is the token endpoint. A http URL works only where the operator's
	// configuration allows the endpoint's addresses, as for a service of the cluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.contains('@') || (isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHostname() != '')",message="tokenURL must be an http or https URL with a host"
	// +kubebuilder:validation:XValidation:rule="!self.contains('@')",message="tokenURL must not hold user information: the client's secret belongs in the Secret",reason=FieldValueForbidden
	// +kubebuilder:validation:XValidation:rule="!self.contains('#')",message="tokenURL must not hold a fragment"
	TokenURL string `json:"tokenURL"`

	// secretRef names the Secret; its label must opt it in as for every credential.
	// +required
	SecretRef NamedReference `json:"secretRef"`

	// clientID is the client's id, where it does not stand in the Secret.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^[ -~]+$`
	ClientID string `json:"clientID,omitempty"`

	// clientIDKey is the key of the client's id.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	ClientIDKey string `json:"clientIDKey,omitempty"`

	// clientSecretKey is the key of the client's secret.
	// +optional
	// +kubebuilder:default=client-secret
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	ClientSecretKey string `json:"clientSecretKey,omitempty"`

	// clientAuthentication says how the secret is shown to the token endpoint.
	// +optional
	// +kubebuilder:default=ClientSecretBasic
	ClientAuthentication ClientAuthentication `json:"clientAuthentication,omitempty"`

	// scopes are what the token is asked to permit.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	// +kubebuilder:validation:items:Pattern=`^[!#-\[\]-~]+$`
	Scopes []string `json:"scopes,omitempty"`

	// audience is sent as the parameter of that name, which some token endpoints
	// want.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Audience string `json:"audience,omitempty"`

	// resource is sent as the resource indicator of RFC 8707; for an MCP server it
	// is the server's URL.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getHostname() != '' && !self.contains('#')",message="resource must be an absolute URL without a fragment"
	Resource string `json:"resource,omitempty"`
}

// CredentialLabel is the label with value "true" by which a Secret opts in to
// being used as a credential.
const CredentialLabel = "remit.dev/credential"

// HostsAnnotation is the annotation by which a Secret limits the hosts that it may be
// sent to: exact names or addresses, separated by commas, each with a port where it
// is not the scheme's own. Without it every host that a Grant or an MCPServer names
// will do.
const HostsAnnotation = "remit.dev/hosts"

// NamedReference names another object in the same namespace.
type NamedReference struct {
	// name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}
