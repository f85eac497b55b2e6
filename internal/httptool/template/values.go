// SPDX-License-Identifier: Apache-2.0

package template

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// argument is one argument of a call, with the bytes that it has as JSON.
type argument struct {
	value any
	size  int
}

// filling is one use of a template.
type filling struct {
	arguments map[string]argument
	secrets   map[string]string
	// place is where the values go that are put in now.
	place Place
	// left is what may still be put into the request, in bytes.
	left int
}

func newFilling(arguments json.RawMessage, secrets map[string]string) (*filling, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &members); err != nil {
		return nil, &Error{Detail: "the arguments are not a JSON object"}
	}
	f := &filling{arguments: make(map[string]argument, len(members)), secrets: secrets, left: MaxRequest}
	for name, member := range members {
		decoder := json.NewDecoder(bytes.NewReader(member))
		decoder.UseNumber() // a float64 would lose digits of an integer
		var value any
		if err := decoder.Decode(&value); err != nil {
			return nil, &Error{Argument: name, Detail: "is not JSON"}
		}
		f.arguments[name] = argument{value, len(member)}
	}
	return f, nil
}

// take counts what is put in: a template may name a long argument many times.
func (f *filling) take(size int) error {
	if f.left -= size; f.left < 0 {
		return &Error{Detail: fmt.Sprintf("the request would have more than %d bytes: shorten the arguments", MaxRequest)}
	}
	return nil
}

// scalar gives an argument as text; false when there is none, or null.
func (f *filling) scalar(name string) (value string, given bool, err error) {
	content := f.arguments[name].value
	if content == nil {
		return "", false, nil
	}
	if value, given = scalarText(content); !given {
		return "", false, f.refuse(name, "must be a string, a number or a boolean, not %s", typeOf(content))
	}
	return value, true, nil
}

func scalarText(value any) (string, bool) {
	switch value := value.(type) {
	case string:
		return value, true
	case json.Number:
		return value.String(), true
	case bool:
		return strconv.FormatBool(value), true
	default:
		return "", false
	}
}

func (f *filling) secret(name string) (string, error) {
	value, ok := f.secrets[name]
	if !ok {
		return "", &Error{Place: f.place, Secret: name, Detail: "is not there"}
	}
	return value, nil
}

func (f *filling) refuse(name, format string, args ...any) error {
	return &Error{Place: f.place, Argument: name, Detail: fmt.Sprintf(format, args...)}
}

// typeOf names what is no scalar.
func typeOf(value any) string {
	switch value.(type) {
	case []any:
		return "an array"
	case map[string]any:
		return "an object"
	default:
		return "null"
	}
}
