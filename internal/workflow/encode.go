// SPDX-License-Identifier: Apache-2.0

package workflow

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"remit.dev/remit/internal/canonical"
)

// maxWritten bounds what is written before it is brought into canonical form, which
// escapes less.
const maxWritten = 4 * MaxArgumentsBytes

// encode gives the canonical form of an object.
func encode(value ref.Val) (json.RawMessage, error) {
	if _, isMap := value.(traits.Mapper); !isMap {
		return nil, fmt.Errorf("it gives %s, and must give a map", value.Type().TypeName())
	}
	var w writer
	w.texts = json.NewEncoder(&w.Buffer)
	w.texts.SetEscapeHTML(false)
	if err := w.value(value); err != nil {
		return nil, err
	}
	text, err := canonical.JSON(w.Bytes())
	if err != nil {
		return nil, err
	}
	if len(text) > MaxArgumentsBytes {
		return nil, tooLarge()
	}
	return text, nil
}

// writer writes values as JSON, and stops as soon as they are too large.
type writer struct {
	bytes.Buffer
	texts *json.Encoder
	path  []string
}

func (w *writer) value(value ref.Val) error {
	if w.Len() > maxWritten {
		return tooLarge()
	}
	switch value := value.(type) {
	case types.Null:
		w.WriteString("null")
	case types.Bool:
		w.WriteString(strconv.FormatBool(bool(value)))
	case types.Int:
		w.WriteString(strconv.FormatInt(int64(value), 10))
	case types.Uint:
		if value > math.MaxInt64 {
			return w.problem("%d is beyond 64 bits with a sign: pass it as text, with string()", value)
		}
		w.WriteString(strconv.FormatUint(uint64(value), 10))
	case types.Double:
		if f := float64(value); math.IsNaN(f) || math.IsInf(f, 0) {
			return w.problem("%v is no number of JSON", f)
		}
		w.WriteString(strconv.FormatFloat(float64(value), 'g', -1, 64))
	case types.String:
		return w.text(string(value))
	case traits.Mapper:
		return w.object(value)
	case traits.Lister:
		return w.list(value)
	default:
		return w.problem("a value of type %s has no form in JSON: pass text, as string() or base64.encode() give it", value.Type().TypeName())
	}
	return nil
}

// text writes what is not UTF-8 as U+FFFD.
func (w *writer) text(text string) error {
	if len(text) > MaxArgumentsBytes {
		return tooLarge()
	}
	return w.texts.Encode(text)
}

func (w *writer) object(object traits.Mapper) error {
	var keys []string
	for it := object.Iterator(); it.HasNext() == types.True && len(keys) <= MaxArgumentsBytes; {
		key, ok := it.Next().(types.String)
		if !ok {
			return w.problem("a key of a map is no text")
		}
		keys = append(keys, string(key))
	}
	slices.Sort(keys) // so that of several errors the same one is found
	w.WriteByte('{')
	for i, key := range keys {
		if i > 0 {
			w.WriteByte(',')
		}
		if err := w.text(key); err != nil {
			return err
		}
		w.WriteByte(':')
		if err := w.within(key, object.Get(types.String(key))); err != nil {
			return err
		}
	}
	w.WriteByte('}')
	return nil
}

func (w *writer) list(list traits.Lister) error {
	w.WriteByte('[')
	for i := range length(list) {
		if i > 0 {
			w.WriteByte(',')
		}
		if err := w.within(strconv.FormatInt(i, 10), list.Get(types.Int(i))); err != nil {
			return err
		}
	}
	w.WriteByte(']')
	return nil
}

// within writes a value that is one step further in.
func (w *writer) within(step string, value ref.Val) error {
	w.path = append(w.path, step)
	if len(w.path) > canonical.MaxDepth {
		return w.problem("the value is nested more than %d deep", canonical.MaxDepth)
	}
	if err := w.value(value); err != nil {
		return err
	}
	w.path = w.path[:len(w.path)-1]
	return nil
}

func (w *writer) problem(format string, args ...any) error {
	detail := fmt.Sprintf(format, args...)
	if len(w.path) == 0 {
		return fmt.Errorf("%s", detail)
	}
	return fmt.Errorf("at %s: %s", strings.Join(w.path, "."), detail)
}
