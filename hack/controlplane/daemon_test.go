package main

import (
	"bufio"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// While a killed runner ends, its lock is still held, its line says ready, and its API server's port
// accepts connections. A start waits for the end and then starts a control plane of its own, which
// fails at once here, as its etcd does.
func TestStartBesideADyingRunner(t *testing.T) {
	programs := t.TempDir()
	for _, name := range allBinaries {
		if err := os.WriteFile(filepath.Join(programs, name), []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	l := layout{dir: t.TempDir()}
	if err := l.create(); err != nil {
		t.Fatal(err)
	}
	if _, err := writeCredentials(l, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := announce(l, readyInfo{PID: os.Getpid(), Server: loopbackURL(mutePort(t))}, io.Discard); err != nil {
		t.Fatal(err)
	}
	unlock, err := tryLock(l.pidFile())
	if err != nil {
		t.Fatal(err)
	}
	start := program(t, "start", "--dir", l.dir)
	start.Env = append(start.Env, assetsVariable+"="+programs)
	var stdout strings.Builder
	start.Stdout = &stdout
	pipe, err := start.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := start.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = start.Process.Kill() })
	stderr := bufio.NewReader(pipe)
	if line, err := stderr.ReadString('\n'); err != nil || !strings.Contains(line, "does not answer at") {
		t.Errorf("start says %q, error %v, want that it waits", line, err)
	}
	unlock()
	rest, err := io.ReadAll(stderr)
	if err != nil {
		t.Fatal(err)
	}
	if err := start.Wait(); err == nil || !strings.Contains(string(rest), "etcd ended: exit status 1") {
		t.Errorf("start: %v, want the failure of its own etcd:\n%s", err, rest)
	}
	if stdout.Len() > 0 {
		t.Errorf("start prints %q of a control plane that is gone", stdout.String())
	}
}

// mutePort returns a port that accepts connections and answers nothing.
func mutePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp4", loopback+":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	return listener.Addr().(*net.TCPAddr).Port
}
