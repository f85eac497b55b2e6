// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"fmt"
	"sync"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/engine"
)

// MaxParallel bounds the calls of one message that are made at the same time.
const MaxParallel = 8

// Execute makes the calls of one action and gives their outcomes in the same
// order. Neighbours without effect are made at the same time; a call with an
// effect begins when all before it have ended, and ends before the next begins.
// Each call is made once, and its watermark, if it needs one, is durable already.
func (s *ToolSet) Execute(ctx context.Context, runUID string, calls []engine.Execution) []engine.Outcome {
	outcomes := make([]engine.Outcome, len(calls))
	var running sync.WaitGroup
	slots := make(chan struct{}, MaxParallel)
	for i, execution := range calls {
		if execution.Effect {
			running.Wait()
			outcomes[i] = s.execute(ctx, runUID, execution)
			continue
		}
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			outcomes[i] = s.execute(ctx, runUID, execution)
		})
	}
	running.Wait()
	return outcomes
}

func (s *ToolSet) execute(ctx context.Context, runUID string, execution engine.Execution) (outcome engine.Outcome) {
	j := s.judge(execution.Call)
	if refusal := j.judgement.Refusal; refusal != nil {
		return engine.Outcome{Error: refusal.Kind, Content: refusal.Message}
	}
	timeout := j.tool.Timeout
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	defer func() {
		if fault := recover(); fault != nil {
			outcome = broken(execution, fault)
		}
	}()
	return j.tool.Executor.Execute(ctx, Invocation{
		Arguments:      j.arguments,
		IdempotencyKey: engine.IdempotencyKey(runUID, execution.Call.ID),
		Idempotent:     !execution.Effect,
	})
}

// broken turns a panic of an executor into an outcome: one tool must not take the
// operator and every other Run down with it.
func broken(execution engine.Execution, fault any) engine.Outcome {
	kind := v1alpha1.ErrorTool
	if execution.Effect {
		kind = v1alpha1.ErrorOutcomeUnknown
	}
	return engine.Outcome{Error: kind, Content: fmt.Sprintf("The operator failed to make this call: %v", fault)}
}
