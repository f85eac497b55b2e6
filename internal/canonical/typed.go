// SPDX-License-Identifier: Apache-2.0

package canonical

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"
)

// presence says how much of a value there is, and so whether a field is written.
//
// In typed fields no value, null and empty are one thing, and its one form is
// that nothing is written: no key for false, 0, "", [], {} and an object of such
// fields. It is told apart only where the type says so: a boolean or number
// behind a pointer is written, zero too, and with the tag "tristate" an empty
// list, map, string or struct is.
//
// A field of free-form JSON is written, "" and {} too, but not if all of it is
// null, which Go cannot tell from no value. Within free-form JSON everything is
// a value, null too. So are the elements of typed lists and maps: their being
// there is what they say.
//
// Prevents: {}, {"tools":null} and {"tools":[]} hashing differently; and, for
// tri-state fields, false and [] hashing like no view at all.
type presence uint8

const (
	absent presence = iota
	empty
	present
)

// value writes v, whatever its presence, depth being the number of objects and
// arrays around it.
func (e *encoder) value(p *plan, v reflect.Value, depth int) (presence, *Error) {
	switch p.shape {
	case shapePointer:
		return e.pointer(p, v, depth)
	case shapeStruct:
		return e.object(p, v, depth)
	case shapeList:
		return e.list(p, v, depth)
	case shapeMap:
		return e.mapping(p, v, depth)
	case shapeMarshaler:
		return e.marshaler(v, depth)
	case shapeString:
		return e.text(v.String())
	case shapeBool:
		e.dst = strconv.AppendBool(e.dst, v.Bool())
		return presentIf(v.Bool()), nil
	case shapeInt:
		e.dst = strconv.AppendInt(e.dst, v.Int(), 10)
		return presentIf(v.Int() != 0), nil
	case shapeUint:
		e.dst = strconv.AppendUint(e.dst, v.Uint(), 10)
		return presentIf(v.Uint() != 0), nil
	default:
		return e.float(v.Float())
	}
}

func presentIf(ok bool) presence {
	if ok {
		return present
	}
	return empty
}

func (e *encoder) text(s string) (presence, *Error) {
	if !utf8.ValidString(s) {
		return absent, invalidUTF8(s)
	}
	e.dst = appendString(e.dst, s)
	return presentIf(s != ""), nil
}

func (e *encoder) float(f float64) (presence, *Error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return absent, newError(RuleNumberRange, "%v is not a number in JSON", f)
	}
	e.dst = appendFloat(e.dst, f)
	return presentIf(f != 0), nil
}

func (e *encoder) pointer(p *plan, v reflect.Value, depth int) (presence, *Error) {
	if v.IsNil() {
		e.dst = append(e.dst, "null"...)
		return absent, nil
	}
	found, err := e.value(p.elem, v.Elem(), depth)
	if found == empty && !p.elem.shape.canBeEmpty() {
		found = present
	}
	return found, err
}

// marshaler treats what a type writes for itself as free-form JSON.
func (e *encoder) marshaler(v reflect.Value, depth int) (presence, *Error) {
	zero := v.IsZero()
	if v.CanAddr() { // saves a copy
		v = v.Addr()
	}
	raw, err := v.Interface().(json.Marshaler).MarshalJSON()
	if err != nil {
		return absent, newError(RuleMarshal, "%v", err)
	}
	start := len(e.dst)
	if err := e.freeForm(raw, depth); err != nil {
		return absent, err
	}
	if string(e.dst[start:]) == "null" {
		return absent, nil
	}
	return presentIf(!zero), nil
}

func (e *encoder) object(p *plan, v reflect.Value, depth int) (presence, *Error) {
	if err := e.checkDepth(depth); err != nil {
		return absent, err
	}
	e.dst = append(e.dst, '{')
	body := len(e.dst)
	for i := range p.fields {
		f := &p.fields[i]
		start := len(e.dst)
		e.dst = append(e.dst, f.prefix...)
		found, err := e.value(f.plan, v.FieldByIndex(f.index), depth+1)
		if err != nil {
			return absent, err.under(f.name)
		}
		if found == absent || found == empty && !f.tristate {
			e.dst = e.dst[:start]
			continue
		}
		e.dst = append(e.dst, ',')
	}
	some := len(e.dst) > body
	e.close('}')
	return presentIf(some), nil
}

func (e *encoder) mapping(p *plan, v reflect.Value, depth int) (presence, *Error) {
	if err := e.checkDepth(depth); err != nil {
		return absent, err
	}
	first := len(e.members)
	e.dst = append(e.dst, '{')
	body := len(e.dst)
	for entries := v.MapRange(); entries.Next(); {
		key := entries.Key().String()
		m := member{key: e.copyText(key), start: len(e.dst)}
		if _, err := e.text(key); err != nil {
			return absent, err.under(key)
		}
		e.dst = append(e.dst, ':')
		if _, err := e.value(p.elem, entries.Value(), depth+1); err != nil {
			return absent, err.under(key)
		}
		m.end = len(e.dst)
		e.members = append(e.members, m)
		e.dst = append(e.dst, ',')
	}
	if err := e.endObject(first, body); err != nil {
		return absent, err
	}
	if v.IsNil() {
		return absent, nil
	}
	return presentIf(v.Len() > 0), nil
}

func (e *encoder) copyText(s string) []byte {
	begin := len(e.texts)
	e.texts = append(e.texts, s...)
	return e.texts[begin:len(e.texts):len(e.texts)]
}

func (e *encoder) list(p *plan, v reflect.Value, depth int) (presence, *Error) {
	if err := e.checkDepth(depth); err != nil {
		return absent, err
	}
	e.dst = append(e.dst, '[')
	var err *Error
	if p.order == ordered {
		err = e.orderedList(p, v, depth)
	} else {
		err = e.sortedList(p, v, depth)
	}
	if err != nil {
		return absent, err
	}
	e.close(']')
	if v.IsNil() {
		return absent, nil
	}
	return presentIf(v.Len() > 0), nil
}

func (e *encoder) orderedList(p *plan, v reflect.Value, depth int) *Error {
	for i := range v.Len() {
		if _, err := e.value(p.elem, v.Index(i), depth+1); err != nil {
			return err.underIndex(i)
		}
		e.dst = append(e.dst, ',')
	}
	return nil
}

// entry is one element of a list that is being sorted.
type entry struct {
	key   string
	index int // in the list as it came, which is what paths show
}

// sortedList writes a set or a keyed list in the order of its keys. A set holds
// each string once; two elements with one key cannot be put in an order that
// means nothing, so they are refused.
func (e *encoder) sortedList(p *plan, v reflect.Value, depth int) *Error {
	first := len(e.entries)
	for i := range v.Len() {
		key := v.Index(i)
		if p.order == keyed {
			key = key.FieldByIndex(p.key)
		}
		e.entries = append(e.entries, entry{key: key.String(), index: i})
	}
	entries := e.entries[first:]
	byKey := func(a, b entry) int { return compareUTF16(a.key, b.key) }
	if !slices.IsSortedFunc(entries, byKey) {
		slices.SortStableFunc(entries, byKey)
	}
	for i, entry := range entries {
		if i > 0 && entry.key == entries[i-1].key {
			if p.order == set {
				continue
			}
			return newError(RuleDuplicateKey, "%.*q is there more than once; keep one", maxExcerpt, entry.key).
				underIndex(entry.index)
		}
		if _, err := e.value(p.elem, v.Index(entry.index), depth+1); err != nil {
			return err.underIndex(entry.index)
		}
		e.dst = append(e.dst, ',')
	}
	e.entries = e.entries[:first]
	return nil
}
