package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// statelessVersion is the revision from which on there is no session to listen on: a request of its own opens
// the stream (MCP 2026-07-28, basic/utilities/subscriptions).
const statelessVersion = "2026-07-28"

// Same says whether a session that was opened for one of two targets serves the other.
func (t Target) Same(other Target) bool {
	return keyOf(t) == keyOf(other) && t.endpoint() == other.endpoint()
}

// Listen hears what the server says of its lists, and calls changed whenever one of them has changed, or
// may have while nobody listened: at first, too. It listens on a session of its own, outside the pool, so
// that what becomes of the stream never costs a call its session. It returns when ctx ends, and when the
// stream cannot be had, or not any more; the error is an *Error.
//
// The SDK's own stream is not used: a server that answers it badly could hold up the handshake or end the
// session.
func (c *Client) Listen(ctx context.Context, t Target, changed func()) error {
	if err := t.validate(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.pool.base, cancel)()
	f := c.listen(ctx, t, changed)
	if c.pool.base.Err() != nil {
		f = clientClosed()
	}
	return f.toError(t, true)
}

func (c *Client) listen(ctx context.Context, t Target, changed func()) *failure {
	leave, entered := c.pool.doors.enter(ctx, t.Server)
	if !entered {
		return judge(outcome{}, ctx.Err(), t.Credential)
	}
	c.stats.opened.Add(1)
	s, f := c.pool.open(ctx, t)
	if f != nil && f.kind == Unauthorized {
		if credential, ok := c.renew(ctx, t, f); ok {
			t.Credential = credential
			s, f = c.pool.open(ctx, t)
		}
	}
	leave()
	if f != nil {
		return f
	}
	defer s.close(c.opts.closeTimeout)
	l := &listener{session: s, target: t, client: implementation(c.opts.Version), changed: changed, info: s.sdk.InitializeResult()}
	return l.run(ctx, c.opts.Now)
}

// announced are the lists of which a server says when they change.
type announced struct{ tools, prompts bool }

func announcedBy(info *sdk.InitializeResult) (a announced) {
	if info == nil || info.Capabilities == nil {
		return a
	}
	a.tools = info.Capabilities.Tools != nil && info.Capabilities.Tools.ListChanged
	a.prompts = info.Capabilities.Prompts != nil && info.Capabilities.Prompts.ListChanged
	return a
}

// listener is one listening session.
type listener struct {
	session *session
	target  Target
	client  *sdk.Implementation
	info    *sdk.InitializeResult
	changed func()

	lastEventID string
	retry       time.Duration // the pause that the server asks for
}

// run opens one stream after the other, more and more slowly while they do not last.
func (l *listener) run(ctx context.Context, now func() time.Time) *failure {
	// The same session has the same lists, but for what it has told; without one, anything can have come between.
	known := false
	for pause := minReopen; ; pause = min(2*pause, maxReopen) {
		body, f := l.open(ctx)
		if f != nil && l.lastEventID != "" { // the server may not remember where the last stream ended
			l.lastEventID, known = "", false
			body, f = l.open(ctx)
		}
		if f != nil {
			return f
		}
		opened := now()
		if !l.stateless() && !known {
			l.changed()
			known = l.session.sdk.ID() != ""
		}
		if f := l.read(ctx, body); f != nil {
			return f
		}
		if now().Sub(opened) >= lastingStream {
			pause = minReopen
		}
		if f := l.wait(ctx, max(pause, l.retry)); f != nil {
			return f
		}
	}
}

func (l *listener) stateless() bool { return l.info.ProtocolVersion >= statelessVersion }

func (l *listener) wait(ctx context.Context, pause time.Duration) *failure {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return judge(outcome{}, ctx.Err(), l.target.Credential)
	}
}

// open asks for a stream. That the server may take its time to answer costs nobody anything.
func (l *listener) open(ctx context.Context) (io.ReadCloser, *failure) {
	build := l.get
	if l.stateless() {
		build = l.subscribe
	}
	ex := &exchange{limit: maxRefusalBytes}
	req, call, err := build(ctx)
	if err != nil {
		return nil, &failure{kind: Invalid, detail: quote(err.Error(), l.target.Credential)}
	}
	ex.begin(call, l.target.Credential)
	resp, body, err := l.session.transport.send(req, ex, noTimeout)
	if err != nil {
		ex.failed(faultTransport, "", err)
		return nil, judge(ex.outcome(), ctx.Err(), l.target.Credential)
	}
	ex.answer(resp)
	if resp.StatusCode == http.StatusOK && mediaType(resp) == eventStream {
		return body, nil
	}
	if resp.StatusCode/100 == 2 && call == nil {
		body.Close()
		return nil, notOffered()
	}
	readWhole(ex, call, resp, body)
	if f := judge(ex.outcome(), ctx.Err(), l.target.Credential); f != nil {
		return nil, f
	}
	return nil, notOffered()
}

func notOffered() *failure {
	return &failure{kind: Protocol, detail: "the server announces changes of its lists, but does not say them"}
}

// get is the request for the standing stream of a session (MCP 2025-11-25, basic/transports).
func (l *listener) get(ctx context.Context) (*http.Request, *jsonrpc.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.target.URL, http.NoBody)
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Accept", eventStream)
	if l.lastEventID != "" {
		req.Header.Set("Last-Event-ID", l.lastEventID)
	}
	l.identify(req)
	return req, nil, nil
}

// subscribe is the request for a stream where there are no sessions.
func (l *listener) subscribe(ctx context.Context) (*http.Request, *jsonrpc.Request, error) {
	lists := announcedBy(l.info)
	params, err := json.Marshal(sdk.SubscriptionsListenParams{
		Meta: sdk.Meta{
			sdk.MetaKeyProtocolVersion:    l.info.ProtocolVersion,
			sdk.MetaKeyClientInfo:         l.client,
			sdk.MetaKeyClientCapabilities: sdk.ClientCapabilities{},
		},
		Notifications: &sdk.NotificationSubscriptions{ToolsListChanged: lists.tools, PromptsListChanged: lists.prompts},
	})
	if err != nil {
		return nil, nil, err
	}
	id, err := jsonrpc.MakeID("listen")
	if err != nil {
		return nil, nil, err
	}
	call := &jsonrpc.Request{ID: id, Method: "subscriptions/listen", Params: params}
	req, err := l.post(ctx, call)
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Mcp-Method", call.Method)
	return req, call, nil
}

func (l *listener) post(ctx context.Context, message jsonrpc.Message) (*http.Request, error) {
	data, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.target.URL, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, "+eventStream)
	l.identify(req)
	return req, nil
}

func (l *listener) identify(req *http.Request) {
	req.Header.Set("Mcp-Protocol-Version", l.info.ProtocolVersion)
	if id := l.session.sdk.ID(); id != "" {
		req.Header.Set("Mcp-Session-Id", id)
	}
}

// read hears the stream to its end. However that came is no failure, but what the server says may be one.
func (l *listener) read(ctx context.Context, body io.ReadCloser) *failure {
	defer body.Close()
	events := newEventReader(body, maxNotificationBytes)
	for {
		ev, err := events.next()
		if ev.id != "" {
			l.lastEventID = ev.id
		}
		if ev.retry > 0 {
			l.retry = time.Duration(ev.retry) * time.Millisecond
		}
		if err == nil || errors.Is(err, io.EOF) {
			if f := l.hear(ctx, ev); f != nil {
				return f
			}
		}
		if err != nil {
			return nil
		}
	}
}

// hear takes one event. What is no message, and what nobody asked for, is let pass.
func (l *listener) hear(ctx context.Context, ev event) *failure {
	if len(ev.data) == 0 || (ev.name != "" && ev.name != "message") {
		return nil
	}
	message, err := jsonrpc.DecodeMessage(ev.data)
	if err != nil {
		return nil
	}
	switch message := message.(type) {
	case *jsonrpc.Response: // to subscribe, as there is nothing else to answer
		if message.Error != nil {
			return &failure{kind: Rejected, detail: quote(message.Error.Error(), l.target.Credential)}
		}
	case *jsonrpc.Request:
		return l.told(ctx, message)
	}
	return nil
}

func (l *listener) told(ctx context.Context, message *jsonrpc.Request) *failure {
	switch {
	case message.IsCall():
		l.answer(ctx, message)
	case message.Method == "notifications/subscriptions/acknowledged":
		var params sdk.SubscriptionsAcknowledgedParams
		if json.Unmarshal(message.Params, &params) != nil ||
			!params.Notifications.ToolsListChanged && !params.Notifications.PromptsListChanged {
			return notOffered()
		}
		l.changed()
	case strings.HasSuffix(message.Method, "/list_changed"):
		l.changed()
	}
	return nil
}

// answer answers a request of the server as every session does: a ping, by which the server finds out
// whether anybody listens, and nothing else.
func (l *listener) answer(ctx context.Context, request *jsonrpc.Request) {
	response := &jsonrpc.Response{ID: request.ID, Result: json.RawMessage(`{}`)}
	if request.Method != "ping" {
		response.Result, response.Error = nil, errNoRequests
	}
	if req, err := l.post(ctx, response); err == nil {
		_ = l.session.transport.control(req).Body.Close() // it is empty
	}
}
