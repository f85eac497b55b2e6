// SPDX-License-Identifier: Apache-2.0

package octool

import "fmt"

// TabularEnvelope is a table whose columns are known only when it is made. Its
// row count is the number of its rows, and is not stored apart.
type TabularEnvelope struct {
	Columns []string
	// Rows have one cell for each column.
	Rows [][]Cell
	// ColumnKinds, ColumnScales and ColumnDescriptions are nil, or have one entry
	// for each column.
	ColumnKinds  []ColumnKind
	ColumnScales []ColumnScale
	// ColumnDescriptions may have nil entries. A paged producer may send them with
	// the first page only, and the caller keeps those.
	ColumnDescriptions []*string
	Page
}

// NewTabular makes a table. The error is an *Error with the first rule that is
// broken; whether cells fit the kind of their column is for ValidateTabular.
func NewTabular(table TabularEnvelope) (*TabularEnvelope, error) {
	if err := table.Validate(); err != nil {
		return nil, err
	}
	return &table, nil
}

// ParseTabular reads a table that must be exact: an unknown key or value is an
// error. The error is an *Error.
func ParseTabular(data []byte) (*TabularEnvelope, error) {
	t, _, err := readTabular(data, strictly)
	return t, err
}

// ReadTabular reads a table that somebody else made, perhaps by a later minor of
// the format. What it does not know it drops or reads at its fallback, and notes;
// what is wrong is an *Error. It takes time and memory in proportion to data, and
// the cells share one copy of it.
func ReadTabular(data []byte) (*TabularEnvelope, []Notice, error) {
	return readTabular(data, tolerantly)
}

// RowCount is the number of rows returned.
func (t *TabularEnvelope) RowCount() int { return len(t.Rows) }

// Kind is the kind of a column, text where the table does not say.
func (t *TabularEnvelope) Kind(column int) ColumnKind {
	if column < len(t.ColumnKinds) {
		return t.ColumnKinds[column]
	}
	return KindText
}

// Scale is the scale of a column, ScaleNone where the table does not say.
func (t *TabularEnvelope) Scale(column int) ColumnScale {
	if column < len(t.ColumnScales) {
		return t.ColumnScales[column]
	}
	return ScaleNone
}

// Validate checks the rules that hold for every table. The error is an *Error.
func (t *TabularEnvelope) Validate() error {
	for i, row := range t.Rows {
		if len(row) != len(t.Columns) {
			return widthError(i, len(row), len(t.Columns))
		}
	}
	if err := t.validateKinds(); err != nil {
		return err
	}
	if err := t.validateScales(); err != nil {
		return err
	}
	if err := t.checkParallel("column_descriptions", len(t.ColumnDescriptions), t.ColumnDescriptions == nil); err != nil {
		return err
	}
	return t.validate(len(t.Rows))
}

func widthError(row, cells, columns int) error {
	return &Error{indexed("/rows", row), fmt.Sprintf("the row has %d cells for %d columns", cells, columns)}
}

func (t *TabularEnvelope) validateKinds() error {
	for i, kind := range t.ColumnKinds {
		if !kind.known() {
			return &Error{indexed("/column_kinds", i), fmt.Sprintf("%s is no kind of column: it must be one of %v", quoted(string(kind)), ColumnKinds())}
		}
	}
	return t.checkParallel("column_kinds", len(t.ColumnKinds), t.ColumnKinds == nil)
}

func (t *TabularEnvelope) validateScales() error {
	if err := t.checkParallel("column_scales", len(t.ColumnScales), t.ColumnScales == nil); err != nil {
		return err
	}
	for i, scale := range t.ColumnScales {
		at := indexed("/column_scales", i)
		switch {
		case scale == ScaleNone:
		case !scale.known():
			return &Error{at, fmt.Sprintf("%s is no scale: it must be one of %v, or null", quoted(string(scale)), ColumnScales())}
		case t.ColumnKinds == nil:
			return &Error{at, "a scale needs column_kinds, to say that the column is numeric"}
		case !t.ColumnKinds[i].Numeric():
			return &Error{at, fmt.Sprintf("a column of kind %s has no scale: the kind must be number, integer or big_integer", t.ColumnKinds[i])}
		}
	}
	return nil
}

// checkParallel compares the length of a list with the number of columns.
func (t *TabularEnvelope) checkParallel(key string, length int, absent bool) error {
	if absent || length == len(t.Columns) {
		return nil
	}
	return &Error{"/" + key, fmt.Sprintf("it has %d entries for %d columns", length, len(t.Columns))}
}

// MarshalJSON writes a valid table, the keys in the order of the format and no key
// without a value. The error is an *Error.
func (t TabularEnvelope) MarshalJSON() ([]byte, error) {
	if err := t.Validate(); err != nil {
		return nil, err
	}
	w := &objectWriter{}
	w.strings("columns", t.Columns)
	w.list("rows", len(t.Rows), func(i int) { w.row(i, t.Rows[i]) })
	w.int("row_count", int64(len(t.Rows)))
	w.bool("truncated", t.Truncated)
	if t.ColumnKinds != nil {
		w.list("column_kinds", len(t.ColumnKinds), func(i int) { w.text("", string(t.ColumnKinds[i])) })
	}
	if t.ColumnScales != nil {
		w.list("column_scales", len(t.ColumnScales), func(i int) { w.scale(t.ColumnScales[i]) })
	}
	if t.ColumnDescriptions != nil {
		w.optionalStrings("column_descriptions", t.ColumnDescriptions)
	}
	t.dump(w)
	return w.result()
}

func (w *objectWriter) row(i int, row []Cell) {
	w.dst = append(w.dst, '[')
	for j, c := range row {
		if j > 0 {
			w.dst = append(w.dst, ',')
		}
		var err error
		if w.dst, err = c.appendJSON(w.dst); err != nil {
			w.fail(indexed(indexed("/rows", i), j), err)
		}
	}
	w.dst = append(w.dst, ']')
}

func (w *objectWriter) scale(scale ColumnScale) {
	if scale == ScaleNone {
		w.dst = append(w.dst, "null"...)
		return
	}
	w.text("", string(scale))
}

// UnmarshalJSON is ParseTabular.
func (t *TabularEnvelope) UnmarshalJSON(data []byte) error {
	parsed, err := ParseTabular(data)
	if err == nil {
		*t = *parsed
	}
	return err
}
