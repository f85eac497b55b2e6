// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// K65, K69: text that is no JSON, or that two readers could take for two values, is
// refused by every reader, with its place.
func TestReadersRefuse(t *testing.T) {
	for name, test := range map[string]struct{ document, path, message string }{
		"nothing":                       {"", "", "empty"},
		"white space":                   {" \n", "", "empty"},
		"a byte order mark":             {"\ufeff{}", "", "not JSON"},
		"null":                          {"null", "", "null, but must be an object"},
		"the end of the text":           {`{"warnings":["a`, "/warnings/0", "unexpected EOF"},
		"the end of the text in a key":  {`{"warn`, "", "unexpected EOF"},
		"no value":                      {`{"warnings":}`, "/warnings", "not JSON, at byte 12"},
		"no comma":                      {`{"warnings":["a" "b"]}`, "/warnings", "after array element"},
		"a comma too much":              {`{"warnings":["a",]}`, "/warnings", "not JSON"},
		"a key that is no string":       {`{1:2}`, "", "not JSON"},
		"NaN":                           {`{"x":NaN}`, "/x", "not JSON"},
		"two values":                    {`{} {}`, "", ""},
		"more than the value":           {`{"artifact":{"reference":"a","media_type":"b","bytes":1}}x`, "", ""},
		"a key twice":                   {`{"warnings":[],"warnings":[]}`, "/warnings", "there twice"},
		"a key twice, one of it escape": {`{"warnings":[],"w\u0061rnings":[]}`, "/warnings", "there twice"},
		"a key twice inside":            {`{"source":{"instance":"a","instance":"b"}}`, "/source/instance", "there twice"},
		"text that is not UTF-8":        {"{\"warnings\":[\"\xff\"]}", "/warnings/0", "UTF-8"},
		"half a surrogate pair":         {`{"warnings":["\ud800"]}`, "/warnings/0", "surrogate"},
		"a control character":           {"{\"warnings\":[\"\x01\"]}", "/warnings/0", "not JSON"},
		"a number with a leading zero":  {`{"bytes":01}`, "", "not JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, r := range readers {
				for mode, read := range map[string]read{"strict": r.parse, "tolerant": r.read} {
					_, _, err := read([]byte(test.document))
					if err == nil {
						t.Fatalf("%s accepts it", mode)
					}
					// A strict reader may stumble over the key before it.
					if mode == "tolerant" && test.message != "" {
						wantError(t, err, test.path, test.message)
					}
				}
			}
		})
	}
}

// K65: duplicate keys and broken text inside records are refused as well: what
// redacts and what reads must see one value.
func TestReadersRefuseInsideRecords(t *testing.T) {
	for records, path := range map[string]string{
		`[{"a":1,"a":2}]`:                       "/records/0/a",
		`[1,{"a":[{"b":1,"\u0062":2}]}]`:        "/records/1/a/0/b",
		"[\"\xc3\"]":                            "/records/0",
		`[{"a":"\udc00"}]`:                      "/records/0/a",
		`[` + strings.Repeat(`[`, 20_000) + `]`: "/records" + strings.Repeat("/0", 60),
	} {
		_, _, err := ReadRecords[json.RawMessage]([]byte(`{"records":` + records + `,"count":1,"truncated":false}`))
		if err == nil {
			t.Errorf("%.40s: accepted", records)
			continue
		}
		if !strings.HasPrefix(err.Error(), path) {
			t.Errorf("%.40s: got %v, want it at %s", records, err, path)
		}
		if len(err.Error()) > 1024 {
			t.Errorf("%.40s: the error has %d bytes", records, len(err.Error()))
		}
	}
}

// K65: depth, wherever it stands, ends in an error and not in the stack.
func TestReadersRefuseDepth(t *testing.T) {
	deep := strings.Repeat(`{"a":[`, 100_000)
	for _, key := range []string{"records", "rows", "columns", "column_descriptions", "source", "artifact", "artifacts", "later", "resumable"} {
		for kind, r := range readers {
			for _, read := range []read{r.parse, r.read} {
				if _, _, err := read([]byte(`{"` + key + `":` + deep)); err == nil {
					t.Errorf("%s: %s is accepted", kind, key)
				}
			}
		}
	}
}

func TestReadersRefuseSize(t *testing.T) {
	data := []byte(`{"columns":[],"rows":[],"row_count":0,"truncated":false}` + strings.Repeat(" ", MaxEnvelopeBytes))
	_, _, err := ReadTabular(data)
	wantError(t, err, "", "bytes, more than")
	_, _, err = ReadTabular(data[:MaxEnvelopeBytes])
	if err != nil {
		t.Error(err)
	}
}

// P31: notices are bounded, and the last one says how many there would be.
func TestNoticesAreBounded(t *testing.T) {
	for _, test := range []struct{ columns, want int }{{63, 63}, {64, 64}, {100_000, 64}} {
		list := func(entry string) string { return "[" + strings.Repeat(entry+",", test.columns-1) + entry + "]" }
		document := `{"columns":` + list(`"c"`) + `,"rows":[],"row_count":0,"truncated":false,"column_kinds":` + list(`"later"`) + `}`
		_, notices, err := ReadTabular([]byte(document))
		if err != nil || len(notices) != test.want {
			t.Fatalf("%d notices, %v", len(notices), err)
		}
		if test.columns >= MaxNotices {
			want := Notice{Was: fmt.Sprintf("%d more places", test.columns-MaxNotices+1), ReadAs: "left out here"}
			if diff := cmp.Diff(want, notices[MaxNotices-1]); diff != "" {
				t.Error(diff)
			}
		}
	}
	long := strings.Repeat("k/~", 100_000)
	_, notices, err := ReadArtifact([]byte(`{"` + long + `":1,"artifact":{"reference":"a","media_type":"b","bytes":1},"sensitivity":"` + long + `"}`))
	if err != nil || len(notices) != 2 {
		t.Fatal(notices, err)
	}
	for _, notice := range notices {
		if len(notice.Path)+len(notice.Was) > 512 {
			t.Errorf("a notice of %d bytes", len(notice.Path)+len(notice.Was))
		}
	}
}

// K65: what was decoded already is read like its text.
func TestDocumentOf(t *testing.T) {
	const text = `{"columns":["a"],"rows":[[9007199254740993]],"row_count":1,"truncated":false}`
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var decoded map[string]any
	if err := decoder.Decode(&decoded); err != nil {
		t.Fatal(err)
	}
	for _, value := range []any{text, []byte(text), json.RawMessage(text), decoded} {
		document, err := DocumentOf(value)
		if err != nil {
			t.Fatal(err)
		}
		e, _, err := ReadTabular(document)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Rows[0][0].Text(); got != "9007199254740993" {
			t.Errorf("%T: got %s", value, got)
		}
	}
	circle := map[string]any{}
	circle["self"] = circle
	for _, value := range []any{math.NaN(), make(chan int), circle} {
		_, err := DocumentOf(value)
		wantError(t, err, "", "no JSON")
	}
}
