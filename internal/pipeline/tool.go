// SPDX-License-Identifier: Apache-2.0

// Package pipeline takes every call of a Run through one list of stages, whatever
// the origin of its tool. The stages before the watermark judge a call and do no
// I/O; those after it make the call and read its result.
package pipeline

import (
	"context"
	"encoding/json"
	"time"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/engine"
	"remit.dev/remit/internal/schema"
)

// DefaultTimeout bounds one call of a tool that does not say.
const DefaultTimeout = 2 * time.Minute

// Tool is one tool as it is callable in one step of a Run.
type Tool struct {
	// Name by which the model calls it.
	Name        string
	Description string
	// InputSchema is a JSON Schema of type object, or empty for any object.
	InputSchema json.RawMessage
	// Definition is the digest of everything that the tool says of itself.
	Definition v1alpha1.Digest
	Class      v1alpha1.ToolClass
	// Idempotent says that making a call twice is the same as making it once.
	Idempotent bool
	// Ask is why a person must approve a call; empty when none must.
	Ask string
	// Timeout bounds one call; zero means DefaultTimeout.
	Timeout  time.Duration
	Executor Executor

	schema *schema.Schema
}

// Executor makes calls of one tool.
type Executor interface {
	// Execute makes one call, once. It reports every failure as an Outcome and
	// says outcome_unknown whenever an effect may have taken place.
	Execute(ctx context.Context, invocation Invocation) engine.Outcome
}

// Invocation is one call to make.
type Invocation struct {
	// Arguments are a JSON object in canonical form that fits the tool's schema.
	Arguments json.RawMessage
	// IdempotencyKey is the same for the same call, whoever makes it.
	IdempotencyKey string
	// Idempotent says that the call may be sent again after a failure.
	Idempotent bool
}
