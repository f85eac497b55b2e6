// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// helpdesk is the demo's MCP server in a process of its own. Its ledger, which it writes itself,
// proves what was called and how often.
type helpdesk struct {
	*process
	url    string
	ledger string
}

// startHelpdesk runs it until the end of the test.
func startHelpdesk(t *testing.T, flags ...string) *helpdesk {
	t.Helper()
	dir := t.TempDir()
	h := &helpdesk{ledger: filepath.Join(dir, "ledger.jsonl")}
	h.run(t, append([]string{"--listen", "127.0.0.1:0"}, flags...)...)
	t.Cleanup(func() {
		if err := h.kill(); err != nil {
			t.Error(err)
		}
	})
	return h
}

func (h *helpdesk) run(t *testing.T, flags ...string) {
	t.Helper()
	dir := filepath.Dir(h.ledger)
	address := filepath.Join(dir, "address")
	if err := os.Remove(address); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	args := append([]string{env.helpdesk, "--ledger", h.ledger, "--addr-file", address}, flags...)
	p, err := program{name: "helpdesk", args: args}.start(dir)
	if err != nil {
		t.Fatal(err)
	}
	h.process, h.url = p, p.waitForFile(t, address)
}

// replace kills it and starts it again at the same address with the same ledger.
func (h *helpdesk) replace(t *testing.T, flags ...string) {
	t.Helper()
	if err := h.kill(); err != nil {
		t.Fatal(err)
	}
	address := strings.TrimSuffix(strings.TrimPrefix(h.url, "http://"), "/mcp")
	h.run(t, append([]string{"--listen", address}, flags...)...)
}

// entry is one line of the ledger.
type entry struct {
	Phase string          `json:"phase"`
	Tool  string          `json:"tool"`
	Args  json.RawMessage `json:"args"`
}

func (h *helpdesk) entries(t *testing.T) []entry {
	t.Helper()
	text, err := os.ReadFile(h.ledger)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var entries []entry
	for line := range bytes.Lines(text) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // it is being written
		}
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("the ledger: %v: %s", err, line)
		}
		entries = append(entries, e)
	}
	return entries
}

// begun is how often a tool was invoked, with arguments that hold a text.
func (h *helpdesk) begun(t *testing.T, tool, text string) int {
	t.Helper()
	n := 0
	for _, e := range h.entries(t) {
		if e.Phase == "begin" && e.Tool == tool && strings.Contains(string(e.Args), text) {
			n++
		}
	}
	return n
}
