// SPDX-License-Identifier: Apache-2.0

package publish_test

import (
	"fmt"
	"strings"
	"testing"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/publish"
)

func TestInputSchema(t *testing.T) {
	withSchema := func(schema string) func(*agent) {
		return func(a *agent) {
			tool := functionTool("weather", "lookup_weather")
			tool.InputSchema = raw(schema)
			a.Tools = []v1alpha1.Tool{tool}
		}
	}
	const path = "spec.tools[0].inputSchema"
	broken := func(path, message string) finding {
		return finding{Rule: "input_schema", Path: path, Message: message}
	}
	const nowhere = ` leads nowhere in this schema: correct it, or add what it refers to, as in $defs`
	long := func(n int) string {
		return fmt.Sprintf(`{"type": "object", "description": %q}`, strings.Repeat("x", n))
	}
	runRuleTests(t, map[string]ruleTest{
		"an object at the root": {
			breaks: withSchema(`{"type": "string"}`),
			want:   []finding{broken(path, `arguments are an object: set type to "object" at the root`)},
			keeps:  withSchema(`{"type": "object"}`),
		},
		"of that type alone": {
			breaks: withSchema(`{"type": ["object", "null"]}`),
			want:   []finding{broken(path, `arguments are an object: set type to "object" at the root`)},
			keeps:  withSchema(`{"type": "object", "properties": {"a": {"type": ["object", "null"]}}}`),
		},
		"not a schema, everything at once": {
			breaks: withSchema(`{"type": "object", "properties": {"a": {"type": "str"}, "b/c": {"minimum": "1"}}, "required": "a"}`),
			want: []finding{
				broken(path+".properties.a.type", `not JSON Schema 2020-12: got string, want array`),
				broken(path+".properties.a.type", `not JSON Schema 2020-12: value must be one of 'array', 'boolean', 'integer', 'null', 'number', 'object', 'string'`),
				broken(path+".properties.b/c.minimum", `not JSON Schema 2020-12: got string, want number`),
				broken(path+".required", `not JSON Schema 2020-12: got string, want array`),
			},
			keeps: withSchema(`{"type": "object", "properties": {"a": {"type": "string"}, "b/c": {"minimum": 1}}, "required": ["a"]}`),
		},
		"another draft": {
			breaks: withSchema(`{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}`),
			want:   []finding{broken(path+".$schema", `remove it, or set it to https://json-schema.org/draft/2020-12/schema`)},
			keeps:  withSchema(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object"}`),
		},
		"a reference to the network": {
			breaks: withSchema(`{"type": "object", "properties": {"a": {"$ref": "https://example.com/a.json"}}}`),
			want: []finding{broken(path+".properties.a.$ref",
				`the schema refers to "https://example.com/a.json", which is outside of it: copy what is needed into $defs and refer to #/$defs/NAME`)},
			keeps: withSchema(`{"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {}}}`),
		},
		"a reference to a file": {
			breaks: withSchema(`{"type": "object", "properties": {"a": {"$ref": "file:///etc/passwd"}}}`),
			want: []finding{broken(path+".properties.a.$ref",
				`the schema refers to "file:///etc/passwd", which is outside of it: copy what is needed into $defs and refer to #/$defs/NAME`)},
			keeps: withSchema(`{"type": "object", "properties": {"self": {"$ref": "#"}}}`),
		},
		"a relative reference": {
			breaks: withSchema(`{"type": "object", "properties": {"a": {"$ref": "a.json"}}}`),
			want: []finding{broken(path+".properties.a.$ref",
				`the schema refers to "a.json", which is outside of it: copy what is needed into $defs and refer to #/$defs/NAME`)},
			keeps: withSchema(`{"type": "object", "properties": {"a": {"$ref": "#a"}, "b": {"$anchor": "a"}}}`),
		},
		"a reference to nothing": {
			breaks: withSchema(`{"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}}`),
			want:   []finding{broken(path+".properties.a.$ref", `"#/$defs/a"`+nowhere)},
			keeps:  withSchema(`{"type": "object", "properties": {"a": {"const": {"$ref": "#/$defs/a"}}}}`),
		},
		"references to nothing, all of them": {
			breaks: withSchema(`{"type": "object", "properties": {"$ref": {"$ref": "#/$defs/a~1b/0"}, "const": {"anyOf": [{"$ref": "#c"}]}, "d": {"$dynamicRef": "#e%20f"}},
				"$defs": {"a": {"const": {"$ref": "#/x"}, "$ref": "#/%24defs"}, "a/b": {}, "g": {"$anchor": "h", "$ref": "#h"}, "i": {"$ref": ""}}}`),
			want: []finding{
				broken(path+".properties.$ref.$ref", `"#/$defs/a~1b/0"`+nowhere),
				broken(path+".properties.const.anyOf[0].$ref", `"#c"`+nowhere),
				broken(path+".properties.d.$dynamicRef", `"#e%20f"`+nowhere),
			},
			keeps: withSchema(`{"type": "object", "properties": {"$ref": {"$ref": "#/$defs/a~1b/anyOf/0"}}, "$defs": {"a/b": {"anyOf": [true]}}}`),
		},
		"a reference from a part with its own address": {
			breaks: withSchema(`{"type": "object", "properties": {"a": {"$id": "http://x/y", "$ref": "#/$defs/b"}}, "$defs": {"b": {}}}`),
			want:   []finding{broken(path, `the schema cannot be used: json-pointer in "#/properties/a/$defs/b" not found: correct it there`)},
			keeps:  withSchema(`{"type": "object", "properties": {"a": {"$id": "http://x/y", "$ref": "#/$defs/b", "$defs": {"b": {}}}}}`),
		},
		"at the root and within at once": {
			breaks: withSchema(`{"type": "string", "properties": {"a": {"multipleOf": 0, "minLength": -1, "allOf": [], "required": ["b", "b"]}}}`),
			want: []finding{
				broken(path, `arguments are an object: set type to "object" at the root`),
				broken(path+".properties.a.allOf", `not JSON Schema 2020-12: the number of elements must be at least 1, not 0`),
				broken(path+".properties.a.minLength", `not JSON Schema 2020-12: the number must be at least 0, not -1`),
				broken(path+".properties.a.multipleOf", `not JSON Schema 2020-12: the number must be greater than 0, not 0`),
				broken(path+".properties.a.required", `not JSON Schema 2020-12: elements 0 and 1 of the array are the same: remove one of them`),
			},
			keeps: withSchema(`{"type": "object", "properties": {"a": {"multipleOf": 0.5, "minLength": 0, "allOf": [{}], "required": ["b"]}}}`),
		},
		"a pattern that cannot be compiled": {
			breaks: withSchema(`{"type": "object", "properties": {"a": {"pattern": "("}}}`),
			want:   []finding{broken(path+".properties.a.pattern", "not JSON Schema 2020-12: '(' is not valid regex: error parsing regexp: missing closing ): `(`")},
			keeps:  withSchema(`{"type": "object", "properties": {"a": {"pattern": "^a+$"}}}`),
		},
		"duplicate keys": {
			breaks: withSchema(`{"type": "object", "properties": {"a": {}, "a": {}}}`),
			want:   []finding{broken(path+".properties.a", `the key is there more than once; keep one`)},
			keeps:  withSchema(`{"type": "object", "properties": {"a": {}, "A": {}}}`),
		},
		"too deep": {
			breaks: withSchema(`{"type": "object", "default": ` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`),
			want: []finding{broken(path+".default"+strings.Repeat("[0]", 63),
				`objects and arrays are nested more than 64 deep`)},
			keeps: withSchema(`{"type": "object", "default": ` + strings.Repeat("[", 59) + strings.Repeat("]", 59) + `}`),
		},
		"too large": {
			breaks: withSchema(long(publish.MaxInputSchemaBytes)),
			want:   []finding{broken(path, `the schema has 65570 bytes, more than 65536: shorten it`)},
			keeps:  withSchema(long(publish.MaxInputSchemaBytes - 40)),
		},
	})
}
