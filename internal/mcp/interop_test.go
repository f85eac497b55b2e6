package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// sdkServer serves a server built with the SDK.
func sdkServer(t *testing.T, o *sdk.StreamableHTTPOptions, tools ...func(*sdk.Server)) Target {
	t.Helper()
	server := sdk.NewServer(&sdk.Implementation{Name: "sdk", Version: "1"}, nil)
	for _, add := range tools {
		add(server)
	}
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, o))
	t.Cleanup(web.Close)
	return Target{Namespace: "team", Server: "catalogue/sdk", URL: web.URL}
}

func addTool(name, schema string, handler sdk.ToolHandler) func(*sdk.Server) {
	return func(s *sdk.Server) {
		s.AddTool(&sdk.Tool{Name: name, InputSchema: json.RawMessage(schema)}, handler)
	}
}

func text(s string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}
}

// Every flavour of server that the SDK builds works, on the newest revision and on the one before.
func TestInteroperates(t *testing.T) {
	echo := addTool("echo", `{"type":"object"}`, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return text(string(r.Params.Arguments)), nil
	})
	for _, row := range []struct {
		name    string
		options sdk.StreamableHTTPOptions
		pin     string
		version string
	}{
		{"stateful, streams", sdk.StreamableHTTPOptions{}, "", "2025-11-25"},
		{"stateful, JSON", sdk.StreamableHTTPOptions{JSONResponse: true}, "", "2025-11-25"},
		{"stateless, streams", sdk.StreamableHTTPOptions{Stateless: true}, "", "2026-07-28"},
		{"stateless, JSON", sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true}, "", "2026-07-28"},
		{"stateless, pinned", sdk.StreamableHTTPOptions{Stateless: true}, "2025-06-18", "2025-06-18"},
	} {
		t.Run(row.name, func(t *testing.T) {
			target := sdkServer(t, &row.options, echo)
			c := newTestClient(t, Options{ProtocolVersion: row.pin})
			catalogue, err := c.Discover(t.Context(), target)
			if err != nil || len(catalogue.Tools) != 1 || catalogue.ProtocolVersion != row.version || catalogue.ServerName != "sdk" {
				t.Errorf("catalogue %+v, error %v; want one tool, version %s", catalogue, err, row.version)
			}
			got, err := c.Call(t.Context(), target, "echo", []byte(`{"id": 9007199254740993}`), CallOptions{})
			want := Result{Content: []Content{{Type: ContentText, Text: `{"id":9007199254740993}`}}}
			if err != nil || !cmp.Equal(want, got) {
				t.Errorf("error %v (-want +got):\n%s", err, cmp.Diff(want, got))
			}
			if n := c.Stats().Opened; n != 1 {
				t.Errorf("%d handshakes, want 1", n)
			}
		})
	}
}

// Tools that want arguments in headers (SEP-2243) work, although a session that only calls has never seen
// their definitions.
func TestArgumentsInHeaders(t *testing.T) {
	var calls atomic.Int32
	tool := addTool("query", `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`,
		func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			calls.Add(1)
			return text(r.Extra.Header.Get("Mcp-Param-Region")), nil
		})
	target := sdkServer(t, &sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true}, tool)
	c := newTestClient(t, Options{})
	for range 2 {
		got, err := c.Call(t.Context(), target, "query", []byte(`{"region":"eu-west"}`), CallOptions{})
		if err != nil || len(got.Content) != 1 || got.Content[0].Text != "eu-west" {
			t.Errorf("got %+v, error %v", got, err)
		}
	}
	if n := calls.Load(); n != 2 {
		t.Errorf("the tool ran %d times, want 2", n)
	}
}

// What a server asks for on its own account is declined: it gets an error, and the call goes on.
func TestServerRequestsAreDeclined(t *testing.T) {
	for _, method := range []string{"sampling/createMessage", "elicitation/create", "roots/list", "tasks/get", "made/up"} {
		t.Run(method, func(t *testing.T) {
			server := newFake(t)
			answer := make(chan request, 1)
			server.on = func(w http.ResponseWriter, _ *http.Request, m request) bool {
				switch m.Method {
				case "": // the client's response to the server's request
					answer <- m
					w.WriteHeader(http.StatusAccepted)
					return true
				case "tools/call":
					w.Header().Set("Content-Type", "text/event-stream")
					fmt.Fprintf(w, `data: {"jsonrpc":"2.0","id":"ask-1","method":%q,"params":{}}`+"\n\n", method)
					w.(http.Flusher).Flush()
					got := <-answer
					fmt.Fprintf(w, `data: {"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%q}]}}`+"\n\n",
						m.ID, fmt.Sprintf("%s %d", got.ID, got.Error.Code))
					return true
				}
				return false
			}
			got, err := newTestClient(t, Options{}).Call(t.Context(), server.target(), "tool", nil, CallOptions{})
			if err != nil || len(got.Content) != 1 || got.Content[0].Text != `"ask-1" -32601` {
				t.Errorf("got %+v, error %v; want the server to be told that there is no such method", got, err)
			}
		})
	}
}

// A stream that breaks in mid-call is resumed where the server keeps its events; the tool runs once.
func TestInterruptedStreamIsResumed(t *testing.T) {
	var calls atomic.Int32
	tool := addTool("slow", `{"type":"object"}`, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		calls.Add(1)
		r.Extra.CloseSSEStream(sdk.CloseSSEStreamArgs{RetryAfter: time.Millisecond})
		return text("done"), nil
	})
	target := sdkServer(t, &sdk.StreamableHTTPOptions{EventStore: sdk.NewMemoryEventStore(nil)}, tool)
	got, err := newTestClient(t, Options{}).Call(t.Context(), target, "slow", nil, CallOptions{})
	if err != nil || len(got.Content) != 1 || got.Content[0].Text != "done" {
		t.Errorf("got %+v, error %v", got, err)
	}
	if n := calls.Load(); n != 1 {
		t.Errorf("the tool ran %d times, want 1", n)
	}
}

// A stream that the server will not resume, or resumes without ever getting anywhere, ends the call as an
// unknown outcome and leaves the session to others.
func TestUselessResumptions(t *testing.T) {
	for name, resume := range map[string]http.HandlerFunc{
		"refused": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusBadRequest) },
		"empty": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "id: same\nretry: 1\n\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := newFake(t)
			server.on = func(w http.ResponseWriter, r *http.Request, m request) bool {
				switch {
				case r.Method == http.MethodGet:
					resume(w, r)
				case strings.Contains(string(m.Params), "broken"):
					w.Header().Set("Content-Type", "text/event-stream")
					fmt.Fprint(w, "id: same\nretry: 1\ndata:\n\n")
				default:
					return false
				}
				return true
			}
			c := newTestClient(t, Options{})
			if _, err := c.Call(t.Context(), server.target(), "broken", nil, CallOptions{}); kindOf(err) != OutcomeUnknown {
				t.Errorf("got %v, want OutcomeUnknown", err)
			}
			if n := server.count("tools/call"); n != 1 {
				t.Errorf("the tool was called %d times", n)
			}
		})
	}
}

// Connections are used again whether the answer was a body or a stream that stays open for a moment.
func TestConnectionsAreReused(t *testing.T) {
	for name, options := range map[string]*sdk.StreamableHTTPOptions{"JSON": {JSONResponse: true}, "stream": {}} {
		t.Run(name, func(t *testing.T) {
			var dials atomic.Int32
			transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				dials.Add(1)
				return (&net.Dialer{}).DialContext(ctx, network, address)
			}}
			t.Cleanup(transport.CloseIdleConnections)
			target := sdkServer(t, options, addTool("t", `{"type":"object"}`,
				func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return text("x"), nil }))
			c := newTestClient(t, Options{HTTPTransport: transport})
			for range 50 {
				ctx, cancel := context.WithCancel(t.Context())
				if _, err := c.Call(ctx, target, "t", nil, CallOptions{}); err != nil {
					t.Fatal(err)
				}
				cancel()
			}
			if n := dials.Load(); n > 5 {
				t.Errorf("%d connections for 50 calls in a row", n)
			}
		})
	}
}
