package mcp

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// BenchmarkCall compares a call through the pool with one on a bare SDK session, on the same server.
func BenchmarkCall(b *testing.B) {
	server := sdk.NewServer(&sdk.Implementation{Name: "sdk", Version: "1"}, nil)
	addTool("t", `{"type":"object"}`, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return text("x"), nil
	})(server)
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	defer web.Close()

	b.Run("bare", func(b *testing.B) {
		client := sdk.NewClient(&sdk.Implementation{Name: "bare", Version: "1"}, nil)
		session, err := client.Connect(b.Context(), &sdk.StreamableClientTransport{Endpoint: web.URL, DisableStandaloneSSE: true}, nil)
		if err != nil {
			b.Fatal(err)
		}
		defer session.Close()
		for b.Loop() {
			if _, err := session.CallTool(b.Context(), &sdk.CallToolParams{Name: "t"}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("pooled", func(b *testing.B) {
		c := NewClient(Options{HTTPTransport: &http.Transport{}})
		defer c.Close()
		target := Target{Namespace: "team", Server: "catalogue/sdk", URL: web.URL}
		for b.Loop() {
			if _, err := c.Call(b.Context(), target, "t", nil, CallOptions{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
