package mcp

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// request is one JSON-RPC message as the fake server received it.
type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Error  rpcError        `json:"error"`

	auth    string
	session string
	header  http.Header
}

// fake is an MCP server written by hand, so that it can misbehave in every way. It keeps sessions, knows
// one page of tools and answers every call with the text "ok".
type fake struct {
	*httptest.Server
	tools string // the tools member of tools/list

	// on, when set, may answer a request instead of the fake; it reports whether it did.
	on func(w http.ResponseWriter, r *http.Request, m request) bool

	mu       sync.Mutex
	sessions map[string]bool
	got      []request
	deleted  []string
}

func newFake(t *testing.T) *fake {
	t.Helper()
	f := &fake{tools: `[]`, sessions: map[string]bool{}}
	f.Server = httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(f.Close)
	return f
}

func (f *fake) serve(w http.ResponseWriter, r *http.Request) {
	session := r.Header.Get("Mcp-Session-Id")
	if r.Method == http.MethodDelete {
		f.mu.Lock()
		f.deleted = append(f.deleted, session)
		f.mu.Unlock()
		return
	}
	m := request{auth: r.Header.Get("Authorization"), session: session, header: r.Header}
	if r.Method == http.MethodPost {
		body, _ := io.ReadAll(r.Body)
		if json.Unmarshal(body, &m) != nil {
			http.Error(w, "bad JSON", http.StatusBadRequest)
			return
		}
	}
	f.mu.Lock()
	f.got = append(f.got, m)
	f.mu.Unlock()
	if f.on != nil && f.on(w, r, m) {
		return
	}
	f.answer(w, m)
}

func (f *fake) answer(w http.ResponseWriter, m request) {
	switch m.Method {
	case "initialize":
		f.mu.Lock()
		id := fmt.Sprintf("s%d", len(f.sessions)+1)
		f.sessions[id] = true
		f.mu.Unlock()
		w.Header().Set("Mcp-Session-Id", id)
		reply(w, m, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"fake","version":"1"}}`)
	case "tools/list":
		reply(w, m, `{"tools":`+f.tools+`}`)
	case "tools/call":
		reply(w, m, `{"content":[{"type":"text","text":"ok"}]}`)
	case "server/discover":
		rpcFail(w, m, http.StatusOK, -32601, "Method not found")
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

func reply(w http.ResponseWriter, m request, result string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

func rpcFail(w http.ResponseWriter, m request, status, code int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	id := m.ID
	if id == nil {
		id = json.RawMessage("null")
	}
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, id, code, message)
}

// count is how many requests of a method arrived.
func (f *fake) count(method string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, m := range f.got {
		if m.Method == method {
			n++
		}
	}
	return n
}

func (f *fake) requests(method string) []request {
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []request
	for _, m := range f.got {
		if m.Method == method {
			found = append(found, m)
		}
	}
	return found
}

func (f *fake) deletions() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.deleted)
}

func (f *fake) target() Target {
	return Target{Namespace: "team", Server: "catalogue/fake", URL: f.URL + "/mcp"}
}

// newTestClient returns a client with a transport of its own, closed at the end of the test.
func newTestClient(t *testing.T, o Options) *Client {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	if o.HTTPTransport == nil {
		o.HTTPTransport = transport
	}
	c := NewClient(o)
	t.Cleanup(c.Close)
	return c
}

// eventually waits for a condition that other goroutines bring about.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline:
			t.Fatalf("never came true: %s", what)
		case <-tick.C:
		}
	}
}
