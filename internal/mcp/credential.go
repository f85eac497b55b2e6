package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/textproto"
	"strings"
)

// Credential is the header that authenticates a request. The caller resolves it afresh for every call
// (requirement E4); the zero value sends none. Every way of printing it redacts the value.
type Credential struct {
	Header string
	Value  string
}

// IsZero reports whether no credential is sent.
func (c Credential) IsZero() bool { return c.Header == "" && c.Value == "" }

// Fingerprint identifies the credential without revealing it: 32 hex digits of a SHA-256, or "none".
// It is meant for keys in memory: a guessable secret could be guessed from it.
func (c Credential) Fingerprint() string {
	if c.IsZero() {
		return "none"
	}
	header := textproto.CanonicalMIMEHeaderKey(c.Header)
	sum := sha256.Sum256([]byte("remit.dev/credential/v1\x00" + header + "\x00" + c.Value))
	return hex.EncodeToString(sum[:16])
}

// String shows the header's name alone.
func (c Credential) String() string {
	if c.IsZero() {
		return "none"
	}
	return c.Header + ": [redacted]"
}

// Format redacts under every verb, %#v and %x included.
func (c Credential) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) }

// MarshalJSON redacts.
func (c Credential) MarshalJSON() ([]byte, error) { return json.Marshal(c.String()) }

// LogValue redacts.
func (c Credential) LogValue() slog.Value { return slog.StringValue(c.String()) }

// redact removes the credential from text that a server wrote, in the forms in which a server may
// echo it: the whole header value, and the part after the scheme.
func (c Credential) redact(text string) string {
	if c.Value == "" {
		return text
	}
	text = strings.ReplaceAll(text, c.Value, "[redacted]")
	if _, token, ok := strings.Cut(c.Value, " "); ok && token != "" {
		text = strings.ReplaceAll(text, token, "[redacted]")
	}
	return text
}
