// SPDX-License-Identifier: Apache-2.0

package show

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/octool"
)

// maxColumns bounds the columns that a list of records is shown with.
const maxColumns = 32

// grid is a table to write: cells as text, and which columns are set to the right.
type grid struct {
	columns []string
	right   []bool
	rows    [][]string
	total   int
}

// envelope writes a result as a table where it is one, and says whether it did.
func (p *printer) envelope(result *v1alpha1.ResultRecord) bool {
	if result.Envelope == nil {
		return false
	}
	var table *grid
	switch result.Envelope.Kind {
	case v1alpha1.EnvelopeTabular:
		read, _, err := octool.ReadTabular([]byte(result.Content))
		if err == nil {
			table = p.ofTable(read)
		}
	case v1alpha1.EnvelopeRecords:
		read, _, err := octool.ReadRecords[json.RawMessage]([]byte(result.Content))
		if err == nil {
			table = p.ofRecords(read.Records)
		}
	case v1alpha1.EnvelopeArtifact, v1alpha1.EnvelopeUnreadable: // the content says it
	}
	if table == nil { // as when the content was cut or put aside
		p.about(result.Envelope)
		return false
	}
	p.grid(table)
	p.about(result.Envelope)
	return true
}

// about says what the envelope says beside its items.
func (p *printer) about(envelope *v1alpha1.ResultEnvelope) {
	switch {
	case envelope.Truncated && envelope.Resumable:
		p.printf("  %d items; there are more, and the tool can go on\n", envelope.Count)
	case envelope.Truncated:
		p.printf("  %d items; the list was cut short (%s)\n", envelope.Count, orDash(line(envelope.StopReason)))
	}
	for _, warning := range envelope.Warnings {
		p.printf("  warning: %s\n", line(warning))
	}
}

func (p *printer) ofTable(read *octool.TabularEnvelope) *grid {
	table := &grid{total: len(read.Rows)}
	for i, column := range read.Columns {
		table.columns = append(table.columns, line(column))
		table.right = append(table.right, read.Kind(i).Render().Align == octool.AlignRight)
	}
	for _, cells := range read.Rows[:min(len(read.Rows), p.options.Rows)] {
		row := make([]string, len(cells))
		for i, cell := range cells {
			row[i] = line(cell.Text())
		}
		table.rows = append(table.rows, row)
	}
	return table
}

// ofRecords takes the keys as columns, in the order in which they first come.
func (p *printer) ofRecords(records []json.RawMessage) *grid {
	table := &grid{total: len(records)}
	index := map[string]int{}
	for _, record := range records[:min(len(records), p.options.Rows)] {
		row := make([]string, len(table.columns))
		for _, member := range members(record) {
			at, ok := index[member.key]
			if !ok {
				if len(table.columns) == maxColumns {
					continue
				}
				at = len(table.columns)
				index[member.key] = at
				table.columns, table.right = append(table.columns, line(member.key)), append(table.right, false)
				row = append(row, "")
			}
			row[at] = line(member.value)
		}
		table.rows = append(table.rows, row)
	}
	return table
}

type member struct{ key, value string }

// members are those of an object in their order. What is no object has one, without
// a key.
func members(record json.RawMessage) []member {
	decoder := json.NewDecoder(strings.NewReader(string(record)))
	if first, err := decoder.Token(); err != nil || first != json.Delim('{') {
		return []member{{"", string(record)}}
	}
	var all []member
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return all
		}
		var value json.RawMessage
		if decoder.Decode(&value) != nil {
			return all
		}
		name, _ := key.(string) // keys of objects are strings
		all = append(all, member{name, valueText(value)})
	}
	return all
}

// valueText is a value as a person reads it: a string without its quotes, null as
// nothing, and everything else as its JSON.
func valueText(value json.RawMessage) string {
	var text string
	if string(value) == "null" {
		return ""
	}
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

func (p *printer) grid(table *grid) {
	widths := make([]int, len(table.columns))
	for i, column := range table.columns {
		widths[i] = utf8.RuneCountInString(column)
	}
	for _, row := range table.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	write := func(row []string) {
		var b strings.Builder
		for i, cell := range row {
			padding := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			b.WriteString("  ")
			if table.right[i] {
				b.WriteString(padding + cell)
			} else {
				b.WriteString(cell + padding)
			}
		}
		p.printf("%s\n", strings.TrimRight(b.String(), " "))
	}
	write(table.columns)
	for _, row := range table.rows {
		write(row)
	}
	if more := table.total - len(table.rows); more > 0 {
		p.printf("  %s\n", fmt.Sprintf("… %d rows more", more))
	}
}
