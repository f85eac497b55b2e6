// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/engine"
)

// Preparer is an Executor that resolves a credential first. What Prepare returns
// makes one call; a failure means that nothing was sent.
type Preparer interface {
	Prepare(ctx context.Context) (Executor, *engine.Failure)
}

// Prepare takes calls that were judged through the stages before the watermark.
// The failures are by call: those calls are not made, and need no watermark.
func (s *ToolSet) Prepare(ctx context.Context, calls []engine.Execution) map[v1alpha1.CallID]engine.Outcome {
	refused := map[v1alpha1.CallID]engine.Outcome{}
	for _, execution := range calls {
		p := s.judge(ctx, execution.Call)
		failure := p.judgement.Refusal
		if failure == nil {
			failure = p.through(ctx, preparing)
		}
		if failure != nil {
			refused[execution.Call.ID] = engine.Outcome{Error: failure.Kind, Content: failure.Message}
		} else if execution.Effect {
			p.reached = v1alpha1.StageWatermark
		}
	}
	return refused
}

// dedupe refuses to make one call twice. The engine asks for each call once, so
// this is where a fault in it would stop.
func dedupe(_ context.Context, p *passage) *engine.Failure {
	if p.executor != nil {
		return &engine.Failure{Kind: v1alpha1.ErrorOutcomeUnknown,
			Message: "This call was already being made. It is not made again."}
	}
	return nil
}

// credential resolves what the call needs to be let in, afresh.
func credential(ctx context.Context, p *passage) *engine.Failure {
	preparer, ok := p.tool.Executor.(Preparer)
	if !ok {
		p.executor = p.tool.Executor
		return nil
	}
	executor, failure := preparer.Prepare(ctx)
	if failure != nil {
		return failure
	}
	p.executor = executor
	return nil
}
