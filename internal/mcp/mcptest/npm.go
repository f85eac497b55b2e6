// Package mcptest helps tests to run MCP servers. Only tests import it.
package mcptest

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"remit.dev/remit/internal/mcp"
	"remit.dev/remit/internal/mcp/bridge"
)

// Servers on npm, pinned in test/e2e/package-lock.json.
const (
	Everything = "server-everything"
	Filesystem = "server-filesystem"
	Memory     = "server-memory"
)

// NPM returns the command that runs a pinned server over stdio, with the given arguments. Without node, or
// with the servers not installed, it skips the test and says how to get them; where CI is set it fails.
func NPM(tb testing.TB, server string, args ...string) []string {
	tb.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		missing(tb, "node is not on the PATH; install Node.js 20 or newer")
	}
	script := filepath.Join(moduleRoot(tb), "test", "e2e", "node_modules", "@modelcontextprotocol", server, "dist", "index.js")
	if _, err := os.Stat(script); err != nil {
		missing(tb, server+" is not installed; run: npm ci --prefix test/e2e --ignore-scripts")
	}
	return append([]string{node, script}, args...)
}

func missing(tb testing.TB, what string) {
	tb.Helper()
	if os.Getenv("CI") != "" {
		tb.Fatal("in CI the npm servers must be there: " + what)
	}
	tb.Skip("skipped, the npm servers are missing: " + what)
}

// moduleRoot is the directory with go.mod, from the test's own upwards.
func moduleRoot(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		} else if !errors.Is(err, fs.ErrNotExist) {
			tb.Fatal(err)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			tb.Fatal("no go.mod above the test's directory")
		}
		dir = parent
	}
}

// Bridge serves a stdio command on loopback until the end of the test and returns the endpoint's URL.
func Bridge(tb testing.TB, o bridge.Options) string {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	bound, ended := make(chan net.Addr, 1), make(chan error, 1)
	o.OnListen = func(a net.Addr) { bound <- a }
	if o.Stderr == nil {
		o.Stderr = lineLogger{tb}
	}
	go func() { ended <- bridge.Serve(ctx, o) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			tb.Errorf("the bridge: %v", err)
		}
	})
	select {
	case a := <-bound:
		return "http://" + a.String() + "/mcp"
	case err := <-ended:
		ended <- nil
		tb.Fatalf("the bridge did not start: %v", err)
	}
	return ""
}

// lineLogger shows a child's standard error with the test's output.
type lineLogger struct{ tb testing.TB }

func (l lineLogger) Write(p []byte) (int, error) {
	l.tb.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

// Client returns a client that reaches loopback servers, closed at the end of the test.
func Client(tb testing.TB) *mcp.Client {
	tb.Helper()
	transport := &http.Transport{}
	c := mcp.NewClient(mcp.Options{HTTPTransport: transport})
	tb.Cleanup(func() {
		c.Close()
		transport.CloseIdleConnections()
	})
	return c
}

// Target addresses a server at a URL for a tenant of its own.
func Target(url string) mcp.Target {
	return mcp.Target{Namespace: "test", Server: "test/server", URL: url}
}
