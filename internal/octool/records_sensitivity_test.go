// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// K64: what a schema says of each place, the most restrictive where several say
// something.
func TestFieldSensitivities(t *testing.T) {
	for name, test := range map[string]struct {
		schema string
		want   []FieldMark
	}{
		"nothing":           {``, nil},
		"null":              {`null`, nil},
		"a boolean":         {`true`, nil},
		"nothing is marked": {`{"properties":{"a":{"type":"string"}}}`, nil},
		"the four values": {
			`{"properties":{"records":{"items":{"properties":{
				"d":{"x-sensitivity":"secret"},"c":{"x-sensitivity":"free_text"},"b":{"x-sensitivity":"identifier"},"a":{"x-sensitivity":"none"},"e":{}}}}}}`,
			[]FieldMark{
				{Path: "/records/*/a", Sensitivity: "none"},
				{Path: "/records/*/b", Sensitivity: "identifier"},
				{Path: "/records/*/c", Sensitivity: "free_text"},
				{Path: "/records/*/d", Sensitivity: "secret"},
			},
		},
		"an unknown value is secret": {
			`{"properties":{"a":{"x-sensitivity":"confidential"},"b":{"x-sensitivity":["none"]},"c":{"x-sensitivity":null},"d":{"x-sensitivity":"None"}}}`,
			[]FieldMark{
				{Path: "/a", Sensitivity: "secret"}, {Path: "/b", Sensitivity: "secret"}, {Path: "/c", Sensitivity: "secret"}, {Path: "/d", Sensitivity: "secret"},
			},
		},
		"all that may apply": {
			`{"anyOf":[{"properties":{"a":{"x-sensitivity":"none"}}},{"properties":{"a":{"x-sensitivity":"secret"}}}],
			  "allOf":[{"properties":{"b":{"x-sensitivity":"identifier"}}}],"properties":{"b":{"x-sensitivity":"free_text"}},
			  "if":{"properties":{"c":{"x-sensitivity":"identifier"}}},"then":{"properties":{"c":{"x-sensitivity":"secret"}}},
			  "else":{"oneOf":[{"properties":{"d":{"x-sensitivity":"identifier"}}}]},
			  "dependentSchemas":{"z":{"properties":{"e":{"x-sensitivity":"secret"}}}},
			  "dependencies":{"y":["z"],"x":{"properties":{"f":{"x-sensitivity":"secret"}}}}}`,
			[]FieldMark{
				{Path: "/a", Sensitivity: "secret"}, {Path: "/b", Sensitivity: "free_text"}, {Path: "/c", Sensitivity: "secret"},
				{Path: "/d", Sensitivity: "identifier"}, {Path: "/e", Sensitivity: "secret"}, {Path: "/f", Sensitivity: "secret"},
			},
		},
		"through references, beside them too": {
			`{"$ref":"#/$defs/Env","$defs":{"Env":{"properties":{"a":{"$ref":"#/$defs/S"},"b":{"$ref":"#/$defs/P","x-sensitivity":"secret"},"c":{"$ref":"#an"},
			  "d":{"$ref":"#/$defs/P/properties/q~1r"},"e":{"$dynamicRef":"#dyn"},"f":{"$ref":"#/%24defs/S"},"g":{"$ref":"#/$defs/L/0"}}},
			  "S":{"x-sensitivity":"secret"},"P":{"properties":{"q/r":{"x-sensitivity":"identifier"}}},
			  "L":[{"x-sensitivity":"secret"}],
			  "A":{"$anchor":"an","x-sensitivity":"free_text"},"D":{"$dynamicAnchor":"dyn","x-sensitivity":"secret"}}}`,
			[]FieldMark{
				{Path: "/a", Sensitivity: "secret"}, {Path: "/b", Sensitivity: "secret"}, {Path: "/c", Sensitivity: "free_text"},
				{Path: "/d", Sensitivity: "identifier"}, {Path: "/e", Sensitivity: "secret"}, {Path: "/f", Sensitivity: "secret"}, {Path: "/g", Sensitivity: "secret"},
			},
		},
		"a reference by the id of the root": {
			`{"$id":"https://example.com/s","properties":{"a":{"$ref":"https://example.com/s#/$defs/S"}},"$defs":{"S":{"x-sensitivity":"identifier"}}}`,
			[]FieldMark{{Path: "/a", Sensitivity: "identifier"}},
		},
		"a schema that refers to itself is followed once": {
			`{"properties":{"child":{"$ref":"#"},"key":{"x-sensitivity":"secret"},"next":{"items":{"$ref":"#"}}}}`,
			[]FieldMark{{Path: "/key", Sensitivity: "secret"}},
		},
		"lists and maps": {
			`{"properties":{"a":{"prefixItems":[{"x-sensitivity":"identifier"},{}],"items":{"x-sensitivity":"secret"}},
			  "b":{"items":[{"x-sensitivity":"identifier"}],"additionalItems":{"x-sensitivity":"free_text"}},
			  "c":{"additionalProperties":{"x-sensitivity":"secret"},"properties":{"n":{"x-sensitivity":"none"}}},
			  "d":{"patternProperties":{"^k":{"x-sensitivity":"identifier"}}},"e":{"contains":{"x-sensitivity":"secret"}}}}`,
			[]FieldMark{
				{Path: "/a/*", Sensitivity: "secret"}, {Path: "/a/0", Sensitivity: "identifier"},
				{Path: "/b/*", Sensitivity: "free_text"}, {Path: "/b/0", Sensitivity: "identifier"},
				{Path: "/c/*", Sensitivity: "secret"}, {Path: "/c/n", Sensitivity: "none"},
				{Path: "/d/*", Sensitivity: "identifier"}, {Path: "/e/*", Sensitivity: "secret"},
			},
		},
		"what is not followed counts for the place": {
			`{"properties":{"a":{"contentSchema":{"properties":{"x":{"x-sensitivity":"secret"}}}},"b":{"not":{"x-sensitivity":"identifier"}},
			  "c":{"propertyNames":{"x-sensitivity":"identifier"}}}}`,
			[]FieldMark{{Path: "/a", Sensitivity: "secret"}, {Path: "/b", Sensitivity: "identifier"}, {Path: "/c", Sensitivity: "identifier"}},
		},
		"data is no schema": {
			`{"properties":{"a":{"const":{"x-sensitivity":"secret"}},"b":{"enum":[{"x-sensitivity":"secret"}]},"c":{"default":{"x-sensitivity":"secret"}},
			  "d":{"examples":[{"x-sensitivity":"secret"}]},"x-sensitivity":{"type":"string"}}}`,
			nil,
		},
		"references that cannot be followed": {
			`{"properties":{"a":{"$ref":"https://example.com/other"},"b":{"$ref":"#/$defs/none"},"c":{"$ref":"#nowhere"},"d":{"$ref":1},"e":{"$ref":"#/%zz"}}}`,
			[]FieldMark{
				{Path: "/a", Sensitivity: "secret", Unread: `its $ref "https://example.com/other" leads out of the schema, or nowhere in it`},
				{Path: "/b", Sensitivity: "secret", Unread: `its $ref "#/$defs/none" leads out of the schema, or nowhere in it`},
				{Path: "/c", Sensitivity: "secret", Unread: `its $ref "#nowhere" leads out of the schema, or nowhere in it`},
				{Path: "/d", Sensitivity: "secret", Unread: `its $ref "1" leads out of the schema, or nowhere in it`},
				{Path: "/e", Sensitivity: "secret", Unread: `its $ref "#/%zz" leads out of the schema, or nowhere in it`},
			},
		},
		"several roots": {
			`{"properties":{"a":{"$id":"https://example.com/a","properties":{"b":{"$ref":"#"}}}}}`,
			[]FieldMark{{Path: "/a/b", Sensitivity: "secret", Unread: `its $ref "#" leads out of the schema, or nowhere in it`}},
		},
		"malformed schemas": {
			`{"properties":{"a":7,"b":{"properties":[]},"c":{"allOf":{}},"d":{"items":"x"}}}`,
			[]FieldMark{
				{Path: "/a", Sensitivity: "secret", Unread: "its schema is a number"},
				{Path: "/b", Sensitivity: "secret", Unread: "properties is an array"},
				{Path: "/c", Sensitivity: "secret", Unread: "allOf is an object"},
				{Path: "/d/*", Sensitivity: "secret", Unread: "its schema is a string"},
			},
		},
		"a reference below what is not followed, where the keyword is used": {
			`{"properties":{"a":{"not":{"$ref":"#/$defs/x"}}},"$defs":{"x":{"x-sensitivity":"secret"}}}`,
			[]FieldMark{{Path: "/a", Sensitivity: "secret", Unread: `a reference below "not" is not followed`}},
		},
		"a dynamic reference below what is not followed": {
			`{"properties":{"a":{"not":{"$dynamicRef":"#x"}},"b":{"not":{"items":{"$recursiveRef":"#"}}}},"$defs":{"x":{"$dynamicAnchor":"x","x-sensitivity":"secret"}}}`,
			[]FieldMark{
				{Path: "/a", Sensitivity: "secret", Unread: `a reference below "not" is not followed`},
				{Path: "/b", Sensitivity: "secret", Unread: `a reference below "not" is not followed`},
			},
		},
		"a reference below what is not followed, where it is not": {
			`{"properties":{"a":{"not":{"$ref":"#/$defs/x"}}},"$defs":{"x":{}}}`,
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, complete := ReadSensitivity(json.RawMessage(test.schema)).Fields()
			if diff := cmp.Diff(test.want, got); diff != "" || !complete {
				t.Errorf("complete: %t\n%s", complete, diff)
			}
		})
	}
	for _, schema := range []string{`{`, `{"a":1,"a":2}`, strings.Repeat(`{"not":`, 1000)} {
		got, _ := ReadSensitivity(json.RawMessage(schema)).Fields()
		if len(got) != 1 || got[0].Path != "" || got[0].Sensitivity != FieldSecret || !strings.HasPrefix(got[0].Unread, "the schema cannot be read") {
			t.Errorf("%.20s: %v", schema, got)
		}
	}
}

// K64: a listing is bounded where paths multiply.
func TestFieldsAreBounded(t *testing.T) {
	var definitions []string
	for i := range 64 {
		next := fmt.Sprintf(`{"$ref":"#/$defs/n%d"}`, i+1)
		definitions = append(definitions, fmt.Sprintf(`"n%d":{"properties":{"a":%s,"b":%s}}`, i, next, next))
	}
	schema := `{"$ref":"#/$defs/n0","$defs":{` + strings.Join(definitions, ",") + `,"n64":{"x-sensitivity":"secret"}}}`
	if fields, complete := ReadSensitivity(json.RawMessage(schema)).Fields(); complete || len(fields) > MaxFieldMarks {
		t.Errorf("%d fields, complete: %t", len(fields), complete)
	}
}

// K64, J53: what is replaced, by policy, and that all else stays byte for byte.
func TestRedact(t *testing.T) {
	const schema = `{"properties":{"count":{"type":"integer"},"records":{"items":{"$ref":"#/$defs/Item"}}},
		"$defs":{"Item":{"properties":{"id":{"x-sensitivity":"identifier"},"note":{"x-sensitivity":"free_text"},"key":{"x-sensitivity":"secret"},
		"both":{"allOf":[{"x-sensitivity":"identifier"},{"x-sensitivity":"free_text"}]},"open":{"x-sensitivity":"none"},
		"children":{"type":"array","items":{"$ref":"#/$defs/Item"}},"labels":{"patternProperties":{"^s_":{"x-sensitivity":"secret"}},"additionalProperties":{}},
		"odd":{"patternProperties":{"(?!x)":{"x-sensitivity":"secret"}}}}}}}`
	const value = ` {"count" : 9007199254740993.10, "records":[ {"id": 7 ,"note":"a\u0041","key":{"deep":[1,{"x":2}]},"both":[1],"open":"o","n":1e5,
		"children":[{"key":null,"more":18446744073709551616}],"labels":{"s_a":"1","b":"2"},"odd":{"any":1}},
		{"k\u0065y":"t"} ],"later":{"key":"k"}}  `
	const hidden = `"[redacted]"`
	replaced := func(values ...string) string {
		text := value
		for _, v := range values {
			if strings.Count(text, v) != 1 {
				panic(v)
			}
			text = strings.Replace(text, v, v[:strings.Index(v, ":")+1]+hidden, 1)
		}
		return text
	}
	secrets := []string{`"key":{"deep":[1,{"x":2}]}`, `"key":null`, `"s_a":"1"`, `"any":1`, `"k\u0065y":"t"`}
	for name, test := range map[string]struct {
		policy RedactPolicy
		more   []string
	}{
		"secrets":             {RedactPolicy{}, nil},
		"identifiers":         {RedactPolicy{Identifiers: true}, []string{`"id": 7`, `"both":[1]`}},
		"free text":           {RedactPolicy{FreeText: true}, []string{`"note":"a\u0041"`, `"both":[1]`}},
		"identifiers and all": {RedactPolicy{Identifiers: true, FreeText: true}, []string{`"id": 7`, `"note":"a\u0041"`, `"both":[1]`}},
	} {
		t.Run(name, func(t *testing.T) {
			want := replaced(append(secrets, test.more...)...)
			want = strings.Replace(want, `"id":`+hidden, `"id": `+hidden, 1)
			if diff := cmp.Diff(want, string(Redact(json.RawMessage(value), json.RawMessage(schema), test.policy))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// K64: what cannot be read is not shown.
func TestRedactIsConservative(t *testing.T) {
	const marked = `{"properties":{"a":{"x-sensitivity":"secret"}}}`
	for name, test := range map[string]struct{ schema, value, want string }{
		"nothing is marked":            {`{"properties":{"a":{}}}`, `{"a":`, `{"a":`},
		"no schema":                    {``, `{"a":1}`, `{"a":1}`},
		"a value that is no JSON":      {marked, `{"a":`, `"[redacted]"`},
		"a value that goes on":         {marked, `{"a":1} {"a":2}`, `"[redacted]"`},
		"a key twice":                  {marked, `{"b":1,"b":2}`, `"[redacted]"`},
		"no value":                     {marked, ``, `"[redacted]"`},
		"depth":                        {marked, `{"b":` + strings.Repeat("[", 100_000), `"[redacted]"`},
		"a schema that is no JSON":     {`{`, `{"a":1}`, `"[redacted]"`},
		"a reference out of it":        {`{"properties":{"a":{"$ref":"https://x"}}}`, `{"a":1,"b":2}`, `{"a":"[redacted]","b":2}`},
		"a root that cannot be read":   {`{"$ref":"https://x","properties":{"b":{}}}`, `{"a":1,"b":2}`, `"[redacted]"`},
		"another shape than described": {marked, `[{"a":1}]`, `[{"a":1}]`},
		"the whole result":             {`{"x-sensitivity":"secret"}`, ` {"a":1} `, ` "[redacted]" `},
		"elements":                     {`{"prefixItems":[{"x-sensitivity":"secret"},{}],"items":{"x-sensitivity":"secret"}}`, `[1,2, 3 ,4]`, `["[redacted]",2, "[redacted]" ,"[redacted]"]`},
		"beside a pattern not taken":   {`{"patternProperties":{"(?!x)":{}},"additionalProperties":{"x-sensitivity":"secret"}}`, `{"a":1}`, `{"a":"[redacted]"}`},
		"both kinds of tuple":          {`{"properties":{"v":{"prefixItems":[{"x-sensitivity":"secret"}],"items":[{}]}}}`, `{"v":["S"]}`, `{"v":["[redacted]"]}`},
		"both kinds, the other first":  {`{"properties":{"v":{"items":[{}],"prefixItems":[{"x-sensitivity":"secret"}]}}}`, `{"v":["S"]}`, `{"v":["[redacted]"]}`},
		"both kinds, marked in items":  {`{"items":[{"x-sensitivity":"secret"}],"prefixItems":[{},{}]}`, `["S",2]`, `["[redacted]",2]`},
		"beyond one kind of tuple":     {`{"items":[{}],"prefixItems":[{},{}],"additionalItems":{"x-sensitivity":"secret"}}`, `[1,"S",3]`, `[1,"[redacted]","[redacted]"]`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := string(Redact(json.RawMessage(test.value), json.RawMessage(test.schema), RedactPolicy{})); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// K64: the work on a result has a bound, beyond which places are secret.
func TestRedactIsBounded(t *testing.T) {
	var branches []string
	for i := range 4000 {
		branches = append(branches, fmt.Sprintf(`{"patternProperties":{"^%d":{"$ref":"#"}}}`, i))
	}
	schema := `{"x":{"x-sensitivity":"none"},"properties":{"s":{"x-sensitivity":"secret"}},"anyOf":[` + strings.Join(branches, ",") + `]}`
	var members []string
	for i := range 100_000 {
		members = append(members, fmt.Sprintf(`"%d":{"s":"hide me"}`, i))
	}
	got := Redact(json.RawMessage(`{`+strings.Join(members, ",")+`}`), json.RawMessage(schema), RedactPolicy{})
	if strings.Contains(string(got[:500_000]), "hide me") || !strings.HasSuffix(string(got), `"99999":"[redacted]"}`) {
		t.Errorf("a secret is shown, or the work has no bound: …%s", got[len(got)-100:])
	}
}

// K64: a pattern that is too large to compile is taken to match every name, and so
// are those beyond the bound of a schema.
func TestLargePatternsMatchEveryName(t *testing.T) {
	var huge, many []string
	for i := range 4 {
		huge = append(huge, fmt.Sprintf(`"%d%s":{"x-sensitivity":"secret"}`, i, strings.Repeat("a{1000}", 3000)))
	}
	for i := range 5000 {
		many = append(many, fmt.Sprintf(`"^%da{1000}":{"x-sensitivity":"secret"}`, i))
	}
	for name, patterns := range map[string][]string{"huge": huge, "one of them": huge[:1], "many": many} {
		schema := `{"patternProperties":{` + strings.Join(patterns, ",") + `}}`
		allocated := testing.AllocsPerRun(1, func() { ReadSensitivity(json.RawMessage(schema)) })
		if allocated > 200_000 {
			t.Errorf("%s: %.0f allocations", name, allocated)
		}
		if got := string(Redact(json.RawMessage(`{"z":"S"}`), json.RawMessage(schema), RedactPolicy{})); got != `{"z":"[redacted]"}` {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// K64: a name too long to match within the bound is not shown as one that no
// pattern matches.
func TestMatchingIsBounded(t *testing.T) {
	const schema = `{"patternProperties":{"^(a|b){900}$":{"x-sensitivity":"secret"}}}`
	name := strings.Repeat("a", 1<<20)
	if got := Redact(json.RawMessage(`{"`+name+`":"S"}`), json.RawMessage(schema), RedactPolicy{}); strings.Contains(string(got), `"S"`) {
		t.Error("the value is shown")
	}
}
