// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"
)

// ColumnKinds are the kinds that this version knows.
func ColumnKinds() []ColumnKind {
	return []ColumnKind{
		KindText, KindNumber, KindInteger, KindBoolean, KindTimestamp, KindIP, KindFQDN, KindMAC, KindIPBlock, KindBigInteger,
	}
}

// ColumnScales are the scales that this version knows, beside none.
func ColumnScales() []ColumnScale {
	return []ColumnScale{ScaleLinear, ScaleLog10, ScaleLog2}
}

func (k ColumnKind) known() bool { return slices.Contains(ColumnKinds(), k) }

func (s ColumnScale) known() bool { return slices.Contains(ColumnScales(), s) }

// Numeric tells whether a column of that kind may have a scale.
func (k ColumnKind) Numeric() bool {
	return k == KindNumber || k == KindInteger || k == KindBigInteger
}

// Schema is the JSON Schema of a cell of that kind; a cell may also be null.
func (k ColumnKind) Schema() json.RawMessage {
	switch k {
	case KindNumber, KindInteger, KindBoolean:
		return json.RawMessage(`{"type":"` + string(k) + `"}`)
	case KindTimestamp:
		return json.RawMessage(`{"type":"string","format":"date-time"}`)
	case KindIP:
		return json.RawMessage(`{"type":"string","anyOf":[{"format":"ipv4"},{"format":"ipv6"}]}`)
	case KindFQDN:
		return json.RawMessage(`{"type":"string","format":"hostname"}`)
	case KindBigInteger:
		return json.RawMessage(`{"anyOf":[{"type":"integer"},{"type":"string","pattern":"^-?(0|[1-9][0-9]*)$"}]}`)
	default:
		return json.RawMessage(`{"type":"string"}`)
	}
}

// Alignment says to which side of its column a cell is set.
type Alignment string

// The alignments.
const (
	AlignLeft  Alignment = "left"
	AlignRight Alignment = "right"
)

// RenderHint says how a renderer sets the cells of a column. It never changes
// their text.
type RenderHint struct {
	Align     Alignment
	Monospace bool
}

// Render gives the hint for a kind: digits under digits, addresses under addresses.
func (k ColumnKind) Render() RenderHint {
	switch {
	case k.Numeric():
		return RenderHint{Align: AlignRight}
	case k == KindIPBlock || k == KindIP || k == KindMAC:
		return RenderHint{Align: AlignLeft, Monospace: true}
	default:
		return RenderHint{Align: AlignLeft}
	}
}

// CompareBigIntegers orders the cells of a column of kind big_integer by their
// exact value, whichever form each has. Cells that are no such integer come after,
// by their text, and null comes last. It suits slices.SortFunc.
func CompareBigIntegers(a, b Cell) int {
	x, isX := a.decimal()
	y, isY := b.decimal()
	switch {
	case isX && isY:
		return x.compare(y)
	case isX:
		return -1
	case isY:
		return 1
	case a.IsNull() != b.IsNull():
		if a.IsNull() {
			return 1
		}
		return -1
	default:
		return cmp.Or(strings.Compare(a.text, b.text), cmp.Compare(a.kind, b.kind))
	}
}

// logRange is how far apart the values of an axis are that is drawn as a logarithm.
const logRange = 1000

// AxisScale decides the axis of a column: a declared scale wins; without one it is
// log10 if every value is positive and the largest at least 1000 times the
// smallest, else linear. Values that are not finite are not plotted and do not
// count.
func AxisScale(declared ColumnScale, values []float64) ColumnScale {
	if declared != ScaleNone {
		return declared
	}
	smallest, largest := math.Inf(1), math.Inf(-1)
	for _, value := range values {
		if math.IsNaN(value) || math.IsInf(value, 0) {
			continue
		}
		smallest, largest = min(smallest, value), max(largest, value)
	}
	// By division, as the product may be beyond a float64.
	if smallest > 0 && !math.IsInf(smallest, 0) && largest/logRange >= smallest {
		return ScaleLog10
	}
	return ScaleLinear
}
