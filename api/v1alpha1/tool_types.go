// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ToolKind is the discriminator of a Tool. The union is closed: tools of an MCP
// server are granted, never written down.
//
// +kubebuilder:validation:Enum=Code;HTTP;Function
type ToolKind string

// The kinds of a tool.
const (
	// ToolCode is a program that a sandbox parses and runs anew for each call.
	ToolCode ToolKind = "Code"
	// ToolHTTP is one HTTP request with placeholders.
	ToolHTTP ToolKind = "HTTP"
	// ToolFunction is a function registered in the operator, by name.
	ToolFunction ToolKind = "Function"
)

// Tool is a tool that the agent brings itself.
//
// +kubebuilder:validation:XValidation:rule="(self.kind == 'Code') == has(self.code)",message="code is required when kind is Code, and forbidden otherwise"
// +kubebuilder:validation:XValidation:rule="(self.kind == 'HTTP') == has(self.http)",message="http is required when kind is HTTP, and forbidden otherwise"
// +kubebuilder:validation:XValidation:rule="(self.kind == 'Function') == has(self.function)",message="function is required when kind is Function, and forbidden otherwise"
type Tool struct {
	// name of the tool as the model sees it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=48
	// +kubebuilder:validation:Pattern=`^[a-z][a-z0-9_]*$`
	// +kubebuilder:validation:XValidation:rule="!self.contains('__')",message="two underscores in a row are kept for the tools of MCP servers (GRANT__TOOL)"
	Name string `json:"name"`

	// kind selects which one of code, http and function is set.
	// +required
	Kind ToolKind `json:"kind"`

	// description tells the model what the tool does and when to use it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Description string `json:"description,omitempty" canonical:"text"`

	// inputSchema is the JSON Schema 2020-12 of the arguments, of type object.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	InputSchema *apiextensionsv1.JSON `json:"inputSchema,omitempty"`

	// annotations are the tool's hints.
	// +optional
	Annotations *ToolAnnotations `json:"annotations,omitempty"`

	// idempotent says whether a call may be repeated; unset, it is inferred.
	// +optional
	Idempotent *bool `json:"idempotent,omitempty"`

	// attempts counts the first call too: 1 means that nothing is retried.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=5
	Attempts int32 `json:"attempts,omitempty"`

	// timeout of one attempt.
	// +optional
	// +kubebuilder:default="30s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]{1,6}h)?([0-9]{1,6}m)?([0-9]{1,6}s)?([0-9]{1,6}ms)?$`
	// +kubebuilder:validation:XValidation:rule="self > duration('0s') && self <= duration('10m')",message="timeout must be more than 0s and at most 10m"
	Timeout metav1.Duration `json:"timeout,omitempty,omitzero"`

	// code is set when kind is Code.
	// +optional
	Code *CodeTool `json:"code,omitempty"`

	// http is set when kind is HTTP.
	// +optional
	HTTP *HTTPTool `json:"http,omitempty"`

	// function is set when kind is Function.
	// +optional
	Function *FunctionTool `json:"function,omitempty"`
}

// CodeLanguage is the language of a code tool.
//
// +kubebuilder:validation:Enum=Starlark
type CodeLanguage string

// CodeStarlark is Starlark, a dialect of Python without I/O.
const CodeStarlark CodeLanguage = "Starlark"

// CodeTool is the source text of a program.
type CodeTool struct {
	// language of the program.
	// +optional
	// +kubebuilder:default=Starlark
	Language CodeLanguage `json:"language,omitempty"`

	// source of the program.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	Source string `json:"source" canonical:"text"`
}

// HTTPMethod is an HTTP method in upper case.
//
// +kubebuilder:validation:Enum=GET;HEAD;POST;PUT;PATCH;DELETE
type HTTPMethod string

// HTTPTool is one HTTP request. Placeholders are filled in when it is sent, and
// the credential comes from the Grant.
type HTTPTool struct {
	// grant is the name of a Grant of HTTP hosts in the Run's namespace.
	// +required
	Grant Slug `json:"grant"`

	// method of the request.
	// +required
	Method HTTPMethod `json:"method"`

	// url of the request, with {placeholders} in the path.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^https?://`
	URL string `json:"url"`

	// query parameters of the request.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	Query map[string]string `json:"query,omitempty"`

	// headers of the request.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	Headers map[string]string `json:"headers,omitempty"`

	// body of the request, JSON with placeholders.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Body *apiextensionsv1.JSON `json:"body,omitempty"`
}

// FunctionTool names a function registered in the operator.
type FunctionTool struct {
	// name of the function.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=48
	// +kubebuilder:validation:Pattern=`^[a-z][a-z0-9_]*$`
	Name string `json:"name"`
}
