package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// death is one way in which a request can fail in mid-session.
type death struct {
	name string
	// die answers a tools/call.
	die func(w http.ResponseWriter, r *http.Request, m request)

	// What one failure must lead to, per kind of tool: the number of times that the call reaches the
	// server, the handshakes made, and the error's kind ("" for success on the second attempt).
	idempotent, effect want
	// second is the kind when the failure repeats.
	secondIdempotent, secondEffect ErrorKind
}

type want struct {
	Calls, Handshakes int
	Kind              ErrorKind
}

var (
	recovers  = want{Calls: 2, Handshakes: 2}
	unknown   = want{Calls: 1, Handshakes: 1, Kind: OutcomeUnknown}
	asPlain   = func(k ErrorKind) want { return want{Calls: 1, Handshakes: 1, Kind: k} }
	plainText = func(status int, text string) func(http.ResponseWriter, *http.Request, request) {
		return func(w http.ResponseWriter, _ *http.Request, _ request) { http.Error(w, text, status) }
	}
	rpcEcho = func(status, code int, text string) func(http.ResponseWriter, *http.Request, request) {
		return func(w http.ResponseWriter, _ *http.Request, m request) { rpcFail(w, m, status, code, text) }
	}
	rpcNull = func(status, code int, text string) func(http.ResponseWriter, *http.Request, request) {
		return func(w http.ResponseWriter, _ *http.Request, _ request) { rpcFail(w, request{}, status, code, text) }
	}
	body = func(contentType, text string) func(http.ResponseWriter, *http.Request, request) {
		return func(w http.ResponseWriter, _ *http.Request, _ request) {
			w.Header().Set("Content-Type", contentType)
			fmt.Fprint(w, text)
		}
	}
)

// deaths has the rows of the SDK's table of deaths and the wordings that servers in the field use.
var deaths = []death{
	// The server says that it does not know the session: refused before anything ran.
	{"404 plain", plainText(404, "not found"), recovers, recovers, SessionLost, SessionLost},
	{"404 id null", rpcNull(404, -32001, "Session not found"), recovers, recovers, SessionLost, SessionLost},
	{"404 echoed id", rpcEcho(404, -32001, "Session not found"), recovers, recovers, SessionLost, SessionLost},
	{"404 terminated", rpcEcho(404, -32600, "Not Found: Session has been terminated"), recovers, recovers, SessionLost, SessionLost},
	{"400 echoed id", rpcEcho(400, -32000, "Bad Request: No valid session ID provided"), recovers, recovers, SessionLost, SessionLost},
	{"400 id null", rpcNull(400, -32000, "Bad Request: Server not initialized"), recovers, recovers, SessionLost, SessionLost},
	{"400 plain, session", plainText(400, "unknown session id"), recovers, recovers, SessionLost, SessionLost},
	// With HTTP 200 the words are all there is: a new session is tried, and no effect twice.
	{"200 echoed id", rpcEcho(200, -32001, "Session not found"), recovers, asPlain(Rejected), Rejected, ""},
	{"401 session", plainText(401, "Unauthorized: Session not found"), recovers, recovers, SessionLost, SessionLost},

	// The server, or something before it, failed while it may have been at work.
	{"400 plain", plainText(400, "bad request"), recovers, unknown, Protocol, OutcomeUnknown},
	{"wrong content type", body("text/html", "<html>"), recovers, unknown, Protocol, OutcomeUnknown},
	{"no content type", body("", "{}"), recovers, unknown, Protocol, OutcomeUnknown},
	{"bad JSON", body("application/json", `{"jsonrpc":`), recovers, unknown, Protocol, OutcomeUnknown},
	{"not a response", body("application/json", `{"jsonrpc":"2.0","method":"ping"}`), recovers, unknown, Protocol, OutcomeUnknown},
	{"another id", body("application/json", `{"jsonrpc":"2.0","id":"x","result":{}}`), recovers, unknown, Protocol, OutcomeUnknown},
	{"null result", body("application/json", `{"jsonrpc":"2.0","id":1,"result":null}`), recovers, unknown, Protocol, OutcomeUnknown},
	{"bad event", body("text/event-stream", "data: {\n\n"), recovers, unknown, Protocol, OutcomeUnknown},
	{"stream without answer", body("text/event-stream", ": hello\n\n"), recovers, unknown, Unreachable, OutcomeUnknown},
	{"result of wrong shape", func(w http.ResponseWriter, _ *http.Request, m request) {
		reply(w, m, `{"content":"text"}`)
	}, recovers, unknown, Protocol, OutcomeUnknown},
	{"500", plainText(500, "oops"), recovers, unknown, Unreachable, OutcomeUnknown},
	{"503", plainText(503, "later"), recovers, unknown, Unreachable, OutcomeUnknown},
	{"EOF", func(http.ResponseWriter, *http.Request, request) { panic(http.ErrAbortHandler) },
		recovers, unknown, Unreachable, OutcomeUnknown},
	{"EOF in body", func(w http.ResponseWriter, _ *http.Request, _ request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "100")
		fmt.Fprint(w, `{"jsonrpc"`)
		panic(http.ErrAbortHandler)
	}, recovers, unknown, Unreachable, OutcomeUnknown},

	// The credential is refused, which may show after the effect (E13). There is no other; renewal_test.go has
	// what happens where there is.
	{"401", plainText(401, "token expired"), asPlain(Unauthorized), unknown, "", ""},
	{"401 echoed id", rpcEcho(401, -32000, "token expired"), asPlain(Unauthorized), unknown, "", ""},
	{"403", plainText(403, "no"), asPlain(Unauthorized), unknown, "", ""},

	// Answers, whose outcome is known: nothing to repeat.
	{"429", plainText(429, "slow down"), asPlain(Unreachable), asPlain(Unreachable), "", ""},
	{"redirect", func(w http.ResponseWriter, r *http.Request, _ request) {
		http.Redirect(w, r, "https://elsewhere.example/?key=canary", http.StatusTemporaryRedirect)
	}, asPlain(Protocol), asPlain(Protocol), "", ""},
	{"JSON-RPC error", rpcEcho(200, -32602, "no such tool"), asPlain(Rejected), asPlain(Rejected), "", ""},
	{"JSON-RPC error on 404", rpcEcho(404, -32601, "Method not found"), asPlain(Rejected), asPlain(Rejected), "", ""},
	{"JSON-RPC error on 500", rpcEcho(500, -32603, "Internal error"), asPlain(Rejected), asPlain(Rejected), "", ""},
	{"input required", func(w http.ResponseWriter, _ *http.Request, m request) {
		reply(w, m, `{"resultType":"input_required","inputRequests":{}}`)
	}, asPlain(Protocol), asPlain(Protocol), "", ""},
	{"too large", func(w http.ResponseWriter, _ *http.Request, m request) {
		reply(w, m, `{"content":[{"type":"text","text":"`+strings.Repeat("x", 4096)+`"}]}`)
	}, asPlain(TooLarge), asPlain(TooLarge), "", ""},
	{"too large event", func(w http.ResponseWriter, _ *http.Request, _ request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: "+strings.Repeat("x", 4096)+"\n\n")
	}, asPlain(TooLarge), asPlain(TooLarge), "", ""},
}

// E7, E12, N17, P39: each way to die once leads to at most one handshake and one repetition, and to none
// at all for a tool that may have had its effect.
func TestDeaths(t *testing.T) {
	for _, d := range deaths {
		for _, idempotent := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/idempotent=%v", d.name, idempotent), func(t *testing.T) {
				expected := d.effect
				if idempotent {
					expected = d.idempotent
				}
				got, err := dieTimes(t, d, idempotent, 1)
				if diff := cmp.Diff(expected, got); diff != "" {
					t.Errorf("one failure (-want +got):\n%s\nerror: %v", diff, err)
				}
			})
		}
	}
}

// E7: a failure that repeats right after the new handshake ends there.
func TestDeathsTwice(t *testing.T) {
	for _, d := range deaths {
		for idempotent, kind := range map[bool]ErrorKind{true: d.secondIdempotent, false: d.secondEffect} {
			if kind == "" {
				continue
			}
			t.Run(fmt.Sprintf("%s/idempotent=%v", d.name, idempotent), func(t *testing.T) {
				got, err := dieTimes(t, d, idempotent, 2)
				if got.Kind != kind || got.Calls > 2 || got.Handshakes > 2 {
					t.Errorf("got %+v, want kind %s after at most two calls and handshakes; error: %v", got, kind, err)
				}
			})
		}
	}
}

// dieTimes opens a session with a good call, lets the next n calls die, and counts from there on (the
// first handshake included).
func dieTimes(t *testing.T, d death, idempotent bool, n int32) (want, error) {
	t.Helper()
	server := newFake(t)
	var dying, calls atomic.Int32
	server.on = func(w http.ResponseWriter, r *http.Request, m request) bool {
		if m.Method != "tools/call" {
			return false
		}
		calls.Add(1)
		if dying.Add(-1) < 0 {
			return false
		}
		d.die(w, r, m)
		return true
	}
	c := newTestClient(t, Options{MaxCallBytes: 2048})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	call := func() error {
		_, err := c.Call(ctx, server.target(), "tool", nil, CallOptions{Idempotent: idempotent})
		return err
	}
	if err := call(); err != nil {
		t.Fatalf("the call before the death: %v", err)
	}
	calls.Store(0)
	dying.Store(n)
	err := call()
	dying.Store(0)
	got := want{Calls: int(calls.Load()), Handshakes: server.count("initialize"), Kind: kindOf(err)}
	if err != nil && strings.Contains(err.Error(), "canary") {
		t.Errorf("the error reveals the redirect's query: %v", err)
	}
	// Whatever died, the client is of use again.
	if err := call(); err != nil {
		t.Errorf("the call after the death: %v", err)
	}
	return got, err
}

func kindOf(err error) ErrorKind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return ""
}

// E13: the caller can tell a credential refused at the door from one refused after the call was sent.
func TestUnauthorizedSaysWhetherSent(t *testing.T) {
	for method, want := range map[string]struct {
		kind ErrorKind
		sent bool
	}{"initialize": {Unauthorized, false}, "tools/call": {OutcomeUnknown, true}} {
		t.Run(method, func(t *testing.T) {
			server := newFake(t)
			server.on = func(w http.ResponseWriter, _ *http.Request, m request) bool {
				if m.Method != method {
					return false
				}
				w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
				w.WriteHeader(http.StatusUnauthorized)
				return true
			}
			_, err := newTestClient(t, Options{}).Call(t.Context(), server.target(), "tool", nil, CallOptions{})
			var e *Error
			if !errors.As(err, &e) || e.Kind != want.kind || e.Sent != want.sent || e.Status != 401 || !e.CredentialRefused() {
				t.Errorf("got %#v, want %+v, HTTP 401, a refused credential", err, want)
			}
			if !strings.Contains(err.Error(), "invalid_token") {
				t.Errorf("the error does not say what the server said: %v", err)
			}
		})
	}
}

// One call's broken answer must not end the calls that share its session.
func TestDeathOfOneCallSparesTheOthers(t *testing.T) {
	server := newFake(t)
	slow, release := make(chan struct{}), make(chan struct{})
	server.on = func(w http.ResponseWriter, r *http.Request, m request) bool {
		switch {
		case m.Method != "tools/call":
			return false
		case strings.Contains(string(m.Params), "slow"):
			close(slow)
			<-release
			return false
		}
		http.Error(w, "garbage", http.StatusBadRequest)
		return true
	}
	c := newTestClient(t, Options{})
	done := make(chan error, 1)
	go func() {
		_, err := c.Call(t.Context(), server.target(), "slow", nil, CallOptions{})
		done <- err
	}()
	<-slow
	if _, err := c.Call(t.Context(), server.target(), "bad", nil, CallOptions{}); kindOf(err) != OutcomeUnknown {
		t.Errorf("the bad call: %v", err)
	}
	close(release)
	if err := <-done; err != nil {
		t.Errorf("the slow call on the same session: %v", err)
	}
	if n := server.count("initialize"); n != 1 {
		t.Errorf("%d handshakes, want 1", n)
	}
}

// A server that is not there: nothing was sent, so nothing is unknown.
func TestConnectionRefused(t *testing.T) {
	server := newFake(t)
	transport := &http.Transport{}
	c := newTestClient(t, Options{HTTPTransport: transport})
	if _, err := c.Call(t.Context(), server.target(), "tool", nil, CallOptions{}); err != nil {
		t.Fatal(err)
	}
	server.Close()
	transport.CloseIdleConnections() // or the call goes out on a connection that is about to break
	_, err := c.Call(t.Context(), server.target(), "tool", nil, CallOptions{})
	var e *Error
	if !errors.As(err, &e) || e.Kind != Unreachable || e.Sent {
		t.Errorf("pooled session, server gone: got %#v, want Unreachable and not sent", err)
	}
	fresh := server.target()
	fresh.Namespace = "other"
	_, err = c.Call(t.Context(), fresh, "tool", nil, CallOptions{})
	if !errors.As(err, &e) || e.Kind != Unreachable || e.Sent {
		t.Errorf("new session, server gone: got %#v, want Unreachable and not sent", err)
	}
}

// A deadline is told from a caller that gave up, and the client's own timeouts count as deadlines.
func TestDeadlines(t *testing.T) {
	for method, o := range map[string]Options{
		"initialize": {ConnectTimeout: 50 * time.Millisecond},
		"tools/call": {CallTimeout: 50 * time.Millisecond},
	} {
		t.Run(method, func(t *testing.T) {
			server := newFake(t)
			server.on = func(_ http.ResponseWriter, r *http.Request, m request) bool {
				if m.Method == method {
					<-r.Context().Done()
				}
				return m.Method == method
			}
			_, err := newTestClient(t, o).Call(t.Context(), server.target(), "tool", nil, CallOptions{Idempotent: true})
			if kindOf(err) != Timeout || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want Timeout wrapping context.DeadlineExceeded", err)
			}
		})
	}
}

// A server that hangs is left as soon as the caller's context ends, wherever it hangs, and the outcome is named for what it is.
func TestHangs(t *testing.T) {
	for _, row := range []struct {
		hangs      string
		idempotent bool
		kind       ErrorKind
		sent       bool
	}{
		{"server/discover", true, Canceled, false},
		{"initialize", true, Canceled, false},
		{"notifications/initialized", true, Canceled, false},
		{"initialize", false, Canceled, false},
		{"tools/call", true, Canceled, true},
		{"tools/call", false, OutcomeUnknown, true},
	} {
		t.Run(fmt.Sprintf("%s/idempotent=%v", row.hangs, row.idempotent), func(t *testing.T) {
			server := newFake(t)
			reached := make(chan struct{}, 8)
			server.on = func(_ http.ResponseWriter, r *http.Request, m request) bool {
				if m.Method != row.hangs {
					return false
				}
				reached <- struct{}{}
				<-r.Context().Done()
				return true
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				<-reached
				cancel()
			}()
			c := newTestClient(t, Options{})
			_, err := c.Call(ctx, server.target(), "tool", nil, CallOptions{Idempotent: row.idempotent})
			var e *Error
			if !errors.As(err, &e) || e.Kind != row.kind || e.Sent != row.sent || !errors.Is(err, context.Canceled) {
				t.Errorf("got %#v, want %s (sent %v)", err, row.kind, row.sent)
			}
		})
	}
}
