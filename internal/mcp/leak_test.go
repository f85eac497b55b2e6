package mcp

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
)

// After Close no goroutine of the client or of the SDK is left, whatever the calls went through: answers,
// streams that stay open, deaths, callers that gave up, evictions.
func TestNothingIsLeftRunning(t *testing.T) {
	server := newFake(t)
	hanging := make(chan struct{}, 64)
	server.on = func(w http.ResponseWriter, r *http.Request, m request) bool {
		switch params := string(m.Params); {
		case m.Method != "tools/call":
			return false
		case strings.Contains(params, "stream"):
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[]}}\n\n", m.ID)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		case strings.Contains(params, "hang"):
			hanging <- struct{}{}
			<-r.Context().Done()
		case strings.Contains(params, "die"):
			http.Error(w, "no", http.StatusInternalServerError)
		default:
			return false
		}
		return true
	}
	c := newTestClient(t, Options{MaxSessions: 2})
	for i, tool := range []string{"plain", "stream", "hang", "die", "plain", "hang", "stream"} {
		ctx, cancel := context.WithCancel(t.Context())
		if tool == "hang" {
			go func() {
				<-hanging
				cancel()
			}()
		}
		target := server.target()
		target.Namespace = fmt.Sprint("team-", i%4)
		_, err := c.Call(ctx, target, tool, nil, CallOptions{})
		cancel()
		if failed := err != nil; failed != (tool == "hang" || tool == "die") {
			t.Errorf("%s: %v", tool, err)
		}
	}
	c.Close()
	eventually(t, "only the test's own goroutines are left", func() bool { return leftovers() == "" })
	if rest := leftovers(); rest != "" {
		t.Error(rest)
	}
}

// leftovers are the stacks that lead through the SDK or through this package's own code.
func leftovers() string {
	all := make([]byte, 1<<20)
	all = all[:runtime.Stack(all, true)]
	var left []string
	for stack := range strings.SplitSeq(string(all), "\n\n") {
		ours := strings.Contains(stack, "modelcontextprotocol/go-sdk") || strings.Contains(stack, "internal/mcp.(*")
		tests := strings.Contains(stack, "internal/mcp.Test") || strings.Contains(stack, "internal/mcp.(*fake)")
		if ours && !tests {
			left = append(left, stack)
		}
	}
	return strings.Join(left, "\n\n")
}
