// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCompileRefuses(t *testing.T) {
	for name, test := range map[string]struct{ schema, want string }{
		"a reference to a file":   {`{"$ref":"file:///etc/passwd"}`, "nothing is loaded"},
		"a reference to a server": {`{"$ref":"http://127.0.0.1:1/schema"}`, "nothing is loaded"},
		"an unknown metaschema":   {`{"$schema":"http://127.0.0.1:1/meta","type":"object"}`, "nothing is loaded"},
		"a wrong type":            {`{"type":"objekt"}`, "/type"},
		"a duplicate key":         {`{"type":"object","type":"array"}`, "type"},
		"an endless number":       {`{"maximum":1e400000000}`, "1e400000000"},
		"an invalid expression":   {`{"pattern":"("}`, "("},
		"too much":                {`{"description":"` + strings.Repeat("x", MaxBytes) + `"}`, "limit"},
		"no JSON":                 {`{`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Compile([]byte(test.schema))
			var refused *CompileError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v, want a CompileError with %q", err, test.want)
			}
		})
	}
}

func TestValidateNamesThePlace(t *testing.T) {
	s, err := Compile([]byte(`{
		"type": "object", "required": ["order_id", "cents"], "additionalProperties": false,
		"properties": {"order_id": {"type": "string"}, "cents": {"type": "integer", "minimum": 1}, "a/b": {"type": "string"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate([]byte(`{"order_id":"A-1","cents":9007199254740993}`)); err != nil {
		t.Fatalf("a fitting value: %v", err)
	}
	for name, test := range map[string]struct {
		value string
		want  []string
	}{
		"missing":         {`{"order_id":"A-1"}`, []string{""}},
		"wrong type":      {`{"order_id":1,"cents":1}`, []string{"/order_id"}},
		"a fraction":      {`{"order_id":"A","cents":1.5}`, []string{"/cents"}},
		"escaped pointer": {`{"order_id":"A","cents":1,"a/b":2}`, []string{"/a~1b"}},
	} {
		t.Run(name, func(t *testing.T) {
			var invalid *ValidationError
			if !errors.As(s.Validate([]byte(test.value)), &invalid) {
				t.Fatal("want a ValidationError")
			}
			var places []string
			for _, v := range invalid.Violations {
				places = append(places, v.Pointer)
			}
			if diff := cmp.Diff(test.want, places); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestViolationsAreBounded(t *testing.T) {
	s, err := Compile([]byte(`{"items":{"type":"string"}}`))
	if err != nil {
		t.Fatal(err)
	}
	var invalid *ValidationError
	if !errors.As(s.Validate([]byte("["+strings.Repeat("1,", 5000)+"1]")), &invalid) {
		t.Fatal("want a ValidationError")
	}
	if len(invalid.Violations) != maxViolations {
		t.Errorf("got %d violations, want %d", len(invalid.Violations), maxViolations)
	}
}

func TestRecursiveSchemasEnd(t *testing.T) {
	s, err := Compile([]byte(`{"$defs":{"n":{"properties":{"next":{"$ref":"#/$defs/n"}}}},"$ref":"#/$defs/n"}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate([]byte(`{"next":{"next":{}}}`)); err != nil {
		t.Error(err)
	}
}
