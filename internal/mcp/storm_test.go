package mcp

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"remit.dev/remit/internal/egress"
)

// grants is how many tenants fall upon one server at the start of the operator.
const grants = 500

// crowd is one server, the tenants' way to it, and what was seen of both.
type crowd struct {
	*fake
	client *Client
	// connections that were opened, and the most handshakes that were in flight.
	connections, most atomic.Int64
}

func newCrowd(tb testing.TB) *crowd {
	tb.Helper()
	c := &crowd{fake: &fake{tools: `[]`, sessions: map[string]bool{}}}
	var now atomic.Int64
	var once sync.Once
	full := make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(c.serve))
	c.on = func(w http.ResponseWriter, _ *http.Request, m request) bool {
		if m.Method != "initialize" {
			return false
		}
		n := now.Add(1)
		for most := c.most.Load(); n > most && !c.most.CompareAndSwap(most, n); most = c.most.Load() {
		}
		if n == maxHandshakes {
			once.Do(func() { close(full) })
		}
		<-full // which no handshake gets beyond before there are as many as there may be
		c.answer(w, m)
		now.Add(-1)
		return true
	}
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			c.connections.Add(1)
		}
	}
	server.Start()
	c.Server = server
	guard := egress.New(egress.Options{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	c.client = NewClient(Options{TransportFor: func(t Target) http.RoundTripper {
		return guard.Transport(egress.Scope{Tenant: t.Namespace})
	}})
	tb.Cleanup(func() {
		c.client.Close()
		guard.CloseIdleConnections()
		server.Close()
	})
	return c
}

// storm lets callers of every Grant call at one time.
func (c *crowd) storm(tb testing.TB, callers int) {
	tb.Helper()
	var calls sync.WaitGroup
	begin := make(chan struct{})
	for grant := range grants {
		target := c.target()
		target.Namespace = fmt.Sprint("team-", grant)
		target.Credential = Credential{"Authorization", fmt.Sprint("Bearer ", grant)}
		for range callers {
			calls.Go(func() {
				<-begin
				if _, err := c.client.Call(tb.Context(), target, "tool", nil, CallOptions{}); err != nil {
					tb.Error(err)
				}
			})
		}
	}
	close(begin)
	calls.Wait()
}

// E5, E16, issue 4: many Grants on one server at the start make one handshake each, a bounded number of them at
// one time, and no more connections than there are calls in flight.
func TestConnectionStorm(t *testing.T) {
	c := newCrowd(t)
	c.storm(t, 2)
	if n := c.count("initialize"); n != grants {
		t.Errorf("%d handshakes for %d Grants", n, grants)
	}
	if n := c.most.Load(); n != maxHandshakes {
		t.Errorf("%d handshakes were in flight, want %d", n, maxHandshakes)
	}
	if n := c.connections.Load(); n < grants || n > 2*grants {
		t.Errorf("%d connections for %d Grants with 2 calls each", n, grants)
	}
	t.Logf("%d connections, at most %d handshakes at one time", c.connections.Load(), c.most.Load())
	if n := len(c.client.pool.doors.of); n != 0 {
		t.Errorf("%d doors are kept", n)
	}
}

// A handshake that waits for its turn is not made for callers who have left, and one server's queue holds up
// no other server.
func TestQueueForHandshakes(t *testing.T) {
	slow, fast := newFake(t), newFake(t)
	release := make(chan struct{})
	begun := make(chan struct{}, maxHandshakes)
	slow.on = func(_ http.ResponseWriter, _ *http.Request, m request) bool {
		if m.Method == "initialize" && !strings.HasPrefix(m.auth, "Bearer late") {
			begun <- struct{}{}
			<-release
		}
		return false
	}
	c := newTestClient(t, Options{})
	of := func(server *fake, name, token string) Target {
		target := server.target()
		target.Server, target.Credential = name, Credential{"Authorization", "Bearer " + token}
		return target
	}
	var calls sync.WaitGroup
	for i := range maxHandshakes {
		calls.Go(func() {
			if _, err := c.Call(t.Context(), of(slow, "catalogue/slow", fmt.Sprint(i)), "tool", nil, CallOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	for range maxHandshakes {
		<-begun
	}
	if _, err := c.Call(t.Context(), of(fast, "catalogue/fast", "x"), "tool", nil, CallOptions{}); err != nil {
		t.Errorf("another server: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	late := of(slow, "catalogue/slow", "late")
	given := make(chan error, 1)
	go func() {
		_, err := c.Call(ctx, late, "tool", nil, CallOptions{})
		given <- err
	}()
	eventually(t, "the late caller waits", func() bool { return c.Stats().Sessions == maxHandshakes+2 })
	cancel()
	if err := <-given; kindOf(err) != Canceled {
		t.Errorf("the late caller: %v, want Canceled", err)
	}
	close(release)
	calls.Wait()
	eventually(t, "the pool forgets the late caller", func() bool { return c.Stats().Sessions == maxHandshakes+1 })
	if n := slow.count("initialize"); n != maxHandshakes {
		t.Errorf("%d handshakes, want %d: nobody waited for one more", n, maxHandshakes)
	}
	if _, err := c.Call(t.Context(), late, "tool", nil, CallOptions{}); err != nil {
		t.Errorf("when he comes back: %v", err)
	}
}

// BenchmarkConnectionStorm is one call of each of 500 Grants at one time, handshakes included.
func BenchmarkConnectionStorm(b *testing.B) {
	var connections, handshakes int64
	for b.Loop() {
		b.StopTimer()
		c := newCrowd(b)
		b.StartTimer()
		c.storm(b, 1)
		connections += c.connections.Load()
		handshakes += int64(c.count("initialize"))
	}
	b.ReportMetric(float64(connections)/float64(b.N), "connections/op")
	b.ReportMetric(float64(handshakes)/float64(b.N), "handshakes/op")
}

// BenchmarkIdleSession measures what a pooled session costs that nobody uses, its connections closed: bytes of
// heap and of stacks, and goroutines.
func BenchmarkIdleSession(b *testing.B) {
	const count = 1000
	for b.Loop() {
		server := httptest.NewServer(nil)
		f := &fake{Server: server, tools: `[]`, sessions: map[string]bool{}}
		server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			f.serve(w, r)
			f.mu.Lock()
			f.got = nil // the server's memory is not what is measured
			f.mu.Unlock()
		})
		transport := &http.Transport{}
		c := NewClient(Options{HTTPTransport: transport, MaxSessions: count})
		heap, goroutines := inUse()
		for i := range count {
			target := f.target()
			target.Namespace = fmt.Sprint("team-", i)
			if _, err := c.Call(b.Context(), target, "tool", nil, CallOptions{}); err != nil {
				b.Fatal(err)
			}
		}
		transport.CloseIdleConnections()
		after, left := inUse()
		b.ReportMetric(float64(after-heap)/count, "B/session")
		b.ReportMetric(float64(left-goroutines)/count, "goroutines/session")
		c.Close()
		server.Close()
	}
}

// inUse is the memory of what is reachable, stacks included, and the number of goroutines.
func inUse() (bytes int64, goroutines int) {
	var stats runtime.MemStats
	for range 3 { // finalizers, and what only they held
		runtime.GC()
	}
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc + stats.StackInuse), runtime.NumGoroutine()
}
