// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"math/big"
	"net/netip"
	"reflect"
	"strconv"
)

// cell gives the field of an item as its column holds it.
func (f *modelField) cell(item reflect.Value) (Cell, error) {
	value, err := item.FieldByIndexErr(f.index)
	if err != nil { // it lies in an embedded pointer that is nil
		return NullCell(), nil // JSON leaves it out as well
	}
	if f.omitEmpty && isEmpty(value) || f.omitZero && isZero(value) {
		return NullCell(), nil
	}
	for value.Kind() == reflect.Pointer {
		if value.IsNil() {
			return NullCell(), nil
		}
		value = value.Elem()
	}
	c, err := cellOf(value)
	switch {
	case err != nil:
		return Cell{}, err
	case f.kind == KindBigInteger:
		return c.asBigInteger(), nil
	case f.kind == KindText && !c.IsNull():
		return StringCell(c.text), nil
	default:
		return c, nil
	}
}

// cellOf gives a value that is no pointer.
func cellOf(value reflect.Value) (Cell, error) {
	switch value.Type() {
	case bigIntType:
		number := value.Addr().Interface().(*big.Int)
		return Cell{TypeInteger, number.String()}, nil
	case addressType:
		if address := value.Interface().(netip.Addr); address.IsValid() {
			return StringCell(address.String()), nil
		}
		return NullCell(), nil
	case prefixType:
		if prefix := value.Interface().(netip.Prefix); prefix.IsValid() {
			return StringCell(prefix.String()), nil
		}
		return NullCell(), nil
	}
	if marshalsItself(value.Type()) {
		return jsonCell(value)
	}
	switch value.Kind() {
	case reflect.Bool:
		return BooleanCell(value.Bool()), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return IntegerCell(value.Int()), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return Cell{TypeInteger, strconv.FormatUint(value.Uint(), 10)}, nil
	case reflect.Float32:
		return floatCell(value.Float(), 32), nil
	case reflect.Float64:
		return FloatCell(value.Float()), nil
	case reflect.String:
		if value.Type() == numberType {
			return jsonCell(value)
		}
		return StringCell(value.String()), nil
	case reflect.Interface:
		if inner := value.Elem(); inner.IsValid() && inner.CanFloat() {
			return floatCell(inner.Float(), inner.Type().Bits()), nil
		}
		return jsonCell(value)
	default:
		return jsonCell(value)
	}
}

// jsonCell gives what encoding/json makes of a value: a scalar as it is, and an
// object or array as its text.
func jsonCell(value reflect.Value) (Cell, error) {
	if value.Type() == numberType && value.Len() == 0 {
		return NullCell(), nil // where encoding/json writes 0, which nobody said
	}
	text, err := encodeJSON(value.Addr().Interface())
	if err != nil {
		return Cell{}, err
	}
	if text[0] == '{' || text[0] == '[' {
		return StringCell(string(text)), nil
	}
	return ParseCell(text)
}

// isEmpty is what the option omitempty leaves out.
func isEmpty(value reflect.Value) bool {
	switch value.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return value.Len() == 0
	case reflect.Struct:
		return false
	default:
		return value.IsZero()
	}
}

// isZero is what the option omitzero leaves out: what its own IsZero says, else the
// zero value.
func isZero(value reflect.Value) bool {
	if nilable := value.Kind() == reflect.Pointer || value.Kind() == reflect.Interface; nilable && value.IsNil() {
		return true
	}
	for _, v := range []reflect.Value{value, value.Addr()} {
		if zeroer, ok := reflect.TypeAssert[interface{ IsZero() bool }](v); ok {
			return zeroer.IsZero()
		}
	}
	return value.IsZero()
}
