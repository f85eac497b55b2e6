// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// mint is a token endpoint without a network: each request gives the next token.
type mint struct {
	lifetime time.Duration
	requests int
	err      error
}

func (m *mint) ask(context.Context) (issued, error) {
	m.requests++
	return issued{fmt.Sprint("token-", m.requests), m.lifetime}, m.err
}

// newTestTokens has a clock that the test sets, in seconds.
func newTestTokens() (*tokens, *atomic.Int64) {
	clock := &atomic.Int64{}
	return newTokens(func() time.Time { return time.Unix(1_700_000_000+clock.Load(), 0) }), clock
}

// A token is given as long as it lives, and half a minute before its end another one is had.
func TestTokensExpire(t *testing.T) {
	for name, row := range map[string]struct {
		lifetime time.Duration
		// until is the second in which the first token is given for the last time.
		until int64
	}{
		"an hour":                 {time.Hour, 3569},
		"two minutes":             {2 * time.Minute, 89},
		"shorter than the margin": {20 * time.Second, 9},
		"not known":               {0, 269},
	} {
		t.Run(name, func(t *testing.T) {
			held, clock := newTestTokens()
			endpoint := &mint{lifetime: row.lifetime}
			for _, step := range []struct {
				at   int64
				want string
			}{{0, "token-1"}, {row.until, "token-1"}, {row.until + 1, "token-2"}} {
				clock.Store(step.at)
				if got, err := held.get(t.Context(), "key", "", endpoint.ask); got != step.want || err != nil {
					t.Errorf("after %d s: %q, %v, want %q", step.at, got, err, step.want)
				}
			}
		})
	}
}

// E10, E11: a refused token is replaced once, and what replaced it is not replaced again at
// once, so that a server that refuses everything costs no request a call.
func TestRefusedTokens(t *testing.T) {
	held, clock := newTestTokens()
	endpoint := &mint{lifetime: time.Hour}
	for i, step := range []struct {
		at       int64
		refused  string
		want     string
		requests int
	}{
		{0, "", "token-1", 1},
		{0, "token-1", "token-2", 2},  // however young it is
		{0, "token-1", "token-2", 2},  // somebody else was faster
		{9, "token-2", "token-2", 2},  // just renewed: there is no better one
		{10, "token-2", "token-3", 3}, // but now
		{10, "", "token-3", 3},
		{15, "token-3", "token-3", 3},
		{20, "another", "token-3", 3}, // of a Secret before this one
	} {
		clock.Store(step.at)
		got, err := held.get(t.Context(), "key", step.refused, endpoint.ask)
		if got != step.want || err != nil || endpoint.requests != step.requests {
			t.Errorf("step %d: %q, %v after %d requests, want %q after %d", i, got, err, endpoint.requests, step.want, step.requests)
		}
	}
}

// A request that fails is not remembered, and leaves the token that there is.
func TestFailedTokenRequests(t *testing.T) {
	held, _ := newTestTokens()
	down := errors.New("down")
	endpoint := &mint{lifetime: time.Hour, err: down}
	if _, err := held.get(t.Context(), "key", "", endpoint.ask); !errors.Is(err, down) {
		t.Errorf("got %v", err)
	}
	endpoint.err = nil
	if got, err := held.get(t.Context(), "key", "", endpoint.ask); got != "token-2" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	endpoint.err = down
	if _, err := held.get(t.Context(), "key", "token-2", endpoint.ask); !errors.Is(err, down) {
		t.Errorf("got %v", err)
	}
	if got, err := held.get(t.Context(), "key", "", endpoint.ask); got != "token-2" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if got, want := held.stats(), (Stats{Tokens: 1, TokenRequests: 3, TokenFailures: 2}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// E5: however many callers want a token, one request is made.
func TestTokenRequestsAreSingleFlight(t *testing.T) {
	held, _ := newTestTokens()
	var requests atomic.Int64
	release := make(chan struct{})
	ask := func(context.Context) (issued, error) {
		n := requests.Add(1)
		<-release
		return issued{fmt.Sprint("token-", n), time.Hour}, nil
	}
	for _, refused := range []string{"", "token-1"} {
		var asking, started sync.WaitGroup
		for range 64 {
			started.Add(1)
			asking.Go(func() {
				started.Done()
				if _, err := held.get(t.Context(), "key", refused, ask); err != nil {
					t.Error(err)
				}
			})
		}
		started.Wait()
		release <- struct{}{}
		asking.Wait()
	}
	if requests.Load() != 2 {
		t.Errorf("%d requests, want one for each of two tokens", requests.Load())
	}
}

// A caller who gives up does not end the request that others wait for.
func TestTokenRequestOutlivesItsCaller(t *testing.T) {
	held, _ := newTestTokens()
	begun, release := make(chan struct{}), make(chan struct{})
	ask := func(ctx context.Context) (issued, error) {
		close(begun)
		<-release
		return issued{"token", time.Hour}, ctx.Err()
	}
	ctx, cancel := context.WithCancel(t.Context())
	given := make(chan error, 1)
	go func() {
		_, err := held.get(ctx, "key", "", ask)
		given <- err
	}()
	<-begun
	cancel()
	if err := <-given; !errors.Is(err, context.Canceled) {
		t.Errorf("the caller who gave up: %v", err)
	}
	close(release)
	if got, err := held.get(t.Context(), "key", "", ask); got != "token" || err != nil {
		t.Errorf("the next caller: %q, %v", got, err)
	}
}

// E16: tokens are bounded in number, and those that nobody uses go.
func TestTokensAreBounded(t *testing.T) {
	held, clock := newTestTokens()
	endpoint := &mint{lifetime: 24 * time.Hour}
	for i := range maxTokens + 10 {
		if _, err := held.get(t.Context(), fmt.Sprint(i), "", endpoint.ask); err != nil {
			t.Fatal(err)
		}
	}
	if n := held.stats().Tokens; n != maxTokens {
		t.Errorf("%d tokens are held, want %d", n, maxTokens)
	}
	clock.Store(int64(idleTokens.Seconds()) - 1)
	if _, err := held.get(t.Context(), fmt.Sprint(maxTokens), "", endpoint.ask); err != nil { // used
		t.Fatal(err)
	}
	clock.Store(int64(idleTokens.Seconds()))
	if _, err := held.get(t.Context(), "new", "", endpoint.ask); err != nil {
		t.Fatal(err)
	}
	if n := held.stats().Tokens; n != 2 {
		t.Errorf("%d tokens are held, want the new one and the one that is used", n)
	}
}
