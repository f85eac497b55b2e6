// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"encoding"
	"encoding/json"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// InputSchemaFor derives the schema of the arguments from a struct, so that it is
// strict-clean unless a field is a map or an interface. The tags of a field say
// what its type does not: json its name, jsonschema its description, and on a
// field of strings, or on a slice of them, format and enum (values apart by
// commas).
//
// A field with omitempty or omitzero is optional: null and absent are then the
// same, its zero value. A pointer without them must be given, and may be null.
// Bounds belong in the description, and are checked by Func. The error is an
// *Error for a type that JSON Schema cannot describe, and for one that contains
// itself.
func InputSchemaFor[T any]() (json.RawMessage, error) {
	return schemaFor(reflect.TypeFor[T](), true)
}

// OutputSchemaFor derives the schema of a result from a struct, closed as the
// struct is. Beside the tags that InputSchemaFor reads, x-sensitivity says how a
// field may be shown.
func OutputSchemaFor[T any]() (json.RawMessage, error) {
	return schemaFor(reflect.TypeFor[T](), false)
}

func schemaFor(t reflect.Type, input bool) (json.RawMessage, error) {
	if t.Kind() != reflect.Struct || hasOwnForm(t) {
		return nil, fault("", "no schema of type object can be derived from %s: use a struct", t)
	}
	forms := ownForms{}
	if err := forms.collect(t, map[reflect.Type]bool{}); err != nil {
		return nil, err
	}
	derived, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: forms})
	if err != nil {
		return nil, fault("", "no schema can be derived from %s: %s", t, err)
	}
	shaper := shaper{input: input, forms: forms}
	if derived, err = shaper.shape(derived, t, ""); err != nil {
		return nil, err
	}
	if err := forms.define(derived, input); err != nil {
		return nil, err
	}
	return encodeJSON(derived)
}

// tabularDefinition is the name under which a schema holds that of a table.
const tabularDefinition = "TabularEnvelope"

// define adds the definitions that the forms refer to.
func (f ownForms) define(root *jsonschema.Schema, input bool) error {
	if f[reflect.TypeFor[TabularEnvelope]()] == nil {
		return nil
	}
	text := TabularSchema()
	if input {
		text = TabularInputSchema()
	}
	table := &jsonschema.Schema{}
	if err := json.Unmarshal(text, table); err != nil {
		return fault("", "the schema of a table: %s", err)
	}
	root.Defs = map[string]*jsonschema.Schema{tabularDefinition: table}
	return nil
}

// ownForms are the schemas of types that write themselves as JSON.
type ownForms map[reflect.Type]*jsonschema.Schema

var (
	textMarshaler   = reflect.TypeFor[encoding.TextMarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
	jsonMarshaler   = reflect.TypeFor[json.Marshaler]()
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	knownForms      = map[reflect.Type]func() *jsonschema.Schema{
		reflect.TypeFor[json.Number]():     func() *jsonschema.Schema { return &jsonschema.Schema{Type: "number"} },
		reflect.TypeFor[json.RawMessage](): func() *jsonschema.Schema { return &jsonschema.Schema{} },
		reflect.TypeFor[TabularEnvelope](): func() *jsonschema.Schema { return &jsonschema.Schema{Ref: "#/$defs/" + tabularDefinition} },
		reflect.TypeFor[netip.Addr]():      stringSchema,
		reflect.TypeFor[netip.Prefix]():    stringSchema,
		reflect.TypeFor[time.Time](): func() *jsonschema.Schema {
			return &jsonschema.Schema{Type: "string", Format: "date-time"}
		},
	}
)

func stringSchema() *jsonschema.Schema { return &jsonschema.Schema{Type: "string"} }

// hasOwnForm says whether values of a type write or read their JSON themselves.
func hasOwnForm(t reflect.Type) bool {
	pointer := reflect.PointerTo(t)
	return isBytes(t) || knownForms[t] != nil || pointer.Implements(jsonMarshaler) || pointer.Implements(jsonUnmarshaler) ||
		pointer.Implements(textMarshaler) || pointer.Implements(textUnmarshaler)
}

// isBytes says whether a type is written as text in base64.
func isBytes(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}

// collect finds the types within t that have a form of their own. One that writes
// itself as text is a string; of one that writes JSON nothing is known.
func (f ownForms) collect(t reflect.Type, seen map[reflect.Type]bool) error {
	if seen[t] {
		return nil
	}
	seen[t] = true
	if hasOwnForm(t) {
		return f.add(t)
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return f.collect(t.Elem(), seen)
	case reflect.Struct:
		for field := range t.Fields() {
			if !field.IsExported() && !field.Anonymous || field.Tag.Get("json") == "-" {
				continue
			}
			if err := f.collect(field.Type, seen); err != nil {
				return err
			}
		}
	default:
	}
	return nil
}

func (f ownForms) add(t reflect.Type) error {
	pointer := reflect.PointerTo(t)
	switch known := knownForms[t]; {
	case known != nil:
		f[t] = known()
	case pointer.Implements(jsonMarshaler) || pointer.Implements(jsonUnmarshaler):
		return fault("", "no schema can be derived from %s, which has a JSON form of its own: use a plain type", t)
	default:
		f[t] = stringSchema()
	}
	return nil
}

// shaper turns what was derived of a type into what models accept.
type shaper struct {
	input bool
	forms ownForms
}

// shape goes through a schema and the type that it was derived from.
func (s shaper) shape(schema *jsonschema.Schema, t reflect.Type, at string) (*jsonschema.Schema, error) {
	if t.Kind() == reflect.Pointer {
		return s.pointer(schema, t, at)
	}
	if s.input {
		dropBounds(schema)
	}
	if s.forms[t] != nil {
		return schema, nil
	}
	var err error
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		if s.input && t.Kind() == reflect.Array {
			return nil, fault(at, "an argument cannot be the array %s, as its length cannot be stated: use a slice", t)
		}
		schema.Items, err = s.shape(schema.Items, t.Elem(), at+"/items")
	case reflect.Map:
		schema.AdditionalProperties, err = s.shape(schema.AdditionalProperties, t.Elem(), at+"/additionalProperties")
	case reflect.Struct:
		err = s.fields(schema, t, at)
	default:
	}
	return schema, err
}

// pointer says that a value may be null.
func (s shaper) pointer(schema *jsonschema.Schema, t reflect.Type, at string) (*jsonschema.Schema, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	inner, err := s.shape(withoutNull(schema), t, at)
	if err != nil {
		return nil, err
	}
	return nullable(inner), nil
}

// withoutNull takes back the null that a pointer or a slice was derived with.
func withoutNull(schema *jsonschema.Schema) *jsonschema.Schema {
	if len(schema.Types) > 0 && schema.Types[0] == "null" {
		schema.Type, schema.Types = strings.Join(schema.Types[1:], ""), nil
	}
	return schema
}

// nullable admits null beside a schema; what is said of the field stays with it.
func nullable(schema *jsonschema.Schema) *jsonschema.Schema {
	outer := &jsonschema.Schema{Description: schema.Description, Extra: schema.Extra}
	schema.Description, schema.Extra = "", nil
	outer.AnyOf = []*jsonschema.Schema{schema, {Type: "null"}}
	return outer
}

// dropBounds takes away what was derived of the size of a type, and the null that
// stands for an empty slice.
func dropBounds(schema *jsonschema.Schema) {
	schema.Minimum, schema.Maximum, schema.MinItems, schema.MaxItems = nil, nil, nil, nil
	withoutNull(schema)
}

func (s shaper) fields(schema *jsonschema.Schema, t reflect.Type, at string) error {
	if schema.Properties == nil { // models refuse an object schema that lacks them
		schema.Properties = map[string]*jsonschema.Schema{}
	}
	for _, field := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" {
			name = field.Name
		}
		property := schema.Properties[name]
		if property == nil || field.Anonymous || !field.IsExported() {
			continue
		}
		where := at + "/properties/" + pointerEscapes.Replace(name)
		optional := false
		for option := range strings.SplitSeq(options, ",") {
			switch option {
			case "string":
				return fault(where, "the option string of a json tag cannot be stated in a schema: leave it out")
			case "omitempty", "omitzero":
				optional = true
			}
		}
		shaped, err := s.field(property, field, optional, where)
		if err != nil {
			return err
		}
		schema.Properties[name] = shaped
	}
	return nil
}

func (s shaper) field(schema *jsonschema.Schema, field reflect.StructField, optional bool, at string) (*jsonschema.Schema, error) {
	if err := s.tags(schema, field, at); err != nil {
		return nil, err
	}
	if !optional {
		return s.shape(schema, field.Type, at)
	}
	// A result leaves out what is nil, and arguments may have null for it.
	t := field.Type
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	shaped, err := s.shape(withoutNull(schema), t, at)
	if err != nil || !s.input {
		return shaped, err
	}
	shaped = nullable(shaped)
	shaped.Default = json.RawMessage("null")
	return shaped, nil
}

// tags reads what the tags of a field say of its values.
func (s shaper) tags(schema *jsonschema.Schema, field reflect.StructField, at string) error {
	if sensitivity, ok := field.Tag.Lookup("x-sensitivity"); ok {
		if s.input {
			return fault(at, "x-sensitivity belongs on results, not on arguments")
		}
		schema.Extra = map[string]any{"x-sensitivity": sensitivity}
	}
	format, enum := field.Tag.Get("format"), field.Tag.Get("enum")
	if format == "" && enum == "" {
		return nil
	}
	values := schema
	if values.Items != nil {
		values = values.Items
	}
	if values.Type != "string" && !slices.Equal(values.Types, []string{"null", "string"}) {
		return fault(at, "the tags format and enum are for strings, and %s is none", field.Type)
	}
	if format != "" {
		values.Format = format
	}
	if enum != "" {
		for value := range strings.SplitSeq(enum, ",") {
			values.Enum = append(values.Enum, value)
		}
	}
	return nil
}
