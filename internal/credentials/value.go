// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"remit.dev/remit/api/v1alpha1"
)

// MaxValue bounds each part of a credential, in bytes.
const MaxValue = 16 << 10

// Value is a resolved credential: one header of a request. It is comparable, and prints
// as redacted.
type Value struct {
	header string
	value  string
	// secret is the part of the value that nobody may see, as the Secret or the token
	// endpoint has it.
	secret string
}

const redacted = "[redacted]"

// Header is the name of the header, empty when there is no credential.
func (v Value) Header() string { return v.header }

// Reveal is the content of the header. It goes into a request and nowhere else.
func (v Value) Reveal() string { return v.value }

// Redact takes the secret out of a text that somebody else wrote, in the forms in which a
// server may echo it.
func (v Value) Redact(text string) string {
	_, credentials, _ := strings.Cut(v.value, " ")
	for _, form := range []string{v.value, credentials, v.secret} {
		if form != "" {
			text = strings.ReplaceAll(text, form, redacted)
		}
	}
	return text
}

// String hides the secret.
func (v Value) String() string { return redacted }

// Format hides the secret under every verb.
func (v Value) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// MarshalText hides the secret from encoders.
func (v Value) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue hides the secret from loggers.
func (v Value) LogValue() slog.Value { return slog.StringValue(redacted) }

func (s *secret) bearer(key string) (Value, error) {
	token, err := s.token(key)
	if err != nil {
		return Value{}, err
	}
	return bearerValue(token), nil
}

func bearerValue(token string) Value {
	return Value{header: "Authorization", value: "Bearer " + token, secret: token}
}

func (s *secret) header(name, key string) (Value, error) {
	token, err := s.token(key)
	if err != nil {
		return Value{}, err
	}
	return Value{header: http.CanonicalHeaderKey(name), value: token, secret: token}, nil
}

// token is a value that goes into a header as it is, without the white space that files
// leave around it.
func (s *secret) token(key string) (string, error) {
	content, err := s.key(key)
	if err != nil {
		return "", err
	}
	text := strings.TrimSpace(content)
	if text == "" {
		return "", s.missing("key %q of %s is empty", key, s)
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		return "", s.refused("key %q of %s holds characters that no HTTP header can carry", key, s)
	}
	return text, nil
}

// basic is RFC 7617 with its UTF-8 charset. Either part may be empty, since services exist
// that take a token for one of them.
func (s *secret) basic(from *v1alpha1.BasicCredential) (Value, error) {
	username, err := s.line(from.UsernameKey)
	if err != nil {
		return Value{}, err
	}
	password, err := s.line(from.PasswordKey)
	switch {
	case err != nil:
		return Value{}, err
	case strings.Contains(username, ":"):
		return Value{}, s.refused("key %q of %s holds a colon, which a user name of HTTP Basic cannot have (RFC 7617)", from.UsernameKey, s)
	case username == "" && password == "":
		return Value{}, s.missing("keys %q and %q of %s are both empty", from.UsernameKey, from.PasswordKey, s)
	}
	pair := base64.StdEncoding.EncodeToString([]byte(username + ":" + password))
	return Value{header: "Authorization", value: "Basic " + pair, secret: password}, nil
}

// line is a value that is encoded before it is sent: white space within it counts, and
// only the line break that files end with does not.
func (s *secret) line(key string) (string, error) {
	content, err := s.key(key)
	if err != nil {
		return "", err
	}
	text := strings.TrimRight(content, "\r\n")
	if !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
		return "", s.refused("key %q of %s is not UTF-8, or holds control characters", key, s)
	}
	return text, nil
}
