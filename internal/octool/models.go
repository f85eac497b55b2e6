// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// TabularOptions says what the type of the items does not.
type TabularOptions struct {
	// ColumnKinds replaces the kinds of columns, by name.
	ColumnKinds map[string]ColumnKind
	// Page goes into the envelope as it is.
	Page Page
}

// TabularFromModels makes a table of structs, or pointers to structs: one column
// for each field that encoding/json would write, in the order of declaration and
// under the name that it would have there.
//
// The kind of a column follows from the type of its field alone: boolean, integer
// and number from the basic types, timestamp from time.Time, ip from netip.Addr,
// ip_block from netip.Prefix, big_integer from big.Int, number from json.Number,
// for a pointer that of what it points to, and text from all else. A text cell whose
// value is no string holds its compact JSON. What JSON would leave out, a nil
// pointer, an invalid address and a float that is not finite are null. Descriptions
// are the tags `description` or `jsonschema`, if any field has one.
//
// An integer beyond 2^53 - 1 needs the kind big_integer; ValidateTabular finds it.
// The error is an *Error: for another type, for two fields of one name, for an
// option that names no column, for a value without JSON, and for what breaks a rule
// of the envelope.
func TabularFromModels[Model any](items []Model, options TabularOptions) (*TabularEnvelope, error) {
	model := reflect.TypeFor[Model]()
	if model.Kind() == reflect.Pointer {
		model = model.Elem()
	}
	if model.Kind() != reflect.Struct {
		return nil, &Error{Message: fmt.Sprintf("a table is made of structs, and %s is none", reflect.TypeFor[Model]())}
	}
	fields, err := modelFields(model)
	if err != nil {
		return nil, err
	}
	if len(fields) == 0 {
		return nil, &Error{Message: fmt.Sprintf("%s has no field that would be a column", model)}
	}
	if err := overrideKinds(fields, options.ColumnKinds); err != nil {
		return nil, err
	}
	table := tableOf(fields, len(items))
	table.Page = options.Page
	for i := range items {
		if table.Rows[i], err = modelRow(fields, reflect.ValueOf(&items[i]).Elem(), i); err != nil {
			return nil, err
		}
	}
	return NewTabular(table)
}

func overrideKinds(fields []modelField, kinds map[string]ColumnKind) error {
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		i := slices.IndexFunc(fields, func(f modelField) bool { return f.name == name })
		if i < 0 {
			return &Error{Message: fmt.Sprintf("there is no column %s to give a kind to", quoted(name))}
		}
		fields[i].kind = kinds[name]
	}
	return nil
}

func tableOf(fields []modelField, rows int) TabularEnvelope {
	table := TabularEnvelope{
		Columns:     make([]string, len(fields)),
		Rows:        make([][]Cell, rows),
		ColumnKinds: make([]ColumnKind, len(fields)),
	}
	descriptions := make([]*string, len(fields))
	for i, f := range fields {
		table.Columns[i], table.ColumnKinds[i] = f.name, f.kind
		if f.description != "" {
			descriptions[i] = new(f.description)
			table.ColumnDescriptions = descriptions
		}
	}
	return table
}

func modelRow(fields []modelField, item reflect.Value, i int) ([]Cell, error) {
	if item.Kind() == reflect.Pointer {
		if item.IsNil() {
			return nil, &Error{indexed("/rows", i), "the item is nil: leave it out"}
		}
		item = item.Elem()
	}
	row := make([]Cell, len(fields))
	for j, f := range fields {
		c, err := f.cell(item)
		if err != nil {
			at := indexed(indexed("/rows", i), j)
			if found, ok := errors.AsType[*Error](err); ok {
				return nil, &Error{at + found.Path, found.Message}
			}
			return nil, &Error{at, "the value has no JSON: " + excerpt(err.Error())}
		}
		row[j] = c
	}
	return row, nil
}
