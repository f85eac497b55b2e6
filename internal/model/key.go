// SPDX-License-Identifier: Apache-2.0

package model

import (
	"log/slog"
	"strings"
	"unicode"
)

const redacted = "[redacted]"

// APIKey holds a secret that no formatting, encoding or logging shows.
type APIKey struct{ value string }

// NewAPIKey makes a key of a Secret's value, without the white space that files leave
// at its end.
func NewAPIKey(value string) APIKey { return APIKey{strings.TrimSpace(value)} }

// String hides the key.
func (APIKey) String() string { return redacted }

// GoString hides the key.
func (APIKey) GoString() string { return redacted }

// MarshalText hides the key from every encoder.
func (APIKey) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue hides the key.
func (APIKey) LogValue() slog.Value { return slog.StringValue(redacted) }

func (k APIKey) isEmpty() bool { return k.value == "" }

// sendable says whether the key can be a header's value.
func (k APIKey) sendable() bool {
	return !strings.ContainsFunc(k.value, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsPrint(r) })
}

// keyFragment is how many bytes of a key in a row are already too many to show:
// endpoints like to quote a part of it.
const keyFragment = 8

// redact replaces every stretch of text that consists of fragments of the key. A key
// shorter than a fragment is one.
func (k APIKey) redact(text string) string {
	size := min(keyFragment, len(k.value))
	if size == 0 {
		return text
	}
	fragments := map[string]bool{}
	for i := 0; i+size <= len(k.value); i++ {
		fragments[k.value[i:i+size]] = true
	}
	hide := make([]bool, len(text))
	for i := 0; i+size <= len(text); i++ {
		if fragments[text[i:i+size]] {
			for j := i; j < i+size; j++ {
				hide[j] = true
			}
		}
	}
	var out strings.Builder
	for i := range len(text) {
		switch {
		case !hide[i]:
			out.WriteByte(text[i])
		case i == 0 || !hide[i-1]:
			out.WriteString(redacted)
		}
	}
	return out.String()
}
