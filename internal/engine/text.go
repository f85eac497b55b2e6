// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// clean makes text that survives JSON unchanged: a log record is hashed before
// it is stored and again after it is read.
func clean(text string) string {
	return strings.ToValidUTF8(text, "\uFFFD")
}

// jsonSize is the number of bytes that text takes inside a JSON string.
func jsonSize(text string) int {
	size := 0
	for _, r := range text {
		size += runeSize(r)
	}
	return size
}

// runeSize is what encoding/json makes of a character, or more where its versions
// differ. It escapes the angle brackets and the ampersand too, so a page of HTML
// grows.
func runeSize(r rune) int {
	switch {
	case r == '"' || r == '\\' || r == '\n' || r == '\r' || r == '\t':
		return 2
	case r < ' ' || r == '<' || r == '>' || r == '&' || r == '\u2028' || r == '\u2029':
		return 6
	default:
		return utf8.RuneLen(r)
	}
}

// cut shortens clean text to at most limit bytes of JSON, between two characters.
func cut(text string, limit int) string {
	size := 0
	for i, r := range text {
		if size += runeSize(r); size > limit {
			return text[:i]
		}
	}
	return text
}

// cutNotice begins the end of a text that was cut.
const cutNotice = "\n[cut: the whole has "

// cutWithNotice shortens clean text to at most limit bytes of JSON and says so at
// its end. The limit leaves room for the notice.
func cutWithNotice(text string, limit int) string {
	if jsonSize(text) <= limit {
		return text
	}
	notice := fmt.Sprintf(cutNotice+"%d bytes]", len(text))
	return cut(text, limit-jsonSize(notice)) + notice
}
