// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"strings"
	"unicode"
)

// printable keeps what a server wrote from moving the cursor of whoever reads it.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
			return '\uFFFD'
		}
		return r
	}, text)
}

// bounded cuts text to limit bytes, at a character's boundary.
func bounded(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len("…")], "") + "…"
}
