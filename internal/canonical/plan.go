// SPDX-License-Identifier: Apache-2.0

package canonical

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// shape is how a Go type is written.
type shape uint8

const (
	shapeBool shape = iota
	shapeInt
	shapeUint
	shapeFloat
	shapeString
	shapeMarshaler // by its own MarshalJSON, whose output is free-form
	shapePointer
	shapeStruct
	shapeList
	shapeMap
)

// canBeEmpty reports whether there is an empty value of this shape, even behind a
// pointer. False and 0 are values there: that is what the pointer is for.
func (s shape) canBeEmpty() bool {
	return s == shapeString || s == shapeStruct || s == shapeList || s == shapeMap
}

// plan is how the values of a type are written, worked out once for each type.
type plan struct {
	shape  shape
	elem   *plan   // of a pointer, list or map
	fields []field // of a struct, in the order of their names
	order  order   // of a list
	key    []int   // of a keyed list: the index of the key within an element
	text   bool    // of a string: free text
	texts  bool    // free text is somewhere in it
}

// field is one member of the object that a struct is written as.
type field struct {
	name     string
	prefix   []byte // the name as a JSON string, and the colon
	index    []int
	plan     *plan
	tristate bool
}

// Check reports whether every value of a struct type has one canonical form. It
// returns an *Error where a list has no order (RuleListOrder), a tag does not
// fit (RuleTag), or a type is outside what is supported (RuleType): structs with
// json tags, slices, maps with string keys, pointers, strings, booleans, float64,
// integers within int64, and types with their own MarshalJSON. Types that
// contain themselves are refused: their depth has no bound.
func Check(t reflect.Type) error {
	if t.Kind() != reflect.Struct {
		return newError(RuleType, "a typed value is a struct, not %s", t)
	}
	_, err := planFor(t)
	return asError(err)
}

// plans holds a plan for each struct type that was ever asked for. It is bounded
// by the number of types in the program.
var plans sync.Map // of reflect.Type to *plan

func planFor(t reflect.Type) (*plan, *Error) {
	if known, ok := plans.Load(t); ok {
		return known.(*plan), nil
	}
	if marshals, err := isMarshaler(t); marshals || err != nil {
		return nil, newError(RuleType, "%s writes itself; give what it writes to JSON", t)
	}
	var p planner
	return p.structPlan(t)
}

// planner remembers the structs that it is inside of.
type planner struct{ within []reflect.Type }

// plan gives the plan of a type in a field with tag t. It clears what it uses of
// the tag, so that what is left over does not fit the field.
func (p *planner) plan(typ reflect.Type, t *tag) (*plan, *Error) {
	if typ.Kind() == reflect.Pointer {
		if typ.Elem().Kind() == reflect.Pointer {
			return nil, newError(RuleType, "%s has two ways of being absent; use one pointer", typ)
		}
		elem, err := p.plan(typ.Elem(), t)
		if err != nil {
			return nil, err
		}
		return &plan{shape: shapePointer, elem: elem, texts: elem.texts}, nil
	}
	if typ.Kind() == reflect.Interface {
		return nil, newError(RuleType, "the interface %s could hold anything; use a concrete type", typ)
	}
	if marshals, err := isMarshaler(typ); marshals || err != nil {
		return &plan{shape: shapeMarshaler}, err
	}
	switch typ.Kind() {
	case reflect.Bool:
		return &plan{shape: shapeBool}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return &plan{shape: shapeInt}, nil
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return &plan{shape: shapeUint}, nil
	case reflect.Float64:
		return &plan{shape: shapeFloat}, nil
	case reflect.String:
		text := t.text
		t.text = false
		return &plan{shape: shapeString, text: text, texts: text}, nil
	case reflect.Struct:
		return p.structPlan(typ)
	case reflect.Slice:
		return p.listPlan(typ, t)
	case reflect.Map:
		return p.mapPlan(typ, t)
	default:
		return nil, newError(RuleType, "%s has no canonical form", typ)
	}
}

var (
	marshalerType     = reflect.TypeFor[json.Marshaler]()
	textMarshalerType = reflect.TypeFor[encoding.TextMarshaler]()
)

// isMarshaler reports whether encoding/json would call the type's own
// MarshalJSON. It refuses types for which encoding/json would do something that
// depends on the way to the value, or that this package does not do.
func isMarshaler(typ reflect.Type) (bool, *Error) {
	pointer := reflect.PointerTo(typ)
	switch {
	case typ.Implements(marshalerType):
		return true, nil
	case pointer.Implements(marshalerType):
		return false, newError(RuleType, "MarshalJSON of %s must have a value receiver", typ)
	case pointer.Implements(textMarshalerType):
		return false, newError(RuleType, "%s has MarshalText and no MarshalJSON; give it one", typ)
	default:
		return false, nil
	}
}

func (p *planner) listPlan(typ reflect.Type, t *tag) (*plan, *Error) {
	l := &plan{shape: shapeList, order: t.order}
	if l.order == orderUndecided {
		return nil, newError(RuleListOrder,
			`does the order of this list carry meaning? Tag the field canonical:"ordered", "set" or "map=KEY"`)
	}
	t.order = orderUndecided
	elem, err := p.elemPlan(typ.Elem(), t)
	if err != nil {
		return nil, err
	}
	l.elem, l.texts = elem, elem.texts
	switch {
	case l.order == set && elem.shape != shapeString:
		return nil, newError(RuleTag, `a set holds strings, not %s; tag a list of objects "map=KEY"`, typ.Elem())
	case l.order == keyed:
		l.key, err = keyIndex(elem, t.key)
		t.key = ""
	}
	return l, err
}

// keyIndex finds the field by which the elements of a keyed list are told apart.
func keyIndex(elem *plan, key string) ([]int, *Error) {
	i := slices.IndexFunc(elem.fields, func(f field) bool { return f.name == key })
	if i < 0 || elem.fields[i].plan.shape != shapeString {
		return nil, newError(RuleTag, "the elements have no string field %q to be told apart by", key)
	}
	return elem.fields[i].index, nil
}

func (p *planner) mapPlan(typ reflect.Type, t *tag) (*plan, *Error) {
	if typ.Key().Kind() != reflect.String {
		return nil, newError(RuleType, "the keys of %s must be strings", typ)
	}
	if typ.Key().Implements(textMarshalerType) {
		return nil, newError(RuleType, "the keys of %s have MarshalText; use plain strings", typ)
	}
	elem, err := p.elemPlan(typ.Elem(), t)
	if err != nil {
		return nil, err
	}
	return &plan{shape: shapeMap, elem: elem, texts: elem.texts}, nil
}

// elemPlan refuses pointers: an element is there or it is not, and null would be
// a third thing.
func (p *planner) elemPlan(typ reflect.Type, t *tag) (*plan, *Error) {
	if typ.Kind() == reflect.Pointer {
		return nil, newError(RuleType, "elements must not be pointers").under("*")
	}
	elem, err := p.plan(typ, t)
	if err != nil {
		return nil, err.under("*")
	}
	return elem, nil
}

func (p *planner) structPlan(typ reflect.Type) (*plan, *Error) {
	if known, ok := plans.Load(typ); ok {
		return known.(*plan), nil
	}
	if slices.Contains(p.within, typ) {
		return nil, newError(RuleType, "%s contains itself", typ)
	}
	p.within = append(p.within, typ)
	s := &plan{shape: shapeStruct}
	if err := p.addFields(s, typ, nil); err != nil {
		return nil, err
	}
	p.within = p.within[:len(p.within)-1]
	slices.SortFunc(s.fields, func(a, b field) int { return compareUTF16(a.name, b.name) })
	for i := range s.fields {
		if i > 0 && s.fields[i-1].name == s.fields[i].name {
			return nil, newError(RuleType, "two fields have this name in JSON").under(s.fields[i].name)
		}
		s.texts = s.texts || s.fields[i].plan.texts
	}
	known, _ := plans.LoadOrStore(typ, s)
	return known.(*plan), nil
}

// addFields adds the fields of typ, which is reached from s by index, and like
// encoding/json those of the structs embedded in it.
func (p *planner) addFields(s *plan, typ reflect.Type, index []int) *Error {
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		at := append(slices.Clone(index), i)
		switch {
		case f.Tag.Get("json") == "-":
			continue
		case f.Anonymous && name == "":
			if f.Type.Kind() != reflect.Struct || !f.IsExported() {
				return newError(RuleType, "only exported structs can be embedded").under(f.Name)
			}
			if err := p.addFields(s, f.Type, at); err != nil {
				return err
			}
			continue
		case !f.IsExported():
			continue
		case name == "":
			name = f.Name
		}
		if slices.Contains(strings.Split(options, ","), "string") {
			return newError(RuleType, "the json option string makes numbers into strings").under(name)
		}
		if err := p.addField(s, f, name, at); err != nil {
			return err.under(name)
		}
	}
	return nil
}

func (p *planner) addField(s *plan, f reflect.StructField, name string, index []int) *Error {
	t, err := parseTag(f)
	if err != nil || t.excluded {
		return err
	}
	left := t
	plan, err := p.plan(f.Type, &left)
	if err != nil {
		return err
	}
	switch {
	case left.order != orderUndecided:
		return newError(RuleTag, "an order is for lists, and this is %s", f.Type)
	case left.text:
		return newError(RuleTag, "text is for strings, and this is %s", f.Type)
	case t.tristate && plan.shape != shapePointer && plan.shape != shapeList && plan.shape != shapeMap:
		return newError(RuleTag, "tristate is for lists, maps and pointers: %s has no third state", f.Type)
	}
	s.fields = append(s.fields, field{
		name:     name,
		prefix:   append(appendString(nil, name), ':'),
		index:    index,
		plan:     plan,
		tristate: t.tristate,
	})
	return nil
}
