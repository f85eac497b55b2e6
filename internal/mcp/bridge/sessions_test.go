package bridge

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Each session has a child of its own; deleting the session ends the child.
func TestSessionsHaveTheirOwnChild(t *testing.T) {
	r := start(t, Options{Command: helper(t, "plain")})
	one, two := r.open(), r.open()
	first, second := pidsOf(t, r, one), pidsOf(t, r, two)
	if first[0] == second[0] {
		t.Errorf("both sessions have the child %d", first[0])
	}
	if a := r.do(http.MethodDelete, one, ""); a.Status != http.StatusNoContent {
		t.Errorf("DELETE: %+v", a)
	}
	eventually(t, "its child is gone", func() bool { return !alive(first[0]) })
	if a := r.post(one, call("1", "env")); a.Status != http.StatusNotFound {
		t.Errorf("after DELETE: %+v", a)
	}
	if !alive(second[0]) {
		t.Error("the other session's child is gone too")
	}
}

// pidsOf is the pid and the process group of a session's child.
func pidsOf(t *testing.T, r *running, session string) (pids [2]int) {
	t.Helper()
	var err error
	if pids[0], pids[1], err = parsePids(r.textOf(session, "pids")); err != nil {
		t.Fatal(err)
	}
	return pids
}

func parsePids(text string) (pid, group int, err error) {
	_, err = fmt.Sscan(text, &pid, &group)
	return pid, group, err
}

// Sessions are bounded: a new one ends the one that is idle for longest, and never one at work.
func TestSessionsAreBounded(t *testing.T) {
	r := start(t, Options{Command: helper(t, "plain"), MaxSessions: 2})
	oldest, newer := r.open(), r.open()
	r.textOf(oldest, "env") // now the newer one is idle for longer
	third := r.open()
	if a := r.post(newer, call("1", "env")); a.Status != http.StatusNotFound {
		t.Errorf("the session idle for longest: %+v", a)
	}
	for _, session := range []string{oldest, third} {
		defer r.begin(session, "hang").Close()
	}
	if a := r.post("", initialize); a.Status != http.StatusServiceUnavailable || !strings.Contains(a.Body, "all sessions are busy") {
		t.Errorf("while all are busy: %+v", a)
	}
	r.stop() // ends the calls
}

// begin calls a tool that says something before it answers, and returns once it has.
func (r *running) begin(session, tool string) io.Closer {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.base+"/mcp", strings.NewReader(call("1", tool)))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Mcp-Session-Id", session)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp.Body
}

func TestIdleSessionsEnd(t *testing.T) {
	ss := newSessions(mustDefaults(t, Options{Command: helper(t, "plain"), IdleTimeout: time.Minute}))
	defer ss.endAll()
	s, err := ss.open("", digest{})
	if err != nil {
		t.Fatal(err)
	}
	used, _ := s.idleSince()
	ss.sweep(used.Add(59 * time.Second))
	if ss.find(s.id, digest{}) == nil {
		t.Fatal("ended before its time")
	}
	used, _ = s.idleSince()
	busy := newReceiver(false)
	if err := s.expect("1", busy); err != nil {
		t.Fatal(err)
	}
	ss.sweep(used.Add(time.Hour))
	if ss.find(s.id, digest{}) == nil {
		t.Fatal("ended at work")
	}
	s.forget("1", busy)
	used, _ = s.idleSince()
	ss.sweep(used.Add(time.Minute))
	if ss.find(s.id, digest{}) != nil {
		t.Error("still there")
	}
	<-s.process.child.exited
}

func mustDefaults(t *testing.T, o Options) Options {
	t.Helper()
	o, err := o.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// Requests that wait are bounded, and two cannot have one id.
func TestPendingRequestsAreBounded(t *testing.T) {
	s := &session{pending: map[string]*receiver{}}
	for i := range MaxPending {
		if err := s.expect(fmt.Sprint(i), newReceiver(false)); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			if err := s.expect("0", newReceiver(false)); err == nil || err.Error() != "a request with the id 0 is waiting already" {
				t.Errorf("an id twice: %v", err)
			}
		}
	}
	if err := s.expect("x", newReceiver(false)); err == nil || err.Error() != "64 requests of the session are waiting already" {
		t.Errorf("one too many: %v", err)
	}
}
