// SPDX-License-Identifier: Apache-2.0

package tools

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/functions"
	"remit.dev/remit/internal/gate"
	"remit.dev/remit/internal/octool"
	"remit.dev/remit/internal/pipeline"
)

// Function is a function that Specs can name.
type Function struct {
	Name        string
	Description string
	// InputSchema is a JSON Schema of type object.
	InputSchema json.RawMessage
	Hints       gate.Hints
	Executor    pipeline.Executor
	// Descriptor is all that the function says of itself.
	Descriptor *octool.Tool
}

// Functions is the registry: what the operator offers, in a fixed order.
type Functions struct{ provider octool.Provider }

// NewFunctions makes the registry of the functions that every operator has. The
// clock is what current_time reads.
func NewFunctions(now func() time.Time) *Functions {
	return &Functions{functions.Provider(now)}
}

// Find gives the function of that name.
func (f *Functions) Find(name string) (Function, bool) {
	tool, ok := octool.Find(f.provider, name)
	if !ok {
		return Function{}, false
	}
	return Function{
		Name: tool.Name(), Description: tool.Description(), InputSchema: tool.InputSchema(),
		Hints: hintsOf(tool), Executor: functionExecutor{tool}, Descriptor: tool,
	}, true
}

// hintsOf are the hints of a descriptor, all of them said, and trusted as the
// function is part of the operator.
func hintsOf(tool *octool.Tool) gate.Hints {
	readOnly, destructive, idempotent := tool.ReadOnlyHint(), tool.DestructiveHint(), tool.IdempotentHint()
	return gate.Hints{Present: true, ReadOnly: &readOnly, Destructive: &destructive, Idempotent: &idempotent}
}

// Has says whether there is a function of that name.
func (f *Functions) Has(name string) bool {
	_, ok := octool.Find(f.provider, name)
	return ok
}

// Names lists the functions in their order.
func (f *Functions) Names() []string {
	var names []string
	for _, tool := range f.provider.AllTools() {
		names = append(names, tool.Name())
	}
	return names
}

// functionExecutor calls a function within the operator, which needs no dependency.
type functionExecutor struct{ tool *octool.Tool }

func (e functionExecutor) Execute(ctx context.Context, invocation pipeline.Invocation) pipeline.Answer {
	result, err := e.tool.Call(ctx, nil, invocation.Arguments)
	if err != nil {
		return pipeline.Failure(failedFunction(err), err.Error())
	}
	return pipeline.Text(string(result))
}

func failedFunction(err error) v1alpha1.ErrorKind {
	if _, ok := errors.AsType[*octool.ArgumentError](err); ok {
		return v1alpha1.ErrorInvalidArguments
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return v1alpha1.ErrorTimeout
	case errors.Is(err, context.Canceled):
		return v1alpha1.ErrorCancelled
	default:
		return v1alpha1.ErrorTool
	}
}
