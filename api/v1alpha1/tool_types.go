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

// CodeTool is a program that computes its result from its arguments alone: it
// reaches no files, no network, no clock and no other tools.
type CodeTool struct {
	// language of the program.
	// +optional
	// +kubebuilder:default=Starlark
	Language CodeLanguage `json:"language,omitempty"`

	// source of the program. At its top level it defines a function main, which
	// takes the arguments of the input schema by name, as in main(city, days=3),
	// and returns the result: None, a bool, number, string, list, dict or struct.
	// A string is the result as it is, and anything else as JSON. The modules
	// json, math and time are there, and struct; load and recursion are not.
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
//
// A placeholder {name} stands for an argument, and {secret:name} for a secret of
// the Grant. An argument stays in its place: it is encoded for it, or refused, and
// changes neither scheme, host, port, method, path segments nor names. What an
// argument or an answer holds is never read as a placeholder. A parameter, header,
// member or element whose argument is not given is left out.
type HTTPTool struct {
	// grant is the name of a Grant of HTTP hosts in the Run's namespace.
	// +required
	Grant Slug `json:"grant"`

	// method of the request.
	// +required
	Method HTTPMethod `json:"method"`

	// url of the request. Path segments may hold {name}, of a required argument that
	// is a string, a number or a boolean; it may hold no slash, backslash or percent
	// sign, and make no segment of dots. Values of the query may hold {name} and
	// {secret:name}. Other braces are written %7B and %7D.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^https?://`
	URL string `json:"url"`

	// query parameters of the request, beside those in the url. A value may hold
	// {name} and {secret:name}; one that is {name} alone takes an array, and repeats
	// the parameter. Other braces are written {{ and }}.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	Query map[string]string `json:"query,omitempty"`

	// headers of the request. A value may hold {name} and {secret:name}, whose values
	// are printable ASCII. Other braces are written {{ and }}. Authorization and
	// Cookie must hold a {secret:name}.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	Headers map[string]string `json:"headers,omitempty"`

	// body of the request, JSON. A string that is {name} alone becomes the argument,
	// of whatever JSON type; longer text may hold {name} of a string, a number or a
	// boolean, and {secret:name}. Other braces are written {{ and }}, in names too.
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
