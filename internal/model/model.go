// SPDX-License-Identifier: Apache-2.0

// Package model asks language models for the next turn of a conversation. It knows a
// conversation in its own words, the providers that can continue one, what makes a
// reply useless, and how to fail over from one model to the next.
//
// Everything a model or its endpoint says is hostile: it is bounded here, and refused
// rather than cut when it exceeds a bound.
package model

import (
	"context"
	"encoding/json"
)

const (
	// MaxCalls is the most tool calls that a completion may ask for.
	MaxCalls = 64
	// MaxText is the longest text of a completion, in bytes.
	MaxText = 128 << 10
	// MaxArguments is the longest arguments text of one call, in bytes.
	MaxArguments = 64 << 10
	// MaxAllArguments is the longest that the arguments of all calls are together, in bytes.
	MaxAllArguments = 192 << 10
	// MaxName is the longest tool name, call id or model name in a completion, in bytes.
	MaxName = 256
)

// Role is who a message is from.
type Role string

const (
	// RoleUser is a person, or whatever else started the conversation.
	RoleUser Role = "User"
	// RoleAssistant is the model.
	RoleAssistant Role = "Assistant"
	// RoleTool is a tool, answering one call.
	RoleTool Role = "Tool"
)

// Message is one entry of a conversation. A message is not changed once it is made.
type Message struct {
	Role Role
	Text string
	// Calls are what an assistant message asked for, beside its text.
	Calls []ToolCall
	// CallID is the call that a tool message answers.
	CallID string
	// IsError marks a tool message that reports a failure.
	IsError bool
}

// ToolCall is a model's wish to call a tool.
type ToolCall struct {
	// ID is the provider's in a Completion, possibly empty or not unique, and the
	// caller's own in a Request.
	ID   string
	Name string
	// Arguments is the text exactly as the model wrote it. It may not be JSON at all.
	Arguments string
}

// ToolDefinition is a tool as a model is shown it.
type ToolDefinition struct {
	Name        string
	Description string
	// InputSchema is a JSON Schema object. Empty means an object without properties.
	InputSchema json.RawMessage
}

// Parameters tune a model. What is nil is left to the provider's default.
type Parameters struct {
	Temperature     *float64
	TopP            *float64
	MaxOutputTokens *int64
	Seed            *int64
}

// Request is everything that a completion depends on.
type Request struct {
	// Model is the model's name at its provider.
	Model      string
	System     string
	Messages   []Message
	Tools      []ToolDefinition
	Parameters Parameters
}

// FinishReason is why a model stopped.
type FinishReason string

const (
	// FinishStop is the end of a reply.
	FinishStop FinishReason = "Stop"
	// FinishToolCalls is a reply that waits for the results of its calls.
	FinishToolCalls FinishReason = "ToolCalls"
	// FinishLength is a reply cut off by the limit on output tokens or by the context
	// window.
	FinishLength FinishReason = "Length"
	// FinishRefused is a reply withheld by the model or by a filter.
	FinishRefused FinishReason = "Refused"
	// FinishOther is any reason that the provider did not explain.
	FinishOther FinishReason = "Other"
)

// Usage counts the tokens of one completion, never negative. Zero where the provider
// does not tell.
type Usage struct {
	InputTokens  int64
	OutputTokens int64
}

// Completion is a model's reply. Text and Calls may both be set, and both count.
type Completion struct {
	// Model is the name by which the provider says it answered.
	Model  string
	Text   string
	Calls  []ToolCall
	Finish FinishReason
	Usage  Usage
}

// Provider asks one endpoint once, without retrying. Implementations are safe for
// concurrent use.
type Provider interface {
	// Complete returns an *Error for every failure but the end of ctx, which is ctx's
	// own error.
	Complete(ctx context.Context, request Request) (Completion, error)
}

// Unusable is a Provider that fails every request as Misconfigured, so that failover
// can go past a candidate that could not be built and still report it.
func Unusable(detail string) Provider {
	return unusable{&Error{Kind: KindMisconfigured, Detail: printable(detail, maxDetail)}}
}

type unusable struct{ err *Error }

func (u unusable) Complete(context.Context, Request) (Completion, error) { return Completion{}, u.err }
