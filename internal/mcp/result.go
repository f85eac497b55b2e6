package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
)

var errInputRequired = errors.New("the server asks for input (sampling, elicitation or roots) before it answers, which this client declines")

// decodeResult reads the result of tools/call. Fields it does not know are ignored; content blocks of a
// type it does not know are kept whole.
func decodeResult(raw json.RawMessage) (Result, error) {
	var answer struct {
		Type       string            `json:"resultType"`
		Content    []json.RawMessage `json:"content"`
		Structured json.RawMessage   `json:"structuredContent"`
		IsError    bool              `json:"isError"`
	}
	if err := decodeObject(raw, &answer); err != nil {
		return Result{}, err
	}
	switch {
	case answer.Type == "input_required":
		return Result{}, errInputRequired
	case len(answer.Content) > MaxContent:
		return Result{}, fmt.Errorf("%w: over %d content blocks", errTooLarge, MaxContent)
	}
	result := Result{IsError: answer.IsError}
	if string(answer.Structured) != "null" {
		result.Structured = answer.Structured
	}
	for i, block := range answer.Content {
		content, err := decodeContent(block)
		if err != nil {
			return Result{}, fmt.Errorf("content[%d]: %w", i, err)
		}
		result.Content = append(result.Content, content)
	}
	return result, nil
}

func decodeContent(raw json.RawMessage) (Content, error) {
	var block struct {
		Type        string `json:"type"`
		Text        string `json:"text"`
		Data        string `json:"data"`
		MIMEType    string `json:"mimeType"`
		URI         string `json:"uri"`
		Name        string `json:"name"`
		Description string `json:"description"`
		Resource    *struct {
			URI      string `json:"uri"`
			MIMEType string `json:"mimeType"`
			Text     string `json:"text"`
			Blob     string `json:"blob"`
		} `json:"resource"`
	}
	if err := decodeObject(raw, &block); err != nil {
		return Content{}, err
	}
	switch block.Type {
	case ContentText:
		return Content{Type: block.Type, Text: block.Text}, nil
	case ContentImage, ContentAudio:
		return Content{Type: block.Type, Data: block.Data, MIMEType: block.MIMEType}, nil
	case ContentResourceLink:
		return Content{
			Type: block.Type, URI: block.URI, Name: block.Name, Description: block.Description, MIMEType: block.MIMEType,
		}, nil
	case ContentResource:
		if block.Resource == nil {
			return Content{}, errors.New("a resource block without a resource")
		}
		r := block.Resource
		return Content{Type: block.Type, URI: r.URI, MIMEType: r.MIMEType, Text: r.Text, Data: r.Blob}, nil
	case "":
		return Content{}, errors.New("a content block without a type")
	}
	return Content{Type: truncate(block.Type, MaxTitle), Raw: raw}, nil
}

// decodeObject refuses what is not a JSON object; json.Unmarshal takes null for one.
func decodeObject(raw json.RawMessage, into any) error {
	if len(raw) == 0 || raw[0] != '{' {
		return errors.New("not a JSON object")
	}
	return json.Unmarshal(raw, into)
}

// unusableResult is the failure of a call that was answered, but not with a result.
func unusableResult(o outcome, problem error, c Credential) *failure {
	f := &failure{kind: Protocol, status: o.status, sent: true}
	switch {
	case errors.Is(problem, errInputRequired): // it has not acted yet
		f.detail = problem.Error()
	case errors.Is(problem, errTooLarge):
		f.kind, f.detail = TooLarge, problem.Error()
	default:
		f.retry, f.evict, f.effect = retryIdempotent, true, true
		f.detail = "the tool's result is not MCP: " + quote(problem.Error(), c)
	}
	return f
}
