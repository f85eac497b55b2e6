// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/engine"
	"remit.dev/remit/internal/gate"
)

// A stage is one step of a call's way: it looks at what the stages before it have
// found, adds to it, and refuses the call or lets it pass.
type stage struct {
	name v1alpha1.Stage
	run  func(context.Context, *passage) *engine.Failure
}

// The stages in their one order, for every origin of a tool. Those that judge run
// at each step anew, so what was revoked or denied meanwhile is refused; they do no
// I/O but for policy. Those that prepare run once, right before the watermark.
// After them come three more that are not in a list: the watermark, which the
// engine asks for and the controller makes durable; execute, envelope and
// artifact, which Execute runs; and record, which the controller does.
var (
	judging = []stage{
		{v1alpha1.StageResolve, resolve},
		{v1alpha1.StageNarrow, narrow},
		{v1alpha1.StageDecode, decode},
		{v1alpha1.StageValidate, validate},
		{v1alpha1.StageClassify, classify},
		{v1alpha1.StagePolicy, policy},
		{v1alpha1.StageApprove, approve},
	}
	preparing = []stage{
		{v1alpha1.StageDedupe, dedupe},
		{v1alpha1.StageCredential, credential},
	}
)

// passage is one call on its way through the stages of one step.
type passage struct {
	set       *ToolSet
	call      v1alpha1.CallRecord
	tool      *Tool
	arguments []byte
	policy    gate.Decision
	executor  Executor
	judgement engine.Judgement
	reached   v1alpha1.Stage
}

// through runs stages until one refuses.
func (p *passage) through(ctx context.Context, stages []stage) *engine.Failure {
	for _, stage := range stages {
		p.reached = stage.name
		if refusal := stage.run(ctx, p); refusal != nil {
			p.judgement.Refusal = refusal
			return refusal
		}
	}
	return nil
}
