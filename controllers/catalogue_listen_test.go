// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"

	"remit.dev/remit/internal/mcp"
)

// fakeListen stands in for the client: it notes who is listened to, and lets a test say something or end it.
type fakeListen struct {
	mu       sync.Mutex
	sessions map[string]int // those now, by the URL of the target
	begun    chan string
	fail     chan struct{} // ends one session
	say      chan struct{}
}

func newFakeListen() *fakeListen {
	return &fakeListen{sessions: map[string]int{}, begun: make(chan string, 2*maxListeners), fail: make(chan struct{}), say: make(chan struct{})}
}

func (f *fakeListen) listen(ctx context.Context, target mcp.Target, changed func()) error {
	f.count(target.URL, 1)
	defer f.count(target.URL, -1)
	f.begun <- target.URL
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-f.fail:
			return errors.New("refused")
		case <-f.say:
			changed()
		}
	}
}

func (f *fakeListen) count(url string, by int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sessions[url] += by
}

func (f *fakeListen) now(url string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.sessions[url]
}

func startListeners(t *testing.T, f *fakeListen) *listeners {
	t.Helper()
	l := newListeners(f.listen, time.Now)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		for url, sessions := range f.sessions {
			if sessions != 0 {
				t.Errorf("%s is still listened to", url)
			}
		}
	})
	return l
}

func named(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "ns", Name: name}
}

func at(url string) mcp.Target { return mcp.Target{Namespace: "ns", Server: "ns/desk", URL: url} }

func awaitBegun(t *testing.T, f *fakeListen, want string) {
	t.Helper()
	select {
	case got := <-f.begun:
		if got != want {
			t.Errorf("listens to %s, want %s", got, want)
		}
	case <-time.After(10 * time.Second):
		t.Fatalf("%s is not listened to", want)
	}
}

// A server has one session, however often it is discovered; one for another target takes its place, and none
// is left when it is dropped.
func TestListenersKeepOneSessionAServer(t *testing.T) {
	f := newFakeListen()
	l := startListeners(t, f)
	for range 3 {
		if !l.keep(named("desk"), at("http://one")) {
			t.Fatal("not listened to")
		}
	}
	awaitBegun(t, f, "http://one")
	changed := at("http://one")
	changed.Credential = mcp.Credential{Header: "Authorization", Value: "Bearer new"}
	for _, target := range []mcp.Target{at("http://two"), at("http://one"), changed} {
		l.keep(named("desk"), target)
		awaitBegun(t, f, target.URL)
	}
	l.drop(named("desk"))
	l.drop(named("desk"))
	deadline := time.After(10 * time.Second)
	for f.now("http://one")+f.now("http://two") > 0 {
		select {
		case <-deadline:
			t.Fatal("dropped, and still listened to")
		case <-time.After(time.Millisecond):
		}
	}
	if len(f.begun) > 0 {
		t.Errorf("one session too many, with %s", <-f.begun)
	}
}

// A session that ends is followed by another one, later.
func TestListenersListenAgain(t *testing.T) {
	f := newFakeListen()
	l := startListeners(t, f)
	l.keep(named("desk"), at("http://one"))
	awaitBegun(t, f, "http://one")
	f.fail <- struct{}{}
	awaitBegun(t, f, "http://one")
}

// The delays grow to their bound and stay there.
func TestListenBackoff(t *testing.T) {
	backoff := newListenBackoff()
	last := time.Duration(0)
	for range 20 {
		step := backoff.Step()
		if step < minListenRetry || step > maxListenRetry*3/2 {
			t.Errorf("a delay of %s", step)
		}
		last = step
	}
	if last < maxListenRetry {
		t.Errorf("the delay stays at %s", last)
	}
}

// Servers beyond the bound are not listened to until there is room.
func TestListenersAreBounded(t *testing.T) {
	f := newFakeListen()
	l := startListeners(t, f)
	for i := range maxListeners {
		if !l.keep(named(fmt.Sprint(i)), at(fmt.Sprint("http://", i))) {
			t.Fatalf("server %d is not listened to", i)
		}
	}
	if l.keep(named("late"), at("http://late")) {
		t.Error("one server too many is listened to")
	}
	if !l.keep(named("7"), at("http://7")) {
		t.Error("one that is listened to is not any more")
	}
	l.drop(named("7"))
	if !l.keep(named("late"), at("http://late")) {
		t.Error("the room is not used")
	}
}

// What a server says puts it into the queue once, after a moment, however often it says so.
func TestListenersHaveTheServerAsked(t *testing.T) {
	f := newFakeListen()
	l := startListeners(t, f)
	queue := &delays{}
	if err := l.source().Start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	l.keep(named("desk"), at("http://one"))
	awaitBegun(t, f, "http://one")
	f.say <- struct{}{}
	f.say <- struct{}{}
	f.fail <- struct{}{} // so that the second is through
	queue.mu.Lock()
	defer queue.mu.Unlock()
	for _, added := range queue.added {
		if added.after != settle || added.request.NamespacedName != named("desk") {
			t.Errorf("queued %+v", added)
		}
	}
	if len(queue.added) != 2 {
		t.Errorf("queued %d times; the queue makes one of two", len(queue.added))
	}
}

// delays notes what is queued for later.
type delays struct {
	workqueue.TypedRateLimitingInterface[ctrl.Request]
	mu    sync.Mutex
	added []delayed
}

type delayed struct {
	request ctrl.Request
	after   time.Duration
}

func (d *delays) AddAfter(request ctrl.Request, after time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.added = append(d.added, delayed{request, after})
}
