// SPDX-License-Identifier: Apache-2.0

package tools

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/engine"
	"remit.dev/remit/internal/gate"
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
}

// Functions is the registry: what the operator offers, in a fixed order.
type Functions struct{ list []Function }

// NewFunctions makes the registry. The clock is what current_time reads.
func NewFunctions(now func() time.Time) *Functions {
	yes := true
	return &Functions{list: []Function{{
		Name: "current_time",
		Description: "Gives the current date and time. Use it when an answer depends on today's date. " +
			"It returns a JSON object with the time in UTC, in the form of RFC 3339.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`),
		Hints:       gate.Hints{Present: true, ReadOnly: &yes},
		Executor:    currentTime{now},
	}}}
}

// Find gives the function of that name.
func (f *Functions) Find(name string) (Function, bool) {
	i := slices.IndexFunc(f.list, func(function Function) bool { return function.Name == name })
	if i < 0 {
		return Function{}, false
	}
	return f.list[i], true
}

// Has says whether there is a function of that name.
func (f *Functions) Has(name string) bool {
	_, ok := f.Find(name)
	return ok
}

// Names lists the functions in their order.
func (f *Functions) Names() []string {
	names := make([]string, 0, len(f.list))
	for _, function := range f.list {
		names = append(names, function.Name)
	}
	return names
}

type currentTime struct{ now func() time.Time }

func (c currentTime) Execute(context.Context, pipeline.Invocation) engine.Outcome {
	text, err := json.Marshal(map[string]string{"time": c.now().UTC().Format(time.RFC3339)})
	if err != nil {
		return engine.Outcome{Error: v1alpha1.ErrorTool, Content: err.Error()}
	}
	return engine.Outcome{Content: string(text)}
}
