package mcp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// noTimeout is for requests that their own context bounds.
const noTimeout = 24 * time.Hour

var (
	errStalled  = errors.New("the stream broke again and again without progress")
	errNoResume = errors.New("the stream broke and the server would not resume it")
)

// sessionTransport is the RoundTripper of one session. To the network it adds the target's headers and
// nothing else. To the SDK it shows well-formed answers only (see the package comment); what really
// came goes into the exchange that the request's context carries.
type sessionTransport struct {
	base       http.RoundTripper
	header     http.Header
	credential Credential
	// life ends when the session is cut off; so does everything in flight.
	life  context.Context
	abort context.CancelFunc
	// gone is set when the server has forgotten the session: there is nothing to DELETE.
	gone atomic.Bool
}

func newSessionTransport(base http.RoundTripper, t Target) *sessionTransport {
	life, abort := context.WithCancel(context.Background())
	return &sessionTransport{base: base, header: t.header(), credential: t.Credential, life: life, abort: abort}
}

// RoundTrip implements [http.RoundTripper].
func (t *sessionTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	switch req.Method {
	case http.MethodPost:
		return t.post(req)
	case http.MethodGet:
		return t.resume(req)
	default:
		return t.end(req)
	}
}

// post sends one JSON-RPC message.
func (t *sessionTransport) post(req *http.Request) (*http.Response, error) {
	body, err := takeBody(req)
	if err != nil {
		return nil, err
	}
	message, err := jsonrpc.DecodeMessage(body)
	if err != nil {
		return nil, err
	}
	call, ok := message.(*jsonrpc.Request)
	switch {
	case ok && call.IsCall():
		return t.call(req, call)
	case ok && call.Method == "notifications/initialized":
		return t.initialized(req)
	default:
		return t.notify(req)
	}
}

// call sends a request and shows the SDK the answer to it.
func (t *sessionTransport) call(req *http.Request, call *jsonrpc.Request) (*http.Response, error) {
	ex := exchangeFrom(req.Context())
	ex.begin(call, t.credential)
	timeout := noTimeout
	if call.Method == "server/discover" {
		timeout = discoverProbeTimeout
	}
	resp, body, err := t.send(req, ex, timeout)
	if err != nil {
		ex.failed(faultTransport, "", err)
		return nil, err
	}
	ex.answer(resp)
	if resp.StatusCode/100 == 2 && mediaType(resp) == eventStream {
		return streamResponse(req, call, resp, newStreamBody(ex, call, body)), nil
	}
	readWhole(ex, call, resp, body)
	return wholeResponse(req, call, resp, ex.outcome()), nil
}

// resume reopens the stream of a call that was interrupted (GET with Last-Event-ID). Whatever is wrong
// with it becomes the call's error: to the SDK a failed GET would mean the end of the session.
func (t *sessionTransport) resume(req *http.Request) (*http.Response, error) {
	ex := exchangeFrom(req.Context())
	call := ex.current()
	if call == nil {
		return emptyResponse(req, http.StatusMethodNotAllowed), nil
	}
	if ex.stalled(req.Header.Get("Last-Event-ID")) {
		ex.failed(faultTransport, "", errStalled)
		return failedStream(req, call), nil
	}
	resp, body, err := t.send(req, ex, noTimeout)
	if err != nil {
		ex.failed(faultTransport, "", err)
		return nil, err // the SDK tries again, until stalled
	}
	ex.answer(resp)
	if resp.StatusCode != http.StatusOK || mediaType(resp) != eventStream {
		body.Close()
		ex.failed(faultTransport, "", errNoResume)
		return failedStream(req, call), nil
	}
	return streamResponse(req, call, resp, newStreamBody(ex, call, body)), nil
}

// initialized sends the notification that ends the handshake; a server that refuses it refuses the session.
func (t *sessionTransport) initialized(req *http.Request) (*http.Response, error) {
	ex := exchangeFrom(req.Context())
	ex.begin(nil, t.credential)
	resp, body, err := t.send(req, ex, controlTimeout)
	if err != nil {
		ex.failed(faultTransport, "", err)
		return nil, err
	}
	defer body.Close()
	ex.answer(resp)
	if resp.StatusCode/100 != 2 {
		recordRefusal(ex, nil, resp, body)
	}
	return emptyResponse(req, resp.StatusCode), nil
}

// notify sends a message that has no answer. It always succeeds: a server that refuses to hear of a
// cancellation must not cost the other calls their session.
func (t *sessionTransport) notify(req *http.Request) (*http.Response, error) {
	return t.control(req), nil
}

// end deletes the session.
func (t *sessionTransport) end(req *http.Request) (*http.Response, error) {
	if t.gone.Load() {
		return emptyResponse(req, http.StatusAccepted), nil
	}
	return t.control(req), nil
}

func (t *sessionTransport) control(req *http.Request) *http.Response {
	if _, body, err := t.send(req, nil, controlTimeout); err == nil {
		// Reading to the end lets the connection be used again.
		_, _ = io.CopyN(io.Discard, body, maxRefusalBytes)
		body.Close()
	}
	return emptyResponse(req, http.StatusAccepted)
}

// send makes the request, and tells ex, where there is one, whether it may have reached the server. The
// body that it returns ends with the request's context, the session or the timeout, and must be closed.
func (t *sessionTransport) send(req *http.Request, ex *exchange, timeout time.Duration) (*http.Response, *boundBody, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(req.Context()), timeout)
	body := &boundBody{
		cancel:  cancel,
		detach:  context.AfterFunc(req.Context(), cancel),
		release: context.AfterFunc(t.life, cancel),
	}
	if ex != nil {
		ctx = httptrace.WithClientTrace(ctx, watchSent(ex))
	}
	out := req.Clone(ctx)
	maps.Copy(out.Header, t.header)
	resp, err := t.base.RoundTrip(out)
	if err != nil {
		body.Close()
		return nil, nil, err
	}
	body.reader = resp.Body
	return resp, body, nil
}

func watchSent(ex *exchange) *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		// Asked for again when a kept-alive connection turned out dead before anything was written.
		GetConn: func(string) { ex.update(func(o *outcome) { o.sent = false }) },
		GotConn: func(httptrace.GotConnInfo) { ex.update(func(o *outcome) { o.sent = true }) },
	}
}

// boundBody is a response's body whose life is bounded.
type boundBody struct {
	reader  io.ReadCloser
	cancel  context.CancelFunc
	detach  func() bool // from the request's context
	release func() bool // from the session's life
}

func (b *boundBody) Read(p []byte) (int, error) { return b.reader.Read(p) }

// Close implements [io.Closer]; it may be called more than once.
func (b *boundBody) Close() error {
	b.detach()
	b.release()
	b.cancel()
	if b.reader == nil {
		return nil
	}
	return b.reader.Close()
}

// linger unties the body from the request, whose context ends as soon as the answer is there, and lets
// it live a moment longer: a stream that ends by itself leaves a connection that can be used again.
func (b *boundBody) linger() {
	b.detach()
	time.AfterFunc(drainTimeout, b.cancel)
}

// takeBody reads the request's body and puts a fresh one in its place.
func takeBody(req *http.Request) ([]byte, error) {
	if req.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(req.Body)
	_ = req.Body.Close()
	if err != nil {
		return nil, err
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	return body, nil
}
