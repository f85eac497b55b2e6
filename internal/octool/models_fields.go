// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"time"
)

// modelField is a field that is a column.
type modelField struct {
	name, description   string
	kind                ColumnKind
	index               []int
	omitEmpty, omitZero bool
}

// modelFields lists the fields that encoding/json would write. Those of an embedded
// struct without a name of its own count as fields of the struct around it.
func modelFields(model reflect.Type) ([]modelField, error) {
	var fields []modelField
	var closed [][]int // embedded structs whose fields are not promoted
	for _, f := range reflect.VisibleFields(model) {
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		embedded := f.Anonymous && structOf(f.Type) != nil
		switch {
		case slices.ContainsFunc(closed, func(index []int) bool { return isWithin(f.Index, index) }):
			continue
		case tag == "-":
			closed = append(closed, f.Index)
			continue
		case embedded && name == "":
			continue
		case embedded && !f.IsExported():
			return nil, &Error{Message: fmt.Sprintf("%s embeds %s under a name: export the type, or its value cannot be read", model, f.Name)}
		case !f.IsExported():
			continue
		}
		closed = append(closed, f.Index)
		column := modelField{
			name:        cmp.Or(name, f.Name),
			description: cmp.Or(f.Tag.Get("description"), f.Tag.Get("jsonschema")),
			kind:        kindOf(f.Type),
			index:       f.Index,
		}
		for option := range strings.SplitSeq(options, ",") {
			column.omitEmpty = column.omitEmpty || option == "omitempty"
			column.omitZero = column.omitZero || option == "omitzero"
		}
		if slices.ContainsFunc(fields, func(other modelField) bool { return other.name == column.name }) {
			return nil, &Error{Message: fmt.Sprintf("%s has two fields named %s: rename one", model, quoted(column.name))}
		}
		fields = append(fields, column)
	}
	return fields, nil
}

// isWithin tells whether a field lies in the struct at index.
func isWithin(field, index []int) bool {
	return len(field) > len(index) && slices.Equal(field[:len(index)], index)
}

// structOf gives the struct that an embedded field is or points to, or nil.
func structOf(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	return t
}

var (
	timeType    = reflect.TypeFor[time.Time]()
	addressType = reflect.TypeFor[netip.Addr]()
	prefixType  = reflect.TypeFor[netip.Prefix]()
	bigIntType  = reflect.TypeFor[big.Int]()
	numberType  = reflect.TypeFor[json.Number]()
)

// kindOf gives the kind of a column from the type of its field.
func kindOf(t reflect.Type) ColumnKind {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case timeType:
		return KindTimestamp
	case addressType:
		return KindIP
	case prefixType:
		return KindIPBlock
	case bigIntType:
		return KindBigInteger
	case numberType:
		return KindNumber
	}
	if marshalsItself(t) {
		return KindText
	}
	switch t.Kind() {
	case reflect.Bool:
		return KindBoolean
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return KindInteger
	case reflect.Float32, reflect.Float64:
		return KindNumber
	default:
		return KindText
	}
}

// marshalsItself tells whether JSON shows something else than the basic type.
func marshalsItself(t reflect.Type) bool {
	pointer := reflect.PointerTo(t)
	return pointer.Implements(jsonMarshaler) || pointer.Implements(textMarshaler)
}
