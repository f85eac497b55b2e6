// SPDX-License-Identifier: Apache-2.0

package canonical

import (
	"errors"
	"reflect"
	"slices"
	"sync"
)

// JSON gives the canonical form of one free-form JSON value. It returns an
// *Error for text that is not JSON or that parsers read in different ways:
// duplicate keys, invalid UTF-8, lone surrogates, numbers beyond a float64. Text
// is bounded by MaxBytes and MaxDepth.
func JSON(raw []byte) ([]byte, error) {
	e := acquire()
	defer e.release()
	if err := e.freeForm(raw, 0); err != nil {
		return nil, err
	}
	return bytesOf(e)
}

// Typed gives the canonical form of a Go struct, or of what a pointer to one
// points to, by its json and canonical tags. It returns an *Error for a value
// that has no canonical form, and for a type that Check refuses.
func Typed(v any) ([]byte, error) {
	value := reflect.ValueOf(v)
	if value.Kind() == reflect.Pointer {
		value = value.Elem()
	}
	if value.Kind() != reflect.Struct {
		return nil, newError(RuleType, "a typed value is a struct or a pointer to one, not %T", v)
	}
	plan, planError := planFor(value.Type())
	if planError != nil {
		return nil, planError
	}
	e := acquire()
	defer e.release()
	if _, err := e.value(plan, value, 0); err != nil {
		return nil, err
	}
	return bytesOf(e)
}

// CheckText reports what of a JSON text Kubernetes would store otherwise than it is
// written, at most MaxFound places of it: each an *Error with its path, all of them
// joined (Unwrap() []error). Those are the data that JSON refuses, and the numbers
// that would be stored as another one. Text that is not JSON ends it.
//
// A number is kept if its canonical form is the same number in decimal. So 0.1
// and 1e21 are, and 9007199254740993, which is an int64; 0.1000000000000000055,
// 18446744073709551617, 9007199254740993.0 and 1e-400 are not.
//
// How deep a value may be depends on where in an object it begins, so the depth of
// a whole text says nothing: it is bounded as Kubernetes bounds it, and not by
// MaxDepth.
func CheckText(raw []byte) error {
	e := acquire()
	defer e.release()
	e.goOn = true
	err := e.freeForm(raw, 0)
	var all []error
	for _, found := range e.found {
		all = append(all, found)
	}
	if err != nil {
		all = append(all, e.located(err))
	}
	return errors.Join(all...)
}

const (
	// MaxFound bounds what one CheckText reports. Where it reports as many there may
	// be more.
	MaxFound = 1000
	// maxTextDepth is the nesting at which the decoder of Kubernetes gives up.
	maxTextDepth = 10_000
	// maxSteps bounds a path in it: a longer one leads to what is around the value.
	maxSteps = 2 * MaxDepth
)

// encoder holds the buffers of one encoding.
type encoder struct {
	dst []byte // the canonical form, as far as it is written

	src []byte // the free-form JSON being read
	pos int    // the next byte of src

	members []member // of the objects and maps being written, innermost last
	texts   []byte   // unescaped strings, to which members refer
	spare   []byte   // members being moved into order
	entries []entry  // of the lists being sorted, innermost last

	goOn  bool     // after what keeps a text from having a canonical form
	found []*Error // what that was, if goOn
	steps []string // to the value that is being read, if goOn
}

// encoders lets a steady stream of encodings allocate its results only.
var encoders = sync.Pool{New: func() any { return new(encoder) }}

func acquire() *encoder { return encoders.Get().(*encoder) }

// The largest buffers that go back into the pool: those of any usual Spec, but
// not those of the largest input that is accepted.
const (
	maxPooledBytes   = 1 << 20
	maxPooledMembers = 1 << 12
)

// release forgets the data, so that the pool keeps no object alive.
func (e *encoder) release() {
	if cap(e.dst) > maxPooledBytes || cap(e.members) > maxPooledMembers || cap(e.entries) > maxPooledMembers {
		return
	}
	clear(e.members[:cap(e.members)])
	clear(e.entries[:cap(e.entries)])
	*e = encoder{
		dst:     e.dst[:0],
		members: e.members[:0],
		texts:   e.texts[:0],
		spare:   e.spare[:0],
		entries: e.entries[:0],
	}
	encoders.Put(e)
}

func bytesOf(e *encoder) ([]byte, error) {
	if len(e.dst) > MaxBytes {
		return nil, newError(RuleTooLarge, "the canonical form has %d bytes, more than %d", len(e.dst), MaxBytes)
	}
	return slices.Clone(e.dst), nil
}

// member is one member of an object in dst: "key":value, followed by a comma.
type member struct {
	key        []byte // unescaped
	start, end int    // in dst, without the comma
}

// endObject puts the members above first, which fill dst from body on, into the
// order of their keys and closes the object. It refuses a key that is there
// twice: parsers differ on which of the two counts.
func (e *encoder) endObject(first, body int) *Error {
	members := e.members[first:]
	if !increasing(members) {
		slices.SortFunc(members, func(a, b member) int { return compareUTF16(a.key, b.key) })
		for i := 1; i < len(members); i++ {
			if string(members[i-1].key) == string(members[i].key) {
				duplicate := newError(RuleDuplicateKey, "the key is there more than once; keep one").under(string(members[i].key))
				if err := e.note(duplicate); err != nil {
					return err
				}
			}
		}
		e.spare = append(e.spare[:0], e.dst[body:]...)
		e.dst = e.dst[:body]
		for _, m := range members {
			e.dst = append(e.dst, e.spare[m.start-body:m.end-body]...)
			e.dst = append(e.dst, ',')
		}
	}
	e.members = e.members[:first]
	e.close('}')
	return nil
}

func increasing(members []member) bool {
	for i := 1; i < len(members); i++ {
		if compareUTF16(members[i-1].key, members[i].key) >= 0 {
			return false
		}
	}
	return true
}

// close ends an object or array, over the comma after its last part.
func (e *encoder) close(bracket byte) {
	if last := len(e.dst) - 1; e.dst[last] == ',' {
		e.dst[last] = bracket
		return
	}
	e.dst = append(e.dst, bracket)
}

// checkDepth is called for each object and array, depth being the number of
// those around it. Whatever is written can thus be read by JSON again.
func (e *encoder) checkDepth(depth int) *Error {
	limit := MaxDepth
	if e.goOn {
		limit = maxTextDepth
	}
	if depth < limit {
		return nil
	}
	return newError(RuleTooDeep, "objects and arrays are nested more than %d deep", limit)
}

// note gives the error back, unless reading goes on: then it is kept.
func (e *encoder) note(err *Error) *Error {
	if !e.goOn {
		return err
	}
	if len(e.found) < MaxFound {
		e.found = append(e.found, e.located(err))
	}
	return nil
}

// located puts the steps to the value that is being read in front of the path.
func (e *encoder) located(err *Error) *Error {
	if len(e.steps) > maxSteps {
		err.Path = ""
	}
	for _, step := range slices.Backward(e.steps[:min(len(e.steps), maxSteps)]) {
		err.prepend(step)
	}
	return err
}

// under puts a step in front of the path, unless the steps are kept apart. They
// stay as they are where an error ends the reading.
func (e *encoder) under(err *Error, step string) *Error {
	if e.goOn {
		return err
	}
	return err.under(step)
}

// leave takes back the last step.
func (e *encoder) leave() {
	if e.goOn {
		e.steps = e.steps[:len(e.steps)-1]
	}
}
