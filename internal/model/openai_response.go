// SPDX-License-Identifier: Apache-2.0

package model

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/openai/openai-go/v3"
)

// maxTokens keeps sums of what endpoints claim to have used from overflowing.
const maxTokens = 1 << 40

// readCompletion reads an answer's body. Its error is an *Error of kind BadResponse or
// TooLarge.
func readCompletion(body []byte) (Completion, error) {
	if len(strings.TrimSpace(string(body))) == 0 {
		return Completion{}, badResponse("the body is empty")
	}
	if !isObject(body) {
		return Completion{}, badResponse("the body is not a JSON object; it begins with %q", beginning(body))
	}
	var answer openai.ChatCompletion
	if err := json.Unmarshal(body, &answer); err != nil {
		return Completion{}, badResponse("%v", err)
	}
	if len(answer.Choices) == 0 {
		return Completion{}, badResponse("the body has no choices; it begins with %q", beginning(body))
	}
	choice := answer.Choices[0]
	text, err := readText(choice.Message)
	if err != nil {
		return Completion{}, err
	}
	calls, err := readCalls(choice.Message.ToolCalls)
	if err != nil {
		return Completion{}, err
	}
	return Completion{
		Model:  printable(answer.Model, MaxName),
		Text:   text,
		Calls:  calls,
		Finish: finishReason(choice, len(calls) > 0),
		Usage: Usage{
			InputTokens:  min(max(answer.Usage.PromptTokens, 0), maxTokens),
			OutputTokens: min(max(answer.Usage.CompletionTokens, 0), maxTokens),
		},
	}, nil
}

// readText takes the content, a string or a list of parts, and the refusal where there
// is no content.
func readText(message openai.ChatCompletionMessage) (string, error) {
	text := message.Content
	switch raw := strings.TrimSpace(message.JSON.Content.Raw()); {
	case raw == "", raw == "null":
		text = message.Refusal
	case raw[0] == '[':
		var parts []struct{ Type, Text string }
		if err := json.Unmarshal([]byte(raw), &parts); err != nil {
			return "", badResponse("the parts of the message's content: %v", err)
		}
		text = ""
		for _, part := range parts {
			if part.Type == "text" {
				text += part.Text
			}
		}
	case raw[0] != '"':
		return "", badResponse("the message's content is neither a string nor a list of parts")
	}
	text = valid(text)
	if len(text) > MaxText {
		return "", tooLarge("the text is %d bytes long, more than %d", len(text), MaxText)
	}
	return text, nil
}

func readCalls(calls []openai.ChatCompletionMessageToolCallUnion) ([]ToolCall, error) {
	if len(calls) > MaxCalls {
		return nil, tooLarge("%d tool calls, more than %d", len(calls), MaxCalls)
	}
	var read []ToolCall
	whole := 0
	for i, call := range calls {
		one := ToolCall{ID: valid(call.ID), Name: valid(call.Function.Name), Arguments: valid(call.Function.Arguments)}
		switch {
		case call.Type != "function" && call.Type != "":
			return nil, badResponse("tool call %d is of type %q, not function", i, printable(call.Type, MaxName))
		case one.Name == "":
			return nil, badResponse("tool call %d names no function", i)
		case len(one.Name) > MaxName:
			return nil, tooLarge("the name of tool call %d is %d bytes long, more than %d", i, len(one.Name), MaxName)
		case len(one.ID) > MaxName:
			return nil, tooLarge("the id of tool call %d is %d bytes long, more than %d", i, len(one.ID), MaxName)
		case len(one.Arguments) > MaxArguments:
			return nil, tooLarge("the arguments of tool call %d are %d bytes long, more than %d", i, len(one.Arguments), MaxArguments)
		}
		whole += len(one.Arguments)
		read = append(read, one)
	}
	if whole > MaxAllArguments {
		return nil, tooLarge("the arguments of all tool calls are %d bytes long, more than %d", whole, MaxAllArguments)
	}
	return read, nil
}

// finishReason trusts what the message holds over what the endpoint calls it: many say
// "stop" beside calls.
func finishReason(choice openai.ChatCompletionChoice, hasCalls bool) FinishReason {
	switch {
	case choice.FinishReason == "length":
		return FinishLength
	case choice.FinishReason == "content_filter", choice.Message.Refusal != "":
		return FinishRefused
	case hasCalls:
		return FinishToolCalls
	case choice.FinishReason == "stop":
		return FinishStop
	}
	return FinishOther
}

// valid replaces what is no UTF-8, which the API server would not store.
func valid(text string) string {
	return strings.ToValidUTF8(text, string(utf8.RuneError))
}

// beginning shows enough of a body to recognise it by.
func beginning(body []byte) string {
	return printable(string(body[:min(len(body), 400)]), 80)
}

func badResponse(format string, args ...any) *Error {
	return &Error{Kind: KindBadResponse, Detail: fmt.Sprintf(format, args...)}
}

func tooLarge(format string, args ...any) *Error {
	return &Error{Kind: KindTooLarge, Detail: fmt.Sprintf(format, args...)}
}
