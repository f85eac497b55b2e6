// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"errors"
	"strconv"
)

// objectWriter writes an object member by member, in the order of the format. The
// first error is kept, under its place.
type objectWriter struct {
	at  string // of the object
	dst []byte
	err error
}

func (w *objectWriter) key(key string) {
	if len(w.dst) == 0 {
		w.dst = append(w.dst, '{')
	} else {
		w.dst = append(w.dst, ',')
	}
	w.dst = append(append(append(w.dst, '"'), key...), '"', ':')
}

// fail keeps the first error, which says what is wrong at a place.
func (w *objectWriter) fail(at string, err error) {
	if w.err != nil || err == nil {
		return
	}
	if found, ok := errors.AsType[*Error](err); ok {
		err = &Error{at + found.Path, found.Message}
	}
	w.err = err
}

func (w *objectWriter) raw(key string, value []byte) {
	w.key(key)
	w.dst = append(w.dst, value...)
}

func (w *objectWriter) object(key string, inner *objectWriter) {
	w.fail("", inner.err)
	w.raw(key, inner.end())
}

func (w *objectWriter) text(at, value string) {
	var err error
	w.dst, err = appendText(w.dst, value)
	w.fail(at, err)
}

func (w *objectWriter) string(key, value string) {
	w.key(key)
	w.text(w.at+"/"+key, value)
}

// optionalString leaves out nil.
func (w *objectWriter) optionalString(key string, value *string) {
	if value != nil {
		w.string(key, *value)
	}
}

func (w *objectWriter) bool(key string, value bool) {
	w.key(key)
	w.dst = strconv.AppendBool(w.dst, value)
}

func (w *objectWriter) int(key string, value int64) {
	w.key(key)
	w.dst = strconv.AppendInt(w.dst, value, 10)
}

// optionalInt leaves out nil.
func (w *objectWriter) optionalInt(key string, value *int64) {
	if value != nil {
		w.int(key, *value)
	}
}

// list writes an array of n elements.
func (w *objectWriter) list(key string, n int, element func(i int)) {
	w.key(key)
	w.dst = append(w.dst, '[')
	for i := range n {
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		element(i)
	}
	w.dst = append(w.dst, ']')
}

func (w *objectWriter) strings(key string, values []string) {
	w.list(key, len(values), func(i int) { w.text(indexed(w.at+"/"+key, i), values[i]) })
}

// optionalStrings writes nil as null.
func (w *objectWriter) optionalStrings(key string, values []*string) {
	w.list(key, len(values), func(i int) {
		if values[i] == nil {
			w.dst = append(w.dst, "null"...)
			return
		}
		w.text(indexed(w.at+"/"+key, i), *values[i])
	})
}

// end closes the object.
func (w *objectWriter) end() []byte {
	if len(w.dst) == 0 {
		w.dst = append(w.dst, '{')
	}
	return append(w.dst, '}')
}

// result closes the object and gives it, or the error.
func (w *objectWriter) result() ([]byte, error) {
	if w.err != nil {
		return nil, w.err
	}
	return w.end(), nil
}
