// SPDX-License-Identifier: Apache-2.0

package workflow

import (
	"context"
	"encoding/json"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types/ref"
)

// interruptEvery is how often a macro looks whether it is to stop, in elements.
const interruptEvery = 100

// expression is one that was checked. It is planned anew for each evaluation, as the
// plan holds what that evaluation may still use.
type expression struct {
	env     *cel.Env
	checked *cel.Ast
}

// arguments evaluates the expression.
func (e *expression) arguments(ctx context.Context, variables map[string]any) (json.RawMessage, error) {
	meter := &meter{left: maxWork, weights: map[ref.Val]int64{}}
	program, err := e.env.Program(e.checked,
		cel.CustomDecoratorV2(meter.decorate),
		cel.InterruptCheckFrequency(interruptEvery),
	)
	if err != nil {
		return nil, err
	}
	value, _, err := program.ContextEval(ctx, variables)
	if err != nil {
		return nil, err
	}
	return encode(value)
}
