// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Func does the work of a tool. It runs until it has the result: what would
// stream or report progress is no Func. The dependency is what the library says
// it needs, nil where it needs none; all I/O goes through it. The arguments are a
// JSON object, which Func checks itself: those it does not take are an
// *ArgumentError. Any other error is passed on as it is. The result is a JSON
// object that fits the output schema.
type Func func(ctx context.Context, dependency any, arguments json.RawMessage) (json.RawMessage, error)

// ArgumentError is an argument that a tool does not take.
type ArgumentError struct {
	// Argument is the JSON pointer (RFC 6901) to it; empty is all of them.
	Argument string
	// Message says what is wrong, and what would be right.
	Message string
}

func (e *ArgumentError) Error() string {
	if e.Argument == "" {
		return e.Message
	}
	return e.Argument + ": " + e.Message
}

// Call calls the tool. Empty arguments are those of a call without any. The error
// is that of Func, an *ArgumentError for arguments that are no JSON object, or an
// *Error for a result that is none.
func (t *Tool) Call(ctx context.Context, dependency any, arguments json.RawMessage) (json.RawMessage, error) {
	if !t.made() {
		return nil, &Error{Path: "func", Message: "the tool was not made by New"}
	}
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	if err := checkObject(arguments); err != nil {
		return nil, &ArgumentError{Message: "the arguments must be a JSON object: " + err.Error()}
	}
	result, err := t.call(ctx, dependency, arguments)
	if err != nil {
		return nil, err
	}
	if err := checkObject(result); err != nil {
		return nil, (&Error{Path: "result", Message: fmt.Sprintf("it must be a JSON object: %s", err)}).of(t.name)
	}
	return result, nil
}

// checkObject says whether text is a JSON object, without keeping it.
func checkObject(text json.RawMessage) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil {
		return err
	}
	if object == nil {
		return errors.New("it is null")
	}
	return nil
}
