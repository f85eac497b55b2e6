package bridge_test

import (
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit.dev/remit/internal/mcp"
	"remit.dev/remit/internal/mcp/bridge"
	"remit.dev/remit/internal/mcp/mcptest"
)

// behindBridge runs this test binary as a stdio server behind a bridge (see TestMain).
func behindBridge(t *testing.T, kind string) (*mcp.Client, mcp.Target) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o := bridge.Options{Command: []string{self, "stdio-child", kind}}
	return mcptest.Client(t), mcptest.Target(mcptest.Bridge(t, o))
}

// The third state of a hint, and a hint that is none, come through both ends; and a server that does not
// survive server/discover is never asked.
func TestClientThroughBridge(t *testing.T) {
	client, target := behindBridge(t, "discover-dies")
	catalogue, err := client.Discover(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	want := mcp.Annotations{Present: true, Malformed: []string{"readOnlyHint"}}
	if len(catalogue.Tools) != 1 || !cmp.Equal(want, catalogue.Tools[0].Annotations) {
		t.Errorf("got %+v", catalogue.Tools)
	}
	if n := client.Stats().Opened; n != 1 {
		t.Errorf("%d handshakes, want 1", n)
	}
}

// E12: a server process that dies in mid-call leaves an unknown outcome, and the next call finds a new one.
func TestServerProcessDies(t *testing.T) {
	client, target := behindBridge(t, "plain")
	for _, idempotent := range []bool{false, true} {
		_, err := client.Call(t.Context(), target, "die", nil, mcp.CallOptions{Idempotent: idempotent})
		want := mcp.OutcomeUnknown
		if idempotent {
			want = mcp.Unreachable // and it was tried twice
		}
		var e *mcp.Error
		if !errors.As(err, &e) || e.Kind != want {
			t.Errorf("idempotent=%v: %v, want %s", idempotent, err, want)
		}
		if _, err := client.Call(t.Context(), target, "pids", nil, mcp.CallOptions{}); err != nil {
			t.Errorf("after that: %v", err)
		}
	}
	if n := client.Stats().Recovered; n != 1 {
		t.Errorf("%d repetitions, want the one of the idempotent call", n)
	}
}

// A server that cannot start says why, through the bridge and the client, in one line.
func TestServerThatCannotStart(t *testing.T) {
	client, target := behindBridge(t, "garbage")
	_, err := client.Discover(t.Context(), target)
	want := `mcp server test/server: Unreachable: HTTP 502 Bad Gateway: the server process ended: exit status 3; ` +
		`its standard output is not all JSON-RPC, the first such line is "cannot start with key ": an MCP server must log to standard error`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
