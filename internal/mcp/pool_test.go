package mcp

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// E1–E4: two tenants of one URL, each with a credential that rotates all the while. The server records the
// credential of every request of every session; no session ever sees two, and no call goes out under
// another tenant's or an older credential than the one it was made with.
func TestTenantsNeverShareASession(t *testing.T) {
	server := newFake(t)
	c := newTestClient(t, Options{})
	var calls sync.WaitGroup
	for _, tenant := range []string{"red", "blue"} {
		for worker := range 64 {
			calls.Go(func() {
				for rotation := range 4 {
					token := fmt.Sprintf("%s-%d", tenant, rotation)
					target := server.target()
					target.Namespace, target.Credential = tenant, Credential{"Authorization", "Bearer " + token}
					args := fmt.Sprintf(`{"token":%q,"worker":%d}`, token, worker)
					if _, err := c.Call(t.Context(), target, "tool", []byte(args), CallOptions{}); err != nil {
						t.Errorf("%s: %v", token, err)
					}
				}
			})
		}
	}
	calls.Wait()
	owner := map[string]string{}
	for _, m := range server.requests("tools/call") {
		token := strings.TrimPrefix(m.auth, "Bearer ")
		if !strings.Contains(string(m.Params), `"`+token+`"`) {
			t.Errorf("a call made with %s was sent under %q", m.Params, token)
		}
		if before, ok := owner[m.session]; ok && before != token {
			t.Errorf("session %s served %s and %s", m.session, before, token)
		}
		owner[m.session] = token
	}
	if n := server.count("initialize"); n != 8 {
		t.Errorf("%d handshakes, want one for each of 8 credentials", n)
	}
}

// E1: the URL and the credential alone do not make a session shared; namespace and server count too.
func TestPoolKey(t *testing.T) {
	server := newFake(t)
	c := newTestClient(t, Options{})
	base := server.target()
	base.Credential = Credential{"Authorization", "Bearer x"}
	namespace, name, credential, header := base, base, base, base
	namespace.Namespace = "other"
	name.Server = "catalogue/other"
	credential.Credential.Value = "Bearer y"
	header.Credential.Header = "X-Api-Key"
	for i, target := range []Target{base, namespace, name, credential, header, base, namespace} {
		if _, err := c.Call(t.Context(), target, "tool", nil, CallOptions{}); err != nil {
			t.Fatal(err)
		}
		if got, expected := server.count("initialize"), min(i+1, 5); got != expected {
			t.Errorf("after target %d: %d sessions, want %d", i, got, expected)
		}
	}
}

// E5: however many callers arrive at once, one handshake is made.
func TestHandshakeIsSingleFlight(t *testing.T) {
	server := newFake(t)
	gate := make(chan struct{})
	server.on = func(_ http.ResponseWriter, _ *http.Request, m request) bool {
		if m.Method == "initialize" {
			<-gate
		}
		return false
	}
	c := newTestClient(t, Options{})
	var calls sync.WaitGroup
	for range 32 {
		calls.Go(func() {
			if _, err := c.Call(t.Context(), server.target(), "tool", nil, CallOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	eventually(t, "all callers wait", func() bool { return waiters(c) == 32 })
	close(gate)
	calls.Wait()
	if n := server.count("initialize"); n != 1 {
		t.Errorf("%d handshakes, want 1", n)
	}
}

// waiters is how many callers use the only entry of the pool, the opener apart.
func waiters(c *Client) int {
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	n := 0
	for e := range c.pool.live {
		n += e.refs - 1
	}
	return n
}

// E7: a session that many calls find stale at one time is replaced by one handshake.
func TestStaleSessionIsReplacedOnce(t *testing.T) {
	const callers = 16
	server := newFake(t)
	var arrived sync.WaitGroup
	arrived.Add(callers)
	server.on = func(w http.ResponseWriter, _ *http.Request, m request) bool {
		if m.Method != "tools/call" || m.session != "s1" || strings.Contains(string(m.Params), "first") {
			return false
		}
		arrived.Done()
		arrived.Wait() // all of them were sent on the stale session
		http.NotFound(w, nil)
		return true
	}
	c := newTestClient(t, Options{})
	if _, err := c.Call(t.Context(), server.target(), "first", nil, CallOptions{}); err != nil {
		t.Fatal(err)
	}
	var calls sync.WaitGroup
	for range callers {
		calls.Go(func() {
			if _, err := c.Call(t.Context(), server.target(), "tool", nil, CallOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	if n := server.count("initialize"); n != 2 {
		t.Errorf("%d handshakes, want 2", n)
	}
	if n := server.deletions(); n != 0 {
		t.Errorf("%d DELETE for sessions that the server had said it does not know", n)
	}
}

// E16: the pool stays within its size, and what leaves it is closed with a DELETE.
func TestPoolIsBounded(t *testing.T) {
	server := newFake(t)
	c := newTestClient(t, Options{MaxSessions: 4})
	for i := range 20 {
		target := server.target()
		target.Namespace = fmt.Sprintf("team-%d", i)
		if _, err := c.Call(t.Context(), target, "tool", nil, CallOptions{}); err != nil {
			t.Fatal(err)
		}
		if n := c.Stats().Sessions; n > 4 {
			t.Fatalf("%d sessions pooled, want at most 4", n)
		}
	}
	eventually(t, "16 sessions deleted", func() bool { return server.deletions() == 16 })
	eventually(t, "nothing is kept of them", func() bool {
		c.pool.mu.Lock()
		defer c.pool.mu.Unlock()
		return len(c.pool.live) == 4
	})
}

// A session that is evicted while a call is in flight serves that call to its end.
func TestEvictionSparesCallsInFlight(t *testing.T) {
	server := newFake(t)
	arrived, release := make(chan struct{}), make(chan struct{})
	server.on = func(_ http.ResponseWriter, _ *http.Request, m request) bool {
		if strings.Contains(string(m.Params), "slow") {
			close(arrived)
			<-release
		}
		return false
	}
	c := newTestClient(t, Options{MaxSessions: 1})
	done := make(chan error, 1)
	go func() {
		_, err := c.Call(t.Context(), server.target(), "slow", nil, CallOptions{})
		done <- err
	}()
	<-arrived
	other := server.target()
	other.Namespace = "other"
	if _, err := c.Call(t.Context(), other, "tool", nil, CallOptions{}); err != nil {
		t.Fatal(err)
	}
	if n := server.deletions(); n != 0 {
		t.Errorf("a session in use was deleted")
	}
	close(release)
	if err := <-done; err != nil {
		t.Errorf("the call in flight: %v", err)
	}
	eventually(t, "the evicted session is deleted once it is free", func() bool { return server.deletions() == 1 })
}

// E8 from the other side: an idle session goes, one in use or used lately stays.
func TestIdleSessionsAreEvicted(t *testing.T) {
	var clock atomic.Int64
	server := newFake(t)
	c := newTestClient(t, Options{IdleTimeout: time.Minute, Now: func() time.Time { return time.Unix(clock.Load(), 0) }})
	for i, namespace := range []string{"old", "new"} {
		clock.Store(int64(40 * i))
		target := server.target()
		target.Namespace = namespace
		if _, err := c.Call(t.Context(), target, "tool", nil, CallOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct{ at, left int64 }{{59, 2}, {60, 1}, {99, 1}, {100, 0}} {
		clock.Store(step.at)
		c.pool.sweep()
		if n := c.Stats().Sessions; int64(n) != step.left {
			t.Errorf("after %d s: %d sessions, want %d", step.at, n, step.left)
		}
	}
}

// An MCPServer that moves, or gets other headers, is reached there by the next call.
func TestChangedEndpointReplacesTheSession(t *testing.T) {
	before, after := newFake(t), newFake(t)
	c := newTestClient(t, Options{})
	targets := []Target{before.target(), after.target(), after.target()}
	targets[2].Headers = map[string]string{"X-Region": "eu"}
	for _, target := range targets {
		if _, err := c.Call(t.Context(), target, "tool", nil, CallOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if b, a := before.count("tools/call"), after.count("tools/call"); b != 1 || a != 2 {
		t.Errorf("%d calls at the old place and %d at the new one, want 1 and 2", b, a)
	}
	if last := after.requests("tools/call")[1]; last.header.Get("X-Region") != "eu" {
		t.Errorf("the new header was not sent")
	}
	if n := c.Stats().Sessions; n != 1 {
		t.Errorf("%d sessions pooled, want 1", n)
	}
}

// Closing ends what is pooled and what is in flight, against a server that answers nothing as well.
func TestClose(t *testing.T) {
	server := newFake(t)
	arrived := make(chan struct{})
	server.on = func(_ http.ResponseWriter, r *http.Request, m request) bool {
		if m.Method == "tools/call" {
			close(arrived)
			<-r.Context().Done()
		}
		return m.Method == "tools/call"
	}
	c := newTestClient(t, Options{})
	done := make(chan error, 1)
	go func() {
		_, err := c.Call(t.Context(), server.target(), "tool", nil, CallOptions{})
		done <- err
	}()
	<-arrived
	c.Close()
	if err := <-done; kindOf(err) != OutcomeUnknown {
		t.Errorf("the call in flight: %v, want OutcomeUnknown", err)
	}
	if _, err := c.Discover(t.Context(), server.target()); kindOf(err) != Closed {
		t.Errorf("after Close: %v, want Closed", err)
	}
	c.Close() // twice does no harm
}

// A server that swallows the DELETE of a session holds up neither other calls nor the end of the client.
func TestServerThatSwallowsDeletes(t *testing.T) {
	server := newFake(t)
	arrived, release := make(chan struct{}, 8), make(chan struct{})
	inner := server.Config.Handler
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			arrived <- struct{}{}
			<-release
		}
		inner.ServeHTTP(w, r)
	})
	t.Cleanup(func() { close(release) })
	c := newTestClient(t, Options{MaxSessions: 1, closeTimeout: 50 * time.Millisecond})
	for _, namespace := range []string{"one", "two"} {
		target := server.target()
		target.Namespace = namespace
		if _, err := c.Call(t.Context(), target, "tool", nil, CallOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	<-arrived
	c.Close()
}

func TestStartClosesWithItsContext(t *testing.T) {
	server := newFake(t)
	c := newTestClient(t, Options{})
	if _, err := c.Call(t.Context(), server.target(), "tool", nil, CallOptions{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if n := server.deletions(); n != 1 {
		t.Errorf("%d sessions deleted, want 1", n)
	}
}

// A failed handshake is not remembered: the next call tries again.
func TestFailedHandshakeIsNotPooled(t *testing.T) {
	server := newFake(t)
	var down atomic.Bool
	down.Store(true)
	server.on = func(w http.ResponseWriter, _ *http.Request, _ request) bool {
		if down.Load() {
			http.Error(w, "starting", http.StatusServiceUnavailable)
		}
		return down.Load()
	}
	c := newTestClient(t, Options{})
	if _, err := c.Call(t.Context(), server.target(), "tool", nil, CallOptions{}); kindOf(err) != Unreachable {
		t.Errorf("while it starts: %v, want Unreachable", err)
	}
	down.Store(false)
	if _, err := c.Call(t.Context(), server.target(), "tool", nil, CallOptions{}); err != nil {
		t.Errorf("once it is up: %v", err)
	}
}
