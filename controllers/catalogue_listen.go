// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"math"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"remit.dev/remit/internal/mcp"
)

const (
	// maxListeners bounds the servers that are listened to. The others are asked at
	// their interval, as all are in any case.
	maxListeners = 256
	// minListenRetry and maxListenRetry bound the delay between two listening
	// sessions with one server; a session of lastingListen was a good one.
	minListenRetry = time.Second
	maxListenRetry = 10 * time.Minute
	lastingListen  = time.Minute
	// settle is how long a server is let finish before it is asked what changed.
	settle = 2 * time.Second
)

// listeners keep a listening session with each server that announces changes of its
// lists, at most one a server. Only the replica that reconciles MCPServers listens. Nil
// listeners listen to nobody.
type listeners struct {
	listen func(context.Context, mcp.Target, func()) error
	now    func() time.Time

	life    context.Context
	end     context.CancelFunc
	running sync.WaitGroup

	mu    sync.Mutex
	to    map[types.NamespacedName]listener
	queue workqueue.TypedRateLimitingInterface[ctrl.Request]
}

// listener is the session with one server.
type listener struct {
	target mcp.Target
	stop   context.CancelFunc
}

func newListeners(listen func(context.Context, mcp.Target, func()) error, now func() time.Time) *listeners {
	life, end := context.WithCancel(context.Background())
	return &listeners{listen: listen, now: now, life: life, end: end, to: map[types.NamespacedName]listener{}}
}

// Start waits until ctx ends, and then for the sessions to end.
func (l *listeners) Start(ctx context.Context) error {
	<-ctx.Done()
	l.mu.Lock()
	l.end()
	l.mu.Unlock()
	l.running.Wait()
	return nil
}

// source tells the listeners which queue to put the servers into that said something.
func (l *listeners) source() source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.queue = queue
		return nil
	})
}

// changed has the server asked soon. However often it says so meanwhile, that is once.
func (l *listeners) changed(server types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.queue != nil {
		l.queue.AddAfter(ctrl.Request{NamespacedName: server}, settle)
	}
}

// keep listens to the server, in the place of a session for another target. It says
// whether it does.
func (l *listeners) keep(server types.NamespacedName, target mcp.Target) bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if kept, ok := l.to[server]; ok {
		if kept.target.Same(target) {
			return true
		}
		l.dropLocked(server)
	}
	if len(l.to) == maxListeners || l.life.Err() != nil {
		return false
	}
	ctx, stop := context.WithCancel(l.life)
	l.to[server] = listener{target: target, stop: stop}
	l.running.Go(func() { l.run(ctx, server, target) })
	return true
}

// drop ends the session with the server, if there is one.
func (l *listeners) drop(server types.NamespacedName) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropLocked(server)
}

func (l *listeners) dropLocked(server types.NamespacedName) {
	if kept, ok := l.to[server]; ok {
		kept.stop()
		delete(l.to, server)
	}
}

// run listens on one session after the other until ctx ends.
func (l *listeners) run(ctx context.Context, server types.NamespacedName, target mcp.Target) {
	backoff := newListenBackoff()
	for {
		began := l.now()
		err := l.listen(ctx, target, func() { l.changed(server) })
		if ctx.Err() != nil {
			return
		}
		if l.now().Sub(began) >= lastingListen {
			backoff = newListenBackoff()
		}
		after := backoff.Step()
		log.FromContext(ctx).V(1).Info("an MCPServer is not listened to", "server", server, "error", err, "retryAfter", after)
		timer := time.NewTimer(after)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

func newListenBackoff() wait.Backoff {
	return wait.Backoff{Duration: minListenRetry, Factor: 2, Jitter: 0.5, Steps: math.MaxInt32, Cap: maxListenRetry}
}
