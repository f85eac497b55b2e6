// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"encoding/json"
	"slices"
	"strings"
)

// strictTypes and strictFormats are those that models accept under strict calling.
var (
	strictTypes   = []string{"object", "array", "string", "integer", "number", "boolean", "null"}
	strictFormats = []string{"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}
)

// StrictClean finds where an input schema leaves the subset of JSON Schema 2020-12
// that models accept under strict calling. The findings stand in the order of a
// walk that takes keywords and properties by name, each at the keyword that is
// wrong or at the schema that lacks one; recursive references come last.
//
// The work is linear in the text, of which MaxSchemaBytes are read, nested
// MaxSchemaDepth deep at most: what exceeds that is found as root_not_object, as
// is what is no JSON. Of more than MaxSchemaFindings the last says how many there
// are. The schema is only read.
func StrictClean(schema json.RawMessage) []Finding {
	list, more := strictClean(schema)
	return upTo(MaxSchemaFindings, list, more)
}

// strictClean lists MaxSchemaFindings at most, and counts those beyond.
func strictClean(schema json.RawMessage) (list []Finding, more int) {
	found := &findings{}
	root, err := parseNode(schema)
	if err != nil {
		found.add(RuleRootNotObject, nil, "the schema cannot be read: %s", err)
		return found.list, 0
	}
	cleaner := strictCleaner{findings: found, definitions: definitionsOf(root)}
	cleaner.root(root)
	cleaner.recursive()
	return found.list, found.more
}

// strictCleaner is one walk over one schema.
type strictCleaner struct {
	*findings
	definitions *definitions
}

// scope is what the schemas around one say of it.
type scope struct {
	// definition is the entry of $defs that it is in, or none.
	definition int
	// allOf says that it is within an allOf.
	allOf bool
}

func (c *strictCleaner) root(root *node) {
	if root.kind != objectNode || !root.member("type").is("object") {
		c.add(RuleRootNotObject, nil, `the schema of the arguments must be a JSON object with "type": "object"`)
	}
	if root.kind == objectNode {
		c.schema(root, nil, scope{definition: none})
	}
}

// schema checks one schema, then those within it.
func (c *strictCleaner) schema(s *node, at *place, in scope) {
	if s.kind != objectNode {
		c.add(RuleType, at, "a schema must be an object with a type, and this is %s", s.kind)
		return
	}
	members := s.sorted()
	c.closed(s, at)
	for _, m := range members {
		c.keyword(m, at.child(m.name), in)
	}
	c.optionalFields(s, at)
	for _, m := range members {
		c.within(m, at, in)
	}
}

// keyword checks the value of one keyword by itself.
func (c *strictCleaner) keyword(m member, at *place, in scope) {
	switch value := m.value; m.name {
	case "type":
		c.types(value, at)
	case "format":
		if value.kind != stringNode || !slices.Contains(strictFormats, value.text) {
			c.add(RuleFormat, at, "a format must be one of %s: state any other in the description", strings.Join(strictFormats, ", "))
		}
	case "minItems":
		if !isZeroOrOne(value) {
			c.add(RuleMinItems, at, "minItems must be 0 or 1: state any other bound in the description")
		}
	case "enum":
		c.enum(value, at)
	case "$ref":
		c.reference(value, at, in)
	case "properties", "$defs":
		c.expect(value.kind == objectNode, at, "an object of schemas")
	case "anyOf", "allOf":
		c.expect(value.kind == arrayNode && len(value.elements) > 0, at, "an array of schemas, one at least")
	case "required":
		c.expect(value.kind == arrayNode && !slices.ContainsFunc(value.elements, func(e *node) bool { return e.kind != stringNode }),
			at, "an array of names")
	case "description":
		c.expect(value.kind == stringNode, at, "a string")
	case "items", "additionalProperties", "const", "default":
	default:
		c.add(RuleKeyword, at, "the keyword %s is outside the subset: leave it out, and state in the description what it said", quoted(m.name))
	}
}

func (c *strictCleaner) expect(holds bool, at *place, what string) {
	if !holds {
		c.add(RuleKeyword, at, "the value of this keyword must be %s", what)
	}
}

func (c *strictCleaner) types(value *node, at *place) {
	names := []*node{value}
	if value.kind == arrayNode && len(value.elements) > 0 {
		names = value.elements
	}
	for _, name := range names {
		if name.kind != stringNode || !slices.Contains(strictTypes, name.text) {
			c.add(RuleType, at, "a type must be one of %s", strings.Join(strictTypes, ", "))
			return
		}
	}
}

func (c *strictCleaner) enum(value *node, at *place) {
	if value.kind != arrayNode {
		c.add(RuleEnumValue, at, "an enum must be an array of strings, numbers, booleans or null, and this is %s", value.kind)
		return
	}
	for i, element := range value.elements {
		if element.kind == objectNode || element.kind == arrayNode {
			c.add(RuleEnumValue, at.index(i), "a value of an enum must be a string, a number, a boolean or null, and this is %s", element.kind)
		}
	}
}

// closed checks that an object schema admits no other properties.
func (c *strictCleaner) closed(s *node, at *place) {
	additional := s.member("additionalProperties")
	switch {
	case additional == nil && (admitsObject(s.member("type")) || s.member("properties") != nil):
		c.add(RuleAdditionalProperties, at, `an object schema must have "additionalProperties": false`)
	case additional != nil && (additional.kind != booleanNode || additional.text != "false"):
		c.add(RuleAdditionalProperties, at.child("additionalProperties"),
			"additionalProperties must be false: model options that are free as properties, each optional")
	}
}

func admitsObject(types *node) bool {
	return types.is("object") ||
		types != nil && slices.ContainsFunc(types.elements, func(t *node) bool { return t.is("object") })
}

// optionalFields checks that a property is either required or in the one form of
// an optional field.
func (c *strictCleaner) optionalFields(s *node, at *place) {
	properties := s.member("properties")
	if properties == nil {
		return
	}
	required := map[string]bool{}
	if list := s.member("required"); list != nil {
		for _, name := range list.elements {
			required[name.text] = true
		}
	}
	for _, property := range properties.sorted() {
		optional := isOptional(property.value)
		if optional == required[property.name] {
			message := `it is not in required, so it must be anyOf of its schema and {"type": "null"}, with "default": null`
			if optional {
				message = "its default is null, so it must not be in required"
			}
			c.add(RuleOptionalField, at.child("properties").child(property.name), "%s", message)
		}
	}
}

// isOptional says whether a schema has the form of an optional field.
func isOptional(s *node) bool {
	fallback, variants := s.member("default"), s.member("anyOf")
	return fallback != nil && fallback.kind == nullNode && variants != nil && len(variants.elements) > 1 &&
		slices.ContainsFunc(variants.elements, func(v *node) bool { return v.member("type").is("null") })
}

// within walks the schemas that a keyword holds. What a keyword outside the subset
// holds is left alone, as it has to go.
func (c *strictCleaner) within(m member, around *place, in scope) {
	at := around.child(m.name)
	switch value := m.value; m.name {
	case "properties", "$defs":
		for _, entry := range value.sorted() {
			inner := in
			if m.name == "$defs" && around == nil {
				inner = scope{definition: c.definitions.index(entry.name)}
			}
			c.schema(entry.value, at.child(entry.name), inner)
		}
	case "items":
		c.schema(value, at, in)
	case "additionalProperties":
		if value.kind == objectNode {
			c.schema(value, at, in)
		}
	case "anyOf", "allOf":
		in.allOf = in.allOf || m.name == "allOf"
		for i, element := range value.elements {
			c.schema(element, at.index(i), in)
		}
	}
}

// isZeroOrOne reads a number as JSON Schema does, to which 1.0 is an integer.
func isZeroOrOne(n *node) bool {
	if n.kind != numberNode {
		return false
	}
	whole, fraction, _ := strings.Cut(n.text, ".")
	return (whole == "0" || whole == "1") && strings.Trim(fraction, "0") == ""
}
