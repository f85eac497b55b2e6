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
	"remit.dev/remit/internal/gate"
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
	// OutputSchema describes the result; empty where the tool declares none.
	OutputSchema json.RawMessage
	// MaxPages is how many pages of a list are read for one call; 0 and 1 mean the
	// one that was asked for.
	MaxPages int
	// Definition is the digest of everything that the tool says of itself.
	Definition v1alpha1.Digest
	Class      v1alpha1.ToolClass
	// Idempotent says that making a call twice is the same as making it once.
	Idempotent bool
	// Ask is why a person must approve a call; empty when none must.
	Ask string
	// Delegated says that a Run of its own answers a call; there is no Executor.
	Delegated bool
	// Program says that the tool runs a program which calls tools itself.
	Program bool
	// Policy is asked about each call; nil allows.
	Policy Policy
	// Preloaded keeps the tool in the prompt, however many tools there are.
	Preloaded bool
	// Timeout bounds one call; zero means DefaultTimeout.
	Timeout  time.Duration
	Executor Executor

	compiled
}

// Policy says whether a call with these arguments may be made now. It never fails:
// what it cannot find out it denies.
type Policy func(ctx context.Context, arguments json.RawMessage) gate.Decision

// Executor makes calls of one tool.
type Executor interface {
	// Execute makes one call, once. It reports every failure in the Answer and
	// says outcome_unknown whenever an effect may have taken place.
	Execute(ctx context.Context, invocation Invocation) Answer
}

// Invocation is one call to make.
type Invocation struct {
	// Arguments are a JSON object in canonical form that fits the tool's schema.
	Arguments json.RawMessage
	// ID of the call.
	ID v1alpha1.CallID
	// IdempotencyKey is the same for the same call, whoever makes it.
	IdempotencyKey string
	// Idempotent says that the call may be sent again after a failure.
	Idempotent bool
}
