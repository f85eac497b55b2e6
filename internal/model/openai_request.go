// SPDX-License-Identifier: Apache-2.0

package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"
)

// noProperties is the schema of a tool without one. Some endpoints insist on the empty
// properties.
const noProperties = `{"type":"object","properties":{}}`

// chatParams writes a request in the protocol's words, or says as KindRejected what
// cannot be.
func chatParams(request Request) (openai.ChatCompletionNewParams, error) {
	for name, value := range map[string]*float64{"temperature": request.Parameters.Temperature, "topP": request.Parameters.TopP} {
		if value != nil && (math.IsNaN(*value) || math.IsInf(*value, 0)) {
			return openai.ChatCompletionNewParams{}, rejected("the parameter %s is not a finite number", name)
		}
	}
	params := openai.ChatCompletionNewParams{
		Model:               request.Model,
		Temperature:         optional(request.Parameters.Temperature),
		TopP:                optional(request.Parameters.TopP),
		MaxCompletionTokens: optional(request.Parameters.MaxOutputTokens),
		Seed:                optional(request.Parameters.Seed),
	}
	if request.System != "" {
		params.Messages = append(params.Messages, openai.SystemMessage(request.System))
	}
	for i, message := range request.Messages {
		chat, err := chatMessage(message)
		if err != nil {
			return params, rejected("message %d: %v", i, err)
		}
		params.Messages = append(params.Messages, chat)
	}
	for _, tool := range request.Tools {
		chat, err := chatTool(tool)
		if err != nil {
			return params, rejected("tool %q: %v", printable(tool.Name, MaxName), err)
		}
		params.Tools = append(params.Tools, chat)
	}
	return params, nil
}

func rejected(format string, args ...any) *Error {
	return &Error{Kind: KindRejected, Detail: printable(fmt.Sprintf(format, args...), maxDetail)}
}

func optional[T comparable](value *T) param.Opt[T] {
	if value == nil {
		return param.Opt[T]{}
	}
	return param.NewOpt(*value)
}

func chatMessage(message Message) (openai.ChatCompletionMessageParamUnion, error) {
	switch message.Role {
	case RoleUser:
		return openai.UserMessage(message.Text), nil
	case RoleAssistant:
		return chatAssistant(message), nil
	case RoleTool:
		return openai.ToolMessage(toolText(message), message.CallID), nil
	}
	return openai.ChatCompletionMessageParamUnion{}, fmt.Errorf("the role %q is none of User, Assistant and Tool", message.Role)
}

// toolText never lets a failure look like an empty result: the protocol has no field
// that says it failed.
func toolText(message Message) string {
	if message.IsError && message.Text == "" {
		return "The call failed. The tool gave no reason."
	}
	return message.Text
}

func chatAssistant(message Message) openai.ChatCompletionMessageParamUnion {
	var assistant openai.ChatCompletionAssistantMessageParam
	if message.Text != "" || len(message.Calls) == 0 {
		assistant.Content.OfString = param.NewOpt(message.Text)
	}
	for _, call := range message.Calls {
		assistant.ToolCalls = append(assistant.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{
			OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
				ID: call.ID,
				Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{
					Name:      call.Name,
					Arguments: replayedArguments(call.Arguments),
				},
			},
		})
	}
	return openai.ChatCompletionMessageParamUnion{OfAssistant: &assistant}
}

// replayedArguments gives the arguments of an earlier call as a JSON object. Endpoints
// that parse them answer every later request of the conversation with an error when a
// model once wrote anything else, so that is quoted instead.
func replayedArguments(arguments string) string {
	if isObject([]byte(arguments)) {
		return arguments
	}
	if len(bytes.TrimSpace([]byte(arguments))) == 0 {
		return "{}"
	}
	quoted, err := json.Marshal(map[string]string{"invalid_arguments": arguments})
	if err != nil {
		return "{}"
	}
	return string(quoted)
}

func isObject(text []byte) bool {
	return json.Valid(text) && bytes.HasPrefix(bytes.TrimSpace(text), []byte("{"))
}

// chatTool passes the schema on as it is, with its numbers and the order of its keys,
// which a Go map would not keep.
func chatTool(tool ToolDefinition) (openai.ChatCompletionToolUnionParam, error) {
	schema := tool.InputSchema
	if len(schema) == 0 {
		schema = json.RawMessage(noProperties)
	}
	if !isObject(schema) {
		return openai.ChatCompletionToolUnionParam{}, fmt.Errorf("the input schema is not a JSON object")
	}
	function := shared.FunctionDefinitionParam{Name: tool.Name}
	if tool.Description != "" {
		function.Description = param.NewOpt(tool.Description)
	}
	function.SetExtraFields(map[string]any{"parameters": schema})
	return openai.ChatCompletionFunctionTool(function), nil
}
