package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fakeGo puts a go command first in PATH that "builds" at once, counts its builds in the returned
// file, fails on a package whose name holds $FAIL_ON, and with $HANG set never ends.
func fakeGo(t *testing.T) (calls string) {
	t.Helper()
	dir := t.TempDir()
	calls = filepath.Join(dir, "calls")
	script := `#!/bin/sh
if [ "$1" = env ]; then echo "${FAKE_GOVERSION:-go9.9.9}"; exit; fi
for arg; do last=$arg; done
echo "$last" >>'` + calls + `'
if [ -n "$FAIL_ON" ] && [ "$last" != "${last#*$FAIL_ON}" ]; then echo "x.go:1:1: broken" >&2; exit 1; fi
if [ -n "$HANG" ]; then exec sleep 1000; fi
while [ "$1" != -o ]; do shift; done
printf built >"$2" && chmod +x "$2"
`
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return calls
}

func callCount(t *testing.T, calls string) int {
	t.Helper()
	data, err := os.ReadFile(calls)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Count(string(data), "\n")
}

func filesOf(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func TestBuildIsCached(t *testing.T) {
	calls, bin := fakeGo(t), t.TempDir()
	log, _ := testLogger(t)
	steps := []struct {
		name      string
		prepare   func(dir string)
		wantCalls int
	}{
		{"first", func(string) {}, 4},
		{"again", func(string) {}, 4},
		{"another Go", func(string) { t.Setenv("FAKE_GOVERSION", "go9.9.10") }, 8},
		{"again with it", func(string) {}, 8},
		{"a binary is gone", func(dir string) { os.Remove(filepath.Join(dir, kubectlName)) }, 12},
		{"the stamp is garbage", func(dir string) { os.WriteFile(filepath.Join(dir, stampFile), []byte("{"), 0o600) }, 16},
	}
	dir := filepath.Join(bin, "k8s", "v1.37.2")
	for _, step := range steps {
		step.prepare(dir)
		got, err := build(t.Context(), bin, log)
		if err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if got != dir {
			t.Errorf("%s: built into %s, want %s", step.name, got, dir)
		}
		if n := callCount(t, calls); n != step.wantCalls {
			t.Errorf("%s: %d builds so far, want %d", step.name, n, step.wantCalls)
		}
		if gone := missing(dir, allBinaries...); len(gone) > 0 {
			t.Errorf("%s: %v are missing", step.name, gone)
		}
	}
}

func TestBuildThatFailsLeavesNothingHalfDone(t *testing.T) {
	calls, bin := fakeGo(t), t.TempDir()
	log, _ := testLogger(t)
	t.Setenv("FAIL_ON", "kube-controller-manager")
	_, err := build(t.Context(), bin, log)
	if err == nil || !strings.Contains(err.Error(), "[3/4] kube-controller-manager") || !strings.Contains(err.Error(), "x.go:1:1: broken") {
		t.Fatalf("error %v, want one that names the binary and shows the compiler's words", err)
	}
	names := filesOf(t, filepath.Join(bin, "k8s", "v1.37.2"))
	if diff := cmp.Diff([]string{"build.lock", etcdName, apiserverName}, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	t.Setenv("FAIL_ON", "")
	if _, err := build(t.Context(), bin, log); err != nil {
		t.Fatal(err)
	}
	if n := callCount(t, calls); n != 3+4 {
		t.Errorf("%d builds, want the three of the failure and four", n)
	}
}

// hangingBuild is a build by another process, in the middle of its first binary.
func hangingBuild(t *testing.T, bin string) *exec.Cmd {
	t.Helper()
	calls := fakeGo(t)
	cmd := program(t, "build", "--bin", bin)
	cmd.Env = append(cmd.Env, "HANG=1", "TMPDIR="+t.TempDir())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		t.Logf("the other build said:\n%s", stderr.String())
	})
	eventually(t, "the other build begins", func() bool { return callCount(t, calls) > 0 })
	return cmd
}

func TestInterruptedBuildLeavesNothing(t *testing.T) {
	bin := t.TempDir()
	other := hangingBuild(t, bin)
	if err := other.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = other.Wait()
	if got := other.ProcessState.ExitCode(); got != 1 {
		t.Errorf("exit code %d, want 1", got)
	}
	if diff := cmp.Diff([]string{"build.lock"}, filesOf(t, filepath.Join(bin, "k8s", "v1.37.2"))); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestOneBuildWaitsForAnother(t *testing.T) {
	bin := t.TempDir()
	other := hangingBuild(t, bin)
	holder, err := lockHolder(filepath.Join(bin, "k8s", "v1.37.2", "build.lock"))
	if err != nil || holder != other.Process.Pid {
		t.Errorf("lock held by %d, error %v, want %d", holder, err, other.Process.Pid)
	}
	// What is logged says that this build waits: then the other one dies.
	reader, writer := io.Pipe()
	go func() {
		line, _ := bufio.NewReader(reader).ReadString('\n')
		_ = other.Process.Kill()
		_, _ = io.Copy(io.Discard, reader)
		if !strings.Contains(line, "another build of "+bin) {
			t.Errorf("the waiting build says %q", line)
		}
	}()
	dir, err := build(t.Context(), bin, &logger{out: writer})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"build.lock", etcdName, apiserverName, controllerName, kubectlName, stampFile}
	if diff := cmp.Diff(want, filesOf(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestBuildOutput(t *testing.T) {
	out := &buildOutput{}
	out.read(strings.NewReader("go: downloading k8s.io/api v0.37.2\n"))
	if got, want := out.summary(), "1 modules downloaded"; got != want {
		t.Errorf("summary %q, want %q", got, want)
	}
	out.read(strings.NewReader("k8s.io/api/core/v1\ninternal/abi\n# k8s.io/api/core/v1\na.go:1:2: no\n"))
	if got, want := out.summary(), "2 packages compiled"; got != want {
		t.Errorf("summary %q, want %q", got, want)
	}
	if got, want := out.rest(), "# k8s.io/api/core/v1\na.go:1:2: no"; got != want {
		t.Errorf("rest %q, want %q", got, want)
	}
	out.read(strings.NewReader(strings.Repeat("a.go:1:2: no\n", 3*keptLines)))
	if got := strings.Count(out.rest(), "\n") + 1; got != keptLines {
		t.Errorf("%d lines kept, want %d", got, keptLines)
	}
}
