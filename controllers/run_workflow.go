// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/engine"
	"remit.dev/remit/internal/workflow"
)

// takeStep records the call of a step, with arguments from the input and the results
// of the steps before it. A step whose arguments cannot be made up has failed.
func (s *runScope) takeStep(ctx context.Context, index int) error {
	steps := s.body.Workflow.Steps
	step := &steps[index]
	call := engine.ModelCall{Tool: step.Tool, StepID: step.ID, Definition: s.tools.Definition(step.Tool)}
	compiled, err := workflow.Compile(steps)
	if err != nil {
		return end(v1alpha1.ReasonUnsupported, "%v", err)
	}
	arguments, err := compiled.Arguments(ctx, index, s.run.Spec.Input, s.state.StepResults())
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return s.state.Append(s.Now(), s.state.FailedStep(call, engine.Failure{
			Kind: v1alpha1.ErrorInvalidArguments, Message: "The arguments of this step could not be computed, and the call was not made: " + err.Error()})...)
	}
	call.Arguments = string(arguments)
	return s.state.Append(s.Now(), s.state.MessageEntry(engine.ModelMessage{Calls: []engine.ModelCall{call}}))
}

// steps are the ids of the workflow's steps.
func (s *runScope) steps() []v1alpha1.StepID {
	if s.body.Workflow == nil {
		return nil
	}
	ids := make([]v1alpha1.StepID, 0, len(s.body.Workflow.Steps))
	for i := range s.body.Workflow.Steps {
		ids = append(ids, s.body.Workflow.Steps[i].ID)
	}
	return ids
}
