package bridge

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// local is a Local under test, and what it logs.
type local struct {
	*Local
	t   *testing.T
	log *safeBuffer
}

const deskAddress = "desk.catalogue.svc:8080"

func newLocal(t *testing.T) *local {
	t.Helper()
	log := &safeBuffer{}
	l := &local{NewLocal(slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))), t, log}
	t.Cleanup(l.Close)
	return l
}

func (l *local) set(o Options) {
	l.t.Helper()
	if err := l.Set(deskAddress, "catalogue/desk", o); err != nil {
		l.t.Fatal(err)
	}
}

func (l *local) post(session, body string) (answer, error) {
	l.t.Helper()
	req, err := http.NewRequestWithContext(l.t.Context(), http.MethodPost, "http://"+deskAddress+"/mcp", strings.NewReader(body))
	if err != nil {
		l.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	resp, err := (&http.Client{Transport: l.Transport}).Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header.Get("Content-Type"), resp.Header.Get("Mcp-Session-Id"), string(data)}, err
}

func (l *local) mustPost(session, body string) answer {
	l.t.Helper()
	a, err := l.post(session, body)
	if err != nil || a.Status != http.StatusOK {
		l.t.Fatalf("%+v, %v", a, err)
	}
	return a
}

// process opens a session and gives the pid of its process.
func (l *local) process() (session string, pid int) {
	l.t.Helper()
	session = l.mustPost("", initialize).Session
	text := text(l.t, l.mustPost(session, call("2", "pids")))
	pid, _, err := parsePids(text)
	if err != nil {
		l.t.Fatal(err)
	}
	return session, pid
}

// N1: a server is run with its environment and no other, and reached through memory.
func TestLocal(t *testing.T) {
	t.Setenv("LEAK", "host secret")
	l := newLocal(t)
	l.set(Options{Command: helper(t, "stderr"), Env: []string{"A=1"}, Plain: []string{"A"}})
	session, _ := l.process()
	if got := text(t, l.mustPost(session, call("3", "env"))); got != `["A=1"]` {
		t.Errorf("the environment is %s", got)
	}
	eventually(t, "standard error is in the log, with the server's name", func() bool {
		return strings.Contains(l.log.String(), `server=catalogue/desk line=short`)
	})
	resp, err := http.Get("http://" + deskAddress + "/mcp")
	if err == nil {
		resp.Body.Close()
		t.Error("it can be reached from outside of the process")
	}
}

// Setting a server as it is leaves it alone; otherwise the old processes end, and at last all do.
func TestLocalFollowsTheOptions(t *testing.T) {
	l := newLocal(t)
	o := Options{Command: helper(t, "plain"), Env: []string{"A=1"}}
	l.set(o)
	session, first := l.process()
	l.set(Options{Command: helper(t, "plain"), Env: []string{"A=1"}})
	if a, err := l.post(session, call("3", "pids")); err != nil || a.Status != http.StatusOK {
		t.Errorf("after the same again: %+v, %v", a, err)
	}

	o.Env = []string{"A=2"}
	l.set(o)
	eventually(t, "the process with the old environment is gone", func() bool { return !alive(first) })
	session, second := l.process()
	if got := text(t, l.mustPost(session, call("3", "env"))); got != `["A=2"]` {
		t.Errorf("the environment is %s", got)
	}

	l.Remove(deskAddress)
	eventually(t, "the process of the removed server is gone", func() bool { return !alive(second) })

	l.set(o)
	_, third := l.process()
	l.Close()
	if alive(third) {
		t.Error("a process outlived Close")
	}
}

// A connection that comes before its server waits for it, as after a restart of the operator.
func TestLocalWaitsForTheServer(t *testing.T) {
	l := newLocal(t)
	answers := make(chan answer, 1)
	go func() {
		a, _ := l.post("", initialize)
		answers <- a
	}()
	l.set(Options{Command: helper(t, "plain")})
	if a := <-answers; a.Status != http.StatusOK {
		t.Errorf("%+v", a)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.dial(ctx, "nobody.catalogue.svc:8080"); !errors.Is(err, context.Canceled) {
		t.Errorf("a server that nobody sets: %v", err)
	}
}

// A server that cannot run is told at once, and what ran in its place before runs no more.
func TestLocalRefuses(t *testing.T) {
	l := newLocal(t)
	l.set(Options{Command: helper(t, "plain")})
	_, pid := l.process()
	err := l.Set(deskAddress, "catalogue/desk", Options{Command: []string{"no-such-program-here"}})
	if err == nil || !strings.Contains(err.Error(), `"no-such-program-here"`) {
		t.Errorf("got %v", err)
	}
	eventually(t, "the process is gone", func() bool { return !alive(pid) })
}

// The copy is the program itself, and everybody may run it.
func TestInstall(t *testing.T) {
	path := filepath.Join(t.TempDir(), "remit")
	for range 2 { // the second time over the first
		if err := Install(path); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	copied := exec.Command(path, "stdio-child", "plain")
	copied.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize"}` + "\n")
	if out, err := copied.Output(); err != nil || !bytes.Contains(out, []byte(`"id":1`)) {
		t.Errorf("the copy says %s, %v", out, err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if err := Install(filepath.Join(path, "below")); err == nil {
		t.Error("installed below a file")
	}
}
