// SPDX-License-Identifier: Apache-2.0

package canonical

import "strings"

// NormalizeText gives free text its one form: CRLF and CR become LF, and
// newlines at the very end go. Nothing else changes: spaces at the end of a line
// mean something in Markdown.
//
// Prevents: one text hashing differently by the editor, the Git setting or the
// YAML block style ("|", "|-", "|+") that it came through.
func NormalizeText(s string) string {
	if strings.IndexByte(s, '\r') >= 0 {
		s = lineEndings.Replace(s)
	}
	return strings.TrimRight(s, "\n")
}

var lineEndings = strings.NewReplacer("\r\n", "\n", "\r", "\n")
