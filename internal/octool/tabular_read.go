// SPDX-License-Identifier: Apache-2.0

package octool

import "fmt"

// tabularReader reads a table. Its members come in any order, so what compares two
// of them waits for the end.
type tabularReader struct {
	table         TabularEnvelope
	columns, rows bool // were there
	rowCount      *int64
	page          pageReader
	descriptions  string // JSON, empty where there are none
}

func readTabular(data []byte, mode readMode) (*TabularEnvelope, []Notice, error) {
	r := &tabularReader{}
	d, err := readDocument(data, mode, r.field)
	if err != nil {
		return nil, nil, err
	}
	if err := r.end(d); err != nil {
		return nil, nil, err
	}
	return &r.table, d.notices.all(), nil
}

func (r *tabularReader) field(d *document, key string) (_ bool, err error) {
	switch key {
	case "columns":
		r.columns, r.table.Columns = true, []string{}
		err = d.array("/columns", func(i int) error {
			column, err := d.string(indexed("/columns", i))
			r.table.Columns = append(r.table.Columns, column)
			return err
		})
	case "rows":
		r.rows = true
		width := unknownWidth
		if r.columns {
			width = len(r.table.Columns)
		}
		r.table.Rows, err = d.rows("/rows", width)
	case "row_count":
		r.rowCount, err = d.size("/row_count")
	case "column_kinds":
		var kinds []string
		kinds, err = d.strings("/column_kinds")
		r.table.ColumnKinds = columnKinds(kinds)
	case "column_scales":
		var scales []*string
		scales, err = d.optionalStrings("/column_scales")
		r.table.ColumnScales = columnScales(scales)
	case "column_descriptions":
		r.descriptions, err = d.value()
	default:
		return r.page.field(d, key)
	}
	return true, err
}

func columnKinds(words []string) []ColumnKind {
	if words == nil {
		return nil
	}
	kinds := make([]ColumnKind, len(words))
	for i, word := range words {
		kinds[i] = ColumnKind(word)
	}
	return kinds
}

// unknownScale stands for the empty word, which in Go is ScaleNone.
const unknownScale ColumnScale = "(empty)"

func columnScales(words []*string) []ColumnScale {
	if words == nil {
		return nil
	}
	scales := make([]ColumnScale, len(words))
	for i, word := range words {
		switch {
		case word == nil:
		case *word == "":
			scales[i] = unknownScale
		default:
			scales[i] = ColumnScale(*word)
		}
	}
	return scales
}

// cellsAtOnce is about how many cells share an allocation.
const cellsAtOnce = 4096

// rows reads the cells of rows that have width cells each, or of any number where
// that is unknown.
func (d *document) rows(at string, width int) ([][]Cell, error) {
	rows := [][]Cell{}
	cells := []Cell{}
	err := d.array(at, func(i int) error {
		if width > 0 && cap(cells)-len(cells) < width {
			// Few rows take little, many take few allocations.
			cells = make([]Cell, 0, width*min(len(rows)+1, cellsAtOnce/width+1))
		}
		start := len(cells)
		var err error
		if cells, err = d.row(at, i, cells); err != nil {
			return err
		}
		row := cells[start:len(cells):len(cells)]
		rows = append(rows, row)
		if width != unknownWidth && len(row) != width {
			return widthError(i, len(row), width)
		}
		return nil
	})
	return rows, err
}

const unknownWidth = -1

// row reads the i-th row to the end of cells.
func (d *document) row(at string, i int, cells []Cell) ([]Cell, error) {
	if d.decoder.PeekKind() != '[' {
		return cells, d.unexpected(indexed(at, i), "an array")
	}
	if _, err := d.decoder.ReadToken(); err != nil {
		return cells, syntaxError(err)
	}
	start := len(cells)
	place := func() string { return indexed(indexed(at, i), len(cells)-start) }
	for d.more() {
		c, err := d.cell(place)
		if err != nil {
			return cells, err
		}
		cells = append(cells, c)
	}
	return cells, d.close()
}

// end checks what was read, and in a tolerant read first relaxes it.
func (r *tabularReader) end(d *document) error {
	switch {
	case !r.columns:
		return missing("columns")
	case !r.rows:
		return missing("rows")
	}
	if err := checkCount("row_count", r.rowCount, len(r.table.Rows)); err != nil {
		return err
	}
	if err := r.readDescriptions(d); err != nil {
		return err
	}
	if d.mode == tolerantly {
		r.relaxKinds(d)
		r.relaxScales(d)
	}
	r.table.Page = r.page.page
	if err := r.page.end(len(r.table.Rows)); err != nil {
		return err
	}
	return r.table.Validate()
}

// readDescriptions reads the descriptions. The tolerant reader drops a malformed
// list, also one of the wrong length.
func (r *tabularReader) readDescriptions(d *document) error {
	const at = "/column_descriptions"
	if r.descriptions == "" {
		return nil
	}
	inner := newDocument([]byte(r.descriptions), d.mode)
	descriptions, err := inner.optionalStrings(at)
	switch {
	case d.mode == strictly:
	case err != nil:
		d.notices.add(at, "malformed: "+jsonTypeOf(r.descriptions), "dropped")
		return nil
	case descriptions != nil && len(descriptions) != len(r.table.Columns):
		d.notices.add(at, fmt.Sprintf("%d entries for %d columns", len(descriptions), len(r.table.Columns)), "dropped")
		return nil
	}
	r.table.ColumnDescriptions = descriptions
	return err
}

func (r *tabularReader) relaxKinds(d *document) {
	for i, kind := range r.table.ColumnKinds {
		if !kind.known() {
			d.notices.add(indexed("/column_kinds", i), quoted(string(kind)), string(ColumnKindFallback))
			r.table.ColumnKinds[i] = ColumnKindFallback
		}
	}
}

// relaxScales comes after relaxKinds: a scale on a kind that is read as text goes.
func (r *tabularReader) relaxScales(d *document) {
	for i, scale := range r.table.ColumnScales {
		was := ""
		switch {
		case scale == ScaleNone:
			continue
		case !scale.known():
			was = quoted(string(scale))
		case r.table.ColumnKinds == nil:
			was = fmt.Sprintf("%q without column_kinds", scale)
		case i < len(r.table.ColumnKinds) && !r.table.ColumnKinds[i].Numeric():
			was = fmt.Sprintf("%q on a column of kind %s", scale, r.table.ColumnKinds[i])
		default:
			continue
		}
		d.notices.add(indexed("/column_scales", i), was, "null")
		r.table.ColumnScales[i] = ColumnScaleFallback
	}
}
