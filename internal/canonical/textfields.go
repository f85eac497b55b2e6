// SPDX-License-Identifier: Apache-2.0

package canonical

import "reflect"

// NormalizeTextFields applies NormalizeText to every string in v, a pointer to a
// struct, whose field has the canonical tag "text". It changes v in place, and
// lists and maps that v shares with others. It returns the *Error of Check.
func NormalizeTextFields(v any) error {
	value := reflect.ValueOf(v)
	if value.Kind() != reflect.Pointer || value.Type().Elem().Kind() != reflect.Struct || value.IsNil() {
		return newError(RuleType, "normalising takes a pointer to a struct, not %T", v)
	}
	p, err := planFor(value.Type().Elem())
	if err != nil {
		return err
	}
	normalize(p, value.Elem())
	return nil
}

// normalize takes a settable value.
func normalize(p *plan, v reflect.Value) {
	if !p.texts {
		return
	}
	switch p.shape {
	case shapePointer:
		if !v.IsNil() {
			normalize(p.elem, v.Elem())
		}
	case shapeStruct:
		for i := range p.fields {
			normalize(p.fields[i].plan, v.FieldByIndex(p.fields[i].index))
		}
	case shapeList:
		for i := range v.Len() {
			normalize(p.elem, v.Index(i))
		}
	case shapeMap:
		normalizeMap(p, v)
	default: // a string: no other scalar holds text
		v.SetString(NormalizeText(v.String()))
	}
}

// normalizeMap works on a copy of each value: those in a map cannot be set.
func normalizeMap(p *plan, v reflect.Value) {
	elem := reflect.New(v.Type().Elem()).Elem()
	for entries := v.MapRange(); entries.Next(); {
		elem.Set(entries.Value())
		normalize(p.elem, elem)
		v.SetMapIndex(entries.Key(), elem)
	}
}
