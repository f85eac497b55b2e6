// SPDX-License-Identifier: Apache-2.0

package controllers

import "strings"

// bounded cuts text to limit bytes, at a character's boundary.
func bounded(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len("…")], "") + "…"
}
