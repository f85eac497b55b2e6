package bridge_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit.dev/remit/internal/mcp"
	"remit.dev/remit/internal/mcp/bridge"
	"remit.dev/remit/internal/mcp/mcptest"
)

// discoverNPM runs a pinned npm server behind the bridge, with nothing in its environment but env.
func discoverNPM(t *testing.T, command, env []string) (*mcp.Client, mcp.Target, mcp.Catalogue) {
	t.Helper()
	client := mcptest.Client(t)
	target := mcptest.Target(mcptest.Bridge(t, bridge.Options{Command: command, Env: env, Dir: t.TempDir()}))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	catalogue, err := client.Discover(ctx, target)
	if err != nil {
		t.Fatal(err)
	}
	if len(catalogue.Findings) > 0 {
		t.Errorf("findings: %q", catalogue.Findings)
	}
	return client, target, catalogue
}

func names(tools []mcp.Tool, keep func(mcp.Annotations) bool) []string {
	var found []string
	for _, tool := range tools {
		if keep(tool.Annotations) {
			found = append(found, tool.Name)
		}
	}
	return found
}

func is(hint *bool, value bool) bool { return hint != nil && *hint == value }

// A server nobody here wrote: 13 tools, each with all four hints set, and an environment of exactly what it
// was given (N1, N3, N4, N18).
func TestServerEverything(t *testing.T) {
	env := []string{"GREETING=hello world", "EMPTY="}
	client, target, catalogue := discoverNPM(t, mcptest.NPM(t, mcptest.Everything, "stdio"), env)
	if n := len(catalogue.Tools); n != 13 {
		t.Errorf("%d tools, want 13", n)
	}
	explicit := names(catalogue.Tools, func(a mcp.Annotations) bool {
		return a.ReadOnly != nil && a.Destructive != nil && a.Idempotent != nil && a.OpenWorld != nil
	})
	if len(explicit) != 13 {
		t.Errorf("%d tools with all four hints set, want all 13", len(explicit))
	}
	result, err := client.Call(t.Context(), target, "get-env", nil, mcp.CallOptions{Idempotent: true})
	if err != nil || len(result.Content) != 1 {
		t.Fatalf("get-env: %+v, %v", result, err)
	}
	var got map[string]string
	if err := json.Unmarshal([]byte(result.Content[0].Text), &got); err != nil {
		t.Fatal(err)
	}
	delete(got, "__CF_USER_TEXT_ENCODING") // put in by macOS itself
	if diff := cmp.Diff(map[string]string{"GREETING": "hello world", "EMPTY": ""}, got); diff != "" {
		t.Errorf("the child's environment (-want +got):\n%s", diff)
	}
}

// Three of its nine tools are destructive.
func TestServerMemory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "memory.jsonl")
	_, _, catalogue := discoverNPM(t, mcptest.NPM(t, mcptest.Memory), []string{"MEMORY_FILE_PATH=" + file})
	if n := len(catalogue.Tools); n != 9 {
		t.Errorf("%d tools, want 9", n)
	}
	destructive := names(catalogue.Tools, func(a mcp.Annotations) bool { return is(a.Destructive, true) })
	if diff := cmp.Diff([]string{"delete_entities", "delete_observations", "delete_relations"}, destructive); diff != "" {
		t.Errorf("destructive tools (-want +got):\n%s", diff)
	}
}

// Ten of its fourteen tools say that they are read-only and leave the other hints unset: the third state,
// in the field.
func TestServerFilesystem(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "note.txt"), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	client, target, catalogue := discoverNPM(t, mcptest.NPM(t, mcptest.Filesystem, dir), nil)
	if n := len(catalogue.Tools); n != 14 {
		t.Errorf("%d tools, want 14", n)
	}
	third := names(catalogue.Tools, func(a mcp.Annotations) bool {
		return is(a.ReadOnly, true) && a.Destructive == nil && a.Idempotent == nil && a.OpenWorld == nil
	})
	if len(third) != 10 {
		t.Errorf("read-only with the other hints unset: %d tools %q, want 10", len(third), third)
	}
	args, err := json.Marshal(map[string]string{"path": filepath.Join(dir, "note.txt")})
	if err != nil {
		t.Fatal(err)
	}
	result, err := client.Call(t.Context(), target, "read_text_file", args, mcp.CallOptions{Idempotent: true})
	if err != nil || result.IsError || len(result.Content) != 1 || !strings.Contains(result.Content[0].Text, "hello") {
		t.Errorf("read_text_file: %+v, %v", result, err)
	}
	result, err = client.Call(t.Context(), target, "read_text_file", []byte(`{"path":"/etc/hostname"}`), mcp.CallOptions{})
	if err != nil || !result.IsError || len(result.Content) == 0 || result.Content[0].Text == "" {
		t.Errorf("a path outside: %+v, %v; want an error result with its text", result, err)
	}
}
