// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// HostedTransport is a server that the operator runs and that speaks streamable
// HTTP itself. It is reached at http://NAME.NAMESPACE.svc:PORT/PATH.
type HostedTransport struct {
	Workload `json:",inline"`

	// port on which the server listens.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`

	// path of the MCP endpoint.
	// +optional
	// +kubebuilder:default=/mcp
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^/[A-Za-z0-9._~/-]*$`
	Path string `json:"path,omitempty"`

	// command replaces the entrypoint of the image. Nothing in it is expanded.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Command []Argument `json:"command,omitempty"`

	// replicas is the number of Pods. Each client keeps to one of them, since most
	// servers keep their sessions in memory.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	Replicas *int32 `json:"replicas,omitempty"`
}

// StdioTransport is a server that the operator runs and that speaks MCP on its
// standard input and output. Its environment is what env, inheritEnv and
// credentialEnv say, and nothing else: neither PATH nor HOME unless they are named.
//
// +kubebuilder:validation:XValidation:rule="!has(self.credentialEnv) || self.sessions != 'Shared'",message="credentialEnv needs sessions to be PerSession: a shared process has one environment for everybody",fieldPath=".credentialEnv",reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule="!has(self.env) || !has(self.inheritEnv) || self.env.all(e, !(e.name in self.inheritEnv))",message="a variable of env must not be in inheritEnv too",fieldPath=".inheritEnv"
// +kubebuilder:validation:XValidation:rule="!has(self.credentialEnv) || ((!has(self.env) || self.env.all(e, e.name != self.credentialEnv)) && (!has(self.inheritEnv) || !(self.credentialEnv in self.inheritEnv)))",message="the variable of credentialEnv must not be in env or inheritEnv too",fieldPath=".credentialEnv"
type StdioTransport struct {
	Workload `json:",inline"`

	// command is the program, looked up in the PATH of the image, and its first
	// arguments; args follow it. Nothing in either is expanded.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.size() == 0 || self[0] != ''",message="command must begin with the name of a program"
	Command []Argument `json:"command"`

	// inheritEnv names variables of the image that the program gets with the value
	// that they have there, PATH for instance. One that is not set is left out.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	InheritEnv []EnvironmentName `json:"inheritEnv,omitempty"`

	// credentialEnv names the variable in which the program gets the credential of
	// whoever opens the session: a Run's Grant's, or spec.credential at discovery. A
	// session without one is refused.
	// +optional
	CredentialEnv EnvironmentName `json:"credentialEnv,omitempty"`

	// sessions says whether each client session has a process of its own. A shared
	// process shows what it remembers to every namespace that uses it.
	// +optional
	// +kubebuilder:default=PerSession
	Sessions SessionMode `json:"sessions,omitempty"`
}

// SessionMode says which client sessions share a process.
//
// +kubebuilder:validation:Enum=PerSession;Shared
type SessionMode string

// The values of SessionMode.
const (
	// SessionsPerSession starts one process for each client session.
	SessionsPerSession SessionMode = "PerSession"
	// SessionsShared has one process for all of them.
	SessionsShared SessionMode = "Shared"
)

// Workload is what the operator runs as a server, under the restricted Pod Security
// Standard: not as root, on a read-only root file system with a writable /tmp, and
// without a service account token.
type Workload struct {
	// image of the server.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._:/@-]*$`
	Image string `json:"image"`

	// args of the program. Nothing in them is expanded.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Args []Argument `json:"args,omitempty"`

	// env is set for the program. Nothing in it is expanded.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Env []EnvironmentVariable `json:"env,omitempty"`

	// resources of the container: 50m of CPU and 128Mi of memory requested, and a
	// limit of 512Mi of memory, where nothing else is said.
	// +optional
	Resources Resources `json:"resources,omitempty,omitzero"`

	// runAsUser is the user id of the program. Without it the image has to name one
	// by number, and not root.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2147483647
	RunAsUser *int64 `json:"runAsUser,omitempty"`

	// egress says what the server may connect to, as far as the cluster's network
	// enforces NetworkPolicies.
	// +optional
	// +kubebuilder:default=None
	Egress ServerEgress `json:"egress,omitempty"`

	// imagePullSecrets name the Secrets for pulling the image, and that of the
	// operator, which a stdio server needs too.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	ImagePullSecrets []NamedReference `json:"imagePullSecrets,omitempty"`
}

// Argument is one argument of a program; it may be empty.
//
// +kubebuilder:validation:MinLength=0
// +kubebuilder:validation:MaxLength=4096
// +kubebuilder:validation:Pattern=`^[^\x00]*$`
type Argument string

// EnvironmentName is the name of an environment variable.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=128
// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*$`
type EnvironmentName string

// EnvironmentVariable is one variable of a server's environment.
//
// +kubebuilder:validation:XValidation:rule="has(self.value) != has(self.secretKeyRef)",message="exactly one of value and secretKeyRef must be set"
type EnvironmentVariable struct {
	// name of the variable.
	// +required
	Name EnvironmentName `json:"name"`

	// value of the variable, which may be empty; it is no place for a secret.
	// +optional
	// +kubebuilder:validation:MinLength=0
	// +kubebuilder:validation:MaxLength=4096
	// +kubebuilder:validation:Pattern=`^[^\x00]*$`
	Value *string `json:"value,omitempty"`

	// secretKeyRef names the Secret and the key that hold the value, in the
	// namespace of the MCPServer. The Secret must carry the label
	// remit.dev/credential=true, and must not be limited to hosts.
	// +optional
	SecretKeyRef *SecretKeyReference `json:"secretKeyRef,omitempty"`
}

// Resources are what a container is given.
//
// +kubebuilder:validation:XValidation:rule="!has(self.requests) || !has(self.limits) || !has(self.requests.cpu) || !has(self.limits.cpu) || quantity(string(self.requests.cpu)).compareTo(quantity(string(self.limits.cpu))) <= 0",message="requests.cpu must not be more than limits.cpu"
// +kubebuilder:validation:XValidation:rule="!has(self.requests) || !has(self.limits) || !has(self.requests.memory) || !has(self.limits.memory) || quantity(string(self.requests.memory)).compareTo(quantity(string(self.limits.memory))) <= 0",message="requests.memory must not be more than limits.memory"
type Resources struct {
	// requests are set aside for it.
	// +optional
	Requests ResourceAmounts `json:"requests,omitempty,omitzero"`

	// limits are the most that it gets.
	// +optional
	Limits ResourceAmounts `json:"limits,omitempty,omitzero"`
}

// ResourceAmounts are amounts of CPU and memory.
type ResourceAmounts struct {
	// cpu in cores.
	// +optional
	// +kubebuilder:validation:XValidation:rule="isQuantity(string(self)) && quantity(string(self)).isGreaterThan(quantity('0'))",message="cpu must be more than 0"
	CPU *resource.Quantity `json:"cpu,omitempty"`

	// memory in bytes.
	// +optional
	// +kubebuilder:validation:XValidation:rule="isQuantity(string(self)) && quantity(string(self)).isGreaterThan(quantity('0'))",message="memory must be more than 0"
	Memory *resource.Quantity `json:"memory,omitempty"`
}

// ServerEgress says what a server may connect to.
//
// +kubebuilder:validation:Enum=None;Internet;Any
type ServerEgress string

// The values of ServerEgress.
const (
	// EgressNone is nothing, name servers included.
	EgressNone ServerEgress = "None"
	// EgressInternet is the cluster's name servers and public addresses.
	EgressInternet ServerEgress = "Internet"
	// EgressAny is every address but link-local ones and those where a cloud hands
	// out credentials.
	EgressAny ServerEgress = "Any"
)
