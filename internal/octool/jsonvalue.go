// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// maxSafeInteger is 2^53 - 1, the largest integer that every JSON reader keeps.
const maxSafeInteger = 1<<53 - 1

const maxSafeDigits = "9007199254740991"

// CellType is what a cell is in JSON, integers and floats told apart: an integer
// has neither a fraction nor an exponent.
type CellType uint8

// The types of a cell.
const (
	TypeNull CellType = iota
	TypeString
	TypeInteger
	TypeFloat
	TypeBoolean
)

var cellTypeNames = [...]string{"null", "string", "integer", "float", "boolean"}

func (t CellType) String() string { return cellTypeNames[t] }

// Cell is one scalar of a table. A number is kept as the text that it was
// written as, of any length, so that none is ever rounded. The zero Cell is null.
type Cell struct {
	kind CellType
	text string
}

// NullCell is the cell without a value.
func NullCell() Cell { return Cell{} }

// StringCell is a cell that holds text.
func StringCell(text string) Cell { return Cell{TypeString, text} }

// BooleanCell is a cell that holds true or false.
func BooleanCell(value bool) Cell { return Cell{TypeBoolean, strconv.FormatBool(value)} }

// IntegerCell is a cell that holds a JSON integer.
func IntegerCell(value int64) Cell { return Cell{TypeInteger, strconv.FormatInt(value, 10)} }

// BigIntegerCell is a cell for a column of kind big_integer: a JSON integer where its
// magnitude is at most 2^53 - 1, else a string of its digits. Nil is null.
func BigIntegerCell(value *big.Int) Cell {
	if value == nil {
		return NullCell()
	}
	return Cell{TypeInteger, value.String()}.asBigInteger()
}

// asBigInteger writes an integer the way a column of kind big_integer holds it.
func (c Cell) asBigInteger() Cell {
	if c.kind == TypeInteger && !isSafeInteger(c.text) {
		return StringCell(c.text)
	}
	return c
}

// FloatCell is a cell that holds the shortest number that reads back as value. What
// is not finite has no number in JSON, and is null.
func FloatCell(value float64) Cell { return floatCell(value, 64) }

func floatCell(value float64, bits int) Cell {
	if math.IsInf(value, 0) || math.IsNaN(value) {
		return NullCell()
	}
	format := byte('f')
	if abs := math.Abs(value); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return numberCell(strconv.FormatFloat(value, format, -1, bits))
}

// numberCell takes a valid JSON number.
func numberCell(literal string) Cell {
	if strings.ContainsAny(literal, ".eE") {
		return Cell{TypeFloat, literal}
	}
	return Cell{TypeInteger, literal}
}

// ParseCell reads the JSON of one scalar. The error is an *Error.
func ParseCell(data []byte) (Cell, error) {
	d := newDocument(data, strictly)
	c, err := d.cell(func() string { return "" })
	if err == nil {
		err = d.end()
	}
	return c, err
}

// Type is what the cell is in JSON.
func (c Cell) Type() CellType { return c.kind }

// IsNull tells whether the cell is without a value.
func (c Cell) IsNull() bool { return c.kind == TypeNull }

// Text is what a person reads: a string as it is, a number as it was written, true
// or false, and nothing for null.
func (c Cell) Text() string { return c.text }

// Big is the number of an integer, and of a string that is a big_integer. Its cost
// grows faster than its digits, so those beyond MaxBigDigits give false.
func (c Cell) Big() (*big.Int, bool) {
	if _, ok := c.decimal(); !ok || len(c.text) > MaxBigDigits {
		return nil, false
	}
	return new(big.Int).SetString(c.text, 10)
}

// MaxBigDigits bounds the integers that Cell.Big converts. Comparing and printing
// know no bound.
const MaxBigDigits = 4096

// Float64 is the number nearest to a cell that is a number, or a big_integer held
// as a string, for plotting (never for printing). What lies beyond a float64 gives
// false.
func (c Cell) Float64() (float64, bool) {
	if c.kind != TypeFloat {
		if _, ok := c.decimal(); !ok {
			return 0, false
		}
	}
	value, err := strconv.ParseFloat(c.text, 64)
	return value, err == nil
}

// decimal gives the digits of an integer, and of a string that is a big_integer.
func (c Cell) decimal() (decimal, bool) {
	if c.kind != TypeInteger && c.kind != TypeString {
		return decimal{}, false
	}
	return parseDecimal(c.text)
}

// MarshalJSON writes the scalar, a number as it was read.
func (c Cell) MarshalJSON() ([]byte, error) { return c.appendJSON(nil) }

// UnmarshalJSON is ParseCell.
func (c *Cell) UnmarshalJSON(data []byte) (err error) {
	*c, err = ParseCell(data)
	return err
}

func (c Cell) appendJSON(dst []byte) ([]byte, error) {
	switch c.kind {
	case TypeNull:
		return append(dst, "null"...), nil
	case TypeString:
		return appendText(dst, c.text)
	default:
		return append(dst, c.text...), nil
	}
}

// appendText writes a JSON string, and refuses text that no JSON string can hold.
func appendText(dst []byte, text string) ([]byte, error) {
	if !utf8.ValidString(text) {
		return dst, &Error{Message: "the text is not valid UTF-8: correct its encoding"}
	}
	return jsontext.AppendQuote(dst, text)
}
