package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const announcing = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"fake","version":"1"}}`

// streaming makes a server that announces changes of its list and answers a GET with stream.
func streaming(t *testing.T, stream func(w http.ResponseWriter, r *http.Request)) *fake {
	server := newFake(t)
	server.on = func(w http.ResponseWriter, r *http.Request, m request) bool {
		switch {
		case r.Method == http.MethodGet:
			stream(w, r)
		case m.Method == "initialize":
			w.Header().Set("Mcp-Session-Id", "the-session")
			reply(w, m, announcing)
		default:
			return false
		}
		return true
	}
	return server
}

// send begins a stream, or goes on with it, and writes the events to it.
func send(w http.ResponseWriter, events ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, event := range events {
		fmt.Fprint(w, event, "\n\n")
	}
	w.(http.Flusher).Flush()
}

const changedEvent = `data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`

// heard is a listener in the background.
type heard struct {
	changes atomic.Int32
	ended   chan error
	stop    context.CancelFunc
}

func listen(t *testing.T, c *Client, target Target) *heard {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	h := &heard{ended: make(chan error, 1), stop: cancel}
	go func() { h.ended <- c.Listen(ctx, target, func() { h.changes.Add(1) }) }()
	t.Cleanup(cancel)
	return h
}

func (h *heard) await(t *testing.T, changes int32) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d changes", changes), func() bool { return h.changes.Load() >= changes })
}

func (h *heard) end(t *testing.T) error {
	t.Helper()
	select {
	case err := <-h.ended:
		return err
	case <-time.After(10 * time.Second):
		t.Fatal("it still listens")
		return nil
	}
}

// Servers of both kinds, those with sessions and those without, are heard when their tools change, and each
// once more at first, when what happened before is not known.
func TestListen(t *testing.T) {
	for _, row := range []struct {
		name    string
		options sdk.StreamableHTTPOptions
		version string
	}{
		{"with sessions", sdk.StreamableHTTPOptions{}, "2025-11-25"},
		{"without sessions", sdk.StreamableHTTPOptions{Stateless: true}, "2026-07-28"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var server *sdk.Server
			answer := func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return text("ok"), nil }
			target := sdkServer(t, &row.options, func(s *sdk.Server) { server = s }, addTool("first", `{"type":"object"}`, answer))
			c := newTestClient(t, Options{})
			if catalogue, err := c.Discover(t.Context(), target); err != nil || !catalogue.ListChanged || catalogue.ProtocolVersion != row.version {
				t.Fatalf("got %+v, %v", catalogue, err)
			}
			h := listen(t, c, target)
			h.await(t, 1)
			addTool("second", `{"type":"object"}`, answer)(server)
			h.await(t, 2)
			if c.Stats().Sessions != 1 {
				t.Errorf("%d sessions are pooled; the listening one is not for calls", c.Stats().Sessions)
			}
			h.stop()
			if err := h.end(t); kindOf(err) != Canceled {
				t.Errorf("ended with %v", err)
			}
		})
	}
}

// On its stream a server may say anything: what changes a list is heard, pings are answered, other requests
// declined, and the rest is let pass. The requests carry what every request to the target does.
func TestListenHears(t *testing.T) {
	answered := make(chan request, 2)
	server := streaming(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer canary" || r.Header.Get("Mcp-Session-Id") != "the-session" ||
			r.Header.Get("Mcp-Protocol-Version") != "2025-11-25" || r.Header.Get("X-Team") != "a" {
			t.Errorf("the headers are %v", r.Header)
		}
		send(w, ": comment", "data: no JSON", "data: {}", `data: {"jsonrpc":"2.0","id":1,"result":{}}`, "event: other\n"+changedEvent,
			`data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`,
			changedEvent, `data: {"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}`,
			`data: {"jsonrpc":"2.0","id":"p","method":"ping"}`, `data: {"jsonrpc":"2.0","id":"s","method":"sampling/createMessage","params":{}}`)
		<-r.Context().Done()
	})
	inner := server.on
	server.on = func(w http.ResponseWriter, r *http.Request, m request) bool {
		if r.Method == http.MethodPost && m.Method == "" {
			answered <- m
			w.WriteHeader(http.StatusAccepted)
			return true
		}
		return inner(w, r, m)
	}
	target := server.target()
	target.Headers = map[string]string{"X-Team": "a"}
	target.Credential = Credential{Header: "Authorization", Value: "Bearer canary"}
	h := listen(t, newTestClient(t, Options{}), target)
	got := map[string]int64{}
	for range 2 {
		m := <-answered
		got[string(m.ID)] = m.Error.Code
	}
	if diff := cmp.Diff(map[string]int64{`"p"`: 0, `"s"`: -32601}, got); diff != "" {
		t.Errorf("the answers (-want +got):\n%s", diff)
	}
	if n := h.changes.Load(); n != 3 {
		t.Errorf("%d changes, want that at first and two more", n)
	}
	h.stop()
	_ = h.end(t)
	if server.deletions() != 1 {
		t.Error("the session was not ended")
	}
}

// A stream that ends is opened again on the same session, from where it ended; that is no change. Where the
// server has no memory of that place, a stream from now on will do, and what was missed counts as one.
func TestListenAgain(t *testing.T) {
	var streams atomic.Int32
	server := streaming(t, func(w http.ResponseWriter, r *http.Request) {
		last := r.Header.Get("Last-Event-ID")
		switch streams.Add(1) {
		case 1:
			send(w, "id: 7\n"+changedEvent)
		case 2:
			if last != "7" {
				t.Errorf("asked to go on from %q, want 7", last)
			}
			send(w, "id: 8")
		case 3:
			http.Error(w, "no such event", http.StatusBadRequest)
		default:
			if last != "" {
				t.Errorf("asked to go on from %q", last)
			}
			send(w, changedEvent)
			<-r.Context().Done()
		}
	})
	h := listen(t, newTestClient(t, Options{}), server.target())
	h.await(t, 4)
	if n := server.count("initialize"); n != 1 {
		t.Errorf("%d sessions, want 1", n)
	}
}

// A server that says no ends the listening, once, with what it said.
func TestListenIsRefused(t *testing.T) {
	for _, row := range []struct {
		name   string
		answer func(w http.ResponseWriter)
		kind   ErrorKind
	}{
		{"no stream", func(w http.ResponseWriter) { w.WriteHeader(http.StatusMethodNotAllowed) }, Protocol},
		{"something else", func(w http.ResponseWriter) { fmt.Fprint(w, "<html>") }, Protocol},
		{"another stream", func(w http.ResponseWriter) { w.WriteHeader(http.StatusConflict) }, Protocol},
		{"no session", func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) }, SessionLost},
		{"the credential", func(w http.ResponseWriter) { w.WriteHeader(http.StatusUnauthorized) }, Unauthorized},
		{"out of order", func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) }, Unreachable},
		{"elsewhere", func(w http.ResponseWriter) {
			w.Header().Set("Location", "http://elsewhere.example/")
			w.WriteHeader(http.StatusFound)
		}, Protocol},
	} {
		t.Run(row.name, func(t *testing.T) {
			var asked atomic.Int32
			server := streaming(t, func(w http.ResponseWriter, _ *http.Request) {
				asked.Add(1)
				row.answer(w)
			})
			h := listen(t, newTestClient(t, Options{}), server.target())
			if err := h.end(t); kindOf(err) != row.kind {
				t.Errorf("ended with %v, want kind %s", err, row.kind)
			}
			if n := h.changes.Load(); n != 0 || asked.Load() != 1 {
				t.Errorf("%d changes and %d requests, want none and one", n, asked.Load())
			}
		})
	}
}

// Without sessions the server can refuse on the stream itself, or agree to say nothing.
func TestSubscriptionIsRefused(t *testing.T) {
	for _, row := range []struct {
		name  string
		event string
		kind  ErrorKind
	}{
		{"an error", `{"jsonrpc":"2.0","id":"listen","error":{"code":-32601,"message":"Method not found"}}`, Rejected},
		{"nothing agreed", `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{}}}`, Protocol},
	} {
		t.Run(row.name, func(t *testing.T) {
			var params struct {
				Meta          map[string]json.RawMessage    `json:"_meta"`
				Notifications sdk.NotificationSubscriptions `json:"notifications"`
			}
			server := newFake(t)
			server.on = func(w http.ResponseWriter, r *http.Request, m request) bool {
				switch m.Method {
				case "server/discover":
					reply(w, m, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"prompts":{"listChanged":true}},"_meta":{}}`)
				case "subscriptions/listen":
					if err := json.Unmarshal(m.Params, &params); err != nil || r.Header.Get("Mcp-Method") != m.Method {
						t.Errorf("asked with %s, headers %v", m.Params, r.Header)
					}
					send(w, "data: "+row.event)
				default:
					return false
				}
				return true
			}
			h := listen(t, newTestClient(t, Options{Version: "v1"}), server.target())
			if err := h.end(t); kindOf(err) != row.kind {
				t.Errorf("ended with %v, want kind %s", err, row.kind)
			}
			if n := h.changes.Load(); n != 0 {
				t.Errorf("%d changes", n)
			}
			if !params.Notifications.PromptsListChanged || params.Notifications.ToolsListChanged ||
				!strings.Contains(string(params.Meta[sdk.MetaKeyClientInfo]), "v1") || params.Meta[sdk.MetaKeyProtocolVersion] == nil {
				t.Errorf("asked with %+v", params)
			}
		})
	}
}

// A server that never answers holds up nobody: neither the one who stops listening nor the client's end.
func TestListenToSilence(t *testing.T) {
	arrived := make(chan struct{}, 4)
	server := streaming(t, func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-r.Context().Done()
	})
	c := newTestClient(t, Options{closeTimeout: time.Second})
	h := listen(t, c, server.target())
	<-arrived
	h.stop()
	if err := h.end(t); kindOf(err) != Canceled {
		t.Errorf("ended with %v", err)
	}
	h = listen(t, c, server.target())
	<-arrived
	c.Close()
	if err := h.end(t); err == nil {
		t.Error("ended without an error")
	}
	if err := c.Listen(t.Context(), server.target(), nil); kindOf(err) != Closed {
		t.Errorf("a closed client listens: %v", err)
	}
}

// What does not fit the bound of a message ends the stream, and not the listening.
func TestListenIsBounded(t *testing.T) {
	var streams atomic.Int32
	server := streaming(t, func(w http.ResponseWriter, r *http.Request) {
		if streams.Add(1) == 1 {
			send(w, "data: "+strings.Repeat("x", maxNotificationBytes+1))
			<-r.Context().Done()
			return
		}
		send(w, changedEvent)
		<-r.Context().Done()
	})
	listen(t, newTestClient(t, Options{}), server.target()).await(t, 2)
}
