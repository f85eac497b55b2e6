package mcp

import (
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ErrorKind says what a failure means for the caller.
type ErrorKind string

const (
	// Invalid means that the target, the tool's name or the arguments break a rule. Nothing was sent.
	Invalid ErrorKind = "Invalid"
	// Unreachable means that no usable answer came from the network or the server is out of order (5xx, 429).
	Unreachable ErrorKind = "Unreachable"
	// Timeout means that the deadline passed first.
	Timeout ErrorKind = "Timeout"
	// Canceled means that the caller gave up.
	Canceled ErrorKind = "Canceled"
	// Unauthorized means that the server answered 401 or 403, and that no other credential was to be had or
	// that it refused that one, too.
	Unauthorized ErrorKind = "Unauthorized"
	// Protocol means that what answered does not speak MCP, or redirects elsewhere.
	Protocol ErrorKind = "Protocol"
	// SessionLost means that the server lost the session again right after it was initialised anew.
	SessionLost ErrorKind = "SessionLost"
	// OutcomeUnknown means that a call of a tool that is not idempotent may have taken effect. Never replay it.
	OutcomeUnknown ErrorKind = "OutcomeUnknown"
	// Rejected means that the server answered with a JSON-RPC error, in Code and Detail. The outcome is known.
	Rejected ErrorKind = "Rejected"
	// TooLarge means that the server answered more than the bound. The call has taken effect.
	TooLarge ErrorKind = "TooLarge"
	// Closed means that the Client was closed.
	Closed ErrorKind = "Closed"
)

// Error is every error this package returns. Its text holds no credential.
type Error struct {
	Kind ErrorKind
	// Server is the Target's.
	Server string
	// Detail says what happened and, where there is something to do, what.
	Detail string
	// Status is the HTTP status of the last answer, 0 when there was none.
	Status int
	// Code is the JSON-RPC error code of kind Rejected.
	Code int64
	// Sent reports whether the call itself may have reached the server.
	Sent bool

	cause error
}

// Error names the server, the kind and the detail.
func (e *Error) Error() string {
	text := "mcp server " + e.Server + ": " + string(e.Kind)
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

// CredentialRefused reports whether the server refused the credential, be the call's outcome known or not.
func (e *Error) CredentialRefused() bool {
	refusal := e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden
	return e.Kind == Unauthorized || e.Kind == OutcomeUnknown && refusal
}

// Unwrap gives the error of the HTTP transport or of the context, where there was one.
func (e *Error) Unwrap() error { return e.cause }

// quote makes text of a server fit for an error, a condition or a log line: one line, bounded, valid
// UTF-8, without the credential.
func quote(text string, c Credential) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(c.redact(text), "?"))
	return truncate(strings.Join(strings.Fields(text), " "), MaxDetail)
}

// truncate cuts text to at most limit bytes at a rune's boundary.
func truncate(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	const ellipsis = "…"
	cut := limit - len(ellipsis)
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + ellipsis
}
