package mcp_test

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"remit.dev/remit/internal/mcp"
	"remit.dev/remit/internal/mcp/bridge"
	"remit.dev/remit/internal/mcp/mcptest"
	"remit.dev/remit/test/netns"
)

func TestMain(m *testing.M) {
	netns.Main()
	os.Exit(m.Run())
}

// isolated is set in the process that is alone in its network namespace.
const isolated = "REMIT_TEST_EVERYTHING_ISOLATED"

// A real server over streamable HTTP. It binds every interface and tells its environment to everybody, so that
// it runs in a network namespace of the test's own, and with it the test. Where there can be none, it runs
// over stdio behind the bridge.
func TestEverything(t *testing.T) {
	command := mcptest.NPM(t, mcptest.Everything)
	if os.Getenv(isolated) != "" {
		useEverything(t, serveEverything(t, command))
		return
	}
	if err := netns.Available(t.Context()); err != nil {
		t.Logf("over stdio and not over streamable HTTP: %v", err)
		useEverything(t, mcptest.Bridge(t, bridge.Options{Command: append(command, "stdio")}))
		return
	}
	alone := netns.Command(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	alone.Env = append(alone.Env, isolated+"=1")
	output, err := alone.CombinedOutput()
	if err != nil || !strings.Contains(string(output), "--- PASS: "+t.Name()) {
		t.Errorf("in its namespace: %v\n%s", err, output)
	}
}

// serveEverything starts the server and returns its endpoint once something listens there.
func serveEverything(t *testing.T, command []string) string {
	t.Helper()
	const address = "127.0.0.1:3001" // the namespace's, so that nobody else has it
	server := exec.CommandContext(t.Context(), command[0], append(command[1:], "streamableHttp")...)
	server.Env = []string{"PORT=3001"}
	var said strings.Builder
	server.Stdout, server.Stderr = &said, &said
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
		if t.Failed() {
			t.Logf("the server said:\n%s", said.String())
		}
	})
	deadline := time.After(time.Minute)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err == nil {
			connection.Close()
			return "http://" + address + "/mcp"
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("nothing listens: %v", err)
		}
	}
}

// useEverything looks at what the server offers, calls a tool twice on one session, and hears what it says.
func useEverything(t *testing.T, url string) {
	t.Helper()
	client, target := mcptest.Client(t), mcptest.Target(url)
	catalogue, err := client.Discover(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	if len(catalogue.Tools) != 13 || len(catalogue.Prompts) == 0 || len(catalogue.Findings) > 0 || !catalogue.ListChanged {
		t.Errorf("%d tools, %d prompts, findings %q, announces changes: %t", len(catalogue.Tools), len(catalogue.Prompts),
			catalogue.Findings, catalogue.ListChanged)
	}
	for _, tool := range catalogue.Tools {
		if a := tool.Annotations; a.ReadOnly == nil || a.Destructive == nil || a.Idempotent == nil || a.OpenWorld == nil || tool.Unusable != "" {
			t.Errorf("%s: %+v, unusable: %q", tool.Name, a, tool.Unusable)
		}
	}
	if !slices.ContainsFunc(catalogue.Prompts, func(p mcp.Prompt) bool { return p.Name == "simple-prompt" && len(p.Digest) == 64 }) {
		t.Errorf("the prompts are %+v", catalogue.Prompts)
	}
	for range 2 {
		result, err := client.Call(t.Context(), target, "echo", json.RawMessage(`{"message": "hello"}`), mcp.CallOptions{})
		if err != nil || len(result.Content) != 1 || result.Content[0].Text != "Echo: hello" {
			t.Errorf("got %+v, %v", result, err)
		}
	}
	if stats := client.Stats(); stats.Opened != 1 {
		t.Errorf("%d handshakes, want one for all of it", stats.Opened)
	}
	heard := make(chan struct{}, 16)
	go func() { _ = client.Listen(t.Context(), target, func() { heard <- struct{}{} }) }()
	select {
	case <-heard:
	case <-time.After(time.Minute):
		t.Error("the server gave no stream to listen on")
	}
}
