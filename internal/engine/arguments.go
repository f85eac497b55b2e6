// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/canonical"
)

const argumentsDomain canonical.Domain = "remit.dev/arguments/v1"

// Arguments are those of one call, in the forms in which they are used.
type Arguments struct {
	// JSON is the canonical form, and Digest its digest.
	JSON   json.RawMessage
	Digest v1alpha1.Digest
	// Indented is for people.
	Indented string
}

// ReadArguments reads arguments as a model wrote them: one JSON object, or nothing
// for the empty one.
func ReadArguments(text string) (Arguments, error) {
	given := []byte(text)
	if len(bytes.TrimSpace(given)) == 0 {
		given = []byte("{}")
	}
	content, err := canonical.JSON(given)
	if err != nil {
		return Arguments{}, err
	}
	if content[0] != '{' {
		return Arguments{}, errors.New("they must be a JSON object")
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, content, "", "  "); err != nil {
		return Arguments{}, err
	}
	return Arguments{
		JSON:     content,
		Digest:   v1alpha1.Digest(canonical.Hash(argumentsDomain, content).String()),
		Indented: visible(indented.String()),
	}, nil
}

// visible escapes what would not show or would turn a line around, such as a mark of
// the direction of text. It stands inside of strings alone, so the JSON stays the same.
func visible(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case !unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) && (!unicode.IsControl(r) || r == '\n'):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, "\\u%04x\\u%04x", high, low)
		default:
			fmt.Fprintf(&b, "\\u%04x", r)
		}
	}
	return b.String()
}
