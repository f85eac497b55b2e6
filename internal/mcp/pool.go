package mcp

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// poolKey is what a session is pooled by (requirement E1). The URL is not part of it: two tenants of one
// URL share nothing.
type poolKey struct {
	namespace  string
	server     string
	credential string // its fingerprint
}

func keyOf(t Target) poolKey {
	return poolKey{namespace: t.Namespace, server: t.Server, credential: t.Credential.Fingerprint()}
}

// entry is a pooled session from the moment somebody asks for it. While it is being opened it is also the
// lock that makes opening it single-flight; there are no locks outside the pool to grow (E5, E16).
type entry struct {
	key      poolKey
	endpoint string

	ready   chan struct{} // closed once session or failure is set
	session *session
	failure *failure // shared: it is copied before it is given away

	// Guarded by the pool's mutex.
	refs     int
	retired  bool // no longer in the pool; closed when the last user is done
	lastUsed time.Time
}

// pool holds the sessions that are not in use and those that are, bounded: beyond its size the least
// recently used one is retired.
type pool struct {
	open  func(context.Context, Target) (*session, *failure)
	doors doors
	now   func() time.Time
	idle  time.Duration
	grace time.Duration // for closing one session
	stats *counters

	base   context.Context // ends with the pool
	cancel context.CancelFunc

	mu      sync.Mutex
	lru     *simplelru.LRU[poolKey, *entry]
	live    map[*entry]struct{} // every entry not yet closed, retired ones included
	closed  bool
	closing chan struct{} // slots for polite closing
	done    sync.WaitGroup
}

func newPool(o Options, stats *counters, open func(context.Context, Target) (*session, *failure)) *pool {
	p := &pool{
		open: open, now: o.Now, idle: o.IdleTimeout, grace: o.closeTimeout, stats: stats,
		live: map[*entry]struct{}{}, closing: make(chan struct{}, maxClosing),
	}
	p.base, p.cancel = context.WithCancel(context.Background())
	p.lru, _ = simplelru.NewLRU(o.MaxSessions, func(_ poolKey, e *entry) { p.retireLocked(e) }) // fails only for a size <= 0
	return p
}

// acquire returns a session for the target, opening one if there is none. However many ask at one time,
// one handshake is made. It waits no longer than ctx; a handshake that has begun goes on without the caller
// and serves the next one. The entry must be released.
func (p *pool) acquire(ctx context.Context, t Target) (*entry, *failure) {
	e, ok := p.join(ctx, t)
	if !ok {
		return nil, clientClosed()
	}
	select {
	case <-e.ready:
	case <-ctx.Done():
		p.release(e)
		return nil, judge(outcome{}, ctx.Err(), t.Credential)
	}
	if e.failure != nil {
		p.release(e)
		f := *e.failure
		return nil, &f
	}
	return e, nil
}

// join finds or creates the entry and counts the caller as a user of it; not so once the pool is closed.
func (p *pool) join(ctx context.Context, t Target) (*entry, bool) {
	key, endpoint := keyOf(t), t.endpoint()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, false
	}
	e, ok := p.lru.Get(key)
	if ok && e.endpoint != endpoint {
		p.lru.Remove(key)
		ok = false
	}
	if !ok {
		e = &entry{key: key, endpoint: endpoint, ready: make(chan struct{}), refs: 1}
		p.live[e] = struct{}{}
		p.lru.Add(key, e)
		go p.fill(context.WithoutCancel(ctx), e, t)
	}
	e.refs++
	return e, true
}

// fill opens the session when it is its turn; it is the first user of the entry.
func (p *pool) fill(ctx context.Context, e *entry, t Target) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(p.base, cancel)
	leave, entered := p.doors.enter(ctx, t.Server)
	if entered {
		if p.wanted(e) {
			p.stats.opened.Add(1)
			e.session, e.failure = p.open(ctx, t)
		}
		leave()
	}
	stop()
	cancel()
	if e.session == nil && p.base.Err() != nil {
		e.failure = clientClosed()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	close(e.ready)
	if e.session == nil {
		p.evictLocked(e)
	}
	p.releaseLocked(e)
}

// wanted says whether anybody still waits for the entry. One that nobody waits for leaves the pool, so that
// the next caller does not get it.
func (p *pool) wanted(e *entry) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.refs == 1 {
		p.evictLocked(e)
		return false
	}
	return true
}

// release ends one use of the entry.
func (p *pool) release(e *entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.releaseLocked(e)
}

func (p *pool) releaseLocked(e *entry) {
	e.refs--
	e.lastUsed = p.now()
	p.disposeLocked(e)
}

// evict takes the entry out of the pool, unless a newer one has already taken its place.
func (p *pool) evict(e *entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.evictLocked(e)
}

func (p *pool) evictLocked(e *entry) {
	if current, ok := p.lru.Peek(e.key); ok && current == e {
		p.lru.Remove(e.key)
	}
}

// sweep retires the sessions that nobody has used for the idle time.
func (p *pool) sweep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	deadline := p.now().Add(-p.idle)
	for _, key := range p.lru.Keys() { // oldest first
		e, _ := p.lru.Peek(key)
		if e.refs == 0 && !e.lastUsed.After(deadline) {
			p.lru.Remove(key)
		}
	}
}

func (p *pool) retireLocked(e *entry) {
	e.retired = true
	p.stats.evicted.Add(1)
	p.disposeLocked(e)
}

// disposeLocked closes a retired entry that nobody uses, in the background.
func (p *pool) disposeLocked(e *entry) {
	if !e.retired || e.refs > 0 {
		return
	}
	delete(p.live, e)
	if e.session == nil {
		return
	}
	if p.closed { // close waits no longer
		e.session.transport.abort()
		go e.session.close(p.grace)
		return
	}
	p.done.Go(func() {
		select {
		case p.closing <- struct{}{}:
			defer func() { <-p.closing }()
		default: // too many at once: the server will forget this one by itself
			e.session.transport.abort()
		}
		e.session.close(p.grace)
	})
}

// close ends every session. Calls in flight fail.
func (p *pool) close() {
	p.mu.Lock()
	if !p.closed {
		p.cancel()
		p.lru.Purge()
		p.closed = true
		for e := range p.live { // still in use
			select {
			case <-e.ready:
				if e.session != nil {
					e.session.transport.abort()
				}
			default:
			}
		}
	}
	p.mu.Unlock()
	p.done.Wait()
}

// size is the number of pooled sessions, those being opened included.
func (p *pool) size() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lru.Len()
}

func clientClosed() *failure { return &failure{kind: Closed, detail: "the client is closed"} }
