// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"remit.dev/remit/internal/engine"
)

func init() {
	children["has a child"] = greeted(func() error {
		grandchild := exec.Command("/proc/self/exe", "hangs")
		grandchild.Stdout, grandchild.Stderr = os.Stdout, os.Stderr
		if err := grandchild.Start(); err != nil {
			return err
		}
		name := fmt.Sprintf("pid %d", grandchild.Process.Pid)
		return errors.Join(send(os.Stdout, fromChild{Call: &callMessage{Tool: name, Arguments: []byte("{}")}}), hang())
	})
	children["hangs"] = hang
}

// What a child starts ends with it, if a child can start something at all.
func TestSessionEndsTogether(t *testing.T) {
	var pid int
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := newTestRunner(t, "has a child", nil).Run(ctx, Program{Source: "def main(): pass"},
		func(_ context.Context, tool string, _ json.RawMessage) engine.Outcome {
			if _, err := fmt.Sscanf(tool, "pid %d", &pid); err != nil {
				t.Error(err)
			}
			cancel()
			return engine.Outcome{}
		})
	checkKind(t, err, Canceled, "given up")
	await(t, "the grandchild to end", func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || strings.Contains(string(stat), ") Z ") // whose parent is gone may be reaped late
	})
}

// Programs leave no process, no goroutine and no file behind, however they end.
func TestNothingIsLeft(t *testing.T) {
	runner := newTestRunner(t, "sandbox", nil)
	rogue := newTestRunner(t, "never ends", nil)
	missing := newTestRunner(t, "sandbox", func(o *Options) { o.Command = []string{"/does/not/exist"} })
	run := func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		for _, source := range []string{"def main(): pass", "def main(: pass", "def main(): return 'x' * 1000000000"} {
			_, _ = runner.Run(t.Context(), Program{Source: source}, nil)
		}
		_, _ = runner.Run(ctx, Program{Source: "def main():\n  while True: pass\n"}, noTools)
		_, _ = rogue.Run(ctx, Program{Source: "def main(): pass"}, noTools)
		_, err := missing.Run(t.Context(), Program{Source: "def main(): pass"}, nil)
		checkKind(t, err, Unavailable, "the sandbox cannot be started")
	}
	run(t) // what exists once from now on
	goroutines, files := runtime.NumGoroutine(), openFiles(t)
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() { run(t) })
	}
	all.Wait()
	await(t, "the goroutines to end", func() bool { return runtime.NumGoroutine() <= goroutines })
	if now := openFiles(t); now > files {
		t.Errorf("%d files are open, and %d were before", now, files)
	}
	if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); !errors.Is(err, syscall.ECHILD) {
		t.Errorf("there is a child left: %d, %v", pid, err)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

// await waits for a condition with a bound.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	bound := time.After(30 * time.Second)
	for !done() {
		select {
		case <-tick.C:
		case <-bound:
			t.Fatalf("waited too long for %s", what)
		}
	}
}
