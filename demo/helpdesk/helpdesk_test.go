package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"remit.dev/remit/internal/mcp"
	"remit.dev/remit/internal/mcp/mcptest"
)

// start serves the help desk as its command line would, and returns its URL.
func start(t *testing.T, flags ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "address")
	s, err := parseFlags(append(flags, "--addr-file", file), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	var out bytes.Buffer
	go func() { ended <- serve(ctx, s, &out) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	deadline, tick := time.After(10*time.Second), time.NewTicker(5*time.Millisecond)
	defer tick.Stop()
	for {
		if url, err := os.ReadFile(file); err == nil {
			return string(url)
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("the address file never came")
		}
	}
}

func readLedger(t *testing.T, file string) []entry {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var entries []entry
	for line := range strings.Lines(string(data)) {
		var e entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		entries = append(entries, e)
	}
	return entries
}

// What is not said matters: add_note has no annotations object at all.
func TestAnnotationsOnTheWire(t *testing.T) {
	url := start(t)
	client := mcptest.Client(t)
	catalogue, err := client.Discover(t.Context(), mcptest.Target(url))
	if err != nil || len(catalogue.Findings) > 0 {
		t.Fatalf("findings %q, error %v", catalogue.Findings, err)
	}
	yes, no := true, false
	want := map[string]mcp.Annotations{
		"lookup_order": {Present: true, ReadOnly: &yes, Idempotent: &yes, Destructive: &no, OpenWorld: &no},
		"refund_order": {Present: true, ReadOnly: &no, Idempotent: &no, Destructive: &yes, OpenWorld: &no},
		"add_note":     {},
	}
	got := map[string]mcp.Annotations{}
	for _, tool := range catalogue.Tools {
		got[tool.Name] = tool.Annotations
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Every invocation stands in the ledger twice, with its credential's fingerprint, and effects add up.
func TestLedger(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledger.jsonl")
	url := start(t, "--ledger", file)
	client := mcptest.Client(t)
	target := mcptest.Target(url)
	target.Credential = mcp.Credential{Header: "Authorization", Value: "Bearer canary"}
	call := func(tool, args string) mcp.Result {
		t.Helper()
		result, err := client.Call(t.Context(), target, tool, []byte(args), mcp.CallOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	refund := `{"order_id":"A-1001","cents":4200,"reason":"broken"}`
	call("refund_order", refund)
	second := call("refund_order", refund)
	failed := call("lookup_order", `{"order_id":"Z"}`)
	found := call("lookup_order", `{"order_id":"A-1001"}`)

	var order Order
	if err := json.Unmarshal(found.Structured, &order); err != nil || order.Refunds != 2 || order.RefundedCents != 8400 {
		t.Errorf("after two refunds: %s, %v", found.Structured, err)
	}
	if len(second.Content) != 1 || second.Content[0].Text != "Paid 42.00 back for order A-1001." {
		t.Errorf("the refund says %+v", second.Content)
	}
	if !failed.IsError || len(failed.Content) != 1 || failed.Content[0].Text != `there is no order "Z"` {
		t.Errorf("the failed lookup: %+v", failed)
	}
	const print = "78aa50646b7def86" // printf 'Bearer canary' | sha256sum | cut -c1-16
	line := func(n int, phase, tool, args, failure string) entry {
		return entry{Invocation: n, Phase: phase, Tool: tool, Args: json.RawMessage(args), Authorization: print, Error: failure}
	}
	want := []entry{
		line(1, "begin", "refund_order", refund, ""), line(1, "end", "refund_order", refund, ""),
		line(2, "begin", "refund_order", refund, ""), line(2, "end", "refund_order", refund, ""),
		line(3, "begin", "lookup_order", `{"order_id":"Z"}`, ""), line(3, "end", "lookup_order", `{"order_id":"Z"}`, `there is no order "Z"`),
		line(4, "begin", "lookup_order", `{"order_id":"A-1001"}`, ""), line(4, "end", "lookup_order", `{"order_id":"A-1001"}`, ""),
	}
	got := readLedger(t, file)
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(entry{}, "Time")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, e := range got {
		if e.Time.IsZero() {
			t.Errorf("an entry without a time: %+v", e)
		}
	}
}

// The begin line stands before the delay, so that a test can see a call that is under way.
func TestDelay(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledger.jsonl")
	url := start(t, "--ledger", file, "--delay", "1h")
	ctx, cancel := context.WithCancel(t.Context())
	client := mcptest.Client(t)
	ended := make(chan error, 1)
	go func() {
		_, err := client.Call(ctx, mcptest.Target(url), "refund_order", []byte(`{"order_id":"A-1001","cents":1,"reason":"x"}`), mcp.CallOptions{})
		ended <- err
	}()
	waitForLines(t, file, 1)
	cancel()
	var e *mcp.Error
	if err := <-ended; !errors.As(err, &e) || e.Kind != mcp.OutcomeUnknown {
		t.Errorf("the caller: %v", err)
	}
	waitForLines(t, file, 2)
	if last := readLedger(t, file)[1]; last.Phase != phaseEnd || last.Error != "given up by the client: context canceled" {
		t.Errorf("the end: %+v", last)
	}
}

func waitForLines(t *testing.T, file string, n int) {
	t.Helper()
	deadline, tick := time.After(10*time.Second), time.NewTicker(5*time.Millisecond)
	defer tick.Stop()
	for {
		if data, err := os.ReadFile(file); err == nil && bytes.Count(data, []byte("\n")) >= n {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("the ledger never had %d lines", n)
		}
	}
}

// The token is required once it is configured, and can be rotated while the server runs.
func TestToken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	write := func(token string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one\n")
	url := start(t, "--token-file", file)
	client := mcptest.Client(t)
	discover := func(value string) error {
		target := mcptest.Target(url)
		if value != "" {
			target.Credential = mcp.Credential{Header: "Authorization", Value: value}
		}
		_, err := client.Discover(t.Context(), target)
		return err
	}
	unauthorized := func(err error) bool {
		var e *mcp.Error
		return errors.As(err, &e) && e.Kind == mcp.Unauthorized && e.Status == http.StatusUnauthorized
	}
	for value, good := range map[string]bool{"Bearer one": true, "Bearer two": false, "one": false, "": false} {
		if err := discover(value); good && err != nil || !good && !unauthorized(err) {
			t.Errorf("%q: %v", value, err)
		}
	}
	write("two")
	if err := discover("Bearer one"); !unauthorized(err) {
		t.Errorf("the old token after rotation: %v", err)
	}
	if err := discover("Bearer two"); err != nil {
		t.Errorf("the new token: %v", err)
	}
}

func TestFlags(t *testing.T) {
	s, err := parseFlags(nil, io.Discard)
	if err != nil || s != (settings{listen: "127.0.0.1:0"}) {
		t.Errorf("defaults: %+v, %v", s, err)
	}
	for _, args := range [][]string{{"extra"}, {"--nope"}, {"--delay", "x"}} {
		if _, err := parseFlags(args, io.Discard); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
}
