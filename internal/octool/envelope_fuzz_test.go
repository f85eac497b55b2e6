// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"encoding/json"
	"strings"
	"testing"
)

// FuzzReadEnvelope reads any text as each envelope, by both readers, and goes on
// with what it gets: nothing panics, and the readers agree.
func FuzzReadEnvelope(f *testing.F) {
	for _, e := range examples(f) {
		f.Add(e.text)
	}
	f.Add([]byte(`{"columns":["a"],"rows":` + strings.Repeat("[", 20_000)))
	f.Add([]byte(`{"truncated":true,"resumable":true,"next_cursor":null,"records":[],"count":0}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for kind := range readers {
			checkReadersAgree(t, kind, data)
		}
		DetectValue(data)
		if table, _, err := ReadTabular(data); err == nil {
			for _, finding := range ValidateTabular(table) {
				if len(finding.Message) > 1024 {
					t.Fatalf("a message of %d bytes", len(finding.Message))
				}
			}
			for _, row := range table.Rows {
				for _, c := range row {
					c.Float64()
					CompareBigIntegers(c, row[0])
				}
			}
		}
	})
}

// FuzzReadEnvelopeRedact takes any text for a schema and any for a result: nothing
// panics, and what is marked at the root, or not JSON, is not shown.
func FuzzReadEnvelopeRedact(f *testing.F) {
	f.Add([]byte(`{"properties":{"a":{"x-sensitivity":"secret"}}}`), []byte(`{"a":{"b":1}}`))
	f.Add([]byte(`{"$ref":"#","items":{"$ref":"#/items"}}`), []byte(`[[[1]]]`))
	f.Fuzz(func(t *testing.T, schema, value []byte) {
		sensitivity := ReadSensitivity(schema)
		fields, _ := sensitivity.Fields()
		got := sensitivity.Redact(value, RedactPolicy{Identifiers: true, FreeText: true})
		for _, field := range fields {
			if field.Path == "" && field.Sensitivity == FieldSecret && strings.TrimSpace(string(got)) != redactedJSON {
				t.Fatalf("a secret is shown: %s", got)
			}
		}
		if json.Valid(value) && !json.Valid(got) {
			t.Fatalf("no JSON any more: %s", got)
		}
		DetectSchema(schema)
	})
}

// TestLargeTable reads 10 MiB of cells.
func TestLargeTable(t *testing.T) {
	const rows = 10 << 20 / len(`["0123456789",1],`)
	var b strings.Builder
	b.WriteString(`{"columns":["a","b"],"rows":[["0123456789",1]`)
	b.WriteString(strings.Repeat(`,["0123456789",1]`, rows-1))
	b.WriteString(`],"row_count":`)
	count, err := json.Marshal(rows)
	if err != nil {
		t.Fatal(err)
	}
	b.Write(count)
	b.WriteString(`,"truncated":false}`)
	e, _, err := ReadTabular([]byte(b.String()))
	if err != nil || e.RowCount() != rows {
		t.Fatal(e, err)
	}
	if last := e.Rows[rows-1]; last[0] != StringCell("0123456789") || last[1] != IntegerCell(1) {
		t.Error(last)
	}
	if dump := mustDump(t, e); dump != b.String() {
		t.Errorf("a dump of %d bytes", len(dump))
	}
}
