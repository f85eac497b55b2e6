// SPDX-License-Identifier: Apache-2.0

// Package tools holds the executors of the pipeline, one for each origin of a
// tool.
package tools

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/credentials"
	"remit.dev/remit/internal/engine"
	"remit.dev/remit/internal/mcp"
	"remit.dev/remit/internal/pipeline"
)

// MCPTool calls one tool of an MCP server.
type MCPTool struct {
	Client *mcp.Client
	// Target resolves where to call and with which credential, afresh for each call.
	Target func(context.Context) (mcp.Target, error)
	// Name of the tool as its server gives it.
	Name string
}

// Prepare resolves the target, afresh for each call.
func (t *MCPTool) Prepare(ctx context.Context) (pipeline.Executor, *engine.Failure) {
	target, err := t.Target(ctx)
	if err != nil {
		return nil, &engine.Failure{Kind: notSent(err), Message: err.Error()}
	}
	return &preparedMCPTool{t, target}, nil
}

// Execute prepares and makes the call.
func (t *MCPTool) Execute(ctx context.Context, invocation pipeline.Invocation) pipeline.Answer {
	prepared, failure := t.Prepare(ctx)
	if failure != nil {
		return pipeline.Failure(failure.Kind, failure.Message)
	}
	return prepared.Execute(ctx, invocation)
}

// preparedMCPTool makes one call.
type preparedMCPTool struct {
	*MCPTool
	target mcp.Target
}

// Execute makes the call on a pooled session.
func (t *preparedMCPTool) Execute(ctx context.Context, invocation pipeline.Invocation) pipeline.Answer {
	result, err := t.Client.Call(ctx, t.target, t.Name, invocation.Arguments, mcp.CallOptions{Idempotent: invocation.Idempotent})
	if err != nil {
		return failedCall(err)
	}
	answer := pipeline.Answer{Outcome: engine.Outcome{Content: resultText(result)}, Structured: result.Structured, Blobs: blobs(result)}
	if result.IsError {
		answer.Error = v1alpha1.ErrorTool
	}
	return answer
}

// notSent is the kind of a failure before anything was sent.
func notSent(err error) v1alpha1.ErrorKind {
	if problem, ok := errors.AsType[*credentials.Error](err); ok && !problem.Temporary {
		return v1alpha1.ErrorUnauthorized
	}
	return v1alpha1.ErrorServerUnavailable
}

// kinds says how the model reads each kind of failure.
var kinds = map[mcp.ErrorKind]v1alpha1.ErrorKind{
	mcp.Invalid:        v1alpha1.ErrorServerUnavailable,
	mcp.Unreachable:    v1alpha1.ErrorServerUnavailable,
	mcp.SessionLost:    v1alpha1.ErrorServerUnavailable,
	mcp.Closed:         v1alpha1.ErrorServerUnavailable,
	mcp.Timeout:        v1alpha1.ErrorTimeout,
	mcp.Canceled:       v1alpha1.ErrorCancelled,
	mcp.Unauthorized:   v1alpha1.ErrorUnauthorized,
	mcp.Protocol:       v1alpha1.ErrorBadResult,
	mcp.TooLarge:       v1alpha1.ErrorBadResult,
	mcp.Rejected:       v1alpha1.ErrorTool,
	mcp.OutcomeUnknown: v1alpha1.ErrorOutcomeUnknown,
}

// failedCall turns an error of the client into what the model reads. An error of
// no known kind may hide an effect.
func failedCall(err error) pipeline.Answer {
	var failure *mcp.Error
	if !errors.As(err, &failure) {
		return pipeline.Failure(v1alpha1.ErrorOutcomeUnknown, err.Error())
	}
	kind, known := kinds[failure.Kind]
	if !known {
		kind = v1alpha1.ErrorOutcomeUnknown
	}
	return pipeline.Failure(kind, failure.Error())
}

// resultText reads the text of a result. Structured content counts where there is
// no text, which the pipeline sees to: servers that send both send the same twice.
func resultText(result mcp.Result) string {
	var parts []string
	for _, content := range result.Content {
		if text := contentText(content); text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "\n")
}

// contentText is empty for what is no text: that is put aside as a blob.
func contentText(content mcp.Content) string {
	switch content.Type {
	case mcp.ContentText, mcp.ContentResource:
		return content.Text
	case mcp.ContentResourceLink:
		return fmt.Sprintf("[link to resource %s: %s]", content.URI, content.Name)
	default:
		if content.Data != "" {
			return ""
		}
		return fmt.Sprintf("[%s, %s, left out: it is not text]", content.Type, content.MIMEType)
	}
}

// blobs are the parts of a result that are not text. One that is not base64, as
// the protocol wants it, is kept as it was sent.
func blobs(result mcp.Result) []pipeline.Blob {
	var all []pipeline.Blob
	for _, content := range result.Content {
		if content.Data == "" {
			continue
		}
		data, err := base64.StdEncoding.DecodeString(content.Data)
		if err != nil {
			data = []byte(content.Data)
		}
		all = append(all, pipeline.Blob{MediaType: content.MIMEType, Data: data})
	}
	return all
}
