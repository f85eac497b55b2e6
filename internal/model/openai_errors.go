// SPDX-License-Identifier: Apache-2.0

package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/openai/openai-go/v3/option"

	"remit.dev/remit/internal/egress"
)

// maxErrorBody is how much of an error's body is read.
const maxErrorBody = 64 << 10

// maxRetryAfter bounds what an endpoint may ask for; more is as good as never.
const maxRetryAfter = 24 * time.Hour

// screen stands between the SDK and the connection: it turns every status but success
// into an *Error, since the SDK loses the status of an error whose body it cannot read,
// and it bounds the body of a success.
func (o *OpenAI) screen(request *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	response, err := next(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		defer response.Body.Close()
		return nil, statusError(response)
	}
	response.Body = &boundedBody{body: response.Body, left: maxBody}
	return response, nil
}

// boundedBody fails with an *Error instead of giving more than left bytes.
type boundedBody struct {
	body io.ReadCloser
	left int
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if len(p) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.body.Read(p)
	b.left -= n
	if b.left < 0 {
		return 0, tooLarge("the body is longer than %d bytes", maxBody)
	}
	return n, err
}

func (b *boundedBody) Close() error { return b.body.Close() }

func statusError(response *http.Response) *Error {
	failure := &Error{Kind: statusKind(response.StatusCode), Status: response.StatusCode}
	if failure.Kind == KindRedirect {
		if location, err := response.Location(); err == nil {
			failure.Detail = fmt.Sprintf("to %s://%s", location.Scheme, location.Host)
		}
		return failure
	}
	failure.RetryAfter = retryAfter(response.Header)
	// What could be read before an error is still the best there is to tell.
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBody))
	failure.Detail = errorDetail(response.Header.Get("Content-Type"), body)
	return failure
}

func statusKind(status int) Kind {
	switch {
	case status >= 300 && status <= 399:
		return KindRedirect
	case status == http.StatusUnauthorized:
		return KindUnauthorized
	case status == http.StatusForbidden, status == http.StatusPaymentRequired:
		return KindForbidden
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed:
		return KindNotFound
	case status == http.StatusRequestTimeout:
		return KindTimeout
	case status == http.StatusTooManyRequests:
		return KindRateLimited
	case status >= 400 && status <= 499:
		return KindRejected
	case status >= 500 && status <= 599:
		return KindServer
	}
	return KindBadResponse
}

// errorDetail finds the message in the shapes that endpoints give their errors; the
// plain text of the body otherwise.
func errorDetail(contentType string, body []byte) string {
	var shape struct {
		Error   json.RawMessage `json:"error"`
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if err := json.Unmarshal(body, &shape); err == nil {
		var nested struct {
			Message string `json:"message"`
		}
		if err := json.Unmarshal(shape.Error, &nested); err == nil && nested.Message != "" {
			return nested.Message
		}
		for _, field := range []json.RawMessage{shape.Error, shape.Message, shape.Detail} {
			var text string
			if err := json.Unmarshal(field, &text); err == nil && text != "" {
				return text
			}
		}
	}
	if media, _, _ := mime.ParseMediaType(contentType); media == "text/html" {
		return "the body is an HTML page"
	}
	return string(body)
}

// retryAfter reads Retry-After (RFC 9110 section 10.2.3). A date is measured against
// the response's own Date, so that neither clock has to be right.
func retryAfter(header http.Header) time.Duration {
	value := header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return min(time.Duration(seconds)*time.Second, maxRetryAfter)
	}
	until, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		return 0
	}
	return min(max(until.Sub(now), 0), maxRetryAfter)
}

// classify reads the error of a call that got no usable answer. The URL that net/http
// puts into its errors is left out.
func classify(err error) *Error {
	if failure, ok := errors.AsType[*Error](err); ok {
		return failure
	}
	if denied, ok := errors.AsType[*egress.Denied](err); ok {
		return &Error{Kind: KindDenied, Detail: denied.Error()}
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &Error{Kind: KindUnreachable, Detail: "the connection was closed before the answer was complete"}
	}
	var network net.Error
	if errors.As(err, &network) && network.Timeout() {
		return &Error{Kind: KindTimeout, Detail: stable(err)}
	}
	return &Error{Kind: KindUnreachable, Detail: stable(err)}
}

// stable words a network error so that the same failure reads the same each time: local
// ports, which differ from one connection to the next, are left out.
func stable(err error) string {
	if lookup, ok := errors.AsType[*net.DNSError](err); ok {
		switch {
		case lookup.IsNotFound:
			return fmt.Sprintf("the host %q does not exist", lookup.Name)
		case lookup.IsTimeout:
			return fmt.Sprintf("looking up the host %q took too long", lookup.Name)
		default:
			return fmt.Sprintf("looking up the host %q failed", lookup.Name)
		}
	}
	if operation, ok := errors.AsType[*net.OpError](err); ok {
		sourceless := *operation
		sourceless.Source = nil
		return sourceless.Error()
	}
	return err.Error()
}
