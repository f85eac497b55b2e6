// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"remit.dev/remit/internal/schema"
)

// Typed makes a Tool of a Go function. Its input schema is that of In, and it calls
// the function only with arguments that fit it: no key twice, none that In has not,
// and integers exact. Its output schema is that of Out where Out is a struct and
// the definition brings none. The dependency must be a D, or nil where D can be.
//
// The error is an *Error, as from New.
func Typed[D, In, Out any](definition Definition, call func(ctx context.Context, dependency D, arguments In) (Out, error)) (*Tool, error) {
	var err error
	if definition.InputSchema, err = InputSchemaFor[In](); err != nil {
		return nil, inField("input_schema", definition.Name, err)
	}
	if out := reflect.TypeFor[Out](); definition.OutputSchema == nil && out.Kind() == reflect.Struct && !hasOwnForm(out) {
		if definition.OutputSchema, err = OutputSchemaFor[Out](); err != nil {
			return nil, inField("output_schema", definition.Name, err)
		}
	}
	compiled, err := schema.Compile(definition.InputSchema)
	if err != nil {
		return nil, inField("input_schema", definition.Name, err)
	}
	definition.Func = func(ctx context.Context, dependency any, arguments json.RawMessage) (json.RawMessage, error) {
		in, err := decodeArguments[In](compiled, arguments)
		if err != nil {
			return nil, err
		}
		given, ok := dependency.(D)
		if !ok && dependency != nil {
			return nil, fault("dependency", "it is a %T, and must be a %s", dependency, reflect.TypeFor[D]()).of(definition.Name)
		}
		out, err := call(ctx, given, in)
		if err != nil {
			return nil, err
		}
		return encodeJSON(out)
	}
	if call == nil {
		definition.Func = nil
	}
	return New(definition)
}

func inField(field, tool string, err error) error {
	return fault(field, "%s", err).of(tool)
}

// decodeArguments reads arguments that fit the schema. They are read as nodes
// first, since a schema sees the last of two equal keys and not the first.
func decodeArguments[In any](compiled *schema.Schema, arguments json.RawMessage) (In, error) {
	var in In
	if _, err := parseNode(arguments); err != nil {
		return in, argumentError(err)
	}
	if err := compiled.Validate(arguments); err != nil {
		return in, argumentError(err)
	}
	if err := json.Unmarshal(arguments, &in); err != nil {
		return in, argumentError(err)
	}
	return in, nil
}

// argumentError says of which argument an error is, where it knows.
func argumentError(err error) error {
	if invalid, ok := errors.AsType[*schema.ValidationError](err); ok && len(invalid.Violations) == 1 {
		return &ArgumentError{Argument: invalid.Violations[0].Pointer, Message: invalid.Violations[0].Message}
	}
	if unread, ok := errors.AsType[*Error](err); ok {
		return &ArgumentError{Argument: unread.Path, Message: "the arguments cannot be read: " + unread.Message}
	}
	if mistyped, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return &ArgumentError{Message: fmt.Sprintf("the value of %s does not fit: %s is out of its range", mistyped.Field, mistyped.Value)}
	}
	return &ArgumentError{Message: err.Error()}
}
