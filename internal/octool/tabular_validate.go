// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"fmt"
	"strconv"
	"strings"
)

// RuleCellKind is that of ValidateTabular: a column has cells that its kind does
// not admit.
const RuleCellKind = "cell_kind"

// ValidateTabular compares the cells of a table with the kinds of their columns.
// There is one finding at the most for a column, in the order of the columns, with
// the place of its first cell that does not fit; a null fits every kind. It is asked
// for and never part of reading.
func ValidateTabular(table *TabularEnvelope) []Finding {
	var found []Finding
	for column, kind := range table.ColumnKinds[:min(len(table.ColumnKinds), len(table.Columns))] {
		wrong, first := 0, 0
		for i, row := range table.Rows {
			if column >= len(row) || kind.fits(row[column]) {
				continue
			}
			if wrong == 0 {
				first = i
			}
			wrong++
		}
		if wrong == 0 {
			continue
		}
		found = append(found, Finding{
			Rule: RuleCellKind,
			Message: fmt.Sprintf("column %s (%s): %d of %d cells do not fit; first at row %d: %s", singleQuoted(table.Columns[column]),
				kind, wrong, len(table.Rows), first, shown(table.Rows[first][column])),
			Path: indexed(indexed("/rows", first), column),
		})
	}
	return found
}

// shown is a cell in a message: text in quotes, anything else as it was written.
func shown(c Cell) string {
	if c.kind == TypeString {
		return singleQuoted(c.text)
	}
	return excerpt(c.text)
}

// singleQuoted is text in single quotes, on one line and cut to a bound.
func singleQuoted(text string) string {
	inner := strconv.Quote(excerpt(text))
	inner = strings.ReplaceAll(inner[1:len(inner)-1], `\"`, `"`)
	return "'" + strings.ReplaceAll(inner, "'", `\'`) + "'"
}
