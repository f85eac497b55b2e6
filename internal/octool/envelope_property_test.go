// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// drawWord favours what encodings disagree about.
var drawWord = rapid.StringOf(rapid.OneOf(
	rapid.SampledFrom([]rune("ab\"\\/\n\x00\x1f\x7f<>&é\u2028\ufffd😀")), rapid.Rune(),
))

func drawOptional(t *rapid.T, name string) *string {
	if rapid.Bool().Draw(t, name+" is there") {
		return new(drawWord.Draw(t, name))
	}
	return nil
}

func drawBig(t *rapid.T) *big.Int {
	n := new(big.Int).SetBytes(rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "magnitude"))
	if rapid.Bool().Draw(t, "negative") {
		return n.Neg(n)
	}
	return n
}

func drawCell(t *rapid.T) Cell {
	switch rapid.IntRange(0, 5).Draw(t, "cell") {
	case 0:
		return NullCell()
	case 1:
		return BooleanCell(rapid.Bool().Draw(t, "boolean"))
	case 2:
		return IntegerCell(rapid.Int64().Draw(t, "integer"))
	case 3:
		return FloatCell(rapid.Float64().Draw(t, "float"))
	case 4:
		return BigIntegerCell(drawBig(t))
	default:
		return StringCell(drawWord.Draw(t, "string"))
	}
}

// drawPage draws what the rules of paging allow for a list of that length.
func drawPage(t *rapid.T, returned int) Page {
	p := Page{Truncated: rapid.Bool().Draw(t, "truncated")}
	if p.Truncated {
		p.NextCursor, p.StopReason = drawOptional(t, "cursor"), drawOptional(t, "stop")
	}
	if rapid.Bool().Draw(t, "total") {
		total, err := CountOfBig(new(big.Int).Add(big.NewInt(int64(returned)), new(big.Int).Abs(drawBig(t))))
		if err != nil {
			t.Fatal(err)
		}
		p.TotalCount = &total
	}
	if n := rapid.IntRange(0, 2).Draw(t, "warnings"); n > 0 {
		p.Warnings = rapid.SliceOfN(drawWord, n, n).Draw(t, "warnings")
	}
	if rapid.Bool().Draw(t, "source") {
		p.Source = &SourceRef{drawOptional(t, "instance"), drawOptional(t, "snapshot")}
	}
	return p
}

func drawTable(t *rapid.T) TabularEnvelope {
	width := rapid.IntRange(0, 4).Draw(t, "width")
	table := TabularEnvelope{Columns: rapid.SliceOfN(drawWord, width, width).Draw(t, "columns"), Rows: [][]Cell{}}
	for range rapid.IntRange(0, 4).Draw(t, "rows") {
		row := make([]Cell, width)
		for i := range row {
			row[i] = drawCell(t)
		}
		table.Rows = append(table.Rows, row)
	}
	if rapid.Bool().Draw(t, "kinds") {
		table.ColumnKinds = rapid.SliceOfN(rapid.SampledFrom(ColumnKinds()), width, width).Draw(t, "kinds")
	}
	if rapid.Bool().Draw(t, "scales") {
		table.ColumnScales = make([]ColumnScale, width)
		for i := range table.ColumnScales {
			if table.Kind(i).Numeric() {
				table.ColumnScales[i] = rapid.SampledFrom(append(ColumnScales(), ScaleNone)).Draw(t, "scale")
			}
		}
	}
	if rapid.Bool().Draw(t, "descriptions") {
		table.ColumnDescriptions = make([]*string, width)
		for i := range table.ColumnDescriptions {
			table.ColumnDescriptions[i] = drawOptional(t, "description")
		}
	}
	table.Page = drawPage(t, len(table.Rows))
	return table
}

func drawRef(t *rapid.T) ArtifactRef {
	ref := ArtifactRef{
		Reference: "r" + drawWord.Draw(t, "reference"), MediaType: drawWord.Draw(t, "type"),
		Bytes: rapid.Int64Range(0, maxSafeInteger).Draw(t, "bytes"), Role: drawOptional(t, "role"), URI: drawOptional(t, "uri"),
	}
	if rapid.Bool().Draw(t, "picture") {
		ref.Width, ref.Height = new(rapid.Int64Range(0, maxSafeInteger).Draw(t, "width")), new(int64(1))
	}
	return ref
}

func drawEnvelope(t *rapid.T) (EnvelopeKind, dumpable) {
	switch rapid.IntRange(0, 2).Draw(t, "envelope") {
	case 0:
		e := drawTable(t)
		return EnvelopeTabular, &e
	case 1:
		e := RecordsEnvelope[json.RawMessage]{Records: []json.RawMessage{}}
		for range rapid.IntRange(0, 3).Draw(t, "records") {
			e.Records = append(e.Records, json.RawMessage(fmt.Sprintf(`{"a":%s,"b":[%d]}`, mustCellJSON(t, drawCell(t)), rapid.Int().Draw(t, "n"))))
		}
		e.Page = drawPage(t, len(e.Records))
		return EnvelopeRecords, &e
	default:
		e := ArtifactEnvelope{Artifact: drawRef(t), Sensitivity: SensitivityInheritsInput}
		for range rapid.IntRange(0, 2).Draw(t, "artifacts") {
			e.Artifacts = append(e.Artifacts, drawRef(t))
		}
		page := drawPage(t, 0)
		e.Warnings, e.Source = page.Warnings, page.Source
		return EnvelopeArtifact, &e
	}
}

func mustCellJSON(t *rapid.T, c Cell) []byte {
	text, err := c.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// K2, K20, K29, K53: whatever is made comes back the same, by both readers, and the
// tolerant one has nothing to say of it.
func TestDumpsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind, e := drawEnvelope(t)
		dump, err := e.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(dump) {
			t.Fatalf("no JSON: %s", dump)
		}
		parsed, _, err := readers[kind].parse(dump)
		if err != nil {
			t.Fatalf("%v\n%s", err, dump)
		}
		if diff := cmp.Diff(e, parsed, sameCells); diff != "" {
			t.Fatalf("%s\n%s", dump, diff)
		}
		checkReadersAgree(t, kind, dump)
	})
}

// checkReadersAgree holds for any text: what is read dumps to what is read again,
// and what the strict reader accepts the tolerant one reads the same, without a
// notice.
func checkReadersAgree(t interface {
	Fatalf(format string, args ...any)
}, kind EnvelopeKind, data []byte) {
	read, notices, err := readers[kind].read(data)
	strict, _, strictErr := readers[kind].parse(data)
	if strictErr == nil && (err != nil || len(notices) > 0) {
		t.Fatalf("strictly accepted, but tolerantly: %v, %v\n%s", notices, err, data)
	}
	if strictErr == nil {
		if diff := cmp.Diff(strict, read, sameCells); diff != "" {
			t.Fatalf("the readers differ:\n%s", diff)
		}
	}
	if err != nil {
		return
	}
	if len(notices) > MaxNotices {
		t.Fatalf("%d notices", len(notices))
	}
	dump, err := read.MarshalJSON()
	if err != nil {
		t.Fatalf("what was read cannot be dumped: %v\n%s", err, data)
	}
	again, _, err := readers[kind].parse(dump)
	if err != nil {
		t.Fatalf("the dump cannot be parsed: %v\n%s", err, dump)
	}
	second, err := again.MarshalJSON()
	if err != nil || !bytes.Equal(dump, second) {
		t.Fatalf("the dump changes: %v\n%s\n%s", err, dump, second)
	}
}

// K66, K67: additions change nothing but the notices.
func TestAdditionsChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind, e := drawEnvelope(t)
		dump, err := e.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		addition := `"zz_` + strings.Repeat("x", rapid.IntRange(0, 300).Draw(t, "length")) + `":` + string(mustCellJSON(t, drawCell(t)))
		read, notices, err := readers[kind].read([]byte(`{` + addition + "," + string(dump[1:])))
		if err != nil || len(notices) != 1 {
			t.Fatalf("%v, %v", notices, err)
		}
		if diff := cmp.Diff(e, read, sameCells); diff != "" {
			t.Fatalf("%s", diff)
		}
	})
}
