// SPDX-License-Identifier: Apache-2.0

package canonical

import (
	"bytes"
	"math"
	"strconv"
)

// appendNumber writes the canonical form of a JSON number literal, read as
// Kubernetes reads it: an integer literal within int64 is an int64, anything
// else a float64. It reports false if the literal is beyond the float64 range.
//
// Prevents: 1, 1.0, 1.00 and 1e0 hashing differently; and, by not reading every
// number as a float64, two neighbouring integers beyond 2^53 hashing the same.
func appendNumber(dst, literal []byte, integer bool) ([]byte, bool) {
	if integer {
		// Up to 18 digits always fit, and JSON knows one spelling of them.
		if len(literal) <= 18 && literal[0] != '-' {
			return append(dst, literal...), true
		}
		if i, err := strconv.ParseInt(string(literal), 10, 64); err == nil {
			return strconv.AppendInt(dst, i, 10), true
		}
	}
	f, err := strconv.ParseFloat(string(literal), 64)
	if err != nil {
		return dst, false
	}
	return appendFloat(dst, f), true
}

// appendFloat writes a finite float64 as ECMAScript does (RFC 8785, 3.2.2.3):
// the fewest digits that read back, without an exponent from 1e-6 up to 1e21,
// so integrals within int64 come out as integers. -0 is 0.
//
// The digits after the shortest form of a large integral are zeros and not the
// exact value of the float64. Kubernetes writes the zeros when it stores the
// number, and reads them back as an int64: printing anything else here would
// give the file and the stored object different hashes.
//
// Prevents: a float64 hashing by the library that printed it.
func appendFloat(dst []byte, f float64) []byte {
	if f == 0 {
		return append(dst, '0')
	}
	format := byte('f')
	if abs := math.Abs(f); abs < 1e-6 || abs >= 1e21 {
		format = 'e'
	}
	dst = strconv.AppendFloat(dst, f, format, -1, 64)
	// Go pads the exponent to two digits, ECMAScript does not.
	if n := len(dst); format == 'e' && dst[n-2] == '0' && (dst[n-3] == '-' || dst[n-3] == '+') {
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}

// sameDecimal reports whether two JSON number literals are the same number in
// decimal, whatever their spelling.
func sameDecimal(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, y := parseDecimal(a), parseDecimal(b)
	if len(x.digits) == 0 || len(y.digits) == 0 {
		return len(x.digits) == len(y.digits)
	}
	return x.negative == y.negative && x.exponent == y.exponent && bytes.Equal(x.digits, y.digits)
}

// decimal is digits x 10^exponent, without zeros at either end of the digits;
// zero has no digits.
type decimal struct {
	negative bool
	digits   []byte
	exponent int
}

// maxExponent is where exponents stop counting: far beyond a float64, and far
// from overflowing when the length of a literal is added.
const maxExponent = 1 << 27

func parseDecimal(literal []byte) decimal {
	var d decimal
	literal, d.negative = bytes.CutPrefix(literal, []byte("-"))
	mantissa := literal
	if i := bytes.IndexAny(literal, "eE"); i >= 0 {
		mantissa = literal[:i]
		d.exponent = parseExponent(literal[i+1:])
	}
	whole, fraction, _ := bytes.Cut(mantissa, []byte("."))
	d.digits = append(append(d.digits, whole...), fraction...)
	d.exponent -= len(fraction)
	d.digits = bytes.TrimLeft(d.digits, "0")
	significant := bytes.TrimRight(d.digits, "0")
	d.exponent += len(d.digits) - len(significant)
	d.digits = significant
	return d
}

func parseExponent(digits []byte) int {
	negative := digits[0] == '-'
	exponent := 0
	for _, c := range bytes.TrimLeft(digits, "+-") {
		exponent = min(exponent*10+int(c-'0'), maxExponent)
	}
	if negative {
		return -exponent
	}
	return exponent
}
