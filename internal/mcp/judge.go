package mcp

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
)

// retryRule says when a failed request may be sent once more, on a new session.
type retryRule int

const (
	retryNever      retryRule = iota
	retryIdempotent           // it may have taken effect
	retryAlways               // the server refused it before acting on it, or it was never sent
)

// failure is the judgement on one failed request.
type failure struct {
	kind   ErrorKind
	detail string
	status int
	code   int64
	cause  error

	retry retryRule
	renew bool // the credential was refused, and another one may be taken
	evict bool // the session is of no further use
	sent  bool // the request may have reached the server
	// effect is true when the request may have taken effect and its outcome is not known.
	effect bool
}

// judge decides what a request's end means, from the facts the transport recorded and from the
// context's error; nil when there is a result. Its rows are the table of deaths in the tests.
func judge(o outcome, ctxErr error, c Credential) *failure {
	f := &failure{status: o.status, sent: o.sent, cause: o.err}
	said := quote(o.text, c)
	if o.rpc != nil {
		said = quote(o.rpc.Message, c)
	}
	switch {
	case o.result != nil:
		return nil
	case !o.begun && ctxErr == nil:
		f.kind, f.retry, f.evict = SessionLost, retryAlways, true
		f.detail = "the session was closed before the request was sent"
	case saysSessionUnknown(o):
		f.kind, f.retry, f.evict = SessionLost, retryAlways, true
		f.detail = "the server does not know the session" + because(said)
	case o.status == http.StatusUnauthorized, o.status == http.StatusForbidden:
		// The effect may come before the refusal shows (requirement E13).
		f.kind, f.retry, f.evict, f.effect = Unauthorized, retryIdempotent, true, o.sent
		f.renew = o.status == http.StatusUnauthorized || o.challenge
		f.detail = "the server refused the credential (" + httpStatus(o.status) + ")" + because(said)
	case o.rpc != nil:
		f.kind, f.code, f.detail = Rejected, o.rpc.Code, said
		if speaksOfSession(o.rpc.Message) {
			// With HTTP 200, or on a stream, the words are all there is, and a tool may have
			// sessions of its own: another one is tried, and nothing with an effect twice.
			f.retry, f.evict = retryIdempotent, true
		}
	case o.fault == faultRedirect:
		f.kind, f.evict = Protocol, true
		f.detail = "the server redirects to host " + strconv.Quote(said) +
			"; redirects are not followed: set the URL to where the server really is"
	case o.fault == faultTooLarge:
		f.kind, f.detail = TooLarge, said
	case o.fault == faultGarbage:
		f.kind, f.retry, f.evict, f.effect = Protocol, retryIdempotent, true, true
		f.detail = said + checkURL
	case o.fault == faultStatus:
		judgeStatus(f, o.status, said)
	case ctxErr != nil:
		f.kind, f.effect, f.cause = Timeout, o.sent, ctxErr
		f.detail = "no answer before the deadline"
		if errors.Is(ctxErr, context.Canceled) {
			f.kind, f.detail = Canceled, "given up by the caller before an answer came"
		}
	case !o.sent:
		f.kind, f.detail = Unreachable, "cannot connect"+because(transportText(o.err, c))
	default:
		f.kind, f.retry, f.evict, f.effect = Unreachable, retryIdempotent, true, true
		f.detail = "the connection broke before the answer was complete" + because(transportText(o.err, c))
	}
	return f
}

// judgeStatus is the part of judge for HTTP errors without a JSON-RPC error.
func judgeStatus(f *failure, status int, said string) {
	f.detail = httpStatus(status) + because(said)
	switch {
	case status == http.StatusTooManyRequests:
		f.kind = Unreachable // by its meaning (RFC 6585) a refusal before any work
	case status >= 500:
		f.kind, f.retry, f.evict, f.effect = Unreachable, retryIdempotent, true, true
	default:
		f.kind, f.retry, f.evict, f.effect = Protocol, retryIdempotent, true, true
		f.detail += checkURL
	}
}

// sessionProblems are what servers say of a session they no longer know, next to the word "session".
// Collected from the TypeScript, Python, Java, C#, Rust and Go SDKs and the reference servers.
var sessionProblems = []string{
	"not found", "unknown", "invalid", "no valid", "not valid", "expired", "terminated", "not exist",
	"missing", "required", "closed", "not initialized", "unrecognized", "no longer",
}

// saysSessionUnknown is P39: a 404 that is no answer to the request, and a 400, 401 or 404 whose text or
// JSON-RPC error says that the session is unknown. Servers say it before they look at the request.
func saysSessionUnknown(o outcome) bool {
	text := o.text
	if o.rpc != nil {
		text = o.rpc.Message
	}
	switch o.status {
	case http.StatusNotFound:
		if o.rpc == nil && o.fault == faultStatus {
			return true
		}
	case http.StatusBadRequest, http.StatusUnauthorized:
	default:
		return false
	}
	return speaksOfSession(text)
}

// speaksOfSession says whether a text is what servers say of a session they do not know.
func speaksOfSession(text string) bool {
	text = strings.ToLower(text)
	if strings.Contains(text, "server not initialized") {
		return true
	}
	if !strings.Contains(text, "session") {
		return false
	}
	for _, problem := range sessionProblems {
		if strings.Contains(text, problem) {
			return true
		}
	}
	return false
}

const checkURL = "; check that the URL is that of an MCP endpoint"

func httpStatus(status int) string {
	return strings.TrimSpace("HTTP " + strconv.Itoa(status) + " " + http.StatusText(status))
}

func because(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}

func transportText(err error, c Credential) string {
	if err == nil {
		return ""
	}
	return quote(err.Error(), c)
}

// repeatable says whether the request may be made once more.
func (f *failure) repeatable(idempotent bool) bool {
	return f.retry == retryAlways || f.retry == retryIdempotent && idempotent
}

// toError turns the judgement into what the caller sees. With idempotent, an effect does no harm and the
// plain kind stands; without, it is an outcome that nobody knows (requirements E12, N17).
func (f *failure) toError(t Target, idempotent bool) *Error {
	kind := f.kind
	if f.effect && !idempotent {
		kind = OutcomeUnknown
	}
	return &Error{Kind: kind, Server: t.Server, Detail: f.detail, Status: f.status, Code: f.code, Sent: f.sent, cause: f.cause}
}
