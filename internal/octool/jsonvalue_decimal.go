// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"cmp"
	"strings"
)

// decimal is an integer by its digits, which have no leading zero: it is compared
// without being converted, however long it is.
type decimal struct {
	negative bool
	digits   string
}

// parseDecimal reads -?(0|[1-9][0-9]*), which is an integer in JSON and the form of
// a big_integer that is a string.
func parseDecimal(text string) (decimal, bool) {
	digits, negative := strings.CutPrefix(text, "-")
	if digits == "" || len(digits) > 1 && digits[0] == '0' {
		return decimal{}, false
	}
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return decimal{}, false
		}
	}
	return decimal{negative && digits != "0", digits}, true
}

func (d decimal) compare(other decimal) int {
	if d.negative != other.negative {
		if d.negative {
			return -1
		}
		return 1
	}
	byMagnitude := cmp.Or(cmp.Compare(len(d.digits), len(other.digits)), strings.Compare(d.digits, other.digits))
	if d.negative {
		return -byMagnitude
	}
	return byMagnitude
}

// isSafeInteger tells whether text is an integer of a magnitude up to 2^53 - 1.
func isSafeInteger(text string) bool {
	d, ok := parseDecimal(text)
	return ok && decimal{digits: d.digits}.compare(decimal{digits: maxSafeDigits}) <= 0
}
