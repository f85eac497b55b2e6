// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"golang.org/x/sync/singleflight"
)

const (
	// maxTokens bounds the access tokens that are held; the one used least recently goes.
	maxTokens = 1024
	// idleTokens is how long a token is held without use.
	idleTokens = 15 * time.Minute
	// earlyTokens is how long before its end a token counts as expired: a call has to
	// arrive with it.
	earlyTokens = 30 * time.Second
	// plainTokens is how long a token is held that comes without a lifetime, which RFC
	// 6749 section 5.1 only recommends to send.
	plainTokens = 5 * time.Minute
	// renewTokens is how long a token that replaced a refused one is not replaced again: a
	// server that refuses every token must not make a request for each call.
	renewTokens = 10 * time.Second
)

// issued is an access token as its endpoint gave it. A lifetime of 0 is not known.
type issued struct {
	value    string
	lifetime time.Duration
}

// heldToken is an access token in memory.
type heldToken struct {
	value string
	until time.Time
	used  time.Time
	// renewed is when it took the place of a refused one; zero for any other.
	renewed time.Time
}

// tokens holds access tokens. The key of each is a digest of everything that its request
// depends on, the client's secret included.
type tokens struct {
	now    func() time.Time
	asking singleflight.Group

	mu   sync.Mutex
	held *simplelru.LRU[string, *heldToken]

	requests, failures atomic.Int64
}

func newTokens(now func() time.Time) *tokens {
	held, err := simplelru.NewLRU[string, *heldToken](maxTokens, nil)
	if err != nil {
		panic(err) // the size is a positive constant
	}
	return &tokens{now: now, held: held}
}

// get gives a token that is not the refused one, if one can be had: one that is held, or
// one that ask gets. However many want it, one request is made. A refused token that has
// just been renewed is given again.
func (t *tokens) get(ctx context.Context, key, refused string, ask func(context.Context) (issued, error)) (string, error) {
	if value, ok := t.find(key, refused); ok {
		return value, nil
	}
	answer := t.asking.DoChan(key, func() (any, error) {
		if value, ok := t.find(key, refused); ok { // somebody else's request ended just now
			return value, nil
		}
		return t.request(context.WithoutCancel(ctx), key, refused, ask)
	})
	select {
	case result := <-answer:
		if result.Err != nil {
			return "", result.Err
		}
		return result.Val.(string), nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// find looks among the tokens held.
func (t *tokens) find(key, refused string) (string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	token, ok := t.held.Get(key)
	if !ok || !now.Before(token.until) {
		return "", false
	}
	if token.value == refused && now.Sub(token.renewed) >= renewTokens {
		return "", false
	}
	token.used = now
	return token.value, true
}

func (t *tokens) request(ctx context.Context, key, refused string, ask func(context.Context) (issued, error)) (string, error) {
	t.requests.Add(1)
	token, err := ask(ctx)
	if err != nil {
		t.failures.Add(1)
		return "", err
	}
	lifetime := token.lifetime
	if lifetime == 0 {
		lifetime = plainTokens
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	held := &heldToken{value: token.value, until: now.Add(lifetime - min(earlyTokens, lifetime/2)), used: now}
	if refused != "" {
		held.renewed = now
	}
	t.held.Add(key, held)
	t.sweep(now)
	return token.value, nil
}

// sweep drops the tokens that nobody has used for long. They stand at the old end.
func (t *tokens) sweep(now time.Time) {
	for {
		key, token, ok := t.held.GetOldest()
		if !ok || now.Sub(token.used) < idleTokens {
			return
		}
		t.held.Remove(key)
	}
}

func (t *tokens) stats() Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Stats{Tokens: t.held.Len(), TokenRequests: t.requests.Load(), TokenFailures: t.failures.Load()}
}
