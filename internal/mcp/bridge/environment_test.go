package bridge

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func bearer(token string) func(*http.Request) {
	return func(req *http.Request) { req.Header.Set("Authorization", "Bearer "+token) }
}

// N1: the environment is the configured one plus the credential of whoever opened the session, and each
// session has its own.
func TestCredentialIsInTheEnvironment(t *testing.T) {
	r := start(t, Options{Command: helper(t, "plain"), Env: []string{"A=1"}, CredentialEnv: "API_KEY"})
	sessions := map[string]string{}
	for _, token := range []string{"token-of-one", "token-of-two"} {
		a := r.do(http.MethodPost, "", initialize, bearer(token))
		if a.Status != 200 {
			t.Fatalf("initialize: %+v", a)
		}
		sessions[token] = a.Session
	}
	for token, session := range sessions {
		a := r.do(http.MethodPost, session, call("1", "env"), bearer(token))
		if want := fmt.Sprintf(`["A=1","API_KEY=%s"]`, token); text(t, a) != want {
			t.Errorf("got %s, want %s", text(t, a), want)
		}
	}
	// A session is nobody's but whose credential opened it.
	for name, change := range map[string][]func(*http.Request){
		"none": nil, "another": {bearer("token-of-two")},
		"another scheme": {func(req *http.Request) { req.Header.Set("Authorization", "Basic token-of-one") }},
	} {
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
			if a := r.do(method, sessions["token-of-one"], call("1", "env"), change...); a.Status != http.StatusNotFound {
				t.Errorf("%s with the credential %s: %+v", method, name, a)
			}
		}
	}
	if strings.Contains(r.log.String(), "token-of") {
		t.Errorf("the log shows a credential: %s", r.log)
	}
}

func TestCredentialIsRequired(t *testing.T) {
	r := start(t, Options{Command: helper(t, "plain"), CredentialEnv: "API_KEY"})
	for name, change := range map[string]func(*http.Request){
		"none":     func(*http.Request) {},
		"basic":    func(req *http.Request) { req.SetBasicAuth("user", "canary") },
		"empty":    bearer(" "),
		"two":      func(req *http.Request) { req.Header["Authorization"] = []string{"Bearer a", "Bearer canary"} },
		"too long": bearer(strings.Repeat("c", maxCredential+1)),
	} {
		a := r.do(http.MethodPost, "", initialize, change)
		if a.Status != http.StatusUnauthorized || strings.Contains(a.Body, "canary") {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

// Secrets of the environment are in no log, whatever the server prints, and what is no secret may be.
func TestSecretsAreBlackedOut(t *testing.T) {
	var out safeBuffer
	r := start(t, Options{
		Command: helper(t, "plain"), Stderr: &out,
		Env: []string{"API_KEY=canary-7f3a"}, CredentialEnv: "OTHER",
	})
	a := r.do(http.MethodPost, "", initialize, bearer("canary-7f3a-long"))
	if a.Status != 200 {
		t.Fatalf("initialize: %+v", a)
	}
	a = r.do(http.MethodPost, a.Session, call("1", "fail"), bearer("canary-7f3a-long"))
	if want := `the last line of its standard error is \"cannot go on with [redacted]\"`; a.Status != http.StatusBadGateway || !strings.Contains(a.Body, want) {
		t.Errorf("got %+v, want %s", a, want)
	}
	// N1: what the process last said is kept when it ends by itself.
	eventually(t, "the log holds its last words", func() bool {
		return strings.Contains(r.log.String(), `stderr="[cannot go on with [redacted]]"`)
	})
	if got := out.String(); got != "cannot go on with [redacted]\n" {
		t.Errorf("standard error is passed on as %q", got)
	}
}

func TestRedactor(t *testing.T) {
	secrets := newRedactor([]string{"KEY=secret", "LONGER=secret-and-more", "SHORT=abc", "DIR=/srv/data", "EMPTY="}, []string{"DIR"})
	got := secrets.redact("secret secret-and-more abc /srv/data")
	if want := "[redacted] [redacted] abc /srv/data"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The last lines are kept, each in one line and bounded.
func TestTail(t *testing.T) {
	var out safeBuffer
	kept := &tail{out: &out, secrets: newRedactor(nil, nil)}
	var want []string
	for i := range maxTailLines + 5 {
		line := fmt.Sprint("line ", i)
		if _, err := kept.Write([]byte(line + "\n")); err != nil {
			t.Fatal(err)
		}
		want = append(want, line)
	}
	if diff := cmp.Diff(want[5:], kept.last()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := kept.Write([]byte(strings.Repeat("x", 2*maxTailLine) + "\x1b[31m\n")); err != nil {
		t.Fatal(err)
	}
	lines := kept.last()
	if last := lines[len(lines)-1]; last != strings.Repeat("x", maxTailLine)+"…" {
		t.Errorf("a long line is kept as %q", last)
	}
}

// A server that cannot start is not started again and again: the first failure is free, then the pause grows.
func TestRestartsPause(t *testing.T) {
	var r restarts
	now := time.Unix(1e9, 0)
	one, two := digest{1}, digest{2}
	check := func(when string, of digest, want time.Duration) {
		t.Helper()
		if got, _ := r.pause(of, now); got != want {
			t.Errorf("%s: %s, want %s", when, got, want)
		}
	}
	check("at first", one, 0)
	for i, want := range []time.Duration{0, 1, 2, 4, 8, 16, 32, 60, 60} {
		r.note(one, "broken", now)
		check(fmt.Sprint("after failure ", i+1), one, want*time.Second)
	}
	check("another credential", two, 0)
	now = now.Add(59 * time.Second)
	check("towards the end", one, time.Second)
	now = now.Add(time.Second)
	check("at the end", one, 0)
	if _, why := r.pause(one, now); why != "broken" {
		t.Errorf("the reason is %q", why)
	}
	r.note(one, "", now)
	r.note(one, "broken", now)
	check("the first failure after a success", one, 0)
}

func TestRestartsAreBounded(t *testing.T) {
	var r restarts
	now := time.Unix(1e9, 0)
	for i := range 10 * maxPauses {
		r.note(digest{byte(i), byte(i >> 8)}, "broken", now.Add(time.Duration(i)*time.Millisecond))
	}
	if len(r.failed) > maxPauses {
		t.Errorf("%d credentials are remembered, want at most %d", len(r.failed), maxPauses)
	}
}

func TestServerThatCannotStartIsPaused(t *testing.T) {
	for _, shared := range []bool{false, true} {
		t.Run(fmt.Sprint("shared ", shared), func(t *testing.T) {
			r := start(t, Options{Command: helper(t, "cannot-start"), Shared: shared})
			var last answer
			eventually(t, "it is not started any more", func() bool {
				last = r.post("", initialize)
				return last.Status == http.StatusServiceUnavailable
			})
			if want := "is tried again after a pause: the server process ended: exit status 4; the last line of its standard error is"; !strings.Contains(last.Body, want) {
				t.Errorf("got %s, want %s", last.Body, want)
			}
		})
	}
}

func TestPauseIsToldToClients(t *testing.T) {
	w := httptest.NewRecorder()
	refuseOpen(w, &pausedError{wait: 1500 * time.Millisecond, why: "broken"})
	if got := w.Header().Get("Retry-After"); got != "2" {
		t.Errorf("Retry-After is %q, want 2", got)
	}
}
