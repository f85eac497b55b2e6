// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	startime "go.starlark.net/lib/time"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// maxDepth bounds how deeply a result and the arguments of a call are nested. A
// value that holds itself is nested without end.
const maxDepth = 100

// maxPath bounds the path in the message of an error, in bytes.
const maxPath = 64

var errTooLarge = errors.New("the JSON is too large")

// valueError is a value without a form in JSON, at a path within the whole.
type valueError struct{ path, detail string }

func (e *valueError) Error() string {
	if e.path == "" {
		return e.detail
	}
	return e.path + ": " + e.detail
}

// encode writes a value as JSON of at most limit bytes. Integers are exact, a
// float keeps its point, dicts keep their order, a time is text as in RFC 3339.
// It stops with errTooLarge where the bound is reached, however much there is
// left, or returns a *valueError.
func encode(value starlark.Value, limit int) (json.RawMessage, error) {
	e := encoder{limit: limit}
	e.json = json.NewEncoder(&e.text)
	e.json.SetEscapeHTML(false)
	if err := e.value(value, maxDepth); err != nil {
		return nil, err
	}
	if e.left() < 0 {
		return nil, errTooLarge
	}
	return e.text.Bytes(), nil
}

type encoder struct {
	text  bytes.Buffer
	json  *json.Encoder
	limit int
}

// left is how much more may be written.
func (e *encoder) left() int { return e.limit - e.text.Len() }

func (e *encoder) value(value starlark.Value, depth int) error {
	if e.left() <= 0 {
		return errTooLarge
	}
	switch v := value.(type) {
	case starlark.NoneType:
		e.text.WriteString("null")
	case starlark.Bool:
		e.text.WriteString(strconv.FormatBool(bool(v)))
	case starlark.Int:
		return e.integer(v)
	case starlark.Float:
		return e.float(float64(v))
	case starlark.String:
		return e.string(string(v))
	case startime.Time:
		return e.string(time.Time(v).Format(time.RFC3339Nano))
	default:
		if depth == 0 {
			return &valueError{detail: fmt.Sprintf("it is nested in more than %d others, or in itself", maxDepth)}
		}
		return e.collection(value, depth-1)
	}
	return nil
}

func (e *encoder) collection(value starlark.Value, depth int) error {
	switch v := value.(type) {
	case starlark.IterableMapping:
		items := v.Items()
		return e.object(len(items), depth, func(i int) (starlark.Value, starlark.Value, error) {
			return items[i][0], items[i][1], nil
		})
	case *starlarkstruct.Struct:
		names := v.AttrNames()
		return e.object(len(names), depth, func(i int) (starlark.Value, starlark.Value, error) {
			field, err := v.Attr(names[i])
			return starlark.String(names[i]), field, err
		})
	case starlark.Iterable:
		return e.array(v, depth)
	}
	return &valueError{detail: fmt.Sprintf("a value of type %s has no form in JSON", value.Type())}
}

func (e *encoder) object(length, depth int, member func(int) (key, value starlark.Value, err error)) error {
	e.text.WriteByte('{')
	for i := range length {
		key, value, err := member(i)
		if err != nil {
			return &valueError{detail: err.Error()}
		}
		name, ok := starlark.AsString(key)
		if !ok {
			return &valueError{detail: fmt.Sprintf("a key is of type %s, and JSON has only strings as keys", key.Type())}
		}
		if i > 0 {
			e.text.WriteByte(',')
		}
		if err := e.string(name); err != nil {
			return err
		}
		e.text.WriteByte(':')
		if err := e.value(value, depth); err != nil {
			return step("."+name, err)
		}
	}
	e.text.WriteByte('}')
	return nil
}

func (e *encoder) array(values starlark.Iterable, depth int) error {
	iterator := values.Iterate()
	defer iterator.Done()
	e.text.WriteByte('[')
	var element starlark.Value
	for i := 0; iterator.Next(&element); i++ {
		if i > 0 {
			e.text.WriteByte(',')
		}
		if err := e.value(element, depth); err != nil {
			return step("["+strconv.Itoa(i)+"]", err)
		}
	}
	e.text.WriteByte(']')
	return nil
}

// step puts a step before the path of an error of a value.
func step(name string, err error) error {
	if inner, ok := errors.AsType[*valueError](err); ok {
		return &valueError{shorten(name+inner.path, maxPath), inner.detail}
	}
	return err
}

func (e *encoder) string(s string) error {
	if len(s) > e.left() {
		return errTooLarge
	}
	if err := e.json.Encode(s); err != nil {
		return &valueError{detail: err.Error()}
	}
	e.text.Truncate(e.text.Len() - 1) // the line feed
	return nil
}

func (e *encoder) integer(i starlark.Int) error {
	if small, ok := i.Int64(); ok {
		e.text.WriteString(strconv.FormatInt(small, 10))
		return nil
	}
	big := i.BigInt()
	if big.BitLen()/4 > e.left() { // a decimal digit has less than four bits
		return errTooLarge
	}
	e.text.WriteString(big.String())
	return nil
}

func (e *encoder) float(f float64) error {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return &valueError{detail: fmt.Sprintf("%v is a float that has no form in JSON", f)}
	}
	text := strconv.AppendFloat(nil, f, 'g', -1, 64)
	if !bytes.ContainsAny(text, ".e") {
		text = append(text, ".0"...)
	}
	e.text.Write(text)
	return nil
}
