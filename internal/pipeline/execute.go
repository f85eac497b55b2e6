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

// Execute makes calls that were prepared and gives their outcomes in the same
// order. Neighbours without effect are made at the same time; a call with an
// effect begins when all before it have ended, and ends before the next begins.
// Each call is made once, and its watermark, if it needs one, is durable already.
func (s *ToolSet) Execute(ctx context.Context, runUID string, calls []engine.Execution) []engine.Outcome {
	outcomes := make([]engine.Outcome, len(calls))
	passages := make([]*passage, len(calls))
	for i, execution := range calls {
		passages[i] = s.judge(ctx, execution.Call)
	}
	var running sync.WaitGroup
	slots := make(chan struct{}, MaxParallel)
	for i, execution := range calls {
		if execution.Effect {
			running.Wait()
			outcomes[i] = passages[i].execute(ctx, runUID, execution)
			continue
		}
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			outcomes[i] = passages[i].execute(ctx, runUID, execution)
		})
	}
	running.Wait()
	return outcomes
}

func (p *passage) execute(ctx context.Context, runUID string, execution engine.Execution) (outcome engine.Outcome) {
	if p.executor == nil {
		return engine.Outcome{Error: v1alpha1.ErrorTool, Content: "The operator did not prepare this call, and it was not made."}
	}
	timeout := p.tool.Timeout
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
	p.reached = v1alpha1.StageExecute
	invocation := Invocation{
		ID:             execution.Call.ID,
		Arguments:      p.arguments,
		IdempotencyKey: engine.IdempotencyKey(runUID, execution.Call.ID),
		Idempotent:     !execution.Effect,
	}
	answer := p.executor.Execute(ctx, invocation)
	p.envelope(ctx, &answer, invocation)
	p.artifact(ctx, &answer)
	p.reached = v1alpha1.StageRecord
	return answer.Outcome
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
