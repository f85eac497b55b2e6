// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
)

// behaviour is how a fakeServer treats requests.
type behaviour int

const (
	answers behaviour = iota
	// hangs never answers.
	hangs
	// babbles answers with a web page.
	babbles
	// refuses answers 401.
	refuses
	// hangsUp closes the connection.
	hangsUp
)

// fakeServer is an MCP server written by hand, so that it can misbehave. It keeps a record of who
// called what.
type fakeServer struct {
	url string

	mu        sync.Mutex
	behaviour behaviour
	// tools is the list of tools, as JSON.
	tools string
	// admits says whether a request is answered; any other gets a 401 that quotes its credential.
	admits func(mcpRequest) bool
	// call answers a call of a tool with the result, as JSON.
	call     func(call toolCall) string
	requests []mcpRequest
	calls    []toolCall
	sessions int
}

// mcpRequest is one request as it came.
type mcpRequest struct {
	Method        string
	Authorization string
	Session       string
	APIKey        string
}

// credential is everything that authenticates the request.
func (r mcpRequest) credential() string { return r.Authorization + r.APIKey }

// toolCall is one call of a tool as it came.
type toolCall struct {
	mcpRequest
	Tool      string
	Arguments string
}

const (
	toolFind = `{"name":"find","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`
	toolSend = `{"name":"send","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":false,"destructiveHint":false}}`
	toolWipe = `{"name":"wipe","inputSchema":{"type":"object"},"annotations":{"destructiveHint":true}}`

	twoTools = "[" + toolFind + "," + toolWipe + "]"
)

// newFakeServer serves at a free port.
func newFakeServer(t *testing.T, tools string) *fakeServer {
	t.Helper()
	return newFakeServerAt(t, tools, "127.0.0.1:0")
}

func newFakeServerAt(t *testing.T, tools, address string) *fakeServer {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	f := &fakeServer{tools: tools}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { f.serve(t, w, r) }))
	if err := server.Listener.Close(); err != nil {
		t.Fatal(err)
	}
	server.Listener = listener
	server.Start()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	f.url = server.URL + "/mcp"
	return f
}

// freeAddress is an address where nothing listens now.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func (f *fakeServer) behave(b behaviour) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.behaviour = b
}

// made are the calls so far.
func (f *fakeServer) made() []toolCall {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

// seen are the requests so far.
func (f *fakeServer) seen() []mcpRequest {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.requests)
}

func (f *fakeServer) serve(t *testing.T, w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	behaviour := f.behaviour
	f.mu.Unlock()
	switch behaviour {
	case hangs:
		select {
		case <-r.Context().Done():
		case <-t.Context().Done():
		}
	case babbles:
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<html>It works!</html>")
	case refuses:
		http.Error(w, "who are you?", http.StatusUnauthorized)
	case hangsUp:
		if connection, _, err := http.NewResponseController(w).Hijack(); err == nil {
			connection.Close()
		}
	case answers:
		f.answer(w, r)
	}
}

func (f *fakeServer) answer(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	var message struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"params"`
	}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &message)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	request := mcpRequest{
		message.Method, r.Header.Get("Authorization"), r.Header.Get("Mcp-Session-Id"), r.Header.Get("X-Api-Key")}
	f.mu.Lock()
	f.requests = append(f.requests, request)
	tools, call, admits := f.tools, f.call, f.admits
	f.mu.Unlock()
	if admits != nil && !admits(request) {
		http.Error(w, "I do not take "+request.credential(), http.StatusUnauthorized)
		return
	}

	switch message.Method {
	case "initialize":
		f.mu.Lock()
		f.sessions++
		w.Header().Set("Mcp-Session-Id", fmt.Sprintf("session-%d", f.sessions))
		f.mu.Unlock()
		result(w, message.ID, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"fake","version":"1"}}`)
	case "tools/list":
		result(w, message.ID, `{"tools":`+tools+`}`)
	case "tools/call":
		made := toolCall{request, message.Params.Name, string(message.Params.Arguments)}
		f.mu.Lock()
		f.calls = append(f.calls, made)
		f.mu.Unlock()
		answer := `{"content":[{"type":"text","text":"done"}]}`
		if call != nil {
			answer = call(made)
		}
		result(w, message.ID, answer)
	case "server/discover":
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, message.ID)
	default: // notifications
		w.WriteHeader(http.StatusAccepted)
	}
}

func result(w http.ResponseWriter, id json.RawMessage, result string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}
