// SPDX-License-Identifier: Apache-2.0

// Package workflow gives the arguments of the steps of a workflow. They are written
// down in a Spec, or computed by CEL expressions from the input of a Run and from the
// results of earlier steps, which anybody may have written. It is pure.
package workflow

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/canonical"
)

const (
	// MaxArgumentsBytes bounds the arguments of one step, in bytes of canonical JSON.
	MaxArgumentsBytes = 64 << 10

	// maxDetail bounds the detail of an error, in bytes.
	maxDetail = 768
)

// The fields of a step that errors name, as its JSON has them.
const (
	fieldID         = "id"
	fieldArguments  = "arguments"
	fieldExpression = "argumentsExpression"
)

// Workflow is the steps of one Version, ready to be used by any number of goroutines.
type Workflow struct{ steps []step }

type step struct {
	id v1alpha1.StepID
	// expression gives the arguments; nil where arguments are them, in canonical form.
	expression *expression
	arguments  json.RawMessage
}

// StepError says what of a step cannot be used and why.
type StepError struct {
	// Index of the step, from 0, and its ID.
	Index int
	ID    v1alpha1.StepID
	// Field of the step, as in argumentsExpression.
	Field string
	// Detail is for people. It may quote the input of a Run and results.
	Detail string
	// Err is the error behind it, or nil: a *canonical.Error of arguments, or that of
	// a context that ended.
	Err error
}

func (e *StepError) Error() string {
	return fmt.Sprintf("step %d (%s) of the workflow: %s: %s", e.Index, e.ID, e.Field, e.Detail)
}

func (e *StepError) Unwrap() error { return e.Err }

// Errors are what keeps a workflow from being used, in the order of its steps.
type Errors []*StepError

func (e Errors) Error() string {
	texts := make([]string, 0, len(e))
	for _, one := range e {
		texts = append(texts, one.Error())
	}
	return strings.Join(texts, "; ")
}

// Compile reads the steps. It returns Errors with those of all of them: arguments that
// are no JSON object, and expressions that are not valid, give no map, or refer to
// anything but the input and earlier steps.
func Compile(steps []v1alpha1.WorkflowStep) (*Workflow, error) {
	compiled := &Workflow{steps: make([]step, 0, len(steps))}
	var wrong Errors
	for i := range steps {
		one, err := compile(steps[:i], &steps[i])
		if err != nil {
			err.Index, err.ID, err.Detail = i, steps[i].ID, clean(err.Detail)
			wrong = append(wrong, err)
		}
		compiled.steps = append(compiled.steps, one)
	}
	if len(wrong) > 0 {
		return nil, wrong
	}
	return compiled, nil
}

func compile(earlier []v1alpha1.WorkflowStep, from *v1alpha1.WorkflowStep) (step, *StepError) {
	compiled := step{id: from.ID}
	if slices.Contains(literals, string(from.ID)) {
		return compiled, &StepError{Field: fieldID, Detail: fmt.Sprintf("%s is a word of CEL, and no expression could name the step: choose another id", from.ID)}
	}
	switch {
	case from.ArgumentsExpression != "":
		read, err := parse(from.ArgumentsExpression, earlier)
		if err != nil {
			return compiled, &StepError{Field: fieldExpression, Detail: err.Error()}
		}
		compiled.expression = read
	case from.Arguments != nil:
		text, err := static(from.Arguments.Raw)
		if err != nil {
			return compiled, &StepError{Field: fieldArguments, Detail: err.Error(), Err: err}
		}
		compiled.arguments = text
	default:
		compiled.arguments = json.RawMessage("{}")
	}
	return compiled, nil
}

// literals are the words that cannot stand after a dot.
var literals = []string{"false", "in", "null", "true"}

func static(raw []byte) (json.RawMessage, error) {
	text, err := canonical.JSON(raw)
	switch {
	case err != nil:
		return nil, err
	case text[0] != '{':
		return nil, fmt.Errorf("the arguments must be a JSON object")
	case len(text) > MaxArgumentsBytes:
		return nil, tooLarge()
	}
	return text, nil
}

func tooLarge() error {
	return fmt.Errorf("the arguments are larger than %d bytes of JSON: pass less", MaxArgumentsBytes)
}

// Arguments gives the arguments of one step as a JSON object in canonical form, of at
// most MaxArgumentsBytes. The results are the texts of those of the steps before it,
// in their order; further ones are not looked at. It returns a *StepError.
func (w *Workflow) Arguments(ctx context.Context, index int, input string, results []string) (json.RawMessage, error) {
	if index < 0 || index >= len(w.steps) {
		return nil, &StepError{Index: index, Field: fieldID, Detail: fmt.Sprintf("there are %d steps", len(w.steps))}
	}
	one := &w.steps[index]
	if one.expression == nil {
		return slices.Clone(one.arguments), nil
	}
	if len(results) < index {
		return nil, &StepError{Index: index, ID: one.id, Field: fieldExpression,
			Detail: fmt.Sprintf("it needs the results of %d earlier steps, and there are %d", index, len(results))}
	}
	text, err := one.expression.arguments(ctx, w.variables(index, input, results))
	if err != nil {
		return nil, &StepError{Index: index, ID: one.id, Field: fieldExpression, Detail: clean(err.Error()), Err: context.Cause(ctx)}
	}
	return text, nil
}

func (w *Workflow) variables(index int, input string, results []string) map[string]any {
	steps := make(map[string]any, index)
	for i, result := range results[:index] {
		steps[string(w.steps[i].id)] = map[string]any{"text": result, "json": &document{text: result}}
	}
	return map[string]any{"input": input, "inputJSON": &document{text: input}, "steps": steps}
}

// clean bounds the text of an error and takes out what would break a line or a
// terminal: it may quote what a tool gave.
func clean(text string) string {
	cut := text[:min(len(text), maxDetail)]
	cleaned := strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(cut, string(utf8.RuneError))))
	if len(cut) < len(text) {
		cleaned += "…"
	}
	return cleaned
}
