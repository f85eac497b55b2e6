// SPDX-License-Identifier: Apache-2.0

package model

import "unicode"

// printable makes text fit for a condition, a log line or a terminal: white space of
// any kind becomes single spaces, what does not print (control and formatting
// characters among it) goes, and at most limit characters are kept.
func printable(text string, limit int) string {
	var kept []rune
	space := false
	for _, r := range text {
		if unicode.IsSpace(r) {
			space = len(kept) > 0
			continue
		}
		if !unicode.IsPrint(r) {
			continue
		}
		if space {
			kept, space = append(kept, ' '), false
		}
		kept = append(kept, r)
		if len(kept) > limit {
			return string(kept[:limit-1]) + "…"
		}
	}
	return string(kept)
}
