// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AgentSpec is an agent as data. It is what a Spec holds, what is hashed and
// what a Run executes; it can hold neither code that runs in the operator nor
// the address of a server or a model.
//
// The canonical tag of each list says whether its order carries meaning:
// "ordered", "set" or "map=KEY". Text is normalised before it is hashed.
type AgentSpec struct {
	// instructions is the system prompt, free text.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	Instructions string `json:"instructions" canonical:"text"`

	// models is the failover list: the first that answers is used. The order
	// carries meaning.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Models []Model `json:"models" canonical:"ordered"`

	// tools are the agent's own tools, keyed by name: a set.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Tools []Tool `json:"tools,omitempty" canonical:"map=name"`

	// mcp grants tools of catalogued MCP servers, keyed by grant: a set.
	// +optional
	// +listType=map
	// +listMapKey=grant
	// +kubebuilder:validation:MaxItems=32
	MCP []MCPGrant `json:"mcp,omitempty" canonical:"map=grant"`

	// builtins are the operator's own tools that the agent may use: a set.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	Builtins []Builtin `json:"builtins,omitempty" canonical:"set"`

	// skills are texts that the agent can load on demand, keyed by name: a set.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Skills []Skill `json:"skills,omitempty" canonical:"map=name"`

	// subagents are agents that this one can call, keyed by name: a set.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Subagents []Subagent `json:"subagents,omitempty" canonical:"map=name"`

	// schedules start Runs by the clock, keyed by name: a set.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Schedules []Schedule `json:"schedules,omitempty" canonical:"map=name"`

	// channels start Runs from messages, keyed by name: a set.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Channels []Channel `json:"channels,omitempty" canonical:"map=name"`

	// workflow is what happens before the model is called.
	// +optional
	Workflow *Workflow `json:"workflow,omitempty"`

	// sandbox says whether the agent's programs may run.
	// +optional
	// +kubebuilder:default={enabled: false}
	Sandbox Sandbox `json:"sandbox,omitempty,omitzero"`

	// limits bound every Run of the agent.
	// +optional
	// +kubebuilder:default={steps: 32, deadline: "1h", failureStreak: 5}
	Limits Limits `json:"limits,omitempty,omitzero"`
}

// Model is one entry of the failover list.
type Model struct {
	// grant is the name of a Grant of a model endpoint in the Run's namespace.
	// +required
	Grant Slug `json:"grant"`

	// model is the name of the model as its provider knows it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Model string `json:"model"`

	// parameters is a JSON object of sampling parameters: temperature, topP,
	// maxOutputTokens and seed.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Parameters *apiextensionsv1.JSON `json:"parameters,omitempty"`
}

// Builtin is one of the operator's own tools.
//
// +kubebuilder:validation:Enum=ask_user;run_code;wait_webhook
type Builtin string

// The builtins.
const (
	// BuiltinAskUser asks a person and waits for the answer.
	BuiltinAskUser Builtin = "ask_user"
	// BuiltinRunCode runs a program in the sandbox.
	BuiltinRunCode Builtin = "run_code"
	// BuiltinWaitWebhook waits for an HTTP request from outside.
	BuiltinWaitWebhook Builtin = "wait_webhook"
)

// MCPGrant asks for tools of one catalogued server. Each list narrows what the
// one before it left; an empty list narrows nothing.
type MCPGrant struct {
	// grant is the name of a Grant of an MCP server in the Run's namespace.
	// +required
	Grant Slug `json:"grant"`

	// tools is an allow-list of exact names; empty means all: a set.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	Tools []ToolLiteral `json:"tools,omitempty" canonical:"set"`

	// enable keeps the tools that any entry matches; empty means all: a set.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	Enable []AccessSelector `json:"enable,omitempty" canonical:"set"`

	// disable takes away the tools that any entry matches, whatever enable
	// says: a set.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	Disable []AccessSelector `json:"disable,omitempty" canonical:"set"`

	// preload names the tools that are always in the prompt when there are too
	// many to show them all: a set.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	Preload []AccessSelector `json:"preload,omitempty" canonical:"set"`

	// maxPages is how many pages of a list are read for one call of a tool without
	// effect whose result says how it goes on; 1 unless set.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=20
	MaxPages int32 `json:"maxPages,omitempty"`
}

// Skill is a text that the agent can load on demand.
type Skill struct {
	// name of the skill; [[skill:NAME]] in a text links to it.
	// +required
	Name Slug `json:"name"`

	// description says when to load the skill.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Description string `json:"description" canonical:"text"`

	// body is the text, in Markdown.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32768
	Body string `json:"body" canonical:"text"`
}

// RunSubagent is the name of the tool by which an agent calls its subagents.
const RunSubagent = "run_subagent"

// Subagent is an agent that its parent can call. It uses its parent's models
// and never has more than its parent.
type Subagent struct {
	// name of the subagent.
	// +required
	Name Slug `json:"name"`

	// description tells the parent when to call it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Description string `json:"description" canonical:"text"`

	// instructions is the subagent's system prompt.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	Instructions string `json:"instructions" canonical:"text"`

	// tools names tools of the parent; empty means all of them: a set.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	Tools []ToolLiteral `json:"tools,omitempty" canonical:"set"`

	// mcp grants tools of the parent's MCP servers, keyed by grant: a set.
	// +optional
	// +listType=map
	// +listMapKey=grant
	// +kubebuilder:validation:MaxItems=32
	MCP []MCPGrant `json:"mcp,omitempty" canonical:"map=grant"`

	// skills are the subagent's own skills, keyed by name: a set.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	Skills []Skill `json:"skills,omitempty" canonical:"map=name"`
}

// Schedule starts Runs by the clock.
type Schedule struct {
	// name of the schedule.
	// +required
	Name Slug `json:"name"`

	// cron is a five-field cron expression.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Cron string `json:"cron"`

	// timeZone is a name of the IANA time zone database.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:default=Etc/UTC
	TimeZone string `json:"timeZone,omitempty"`

	// input of the Runs.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16384
	Input string `json:"input,omitempty" canonical:"text"`
}

// Workflow is calls of tools that are made in their order before the model is first
// called. Each is judged, approved and recorded as a call of the model is, and the
// model reads them all with their results. The first that fails ends the workflow:
// the model goes on from there.
type Workflow struct {
	// steps are the calls. The order carries meaning.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Steps []WorkflowStep `json:"steps" canonical:"ordered"`
}

// WorkflowStep is one call of a tool.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.arguments) && has(self.argumentsExpression))",message="arguments and argumentsExpression exclude each other"
type WorkflowStep struct {
	// id of the step; later steps refer to its result by it.
	// +required
	ID StepID `json:"id"`

	// tool is the name by which the model would call it: that of one of the agent's
	// own tools, GRANT__TOOL, or a builtin.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Tool string `json:"tool"`

	// arguments is a JSON object; without it and argumentsExpression it is empty.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Arguments *apiextensionsv1.JSON `json:"arguments,omitempty"`

	// argumentsExpression is a CEL expression that gives the arguments, a map. The
	// variables are input (the Run's, text), inputJSON (the same, read as JSON; null
	// where it is none) and steps (by id, for each step before this one: text, and
	// json as for the input).
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	ArgumentsExpression string `json:"argumentsExpression,omitempty" canonical:"text"`
}

// StepID is the id of a step of a workflow: an identifier of CEL.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=40
// +kubebuilder:validation:Pattern=`^[a-z][a-z0-9_]*$`
type StepID string

// ChannelKind is where a channel's messages come from.
//
// +kubebuilder:validation:Enum=Webhook
type ChannelKind string

// ChannelWebhook takes messages by HTTP POST.
const ChannelWebhook ChannelKind = "Webhook"

// Channel starts Runs from messages.
type Channel struct {
	// name of the channel.
	// +required
	Name Slug `json:"name"`

	// kind says where the messages come from.
	// +required
	Kind ChannelKind `json:"kind"`
}

// Sandbox says whether the agent's programs may run.
type Sandbox struct {
	// enabled lets code tools and run_code run.
	// +optional
	// +kubebuilder:default=false
	Enabled bool `json:"enabled,omitempty"`
}

// Limits bound every Run of an agent.
type Limits struct {
	// steps is the largest number of model calls.
	// +optional
	// +kubebuilder:default=32
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=500
	Steps int32 `json:"steps,omitempty"`

	// deadline bounds the time that a Run works; the time that it waits for
	// people does not count.
	// +optional
	// +kubebuilder:default="1h"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]{1,6}h)?([0-9]{1,6}m)?([0-9]{1,6}s)?([0-9]{1,6}ms)?$`
	// +kubebuilder:validation:XValidation:rule="self > duration('0s') && self <= duration('168h')",message="deadline must be more than 0s and at most 168h"
	Deadline metav1.Duration `json:"deadline,omitempty,omitzero"`

	// failureStreak is the number of failures in a row of one tool at which a
	// Run stops.
	// +optional
	// +kubebuilder:default=5
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=20
	FailureStreak int32 `json:"failureStreak,omitempty"`
}
