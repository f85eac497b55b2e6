// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"
	"sync"
	"time"
)

// lookupTimeout bounds one lookup, which no caller's own context ends.
const lookupTimeout = 30 * time.Second

// lookups makes one lookup a key at a time (requirement E5). Whoever asks while one is
// under way does not share it, since it may have read before what is looked up changed:
// he shares the next one, with everybody else who waits for it. What is kept of a key ends
// with its last lookup, so that nothing grows (E16).
type lookups[K comparable, V any] struct {
	mu   sync.Mutex
	busy map[K]*waiting[V]
}

// waiting is a key that is being looked up, and the lookup that comes after.
type waiting[V any] struct{ next *lookup[V] }

type lookup[V any] struct {
	done  chan struct{} // closed once value and err are set
	value V
	err   error
}

// do gives the result of a lookup that begins after do was called. It waits no longer than
// ctx.
func (l *lookups[K, V]) do(ctx context.Context, key K, look func(context.Context) (V, error)) (V, error) {
	joined := l.join(ctx, key, look)
	select {
	case <-joined.done:
		return joined.value, joined.err
	case <-ctx.Done():
		var none V
		return none, ctx.Err()
	}
}

func (l *lookups[K, V]) join(ctx context.Context, key K, look func(context.Context) (V, error)) *lookup[V] {
	l.mu.Lock()
	defer l.mu.Unlock()
	if queue, ok := l.busy[key]; ok {
		if queue.next == nil {
			queue.next = &lookup[V]{done: make(chan struct{})}
		}
		return queue.next
	}
	if l.busy == nil {
		l.busy = map[K]*waiting[V]{}
	}
	l.busy[key] = &waiting[V]{}
	first := &lookup[V]{done: make(chan struct{})}
	go l.run(context.WithoutCancel(ctx), key, first, look)
	return first
}

// run makes lookups until nobody waits for another.
func (l *lookups[K, V]) run(ctx context.Context, key K, current *lookup[V], look func(context.Context) (V, error)) {
	for current != nil {
		bounded, cancel := context.WithTimeout(ctx, lookupTimeout)
		current.value, current.err = look(bounded)
		cancel()
		next := l.advance(key)
		close(current.done)
		current = next
	}
}

func (l *lookups[K, V]) advance(key K) *lookup[V] {
	l.mu.Lock()
	defer l.mu.Unlock()
	queue := l.busy[key]
	next := queue.next
	if queue.next = nil; next == nil {
		delete(l.busy, key)
	}
	return next
}
