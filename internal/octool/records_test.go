// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// K3, K4, K5, K7, K8, K46 to K53, K57, K63, K65 to K69, K73, P31: what both readers
// make of a list of records.
func TestReadRecords(t *testing.T) {
	const list = `{"records":[{"id":1},{"id":2}],"count":2,`
	checkReads(t, EnvelopeRecords, map[string]readCase{
		"K4 the required keys alone": {
			document: `{"records":[],"count":0,"truncated":false}`,
			strict:   accepted, tolerant: accepted,
		},
		"K2 K7 all keys": {
			document: list + `"truncated":true,"total_count":10,"next_cursor":"c","stop_reason":"page_count",` +
				`"warnings":["one source failed"],"source":{"instance":"i","snapshot":"s"},"resumable":true}`,
			strict: accepted, tolerant: accepted,
		},
		"K2 null is absent": {
			document: list + `"truncated":false,"total_count":null,"next_cursor":null,"stop_reason":null,"warnings":null,"source":null,"resumable":null}`,
			strict:   accepted, tolerant: accepted,
			dump: list + `"truncated":false}`,
		},
		"K2 K57 no warnings": {
			document: list + `"truncated":false,"warnings":[]}`,
			strict:   accepted, tolerant: accepted,
			dump: list + `"truncated":false}`,
		},
		"K4 no records":        {document: `{"count":0,"truncated":false}`, strict: "/records", tolerant: "/records", message: "missing"},
		"K4 no count":          {document: `{"records":[],"truncated":false}`, strict: "/count", tolerant: "/count", message: "missing"},
		"K4 no truncated":      {document: `{"records":[],"count":0}`, strict: "/truncated", tolerant: "/truncated", message: "missing"},
		"K5 count is too low":  {document: `{"records":[1],"count":0,"truncated":false}`, strict: "/count", tolerant: "/count", message: "it is 0, but there are 1"},
		"K5 count is too high": {document: `{"count":2,"records":[1],"truncated":false}`, strict: "/count", tolerant: "/count", message: "it is 2, but there are 1"},
		"K69 count is text":    {document: `{"records":[],"count":"0","truncated":false}`, strict: "/count", tolerant: "/count", message: "a string"},
		"K69 count is a float": {document: `{"records":[],"count":0.0,"truncated":false}`, strict: "/count", tolerant: "/count", message: "0.0"},
		"K69 count is negative": {
			document: `{"records":[],"count":-1,"truncated":false}`, strict: "/count", tolerant: "/count", message: "-1",
		},
		"K69 records is an object": {document: `{"records":{},"count":0,"truncated":false}`, strict: "/records", tolerant: "/records", message: "an object"},
		"K69 truncated is null":    {document: list + `"truncated":null}`, strict: "/truncated", tolerant: "/truncated", message: "null"},
		"K69 warnings is text":     {document: list + `"truncated":false,"warnings":"w"}`, strict: "/warnings", tolerant: "/warnings", message: "a string"},
		"K69 a warning is a number": {
			document: list + `"truncated":false,"warnings":["w",1]}`, strict: "/warnings/1", tolerant: "/warnings/1", message: "a number",
		},
		"K1 no object": {document: `[]`, strict: "", tolerant: "", message: "an array, but must be an object"},
		"K3 K66 an unknown key": {
			document: list + `"truncated":false,"deltas":true}`, strict: "/deltas", tolerant: accepted, message: "unknown",
			dump:    list + `"truncated":false}`,
			notices: []Notice{{"/deltas", "unknown key", "dropped"}},
		},
		"K66 keys inside records stay": {
			document: `{"records":[{"later":{"x":[1]}}],"count":1,"truncated":false}`, strict: accepted, tolerant: accepted,
		},
		"K66 an unknown key of the source": {
			document: list + `"truncated":false,"source":{"instance":"i","a/b":1}}`, strict: "/source/a~1b", tolerant: accepted, message: "unknown",
			dump:    list + `"truncated":false,"source":{"instance":"i"}}`,
			notices: []Notice{{"/source/a~1b", "unknown key", "dropped"}},
		},
		"K63 an empty source": {document: list + `"truncated":false,"source":{}}`, strict: accepted, tolerant: accepted},
		"K68 a malformed source": {
			document: list + `"truncated":false,"source":"prod"}`, strict: "/source", tolerant: accepted, message: "must be an object",
			dump:    list + `"truncated":false}`,
			notices: []Notice{{"/source", "malformed: a string", "dropped"}},
		},
		"K68 a source with a malformed member goes as a whole": {
			document: list + `"truncated":false,"source":{"later":1,"instance":7}}`, strict: "/source/later", tolerant: accepted, message: "unknown",
			dump:    list + `"truncated":false}`,
			notices: []Notice{{"/source", "malformed: an object", "dropped"}},
		},
		"K49 truncated and for good": {document: list + `"truncated":true,"resumable":false}`, strict: accepted, tolerant: accepted},
		"K49 absent is false": {
			document: list + `"truncated":true}`, strict: accepted, tolerant: accepted,
			dump: list + `"truncated":true,"resumable":false}`,
		},
		"K53 resumable is not stored": {
			document: list + `"truncated":false,"resumable":false}`, strict: accepted, tolerant: accepted,
			dump: list + `"truncated":false}`,
		},
		"K53 resumable comes first": {
			document: `{"resumable":true,"next_cursor":"c","truncated":true,"count":0,"records":[]}`, strict: accepted, tolerant: accepted,
			dump: `{"records":[],"count":0,"truncated":true,"next_cursor":"c","resumable":true}`,
		},
		"K53 resumable without a cursor": {
			document: list + `"truncated":true,"resumable":true}`, strict: "/resumable", tolerant: "/resumable", message: "it is true",
		},
		"K53 a cursor that is not resumable": {
			document: list + `"truncated":true,"next_cursor":"c","resumable":false}`, strict: "/resumable", tolerant: "/resumable", message: "it is false",
		},
		"K52 a cursor of a complete list": {
			document: list + `"truncated":false,"next_cursor":"c"}`, strict: "/next_cursor", tolerant: "/next_cursor", message: "truncated is false",
		},
		"K52 a stop of a complete list": {
			document: list + `"truncated":false,"stop_reason":"interrupted"}`, strict: "/stop_reason", tolerant: "/stop_reason", message: "truncated is false",
		},
		"K52 a total below the count": {
			document: list + `"truncated":true,"total_count":1}`, strict: "/total_count", tolerant: "/total_count", message: "the full size is 1, less than the 2",
		},
		"K8 a total below the count as a string": {
			document: list + `"truncated":true,"total_count":"1"}`, strict: "/total_count", tolerant: "/total_count", message: "less than",
		},
		"K8 compared as numbers": {document: list + `"truncated":false,"total_count":"10"}`, strict: accepted, tolerant: accepted},
		"K8 the largest integer": {
			document: list + `"truncated":true,"total_count":9007199254740991,"resumable":false}`, strict: accepted, tolerant: accepted,
		},
		"K8 an integer that is too large": {
			document: list + `"truncated":true,"total_count":9007199254740992}`, strict: "/total_count", tolerant: "/total_count", message: "write it as a string",
		},
		"K8 a string of any size": {
			document: list + `"truncated":true,"total_count":"340282366920938463463374607431768211456","resumable":false}`, strict: accepted, tolerant: accepted,
		},
		"K8 a leading zero":   {document: list + `"truncated":true,"total_count":"010"}`, strict: "/total_count", tolerant: "/total_count", message: "decimal digits"},
		"K8 a negative total": {document: list + `"truncated":true,"total_count":-2}`, strict: "/total_count", tolerant: "/total_count", message: "0 or more"},
		"K8 minus nothing":    {document: `{"records":[],"count":0,"truncated":true,"total_count":"-0"}`, strict: "/total_count", tolerant: "/total_count", message: "0 or more"},
		"K8 a float":          {document: list + `"truncated":true,"total_count":2e3}`, strict: "/total_count", tolerant: "/total_count", message: "an integer"},
		"K47 K50 a cursor is what it is": {
			document: list + `"truncated":true,"next_cursor":"","resumable":true}`, strict: accepted, tolerant: accepted,
		},
		"K51 any word": {
			document: list + `"truncated":true,"stop_reason":"the moon","resumable":false}`, strict: accepted, tolerant: accepted,
		},
	})
}

// K9: an item is whatever its type reads; numbers without a type of their own are
// kept, and those of fields are exact.
func TestRecordsOfAType(t *testing.T) {
	type item struct {
		ID    int64 `json:"id"`
		Extra any   `json:"extra,omitempty"`
	}
	const document = `{"records":[{"id":9223372036854775807,"extra":9007199254740993},{"id":1}],"count":2,"truncated":false}`
	e, notices, err := ReadRecords[item]([]byte(document))
	if err != nil || notices != nil {
		t.Fatal(err, notices)
	}
	want := []item{{9223372036854775807, json.Number("9007199254740993")}, {ID: 1}}
	if diff := cmp.Diff(want, e.Records); diff != "" {
		t.Error(diff)
	}
	if got := mustDump(t, e); got != document {
		t.Errorf("got %s", got)
	}
	for name, test := range map[string]struct{ records, path, message string }{
		"another type":        {`[{"id":1},{"id":"s3cret"}]`, "/records/1", `the field "id" does not fit a Go int64: its JSON type is string`},
		"a number too large":  {`[{"id":92233720368547758080}]`, "/records/0", `the field "id" does not fit a Go int64: its JSON type is number`},
		"null is no record":   {`[{"id":1},null]`, "/records/1", "null"},
		"a list is no record": {`[[]]`, "/records/0", "the record does not fit"},
	} {
		t.Run(name, func(t *testing.T) {
			count := 1 + strings.Count(test.records, ",")
			document, err := json.Marshal(map[string]any{"records": json.RawMessage(test.records), "count": count, "truncated": false})
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = ReadRecords[item](document)
			wantError(t, err, test.path, test.message)
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("the error quotes a value: %v", err)
			}
		})
	}
}

// K5, K49, K52: an envelope that is made, and one that is dumped.
func TestNewRecords(t *testing.T) {
	e, err := NewRecords([]int{1, 2}, Page{Truncated: true, NextCursor: new("c"), TotalCount: new(CountOf(3))})
	if err != nil {
		t.Fatal(err)
	}
	if e.Count() != 2 || !e.Resumable() {
		t.Errorf("count %d, resumable %t", e.Count(), e.Resumable())
	}
	if got, want := mustDump(t, e), `{"records":[1,2],"count":2,"truncated":true,"total_count":3,"next_cursor":"c","resumable":true}`; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	_, err = NewRecords([]int{1, 2}, Page{NextCursor: new("c")})
	wantError(t, err, "/next_cursor", "truncated is false")

	e.Truncated = false
	_, err = e.MarshalJSON()
	wantError(t, err, "/next_cursor", "truncated is false")
	if _, err := json.Marshal(e); err == nil {
		t.Error("a broken envelope was dumped")
	}
	if got := mustDump(t, RecordsEnvelope[string]{}); got != `{"records":[],"count":0,"truncated":false}` {
		t.Errorf("the zero envelope: %s", got)
	}
	_, err = RecordsEnvelope[string]{Page: Page{Warnings: []string{"a", "\xff"}}}.MarshalJSON()
	wantError(t, err, "/warnings/1", "UTF-8")
	_, err = RecordsEnvelope[chan int]{Records: []chan int{nil}}.MarshalJSON()
	wantError(t, err, "/records", "no JSON")
}

// K3, K53: json.Unmarshal is the strict reader.
func TestUnmarshalRecords(t *testing.T) {
	var e RecordsEnvelope[int]
	if err := json.Unmarshal([]byte(`{"records":[1],"count":1,"truncated":false}`), &e); err != nil || e.Count() != 1 {
		t.Error(e, err)
	}
	wantError(t, json.Unmarshal([]byte(`{"records":[1],"count":1,"truncated":false,"x":1}`), &e), "/x", "unknown")
}

// K8: one number in two forms.
func TestCount(t *testing.T) {
	huge, _ := new(big.Int).SetString("36893488147419103232", 10)
	ofHuge, err := CountOfBig(huge)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		count      Count
		text, json string
	}{
		{Count{}, "0", `0`},
		{CountOf(0), "0", `0`},
		{CountOf(maxSafeInteger), "9007199254740991", `9007199254740991`},
		{CountOf(maxSafeInteger + 1), "9007199254740992", `"9007199254740992"`},
		{ofHuge, "36893488147419103232", `"36893488147419103232"`},
	} {
		if got := mustDump(t, test.count); test.count.String() != test.text || got != test.json {
			t.Errorf("got %s and %s, want %s and %s", test.count, got, test.text, test.json)
		}
		var again Count
		if err := json.Unmarshal([]byte(test.json), &again); err != nil || !again.Equal(test.count) {
			t.Errorf("%s came back as %s, %v", test.json, again, err)
		}
	}
	if CountOf(9).Compare(CountOf(10)) >= 0 || ofHuge.Compare(CountOf(10)) <= 0 {
		t.Error("compared as text")
	}
	if n, ok := CountOf(7).Uint64(); n != 7 || !ok {
		t.Error(n, ok)
	}
	if _, ok := ofHuge.Uint64(); ok {
		t.Error("more than a uint64 fits into one")
	}
	_, err = CountOfBig(big.NewInt(-1))
	wantError(t, err, "", "-1")
	_, err = CountOfBig(nil)
	wantError(t, err, "", "nil")
	wantError(t, json.Unmarshal([]byte(`"x"`), new(Count)), "", "decimal digits")
}
