package mcp

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
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

// minScrubbed is the length from which on a credential is taken out of results.
const minScrubbed = 8

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

const redacted = "[redacted]"

// redact removes the credential from text that a server wrote.
func (c Credential) redact(text string) string {
	for _, form := range c.forms() {
		text = strings.ReplaceAll(text, form, redacted)
	}
	return text
}

// scrub removes the credential from a JSON text. A short one stays: to take it out could take the text apart.
func (c Credential) scrub(data []byte) []byte {
	for _, form := range c.forms() {
		if len(form) < minScrubbed {
			continue
		}
		for _, escapeHTML := range []bool{false, true} { // some servers escape <, > and &
			if written := inJSON(form, escapeHTML); bytes.Contains(data, written) { // ReplaceAll always makes a copy
				data = bytes.ReplaceAll(data, written, []byte(redacted))
			}
		}
	}
	return data
}

// inJSON is a text as it stands between the quotes of a JSON string.
func inJSON(text string, escapeHTML bool) []byte {
	var quoted bytes.Buffer
	encoder := json.NewEncoder(&quoted)
	encoder.SetEscapeHTML(escapeHTML)
	if err := encoder.Encode(text); err != nil { // unreachable: a string can be encoded
		return []byte(text)
	}
	return quoted.Bytes()[1 : quoted.Len()-2]
}

// forms are those in which a server may echo the credential, the longest first: the whole header value, the
// part after the scheme, and the password in that part if the scheme is Basic.
func (c Credential) forms() []string {
	if c.Value == "" {
		return nil
	}
	forms := []string{c.Value}
	scheme, token, ok := strings.Cut(c.Value, " ")
	if !ok || token == "" {
		return forms
	}
	forms = append(forms, token)
	if strings.EqualFold(scheme, "Basic") {
		pair, _ := base64.StdEncoding.DecodeString(token)
		if _, password, ok := strings.Cut(string(pair), ":"); ok && password != "" {
			forms = append(forms, password)
		}
	}
	return forms
}
