// SPDX-License-Identifier: Apache-2.0

// Package tools holds the executors of the pipeline, one for each origin of a
// tool.
package tools

import (
	"context"
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

// Execute makes the call on a pooled session.
func (t *MCPTool) Execute(ctx context.Context, invocation pipeline.Invocation) engine.Outcome {
	target, err := t.Target(ctx)
	if err != nil {
		return engine.Outcome{Error: notSent(err), Content: err.Error()}
	}
	result, err := t.Client.Call(ctx, target, t.Name, invocation.Arguments, mcp.CallOptions{Idempotent: invocation.Idempotent})
	if err != nil {
		return failedCall(err)
	}
	outcome := engine.Outcome{Content: resultText(result)}
	if result.IsError {
		outcome.Error = v1alpha1.ErrorTool
	}
	return outcome
}

// notSent is the kind of a failure before anything was sent.
func notSent(err error) v1alpha1.ErrorKind {
	if _, ok := errors.AsType[*credentials.Error](err); ok {
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
func failedCall(err error) engine.Outcome {
	var failure *mcp.Error
	if !errors.As(err, &failure) {
		return engine.Outcome{Error: v1alpha1.ErrorOutcomeUnknown, Content: err.Error()}
	}
	kind, known := kinds[failure.Kind]
	if !known {
		kind = v1alpha1.ErrorOutcomeUnknown
	}
	return engine.Outcome{Error: kind, Content: failure.Error()}
}

// resultText reads a result as text. What is no text is named, so that the model
// knows of it. Structured content counts where there is no text: servers that
// send both send the same twice.
func resultText(result mcp.Result) string {
	var parts []string
	for _, content := range result.Content {
		if text := contentText(content); text != "" {
			parts = append(parts, text)
		}
	}
	if len(parts) == 0 && len(result.Structured) > 0 {
		return string(result.Structured)
	}
	return strings.Join(parts, "\n")
}

func contentText(content mcp.Content) string {
	switch content.Type {
	case mcp.ContentText:
		return content.Text
	case mcp.ContentResource:
		if content.Text != "" {
			return content.Text
		}
		return fmt.Sprintf("[resource %s, %s, left out: it is not text]", content.URI, content.MIMEType)
	case mcp.ContentResourceLink:
		return fmt.Sprintf("[link to resource %s: %s]", content.URI, content.Name)
	default:
		return fmt.Sprintf("[%s, %s, left out: it is not text]", content.Type, content.MIMEType)
	}
}
