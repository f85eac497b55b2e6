// SPDX-License-Identifier: Apache-2.0

package httptool

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"

	"remit.dev/remit/internal/egress"
	"remit.dev/remit/internal/httptool/template"
)

const (
	userAgent = "remit"
	accept    = "application/json, text/*;q=0.9, */*;q=0.1"
	// maxRedirects bounds those that are followed.
	maxRedirects = 3
)

// answer is what came of one request.
type answer struct {
	// err is why there is no answer, and reason its text without secrets.
	err    error
	reason string
	// ended is why the caller's context ended, if it did.
	ended error
	// sent says that bytes of the request may have reached the server.
	sent bool

	// status is 0 when there is no answer.
	status int
	// facts are headers worth reading where there is no body.
	facts string
	// redirect is where the server sends on to, where that was not followed.
	redirect   string
	retryAfter time.Duration
	text       string
	// unusable says why there is no text, and broken that it ended too early.
	unusable string
	broken   bool
}

// request makes the request of one attempt.
func (c *call) request(ctx context.Context) (*http.Request, error) {
	var body io.Reader
	if c.filled.Body != nil {
		body = bytes.NewReader(c.filled.Body)
	}
	request, err := http.NewRequestWithContext(ctx, c.filled.Method, "/", body)
	if err != nil {
		return nil, err
	}
	// Set, and not written and parsed again.
	request.URL, request.Host = c.filled.URL, c.filled.URL.Host
	header := request.Header
	header.Set("User-Agent", userAgent)
	header.Set("Accept", accept)
	if c.filled.Body != nil {
		header.Set("Content-Type", "application/json")
	}
	for name, value := range c.filled.Headers {
		header.Set(name, value)
	}
	if name := c.held.credential.Header(); name != "" {
		header.Set(name, c.held.credential.Reveal())
	}
	header.Set("Idempotency-Key", c.key)
	c.sendOnce(request)
	return request, nil
}

// sendOnce keeps http.Transport from sending a request a second time on its own, which it
// does on a connection that broke if it takes the request for idempotent: for its method,
// or for one of two headers, which it does not see under another spelling.
func (c *call) sendOnce(request *http.Request) {
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		if values, ok := request.Header[name]; ok {
			delete(request.Header, name)
			request.Header[strings.ToLower(name)] = values
		}
	}
	if !c.idempotent && reads(c.filled.Method) {
		request.Body = io.NopCloser(strings.NewReader("")) // a body that it cannot have again
	}
}

func reads(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// send makes one attempt.
func (c *call) send(ctx context.Context) answer {
	attempt := ctx
	if c.tool.timeout > 0 {
		var cancel context.CancelFunc
		attempt, cancel = context.WithTimeout(ctx, c.tool.timeout)
		defer cancel()
	}
	var sent atomic.Bool
	request, err := c.request(httptrace.WithClientTrace(attempt, &httptrace.ClientTrace{
		// With sendOnce, another connection is asked for only when nothing went out on the one before.
		GetConn: func(string) { sent.Store(false) },
		GotConn: func(httptrace.GotConnInfo) { sent.Store(true) },
	}))
	if err != nil {
		return answer{err: err, reason: "the request cannot be made"}
	}
	scope := egress.For(c.tool.grant.Namespace, c.tool.template.Origin.String(), c.held.any())
	response, err := c.follow(c.tool.client.options.Guard.Transport(scope), request)
	if err != nil {
		return answer{err: err, reason: c.held.redact.redact(reason(err)), ended: ctx.Err(), sent: sent.Load()}
	}
	defer func() { _ = response.Body.Close() }()
	given := c.read(response)
	given.sent, given.ended = true, ctx.Err()
	return given
}

// follow sends a request, and again to where it is redirected within its origin, so that it
// neither leaves the Grant's hosts nor takes a secret anywhere else. An http.Client would put
// the query with its secrets into a header, the server's own words into errors, and what is
// before an @ of a redirect into a credential.
func (c *call) follow(transport http.RoundTripper, request *http.Request) (*http.Response, error) {
	for hops := 0; ; hops++ {
		response, err := transport.RoundTrip(request)
		if err != nil || !redirects[response.StatusCode] || !c.idempotent || !reads(request.Method) || hops == maxRedirects {
			return response, err
		}
		location, err := response.Location()
		if err != nil {
			return response, nil
		}
		if origin, ok := template.OriginOf(location); !ok || origin != c.tool.template.Origin {
			return response, nil
		}
		_ = response.Body.Close()
		request = request.Clone(request.Context())
		location.Host = request.Host // the same host, in the author's spelling
		request.URL = location
	}
}

// redirects are the statuses that send on to their Location (RFC 9110 section 15.4).
var redirects = map[int]bool{
	http.StatusMovedPermanently: true, http.StatusFound: true, http.StatusSeeOther: true,
	http.StatusTemporaryRedirect: true, http.StatusPermanentRedirect: true,
}
