// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"strings"
	"time"
)

// Kind classes the failure of one model call.
type Kind string

const (
	// KindUnauthorized is HTTP 401: the endpoint does not accept the key.
	KindUnauthorized Kind = "Unauthorized"
	// KindForbidden is HTTP 402 or 403: the key may not use the model.
	KindForbidden Kind = "Forbidden"
	// KindNotFound is HTTP 404 or 405: the endpoint does not know the model or the path.
	KindNotFound Kind = "NotFound"
	// KindRejected is any other HTTP 4xx, or a request that cannot be written in the
	// provider's protocol.
	KindRejected Kind = "Rejected"
	// KindRateLimited is HTTP 429.
	KindRateLimited Kind = "RateLimited"
	// KindServer is HTTP 5xx.
	KindServer Kind = "Server"
	// KindRedirect is HTTP 3xx, which is never followed.
	KindRedirect Kind = "Redirect"
	// KindBadResponse is an answer that is no completion.
	KindBadResponse Kind = "BadResponse"
	// KindTooLarge is an answer over a bound of this package.
	KindTooLarge Kind = "TooLarge"
	// KindUnreachable is a connection that failed or broke.
	KindUnreachable Kind = "Unreachable"
	// KindDenied is a connection that the egress guard refused.
	KindDenied Kind = "Denied"
	// KindTimeout is a call that took longer than it may, or HTTP 408.
	KindTimeout Kind = "Timeout"
	// KindDegenerate is a completion without any use (I15).
	KindDegenerate Kind = "Degenerate"
	// KindNoTurn is a script that has nothing left to say.
	KindNoTurn Kind = "NoTurn"
	// KindMisconfigured is a candidate for which there is no provider.
	KindMisconfigured Kind = "Misconfigured"
)

// wording says for each kind what happened and what the user should do.
var wording = map[Kind]struct{ happened, advice string }{
	KindUnauthorized:  {"the endpoint does not accept the credential", "check the Secret that the Grant's credential names"},
	KindForbidden:     {"the endpoint does not let the credential use this model", "check what the key in the Grant's credential may use, and its balance"},
	KindNotFound:      {"the endpoint does not know the model or the path", "check the model's name and the Grant's endpoint"},
	KindRejected:      {"the endpoint rejects the request", "check the model's parameters, the schemas of its tools and the length of the conversation"},
	KindRateLimited:   {"the endpoint limits the rate of requests", "wait, raise the quota of the key, or add another model to the Spec"},
	KindServer:        {"the endpoint failed", "see the endpoint's own logs or status page, or add another model to the Spec"},
	KindRedirect:      {"the endpoint redirects, and redirects are not followed", "set the Grant's endpoint to the final URL"},
	KindBadResponse:   {"the endpoint answered with something that is not a completion", "check that the Grant's endpoint is the base URL of an OpenAI-compatible API"},
	KindTooLarge:      {"the endpoint answered with more than is accepted", "lower the model's maxOutputTokens or choose another model"},
	KindUnreachable:   {"the endpoint cannot be reached", "check the host and port of the Grant's endpoint, and that it is up"},
	KindDenied:        {"the operator may not connect to the endpoint", "ask a platform administrator to allow the endpoint's address"},
	KindTimeout:       {"the endpoint did not answer in time", "check that the endpoint is up, or lower the model's maxOutputTokens"},
	KindDegenerate:    {"the model gave a useless reply", "change the model's parameters or choose another model"},
	KindNoTurn:        {"the script has no turn for this context", "add a turn, or check the markers of those it has"},
	KindMisconfigured: {"the model cannot be used", "correct the Grant or the Spec"},
}

// maxDetail bounds Error.Detail, in characters.
const maxDetail = 512

// Error is the failure of one model call. Match it with errors.As.
type Error struct {
	Kind Kind
	// Status is the HTTP status, zero when there was none.
	Status int
	// Detail is what the endpoint or the connection said: printable, at most 512
	// characters, without the key.
	Detail string
	// RetryAfter is how long the endpoint asks to wait; zero when it does not say.
	RetryAfter time.Duration
}

// Error says what happened, and what to do.
func (e *Error) Error() string {
	return e.describe(maxDetail) + "; " + e.Advice()
}

// Advice says what the user should do.
func (e *Error) Advice() string {
	return wording[e.Kind].advice
}

func (e *Error) describe(limit int) string {
	var text strings.Builder
	text.WriteString(wording[e.Kind].happened)
	if e.Status != 0 {
		fmt.Fprintf(&text, " (HTTP %d)", e.Status)
	}
	if e.Detail != "" {
		text.WriteString(": " + strings.TrimRight(printable(e.Detail, limit), "."))
	}
	return text.String()
}
