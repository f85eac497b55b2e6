// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"slices"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/engine"
	"remit.dev/remit/internal/model"
)

// step does what the engine asks for until there is something to save that ends
// the step: at most one model call, and one round of tool calls.
func (s *runScope) step(ctx context.Context) (ctrl.Result, error) {
	for {
		action, err := engine.Next(s.input(ctx))
		if err != nil {
			return ctrl.Result{}, err
		}
		if s.doubtful {
			return ctrl.Result{}, context.Cause(ctx)
		}
		switch action := action.(type) {
		case engine.Append:
			if err := s.state.Append(s.Now(), s.attributed(action.Entries)...); err != nil {
				return ctrl.Result{}, err
			}
		case engine.ResolveTools:
			if err := s.resolve(ctx); err != nil {
				return ctrl.Result{}, s.keepRecords(ctx, err)
			}
		case engine.TakeStep, engine.CallModel:
			if s.state.Dirty() {
				return ctrl.Result{}, s.saveOutcome(ctx)
			}
			if err := s.goOn(ctx, action); err != nil {
				return ctrl.Result{}, err
			}
		case engine.Execute:
			if err := s.execute(ctx, action); err != nil {
				return ctrl.Result{}, err
			}
		case engine.Delegate:
			if err := s.delegate(ctx, action); err != nil {
				return ctrl.Result{}, err
			}
		case engine.Wait:
			return s.wakeAt(action.Until), s.saveOutcome(ctx)
		case engine.Done:
			return ctrl.Result{}, s.saveOutcome(ctx)
		}
	}
}

// wakeAt takes the Run up again when the time has come, if there is one.
func (s *runScope) wakeAt(until time.Time) ctrl.Result {
	if until.IsZero() {
		return ctrl.Result{}
	}
	return ctrl.Result{RequeueAfter: max(until.Sub(s.Now()), time.Millisecond)}
}

// goOn takes the next step of the workflow, or asks the model.
func (s *runScope) goOn(ctx context.Context, action engine.Action) error {
	if step, ok := action.(engine.TakeStep); ok {
		return s.takeStep(ctx, step.Index)
	}
	return s.callModel(ctx)
}

// resolve finds the tools and the models of this step.
func (s *runScope) resolve(ctx context.Context) error {
	if err := s.resolveTools(ctx); err != nil {
		return err
	}
	return s.resolveModels(ctx)
}

// input is what the engine looks at.
func (s *runScope) input(ctx context.Context) engine.Input {
	in := engine.Input{
		State:     s.state,
		Decisions: s.run.Spec.Decisions,
		Received:  received(s.run.Status.Pending),
		Children:  s.children,
		Steps:     s.steps(),
		Cancel:    s.run.Spec.Cancel || s.orphaned != "",
		Limits:    s.limits(),
		Started:   s.run.Status.StartedAt.Time,
		Now:       s.Now(),
	}
	if s.tools != nil {
		in.Judge = func(call v1alpha1.CallRecord) engine.Judgement { return s.judge(ctx, call) }
	}
	if len(s.run.Status.Pending) > 0 {
		in.Shown, in.Expires = s.run.Status.Pending, s.run.Status.Pending[0].ExpiresAt.Time
	}
	return in
}

// judge is what the tools of this step say of a call. What refuses it may be that the
// step was broken off while policy was asked, which nobody must take for a denial.
func (s *runScope) judge(ctx context.Context, call v1alpha1.CallRecord) engine.Judgement {
	of := s.tools.Judge
	if call.Whole {
		of = s.judgeWhole
	}
	judgement := of(ctx, call)
	s.doubtful = s.doubtful || judgement.Refusal != nil && ctx.Err() != nil
	return judgement
}

// keepRecords makes durable what the step came to although it cannot go on yet: else an
// approval that was given in time would expire while a server is away, and a model
// would be asked again because the API server was.
func (s *runScope) keepRecords(ctx context.Context, reason error) error {
	if s.state.Dirty() {
		if err := s.saveOutcome(ctx); err != nil {
			return err
		}
	}
	return reason
}

// received are the bodies that webhooks got.
func received(pending []v1alpha1.PendingCall) map[v1alpha1.CallID]string {
	bodies := map[v1alpha1.CallID]string{}
	for i := range pending {
		if webhook := pending[i].Webhook; webhook != nil && webhook.ReceivedAt != nil {
			bodies[pending[i].ID] = webhook.Body
		}
	}
	return bodies
}

// limits are the least that the Version, the Run and the operator allow.
func (s *runScope) limits() engine.Limits {
	limits := engine.Limits{
		Steps:          s.body.Limits.Steps,
		Deadline:       s.body.Limits.Deadline.Duration,
		FailureStreak:  s.body.Limits.FailureStreak,
		ApprovalExpiry: s.Options.ApprovalExpiry,
	}
	asked := s.run.Spec.Limits
	if asked == nil {
		return limits
	}
	if asked.Steps != nil {
		limits.Steps = min(limits.Steps, *asked.Steps)
	}
	if asked.Deadline != nil {
		limits.Deadline = min(limits.Deadline, asked.Deadline.Duration)
	}
	if asked.ApprovalExpiry != nil {
		limits.ApprovalExpiry = min(s.Options.MaxApprovalExpiry, asked.ApprovalExpiry.Duration)
	}
	return limits
}

// execute makes calls. Where one may have an effect, the watermark is durable
// first, and from then on neither a cancel nor a shutdown interrupts: each tool's
// own timeout does. A call that cannot even be prepared needs no watermark.
func (s *runScope) execute(ctx context.Context, action engine.Execute) error {
	refused := s.tools.Prepare(ctx, action.Calls)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if watermark := action.WatermarkWithout(refused); watermark != nil {
		if err := s.state.Append(s.Now(), engine.Entry{Watermark: watermark}); err != nil {
			return err
		}
		if err := s.save(ctx); err != nil {
			return err
		}
		ctx = context.WithoutCancel(ctx)
	}
	ready := slices.DeleteFunc(slices.Clone(action.Calls), func(e engine.Execution) bool {
		_, ok := refused[e.Call.ID]
		return ok
	})
	outcomes := refused
	for i, outcome := range s.tools.Execute(ctx, s.state.RunUID(), ready) {
		outcomes[ready[i].Call.ID] = outcome
	}
	if ctx.Err() != nil {
		// Calls without effect that were broken off did not happen: they are made again.
		return context.Cause(ctx)
	}
	for _, execution := range action.Calls {
		id := execution.Call.ID
		if err := s.state.Append(s.Now(), s.state.ResultEntry(id, outcomes[id])); err != nil {
			return err
		}
	}
	return nil
}

// callModel asks the models in their order and records the first usable message.
func (s *runScope) callModel(ctx context.Context) error {
	failover := s.Failover
	failover.Accept = func(completion model.Completion) error {
		message := s.message(completion)
		return message.Check()
	}
	completion, attempts, err := failover.Complete(ctx, s.models, s.request())
	if unavailable, ok := errors.AsType[*model.Unavailable](err); ok {
		return end(v1alpha1.ReasonModelUnavailable, "%v", unavailable)
	}
	if err != nil {
		return err
	}
	message := s.message(completion)
	answered := attempts[len(attempts)-1]
	message.Grant, message.Model = answered.Grant, answered.Model
	message.Attempts = failedAttempts(attempts)
	return s.state.Append(s.Now(), s.state.MessageEntry(message))
}

// message is a completion as the log records it.
func (s *runScope) message(completion model.Completion) engine.ModelMessage {
	message := engine.ModelMessage{
		Text:      completion.Text,
		Truncated: completion.Finish == model.FinishLength,
		Usage:     v1alpha1.Usage{InputTokens: completion.Usage.InputTokens, OutputTokens: completion.Usage.OutputTokens},
	}
	for _, call := range completion.Calls {
		asked := s.tools.Unwrap(engine.ModelCall{Tool: call.Name, Arguments: call.Arguments})
		asked.Definition = s.tools.Definition(asked.Tool)
		message.Calls = append(message.Calls, asked)
	}
	return message
}

func failedAttempts(attempts []model.Attempt) []v1alpha1.ModelAttempt {
	var failed []v1alpha1.ModelAttempt
	for _, attempt := range attempts {
		if attempt.Err != nil {
			failed = append(failed, v1alpha1.ModelAttempt{
				Grant: attempt.Grant, Model: attempt.Model, Kind: string(attempt.Err.Kind), Detail: bounded(attempt.Err.Error(), 1024)})
		}
	}
	return failed
}

// request is the conversation as the model reads it.
func (s *runScope) request() model.Request {
	request := model.Request{System: s.body.Instructions}
	if s.run.Spec.Input != "" {
		request.Messages = append(request.Messages, model.Message{Role: model.RoleUser, Text: s.run.Spec.Input})
	}
	for _, message := range s.state.Context() {
		request.Messages = append(request.Messages, modelMessage(message))
	}
	for _, tool := range s.tools.Prompt() {
		request.Tools = append(request.Tools, model.ToolDefinition{
			Name: tool.Name, Description: tool.Description, InputSchema: tool.InputSchema})
	}
	return request
}

func modelMessage(message engine.ContextMessage) model.Message {
	if result := message.Result; result != nil {
		return model.Message{Role: model.RoleTool, CallID: string(result.ID), Text: result.Text, IsError: result.Failed}
	}
	assistant := model.Message{Role: model.RoleAssistant, Text: message.Text}
	for _, call := range message.Calls {
		assistant.Calls = append(assistant.Calls, model.ToolCall{
			ID: string(call.ID), Name: call.Tool, Arguments: call.Arguments})
	}
	return assistant
}
