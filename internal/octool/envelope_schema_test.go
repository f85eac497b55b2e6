// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit.dev/remit/internal/schema"
)

func mustCompile(t *testing.T, text json.RawMessage) *schema.Schema {
	t.Helper()
	compiled, err := schema.Compile(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return compiled
}

// K1, K54: every dump fits its output schema, and what no dump looks like does not.
func TestOutputSchemas(t *testing.T) {
	records, err := RecordsSchema(json.RawMessage(`{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		schema     json.RawMessage
		fits, fail []string
	}{
		"records": {
			schema: records,
			fits: []string{
				`{"records":[],"count":0,"truncated":false}`,
				`{"records":[{"id":1}],"count":1,"truncated":true,"total_count":"3","next_cursor":"c","stop_reason":"s","warnings":["w"],"source":{},"resumable":true}`,
			},
			fail: []string{
				`{"records":[],"count":0}`,
				`{"records":[{}],"count":1,"truncated":false}`,
				`{"records":[],"count":0,"truncated":false,"later":1}`,
				`{"records":[],"count":0,"truncated":false,"next_cursor":null}`,
				`{"records":[],"count":-1,"truncated":false}`,
				`{"records":[],"count":0,"truncated":true,"total_count":9007199254740992}`,
				`{"records":[],"count":0,"truncated":true,"total_count":"01"}`,
				`{"records":[],"count":0,"truncated":true,"source":{"region":"r"}}`,
			},
		},
		"tabular": {
			schema: TabularSchema(),
			fits: []string{
				`{"columns":["a"],"rows":[["x"],[1],[1.5],[true],[null]],"row_count":5,"truncated":false}`,
				`{"columns":["a"],"rows":[],"row_count":0,"truncated":true,"column_kinds":["big_integer"],"column_scales":["log2"],"column_descriptions":[null],"resumable":false}`,
			},
			fail: []string{
				`{"columns":["a"],"rows":[[{}]],"row_count":1,"truncated":false}`,
				`{"columns":["a"],"rows":[],"row_count":0,"truncated":false,"column_kinds":["ipv4"]}`,
				`{"columns":["a"],"rows":[],"row_count":0,"truncated":false,"column_scales":["symlog"]}`,
				`{"columns":["a"],"rows":[],"row_count":0,"truncated":false,"column_kinds":null}`,
			},
		},
		"artifact": {
			schema: ArtifactSchema(),
			fits: []string{
				`{"artifact":{"reference":"r","media_type":"m","bytes":1},"artifacts":[{"reference":"r","media_type":"m","bytes":1,"width":1,"height":1,"role":"r","uri":"u"}],"warnings":[],"sensitivity":"inherits_input","source":{"instance":"i"}}`,
			},
			fail: []string{
				`{"artifact":{"reference":"r","media_type":"m"},"artifacts":[],"warnings":[],"sensitivity":"inherits_input"}`,
				`{"artifact":{"reference":"r","media_type":"m","bytes":1},"artifacts":[],"warnings":[],"sensitivity":"public"}`,
				`{"artifact":{"reference":"r","media_type":"m","bytes":1},"artifacts":[],"sensitivity":"inherits_input"}`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			compiled := mustCompile(t, test.schema)
			for _, document := range test.fits {
				if err := compiled.Validate([]byte(document)); err != nil {
					t.Errorf("%s: %v", document, err)
				}
				if _, _, err := readers[EnvelopeKind(name)].parse([]byte(document)); err != nil {
					t.Errorf("%s: %v", document, err)
				}
			}
			for _, document := range test.fail {
				if compiled.Validate([]byte(document)) == nil {
					t.Errorf("%s: fits", document)
				}
			}
			if kind := DetectSchema(test.schema); kind != EnvelopeKind(name) {
				t.Errorf("detected as %q", kind)
			}
		})
	}
}

// K14, K54: an argument takes what another tool dumped, resumable included, and its
// schema is strict-clean.
func TestInputSchemas(t *testing.T) {
	records, err := RecordsInputSchema(json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`))
	if err != nil {
		t.Fatal(err)
	}
	argument := func(name string, definition json.RawMessage) json.RawMessage {
		return json.RawMessage(`{"type":"object","properties":{"table":{"$ref":"#/$defs/` + name + `"}},"required":["table"],"additionalProperties":false,"$defs":{"` +
			name + `":` + string(definition) + `}}`)
	}
	for _, test := range []struct {
		schema    json.RawMessage
		documents []string
	}{
		{argument("TabularEnvelope", TabularInputSchema()), []string{
			`{"table":{"columns":["a"],"rows":[["x"],[1],[null]],"row_count":3,"truncated":true,"next_cursor":"c","resumable":true}}`,
			`{"table":{"columns":["a"],"rows":[],"row_count":0,"truncated":false,"column_kinds":null,"warnings":null,"source":{"instance":null}}}`,
		}},
		{argument("RecordsEnvelope", records), []string{
			`{"table":{"records":[{}],"count":1,"truncated":true,"resumable":false}}`,
		}},
	} {
		if found := StrictClean(test.schema); len(found) != 0 {
			t.Errorf("%v\n%s", found, test.schema)
		}
		compiled := mustCompile(t, test.schema)
		for _, document := range test.documents {
			if err := compiled.Validate([]byte(document)); err != nil {
				t.Errorf("%s: %v", document, err)
			}
		}
	}
}

// K1: an item keeps its own references wherever its schema comes to stand.
func TestRecordsSchemaOfAnItem(t *testing.T) {
	schema, err := RecordsSchema(json.RawMessage(`{
		"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
		"properties":{
			"parent":{"$ref":"#"},"owner":{"$ref":"#/$defs/Person"},"again":{"$ref":"#/properties/owner"},
			"default":{"$ref":"#/$defs/Person"},"$ref":{"const":{"$ref":"#"}}},
		"required":["owner"],
		"$defs":{"Person":{"type":"object","properties":{"boss":{"$ref":"#/$defs/Person"},"item":{"$ref":"#"}},"required":["name"]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	var decoded struct {
		Properties struct {
			Records struct{ Items json.RawMessage }
		}
		Defs json.RawMessage `json:"$defs"`
	}
	if err := json.Unmarshal(schema, &decoded); err != nil {
		t.Fatal(err)
	}
	item := `{"type":"object","properties":{"parent":{"$ref":"#/properties/records/items"},"owner":{"$ref":"#/$defs/Person"},` +
		`"again":{"$ref":"#/properties/records/items/properties/owner"},"default":{"$ref":"#/$defs/Person"},"$ref":{"const":{"$ref":"#"}}},"required":["owner"]}`
	if diff := cmp.Diff(item, string(decoded.Properties.Records.Items)); diff != "" {
		t.Error(diff)
	}
	defs := `{"Person":{"type":"object","properties":{"boss":{"$ref":"#/$defs/Person"},"item":{"$ref":"#/properties/records/items"}},"required":["name"]}}`
	if diff := cmp.Diff(defs, string(decoded.Defs)); diff != "" {
		t.Error(diff)
	}
	compiled := mustCompile(t, schema)
	const envelope = `{"count":1,"truncated":false,"records":[`
	if err := compiled.Validate([]byte(envelope + `{"owner":{"name":"a"},"parent":{"owner":{"name":"b","item":{"owner":{"name":"c"}}}}}]}`)); err != nil {
		t.Error(err)
	}
	if compiled.Validate([]byte(envelope+`{"owner":{"name":"a"},"parent":{"owner":{}}}]}`)) == nil {
		t.Error("the rules of a definition are lost")
	}

	whole := `{"$id":"https://example.com/item","$ref":"#/$defs/a","$defs":{"a":{}}}`
	schema, err = RecordsSchema(json.RawMessage(whole))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(schema, &decoded); err != nil || string(decoded.Properties.Records.Items) != whole {
		t.Errorf("an item with an $id: %s, %v", decoded.Properties.Records.Items, err)
	}
	for _, item := range []string{``, `{`, `[]`, `"x"`, `{"a":1,"a":2}`} {
		if _, err := RecordsSchema(json.RawMessage(item)); err == nil {
			t.Errorf("%s is no schema", item)
		}
	}
	if _, err := RecordsSchema(json.RawMessage(`true`)); err != nil {
		t.Error(err)
	}
}

// K10: which envelope a result is, by its schema and by its keys.
func TestDetect(t *testing.T) {
	const (
		tabular  = `{"columns":[],"rows":[],"row_count":0,"truncated":false}`
		records  = `{"records":[],"count":0,"truncated":false}`
		artifact = `{"artifact":{"reference":"r","media_type":"m","bytes":1}}`
	)
	for name, test := range map[string]struct {
		schema, value string
		want          EnvelopeKind
	}{
		"a table":                            {"", tabular, EnvelopeTabular},
		"records":                            {"", records, EnvelopeRecords},
		"an artifact":                        {"", artifact, EnvelopeArtifact},
		"nothing":                            {"", "", EnvelopeNone},
		"no JSON":                            {"", `{"records":[],"count":0,"truncated":false`, EnvelopeNone},
		"a key twice":                        {"", `{"records":[],"count":0,"truncated":false,"count":0}`, EnvelopeNone},
		"a list":                             {"", `[]`, EnvelopeNone},
		"records of another kind":            {"", `{"records":[]}`, EnvelopeNone},
		"a table without count":              {"", `{"columns":[],"rows":[]}`, EnvelopeNone},
		"an artifact of another kind":        {"", `{"artifact":"org:name:1.0"}`, EnvelopeNone},
		"an artifact that is no reference":   {"", `{"artifact":{"reference":"r"}}`, EnvelopeNone},
		"both":                               {"", `{"records":[],"count":0,"truncated":false,"artifact":{"reference":"r","media_type":"m","bytes":1}}`, EnvelopeNone},
		"the schema decides":                 {`{"properties":{"columns":{},"rows":{}}}`, records, EnvelopeTabular},
		"the schema is a reference":          {`{"$ref":"#/$defs/T","$defs":{"T":{"allOf":[{"properties":{"columns":{}}},{"properties":{"rows":{}}}]}}}`, `{}`, EnvelopeTabular},
		"the schema has columns without row": {`{"properties":{"columns":{}}}`, records, EnvelopeRecords},
		"the schema leaves it open":          {`{"anyOf":[{"properties":{"records":{}}},{"properties":{"artifact":{}}}]}`, artifact, EnvelopeArtifact},
		"the schema cannot be read":          {`{`, tabular, EnvelopeTabular},
		"the schema refers to itself":        {`{"$ref":"#"}`, tabular, EnvelopeTabular},
		"the schema is a boolean":            {`true`, tabular, EnvelopeTabular},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Detect(json.RawMessage(test.schema), json.RawMessage(test.value)); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
