package mcptest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Server is a server of the MCP SDK, whose tools a test changes while it runs, and which tells its listeners.
// It ends with the test.
type Server struct {
	// URL is the endpoint.
	URL string

	server  *sdk.Server
	lists   atomic.Int64
	streams atomic.Int64
}

// NewServer starts a server without tools, on loopback. It announces that it tells of changes.
func NewServer(tb testing.TB) *Server {
	tb.Helper()
	s := &Server{server: sdk.NewServer(&sdk.Implementation{Name: "desk", Version: "1"}, &sdk.ServerOptions{
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{ListChanged: true}},
	})}
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s.server }, nil)
	web := httptest.NewServer(s.counted(handler))
	tb.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	s.URL = web.URL
	return s
}

// counted counts the lists that are asked for and the streams that are open.
func (s *Server) counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodGet:
			s.streams.Add(1)
			defer s.streams.Add(-1)
		case http.MethodPost:
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			if bytes.Contains(body, []byte(`"tools/list"`)) {
				s.lists.Add(1)
			}
		}
		next.ServeHTTP(w, r)
	})
}

// Offer adds a tool, or changes its description. Whoever listens is told, even if it is the same as before.
func (s *Server) Offer(name, description string) {
	s.server.AddTool(&sdk.Tool{Name: name, Description: description, InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "ok"}}}, nil
		})
}

// Withdraw takes tools away.
func (s *Server) Withdraw(names ...string) { s.server.RemoveTools(names...) }

// Lists is how often a list of tools, or a page of one, was asked for.
func (s *Server) Lists() int64 { return s.lists.Load() }

// Streams is the number of listeners now.
func (s *Server) Streams() int64 { return s.streams.Load() }
