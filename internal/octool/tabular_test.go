// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// K2, K3, K11 to K13, K15, K20 to K27, K66 to K69, P31, P40: what both readers make
// of a table.
func TestReadTabular(t *testing.T) {
	const (
		start = `{"columns":["a","b"],"rows":[["x",1],["y",2]],"row_count":2,"truncated":false`
		kinds = start + `,"column_kinds":["text","integer"]`
	)
	checkReads(t, EnvelopeTabular, map[string]readCase{
		"K11 the required keys alone": {document: start + `}`, strict: accepted, tolerant: accepted},
		"K11 all keys": {
			document: `{"columns":["a","b"],"rows":[["x",1]],"row_count":1,"truncated":true,"column_kinds":["text","integer"],` +
				`"column_scales":[null,"log2"],"column_descriptions":["what",null],"total_count":"2","next_cursor":"c",` +
				`"stop_reason":"run_deadline","warnings":["w"],"source":{"snapshot":"s"},"resumable":true}`,
			strict: accepted, tolerant: accepted,
		},
		"K11 the rows come first": {
			document: `{"truncated":false,"row_count":1,"rows":[[1,2,3]],"columns":["a","b","c"]}`, strict: accepted, tolerant: accepted,
			dump: `{"columns":["a","b","c"],"rows":[[1,2,3]],"row_count":1,"truncated":false}`,
		},
		"K2 null is absent": {
			document: start + `,"column_kinds":null,"column_scales":null,"column_descriptions":null,"total_count":null,"warnings":null}`,
			strict:   accepted, tolerant: accepted, dump: start + `}`,
		},
		"no columns":       {document: `{"columns":[],"rows":[[],[]],"row_count":2,"truncated":false,"column_kinds":[]}`, strict: accepted, tolerant: accepted},
		"no rows":          {document: `{"columns":["a"],"rows":[],"row_count":0,"truncated":false}`, strict: accepted, tolerant: accepted},
		"K11 no columns":   {document: `{"rows":[],"row_count":0,"truncated":false}`, strict: "/columns", tolerant: "/columns", message: "missing"},
		"K11 no rows":      {document: `{"columns":[],"row_count":0,"truncated":false}`, strict: "/rows", tolerant: "/rows", message: "missing"},
		"K11 no row_count": {document: `{"columns":[],"rows":[],"truncated":false}`, strict: "/row_count", tolerant: "/row_count", message: "missing"},
		"K11 no truncated": {document: `{"columns":[],"rows":[],"row_count":0}`, strict: "/truncated", tolerant: "/truncated", message: "missing"},
		"K12 every scalar, exactly": {
			document: `{"columns":["c"],"rows":[["é\"\\\u0001"],[-0],[123456789012345678901234567890],[1.50e+3],[0.1000],[true],[false],[null],[""]],"row_count":9,"truncated":false}`,
			strict:   accepted, tolerant: accepted,
		},
		"K12 escapes": {
			document: `{"columns":["\u0063"],"rows":[["\u00e9\/\ud83d\ude00"]],"row_count":1,"truncated":false}`, strict: accepted, tolerant: accepted,
			dump: `{"columns":["c"],"rows":[["é/😀"]],"row_count":1,"truncated":false}`,
		},
		"K12 an object in a cell": {
			document: `{"columns":["a","b"],"rows":[[1,2],[3,{}]],"row_count":2,"truncated":false}`, strict: "/rows/1/1", tolerant: "/rows/1/1", message: "an object",
		},
		"K12 a list in a cell": {document: `{"columns":["a"],"rows":[[[]]],"row_count":1,"truncated":false}`, strict: "/rows/0/0", tolerant: "/rows/0/0", message: "an array"},
		"K12 a row that is none": {
			document: `{"columns":["a"],"rows":[[1],null],"row_count":2,"truncated":false}`, strict: "/rows/1", tolerant: "/rows/1", message: "null",
		},
		"K69 a column that is no text": {document: `{"columns":["a",1],"rows":[],"row_count":0,"truncated":false}`, strict: "/columns/1", tolerant: "/columns/1", message: "a number"},
		"K13 row_count": {
			document: `{"columns":["a"],"rows":[[1]],"row_count":2,"truncated":false}`, strict: "/row_count", tolerant: "/row_count", message: "it is 2, but there are 1",
		},
		"K13 a narrow row": {
			document: `{"columns":["a","b"],"rows":[[1,2],[1]],"row_count":2,"truncated":false}`, strict: "/rows/1", tolerant: "/rows/1", message: "1 cells for 2 columns",
		},
		"K13 a wide row before the columns": {
			document: `{"rows":[[1,2,3]],"row_count":1,"truncated":false,"columns":["a","b"]}`, strict: "/rows/0", tolerant: "/rows/0", message: "3 cells for 2 columns",
		},
		"K15 kinds": {document: kinds + `}`, strict: accepted, tolerant: accepted},
		"K15 K67 an unknown kind": {
			document: start + `,"column_kinds":["geo_point","integer"]}`, strict: "/column_kinds/0", tolerant: accepted, message: `"geo_point" is no kind`,
			dump:    kinds + `}`,
			notices: []Notice{{"/column_kinds/0", `"geo_point"`, "text"}},
		},
		"K17 K67 a format is no kind": {
			document: start + `,"column_kinds":["text","ipv4"]}`, strict: "/column_kinds/1", tolerant: accepted, message: `"ipv4"`,
			dump:    start + `,"column_kinds":["text","text"]}`,
			notices: []Notice{{"/column_kinds/1", `"ipv4"`, "text"}},
		},
		"K69 a kind that is no word": {document: start + `,"column_kinds":["text",5]}`, strict: "/column_kinds/1", tolerant: "/column_kinds/1", message: "a number"},
		"K69 a kind that is null":    {document: start + `,"column_kinds":["text",null]}`, strict: "/column_kinds/1", tolerant: "/column_kinds/1", message: "null"},
		"K15 P40 too few kinds":      {document: start + `,"column_kinds":["text"]}`, strict: "/column_kinds", tolerant: "/column_kinds", message: "1 entries for 2 columns"},
		"K15 P40 too many kinds, one unknown": {
			document: start + `,"column_kinds":["text","text","x"]}`, strict: "/column_kinds/2", tolerant: "/column_kinds", message: "",
		},
		"K21 cells are not checked against kinds": {document: start + `,"column_kinds":["ip","mac"]}`, strict: accepted, tolerant: accepted},
		"K22 scales":             {document: kinds + `,"column_scales":[null,"linear"]}`, strict: accepted, tolerant: accepted},
		"K22 P40 too few scales": {document: kinds + `,"column_scales":[null]}`, strict: "/column_scales", tolerant: "/column_scales", message: "1 entries for 2 columns"},
		"K22 P40 too many scales": {
			document: kinds + `,"column_scales":[null,null,"log2"]}`, strict: "/column_scales", tolerant: "/column_scales", message: "3 entries for 2 columns",
		},
		"K22 K67 an unknown scale": {
			document: kinds + `,"column_scales":[null,"symlog"]}`, strict: "/column_scales/1", tolerant: accepted, message: `"symlog" is no scale`,
			dump:    kinds + `,"column_scales":[null,null]}`,
			notices: []Notice{{"/column_scales/1", `"symlog"`, "null"}},
		},
		"K22 K67 the empty word is not null": {
			document: kinds + `,"column_scales":[null,""]}`, strict: "/column_scales/1", tolerant: accepted, message: "is no scale",
			dump:    kinds + `,"column_scales":[null,null]}`,
			notices: []Notice{{"/column_scales/1", `"(empty)"`, "null"}},
		},
		"K69 a scale that is no word": {
			document: kinds + `,"column_scales":[null,2]}`, strict: "/column_scales/1", tolerant: "/column_scales/1", message: "a string or null",
		},
		"K23 K24 a scale on text": {
			document: kinds + `,"column_scales":["log10",null]}`, strict: "/column_scales/0", tolerant: accepted, message: "kind text has no scale",
			dump:    kinds + `,"column_scales":[null,null]}`,
			notices: []Notice{{"/column_scales/0", `"log10" on a column of kind text`, "null"}},
		},
		"K23 K24 a scale without kinds": {
			document: start + `,"column_scales":[null,"log10"]}`, strict: "/column_scales/1", tolerant: accepted, message: "needs column_kinds",
			dump:    start + `,"column_scales":[null,null]}`,
			notices: []Notice{{"/column_scales/1", `"log10" without column_kinds`, "null"}},
		},
		"K23 no scale needs no kinds": {document: start + `,"column_scales":[null,null]}`, strict: accepted, tolerant: accepted},
		"K24 a scale on a kind that is read as text": {
			document: start + `,"column_kinds":["text","duration"],"column_scales":[null,"log2"]}`, strict: "/column_kinds/1", tolerant: accepted, message: `"duration"`,
			dump: start + `,"column_kinds":["text","text"],"column_scales":[null,null]}`,
			notices: []Notice{
				{"/column_kinds/1", `"duration"`, "text"},
				{"/column_scales/1", `"log2" on a column of kind text`, "null"},
			},
		},
		"K24 scales before kinds": {
			document: `{"column_scales":[null,"log2"],"column_kinds":["text","big_integer"],"columns":["a","b"],"rows":[],"row_count":0,"truncated":false}`,
			strict:   accepted, tolerant: accepted,
			dump: `{"columns":["a","b"],"rows":[],"row_count":0,"truncated":false,"column_kinds":["text","big_integer"],"column_scales":[null,"log2"]}`,
		},
		"K26 descriptions": {document: start + `,"column_descriptions":[null,"the b"]}`, strict: accepted, tolerant: accepted},
		"K26 K27 P40 too few descriptions": {
			document: start + `,"column_descriptions":["a"]}`, strict: "/column_descriptions", tolerant: accepted, message: "1 entries for 2 columns",
			dump:    start + `}`,
			notices: []Notice{{"/column_descriptions", "1 entries for 2 columns", "dropped"}},
		},
		"K27 no list of descriptions": {
			document: start + `,"column_descriptions":{"a":"b"}}`, strict: "/column_descriptions", tolerant: accepted, message: "an object",
			dump:    start + `}`,
			notices: []Notice{{"/column_descriptions", "malformed: an object", "dropped"}},
		},
		"K27 an entry that is neither text nor null": {
			document: start + `,"column_descriptions":["a",[]]}`, strict: "/column_descriptions/1", tolerant: accepted, message: "a string or null",
			dump:    start + `}`,
			notices: []Notice{{"/column_descriptions", "malformed: an array", "dropped"}},
		},
		"K3 K66 an unknown key": {
			document: start + `,"row_ids":[{"deep":[1]}]}`, strict: "/row_ids", tolerant: accepted, message: "unknown",
			dump:    start + `}`,
			notices: []Notice{{"/row_ids", "unknown key", "dropped"}},
		},
		"K3 keys are told apart by case": {
			document: start + `,"Warnings":["w"]}`, strict: "/Warnings", tolerant: accepted, message: "unknown",
			dump:    start + `}`,
			notices: []Notice{{"/Warnings", "unknown key", "dropped"}},
		},
		"K52 K69 a total below the count": {
			document: start + `,"total_count":1}`, strict: "/total_count", tolerant: "/total_count", message: "less than the 2",
		},
		"K53 K69 resumable contradicts": {document: start + `,"resumable":true}`, strict: "/resumable", tolerant: "/resumable", message: "it is true"},
	})
}

// K12, K15, K22, K23, K26, K49: a table that is made.
func TestNewTabular(t *testing.T) {
	valid := func() TabularEnvelope {
		return TabularEnvelope{
			Columns:            []string{"a", "b"},
			Rows:               [][]Cell{{StringCell("x"), IntegerCell(1)}},
			ColumnKinds:        []ColumnKind{KindText, KindInteger},
			ColumnScales:       []ColumnScale{ScaleNone, ScaleLog2},
			ColumnDescriptions: []*string{nil, new("d")},
			Page:               Page{Truncated: true},
		}
	}
	made, err := NewTabular(valid())
	if err != nil {
		t.Fatal(err)
	}
	want := `{"columns":["a","b"],"rows":[["x",1]],"row_count":1,"truncated":true,"column_kinds":["text","integer"],` +
		`"column_scales":[null,"log2"],"column_descriptions":[null,"d"],"resumable":false}`
	if got := mustDump(t, made); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for name, test := range map[string]struct {
		change        func(*TabularEnvelope)
		path, message string
	}{
		"a narrow row":          {func(e *TabularEnvelope) { e.Rows = [][]Cell{{NullCell()}} }, "/rows/0", "1 cells for 2 columns"},
		"an unknown kind":       {func(e *TabularEnvelope) { e.ColumnKinds[0] = "x" }, "/column_kinds/0", `"x"`},
		"the kind of nothing":   {func(e *TabularEnvelope) { e.ColumnKinds[0] = "" }, "/column_kinds/0", `""`},
		"too few kinds":         {func(e *TabularEnvelope) { e.ColumnKinds = []ColumnKind{} }, "/column_kinds", "0 entries"},
		"an unknown scale":      {func(e *TabularEnvelope) { e.ColumnScales[1] = "x" }, "/column_scales/1", `"x"`},
		"a scale without kinds": {func(e *TabularEnvelope) { e.ColumnKinds = nil }, "/column_scales/1", "needs column_kinds"},
		"too few descriptions":  {func(e *TabularEnvelope) { e.ColumnDescriptions = []*string{} }, "/column_descriptions", "0 entries"},
		"a stop":                {func(e *TabularEnvelope) { e.Truncated = false; e.StopReason = new("x") }, "/stop_reason", "truncated is false"},
	} {
		t.Run(name, func(t *testing.T) {
			table := valid()
			test.change(&table)
			_, err := NewTabular(table)
			wantError(t, err, test.path, test.message)
			_, err = table.MarshalJSON()
			wantError(t, err, test.path, test.message)
		})
	}
	for path, change := range map[string]func(*TabularEnvelope){
		"/columns/1":             func(e *TabularEnvelope) { e.Columns[1] = "\xff" },
		"/rows/0/0":              func(e *TabularEnvelope) { e.Rows[0][0] = StringCell("\xff") },
		"/column_descriptions/1": func(e *TabularEnvelope) { e.ColumnDescriptions[1] = new("\xff") },
		"/source/instance":       func(e *TabularEnvelope) { e.Source = &SourceRef{Instance: new("\xff")} },
	} {
		table := valid()
		change(&table)
		_, err := table.MarshalJSON()
		wantError(t, err, path, "UTF-8")
	}
	if got := mustDump(t, TabularEnvelope{}); got != `{"columns":[],"rows":[],"row_count":0,"truncated":false}` {
		t.Errorf("the zero table: %s", got)
	}
}

// K11: what a renderer asks of a table that does not say.
func TestTabularAccessors(t *testing.T) {
	var e TabularEnvelope
	if err := json.Unmarshal([]byte(`{"columns":["a"],"rows":[[1]],"row_count":1,"truncated":false,"column_kinds":["number"],"column_scales":["log2"]}`), &e); err != nil {
		t.Fatal(err)
	}
	if e.RowCount() != 1 || e.Kind(0) != KindNumber || e.Scale(0) != ScaleLog2 {
		t.Error(e.RowCount(), e.Kind(0), e.Scale(0))
	}
	e.ColumnKinds, e.ColumnScales = nil, nil
	if e.Kind(0) != KindText || e.Scale(0) != ScaleNone {
		t.Error(e.Kind(0), e.Scale(0))
	}
	wantError(t, json.Unmarshal([]byte(`{"x":1}`), &e), "/x", "unknown")
}

// K12, K29: a row keeps its cells when the next one is read, and none is shared
// with what the caller goes on to write.
func TestCellsAreTheirOwn(t *testing.T) {
	data := []byte(`{"columns":["a","b"],"rows":[["aa","bb"],["cc","dd"]],"row_count":2,"truncated":false}`)
	e, _, err := ReadTabular(data)
	if err != nil {
		t.Fatal(err)
	}
	for i := range data {
		data[i] = '#'
	}
	first := append(e.Rows[0], StringCell("more")) // must not reach the next row
	want := [][]Cell{{StringCell("aa"), StringCell("bb")}, {StringCell("cc"), StringCell("dd")}}
	if diff := cmp.Diff(want, e.Rows, sameCells); diff != "" || len(first) != 3 {
		t.Error(diff)
	}
}
