package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// asProgram makes the test binary behave as the command itself, so that tests of processes, locks
// and signals need no binary built beside them.
const asProgram = "CONTROLPLANE_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "1" {
		os.Exit(dispatch(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	return cmd
}

func testLogger(t *testing.T) (*logger, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	return &logger{out: &out}, &out
}

// eventually polls condition up to a bound that only a hanging program reaches.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-deadline.C:
			t.Fatalf("never happened: %s", what)
		case <-tick.C:
		}
	}
}

func TestDispatch(t *testing.T) {
	tests := map[string]struct {
		args       []string
		wantCode   int
		wantStdout string
		wantStderr string
	}{
		"no command":         {nil, 2, "", "Usage: controlplane"},
		"help":               {[]string{"--help"}, 0, "Usage: controlplane", ""},
		"unknown command":    {[]string{"destroy"}, 2, "", `unknown command "destroy"`},
		"flags of a command": {[]string{"run", "-h"}, 0, "", ""},
		"run without dir":    {[]string{"run"}, 1, "", "run: --dir is required"},
		"stop without dir":   {[]string{"stop"}, 1, "", "stop: --dir is required"},
		"left-over argument": {[]string{"status", "--dir=x", "y"}, 1, "", `unexpected argument "y"`},
		"missing manifest":   {[]string{"run", "--dir=x", "--manifests=/no/such"}, 1, "", "/no/such"},
		"negative parent":    {[]string{"run", "--dir=x", "--parent-pid=-1"}, 1, "", "--parent-pid -1: want the id"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			cmd := program(t, tt.args...)
			cmd.Dir = t.TempDir()
			var stdout, stderr strings.Builder
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			_ = cmd.Run()
			if got := cmd.ProcessState.ExitCode(); got != tt.wantCode {
				t.Errorf("exit code %d, want %d", got, tt.wantCode)
			}
			if !strings.Contains(stdout.String(), tt.wantStdout) {
				t.Errorf("stdout %q lacks %q", stdout.String(), tt.wantStdout)
			}
			if !strings.Contains(stderr.String(), tt.wantStderr) {
				t.Errorf("stderr %q lacks %q", stderr.String(), tt.wantStderr)
			}
		})
	}
}

func TestStatusOfNothing(t *testing.T) {
	cmd := program(t, "status", "--dir", t.TempDir())
	out, _ := cmd.Output()
	if got := cmd.ProcessState.ExitCode(); got != 3 || string(out) != "stopped\n" {
		t.Errorf("status = %q with code %d, want stopped with code 3", out, got)
	}
}

func TestStopOfNothing(t *testing.T) {
	if out, err := program(t, "stop", "--dir", t.TempDir()).CombinedOutput(); err != nil {
		t.Errorf("stop of what does not run: %v\n%s", err, out)
	}
}
