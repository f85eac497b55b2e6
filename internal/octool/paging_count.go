// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"fmt"
	"math/big"
	"strconv"
)

// Count is a number of items of any size: a JSON integer up to 2^53 - 1, a string
// of its digits above. One that was read as a string stays a string. The zero
// Count is 0.
type Count struct {
	digits string
	quoted bool
}

// CountOf is the Count of n.
func CountOf(n uint64) Count {
	return Count{strconv.FormatUint(n, 10), n > maxSafeInteger}
}

// CountOfBig is the Count of n. The error is an *Error for a negative number.
func CountOfBig(n *big.Int) (Count, error) {
	if n == nil || n.Sign() < 0 {
		return Count{}, &Error{Message: fmt.Sprintf("a count is 0 or more, and this one is %v", n)}
	}
	digits := n.String()
	return Count{digits, !isSafeInteger(digits)}, nil
}

// String gives the digits.
func (c Count) String() string {
	if c.digits == "" {
		return "0"
	}
	return c.digits
}

// Compare orders by the number, never by the text.
func (c Count) Compare(other Count) int {
	return decimal{digits: c.String()}.compare(decimal{digits: other.String()})
}

// Equal tells whether it is the same number.
func (c Count) Equal(other Count) bool { return c.Compare(other) == 0 }

// Uint64 is the number, false if it is beyond a uint64.
func (c Count) Uint64() (uint64, bool) {
	n, err := strconv.ParseUint(c.String(), 10, 64)
	return n, err == nil
}

// MarshalJSON writes an integer or a string.
func (c Count) MarshalJSON() ([]byte, error) { return c.appendJSON(nil), nil }

// UnmarshalJSON reads both forms. The error is an *Error.
func (c *Count) UnmarshalJSON(data []byte) error {
	d := newDocument(data, strictly)
	count, err := d.count("")
	if err == nil {
		err = d.end()
	}
	if err == nil && count != nil {
		*c = *count
	}
	return err
}

func (c Count) appendJSON(dst []byte) []byte {
	if !c.quoted {
		return append(dst, c.String()...)
	}
	return append(append(append(dst, '"'), c.String()...), '"')
}

// count reads an optional number of items.
func (d *document) count(at string) (*Count, error) {
	c, err := d.cell(func() string { return at })
	if err != nil || c.IsNull() {
		return nil, err
	}
	digits, ok := parseDecimal(c.text)
	isCount := ok && !digits.negative && c.text[0] != '-'
	switch {
	case c.kind == TypeInteger && isCount && isSafeInteger(c.text):
		return &Count{digits: c.text}, nil
	case c.kind == TypeInteger && isCount:
		return nil, &Error{at, fmt.Sprintf("the integer %s is above 2^53 - 1: write it as a string", excerpt(c.text))}
	case c.kind == TypeString && isCount:
		return &Count{digits: c.text, quoted: true}, nil
	default:
		return nil, &Error{at, "it must be an integer of 0 or more, or a string of its decimal digits"}
	}
}
