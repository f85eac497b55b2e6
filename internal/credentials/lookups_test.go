// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
)

// E4, E5: what a caller gets was read after he asked. The value is a number that grows; each
// caller notes what it was when he asked.
func TestLookupsAreFresh(t *testing.T) {
	const callers, rounds = 64, 20
	var (
		group   lookups[string, int64]
		current atomic.Int64
		asking  sync.WaitGroup
	)
	for range callers {
		asking.Go(func() {
			for range rounds {
				asked := current.Add(1)
				got, err := group.do(t.Context(), "key", func(context.Context) (int64, error) {
					return current.Load(), nil
				})
				if err != nil || got < asked {
					t.Errorf("asked when the value was %d, and got %d, %v", asked, got, err)
				}
			}
		})
	}
	asking.Wait()
	if len(group.busy) != 0 {
		t.Errorf("%d keys are kept", len(group.busy))
	}
}

// Everybody who asks during a lookup waits for one more, however many they are.
func TestLookupsCoalesce(t *testing.T) {
	const callers = 32
	var group lookups[string, int64]
	var made atomic.Int64
	begun, release := make(chan struct{}), make(chan struct{})
	look := func(context.Context) (int64, error) {
		n := made.Add(1)
		if n == 1 {
			close(begun)
			<-release
		}
		return n, nil
	}
	var asking sync.WaitGroup
	asking.Go(func() {
		if got, err := group.do(t.Context(), "key", look); got != 1 || err != nil {
			t.Errorf("the first caller got %d, %v", got, err)
		}
	})
	<-begun
	joined := make(chan *lookup[int64], callers)
	for range callers {
		joined <- group.join(t.Context(), "key", look)
	}
	close(release)
	asking.Wait()
	for range callers {
		next := <-joined
		if <-next.done; next.value != 2 {
			t.Errorf("a caller got lookup %d, want 2", next.value)
		}
	}
	if made.Load() != 2 {
		t.Errorf("%d lookups, want 2", made.Load())
	}
}

// One key's lookup holds up no other's, and a caller who gives up holds up nobody.
func TestLookupsAreApart(t *testing.T) {
	var group lookups[string, string]
	release := make(chan struct{})
	begun := make(chan struct{}, 2)
	ctx, cancel := context.WithCancel(t.Context())
	given := make(chan error, 1)
	go func() {
		_, err := group.do(ctx, "slow", func(ctx context.Context) (string, error) {
			begun <- struct{}{}
			<-release
			return "late", ctx.Err()
		})
		given <- err
	}()
	<-begun
	for i := range 3 {
		key := fmt.Sprint(i)
		if got, err := group.do(t.Context(), key, func(context.Context) (string, error) { return key, nil }); got != key || err != nil {
			t.Errorf("%s: %q, %v", key, got, err)
		}
	}
	late := group.join(t.Context(), "slow", nil)
	cancel()
	if err := <-given; !errors.Is(err, context.Canceled) {
		t.Errorf("the caller who gave up: %v", err)
	}
	close(release)
	<-late.done // by the function of the first caller, whose end it does not share
	if late.value != "late" || late.err != nil {
		t.Errorf("the caller who waited: %q, %v", late.value, late.err)
	}
}

func TestLookupsGiveTheError(t *testing.T) {
	var group lookups[string, string]
	boom := errors.New("boom")
	if _, err := group.do(t.Context(), "key", func(context.Context) (string, error) { return "", boom }); !errors.Is(err, boom) {
		t.Errorf("got %v", err)
	}
}
