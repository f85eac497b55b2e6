// SPDX-License-Identifier: Apache-2.0

package canonical

import "cmp"

const hexDigits = "0123456789abcdef"

// special marks the bytes that do not stand for themselves in a JSON string.
var special = func() (table [256]bool) {
	for c := range 0x20 {
		table[c] = true
	}
	table['"'], table['\\'] = true, true
	return table
}()

// appendString writes text as a JSON string: the two-character escape where
// there is one, \u00xx in lower case for the other control characters, and every
// other character as it is (RFC 8785, 3.2.2.2). The text is valid UTF-8. It is
// not put into a Unicode normal form: a model sees the difference.
//
// Prevents: "\u0041" against "A", "\/" against "/", and "<" against the "\u003c"
// of encoding/json hashing differently.
func appendString[T string | []byte](dst []byte, text T) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		if !special[c] {
			continue
		}
		dst = append(dst, text[start:i]...)
		dst = appendEscape(dst, c)
		start = i + 1
	}
	dst = append(dst, text[start:]...)
	return append(dst, '"')
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, `\b`...)
	case '\t':
		return append(dst, `\t`...)
	case '\n':
		return append(dst, `\n`...)
	case '\f':
		return append(dst, `\f`...)
	case '\r':
		return append(dst, `\r`...)
	default:
		return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
	}
}

// The first bytes, in UTF-8, of the characters about which UTF-8 and UTF-16 do
// not agree: U+E000 to U+FFFF on one side, U+10000 and above on the other.
const (
	leadPrivateUse    = 0xee
	leadSupplementary = 0xf0
)

// compareUTF16 orders valid UTF-8 by its UTF-16 code units (RFC 8785, 3.2.3). It
// is the order of object keys at every level, of sets, and of keyed lists. It
// differs from the order of the bytes in one place: a surrogate pair sorts
// before U+E000, although its character comes after.
//
// Prevents: declaration order, insertion order or the order of a Go map
// reaching the hash. Following the RFC lets any JCS library verify a body.
func compareUTF16[T string | []byte](a, b T) int {
	for i := range min(len(a), len(b)) {
		x, y := a[i], b[i]
		if x == y {
			continue
		}
		if x >= leadPrivateUse && y >= leadPrivateUse && (x >= leadSupplementary) != (y >= leadSupplementary) {
			return cmp.Compare(y, x)
		}
		return cmp.Compare(x, y)
	}
	return cmp.Compare(len(a), len(b))
}
