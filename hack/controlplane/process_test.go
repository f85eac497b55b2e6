package main

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// shComponent runs a shell script that has started when its log says so.
func shComponent(t *testing.T, script string, grace time.Duration) *process {
	t.Helper()
	c := component{
		name:  "script",
		path:  "/bin/sh",
		args:  []string{"-c", script},
		log:   filepath.Join(t.TempDir(), "script.log"),
		grace: grace,
	}
	p, err := c.start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = signalGroup(p.cmd.Process, syscall.SIGKILL) })
	eventually(t, "the script starts", func() bool {
		return strings.Contains(tail(c.log), "started")
	})
	return p
}

func exitSignal(t *testing.T, p *process) syscall.Signal {
	t.Helper()
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return 0
	}
	return status.Signal()
}

func TestStop(t *testing.T) {
	const (
		obedient = `echo started; while :; do sleep 1; done`
		stubborn = `trap '' TERM; echo started; while :; do sleep 1; done`
		graceful = `trap 'echo bye; exit 0' TERM; echo started; while :; do sleep 0.1; done`
	)
	closed := make(chan struct{})
	close(closed)
	tests := map[string]struct {
		script string
		grace  time.Duration
		hurry  <-chan struct{}
		want   syscall.Signal
	}{
		"ends by the signal":            {obedient, time.Minute, nil, syscall.SIGTERM},
		"ends by itself":                {graceful, time.Minute, nil, 0},
		"is killed after the grace":     {stubborn, time.Millisecond, nil, syscall.SIGKILL},
		"is killed at a second request": {stubborn, time.Hour, closed, syscall.SIGKILL},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := shComponent(t, tt.script, tt.grace)
			p.stop(tt.hurry)
			if got := exitSignal(t, p); got != tt.want {
				t.Errorf("ended by signal %d, want %d", got, tt.want)
			}
			p.stop(tt.hurry) // a component that has ended is left alone
		})
	}
}

// A Ctrl-C goes to the process group of the terminal, in which no component may be.
func TestComponentsHaveTheirOwnProcessGroup(t *testing.T) {
	p := shComponent(t, "echo started; exec sleep 1000", time.Minute)
	pgid, err := syscall.Getpgid(p.cmd.Process.Pid)
	if err != nil || pgid != p.cmd.Process.Pid {
		t.Errorf("process group %d, error %v, want %d", pgid, err, p.cmd.Process.Pid)
	}
	p.stop(nil)
}

func TestFailureShowsTheEndOfTheLog(t *testing.T) {
	p := shComponent(t, `i=0; while [ $i -lt 50 ]; do i=$((i+1)); echo line $i; done; echo started; exit 7`, time.Minute)
	<-p.exited
	message := p.failure().Error()
	for _, want := range []string{"script ended: exit status 7", p.log, "line 50", "line 32"} {
		if !strings.Contains(message, want) {
			t.Errorf("%q lacks %q", message, want)
		}
	}
	if strings.Contains(message, "line 31\n") {
		t.Errorf("%q holds more than the end", message)
	}
}

func TestComponentsDoNotInheritSettings(t *testing.T) {
	t.Setenv("ETCD_NAME", "the user's")
	t.Setenv("HOME", "/home/somebody")
	env := componentEnv()
	var home []string
	for _, entry := range env {
		if strings.HasPrefix(entry, "ETCD_") {
			t.Errorf("the environment holds %s", entry)
		}
		if strings.HasPrefix(entry, "HOME=") {
			home = append(home, entry)
		}
	}
	if diff := cmp.Diff([]string{"HOME=/home/somebody"}, home); diff != "" {
		t.Errorf("HOME (-want +got):\n%s", diff)
	}
}

// A component that loses its port to another program gets a new one; another failure is final.
func TestStartOnPorts(t *testing.T) {
	tests := map[string]struct {
		complaint    string
		wantAttempts int
	}{
		"port taken":      {"listen tcp 127.0.0.1:1: bind: address already in use", portAttempts},
		"another failure": {"no such file", 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			log, _ := testLogger(t)
			cp := &controlPlane{log: log}
			seen := map[int]bool{}
			err := cp.startOnPorts(t.Context(), 1, func(ports []int) (component, probe, string) {
				seen[ports[0]] = true
				return component{
					name: "script",
					path: "/bin/sh",
					args: []string{"-c", "echo '" + tt.complaint + "' >&2; exit 1"},
					log:  filepath.Join(t.TempDir(), "log"),
				}, newProbe(nil, loopbackURL(ports[0])), "/"
			})
			var failure *componentError
			if !errors.As(err, &failure) || !strings.Contains(err.Error(), tt.complaint) {
				t.Errorf("error %v, want the component's failure", err)
			}
			if len(seen) != tt.wantAttempts {
				t.Errorf("%d attempts, want %d", len(seen), tt.wantAttempts)
			}
			if len(cp.running) != 0 {
				t.Errorf("%d components count as running", len(cp.running))
			}
		})
	}
}

func TestFreePorts(t *testing.T) {
	ports, err := freePorts(20)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, port := range ports {
		if seen[port] {
			t.Errorf("port %d twice", port)
		}
		seen[port] = true
	}
	listener, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: ports[0]})
	if err != nil {
		t.Errorf("the port is not free: %v", err)
	} else {
		listener.Close()
	}
}

func TestStopWithParent(t *testing.T) {
	parent := exec.Command("sleep", "1000")
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	if err := stopWithParent(ctx, parent.Process.Pid, cancel); err != nil {
		t.Fatal(err)
	}
	if ctx.Err() != nil {
		t.Fatalf("stopped while the parent lives: %v", context.Cause(ctx))
	}
	_ = parent.Process.Kill()
	_ = parent.Wait()
	<-ctx.Done()
	if _, ok := errors.AsType[*stopRequest](context.Cause(ctx)); !ok {
		t.Errorf("cause %v, want a stop request", context.Cause(ctx))
	}
	if err := stopWithParent(t.Context(), parent.Process.Pid, cancel); err == nil {
		t.Error("a parent that has ended is accepted")
	}
}

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	if pid, err := lockHolder(path); pid != 0 || err != nil {
		t.Errorf("holder of no file: %d, error %v", pid, err)
	}
	unlock, err := tryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
	if pid, err := lockHolder(path); pid != 0 || err != nil {
		t.Errorf("holder of a free lock: %d, error %v", pid, err)
	}
	data, err := os.ReadFile(path)
	if err != nil || strings.TrimSpace(string(data)) == "" {
		t.Errorf("content %q, error %v, want a process id", data, err)
	}
}
