// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// errBrokenOff is the cause of a context that ends because somebody cancelled or
// deleted the Run whose step it belongs to.
var errBrokenOff = errors.New("the Run was cancelled or deleted")

// inflight knows the steps that are being taken, so that a cancelled Run does not
// wait for its model. It is bounded by the number of workers.
type inflight struct {
	mu    sync.Mutex
	steps map[types.UID]context.CancelCauseFunc
}

func newInflight() *inflight {
	return &inflight{steps: map[types.UID]context.CancelCauseFunc{}}
}

func (f *inflight) begin(ctx context.Context, uid types.UID) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.steps[uid] = cancel
	return ctx, func() {
		f.mu.Lock()
		delete(f.steps, uid)
		f.mu.Unlock()
		cancel(nil)
	}
}

// breakOff ends the context of the step that a Run is taking, if it is.
func (f *inflight) breakOff(uid types.UID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if cancel := f.steps[uid]; cancel != nil {
		cancel(errBrokenOff)
	}
}

func (f *inflight) broken(ctx context.Context) bool {
	return errors.Is(context.Cause(ctx), errBrokenOff)
}
