// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/engine"
	"remit.dev/remit/internal/pipeline"
)

// saveTimeout bounds the attempts to save what an effect came to. A result that
// is lost makes the outcome of its effect unknown.
const saveTimeout = 2 * time.Minute

// save seals the log where it has grown too large, folds the status from it and
// writes it. It is the only write of a step, but for watermark and segments.
func (s *runScope) save(ctx context.Context) error {
	if err := s.seal(ctx); err != nil {
		return err
	}
	s.run.Status.Children = slices.DeleteFunc(s.run.Status.Children, func(c v1alpha1.ChildRun) bool {
		return s.state.ToolOf(c.CallID) == "" // of an earlier message
	})
	engine.Project(s.input(ctx), s.run.Generation, &s.run.Status)
	if err := s.offerWebhooks(ctx); err != nil {
		return err
	}
	s.trace()
	before := s.stored
	if err := s.write(ctx); err != nil {
		return err
	}
	s.announce(before, s.state.Fresh())
	s.state.Saved()
	return nil
}

// trace shows how far the calls of this step came. What came no further than before
// is left out, so that a step in which a call only waits for its Run changes nothing.
func (s *runScope) trace() {
	if s.tools != nil {
		further := slices.DeleteFunc(s.tools.Trace(), func(e v1alpha1.TraceEntry) bool { return slices.Contains(s.stepsBefore, e) })
		s.run.Status.Log.Trace = pipeline.AppendTrace(slices.Clone(s.stepsBefore), further)
	}
}

// saveOutcome saves the results of effects. Shutting down does not interrupt it,
// and an API server that is away is waited for.
func (s *runScope) saveOutcome(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
	defer cancel()
	backoff := wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 16, Cap: 10 * time.Second}
	var last error
	err := wait.ExponentialBackoffWithContext(ctx, backoff, func(ctx context.Context) (bool, error) {
		last = s.save(ctx)
		if last == nil || !transient(last) {
			return true, last
		}
		return false, nil
	})
	if err != nil && last != nil {
		return last
	}
	return err
}

// transient says whether a write may succeed when it is made again.
func transient(err error) bool {
	var ended *endError
	if errors.Is(err, errFenced) || errors.As(err, &ended) {
		return false
	}
	switch apierrors.ReasonForError(err) {
	case metav1.StatusReasonInvalid, metav1.StatusReasonForbidden, metav1.StatusReasonUnauthorized,
		metav1.StatusReasonBadRequest, metav1.StatusReasonRequestEntityTooLarge:
		return false
	default:
		return true
	}
}

// write updates the status if it changed. The resourceVersion is the fence. When
// the Run was changed, but not its status, only a person has written: the write is
// made again on top. Otherwise another replica has gone on, and this one stops.
func (s *runScope) write(ctx context.Context) error {
	if !s.changed() {
		return nil
	}
	wanted := s.run.Status.DeepCopy()
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		wanted.DeepCopyInto(&s.run.Status)
		err := s.Status().Update(ctx, s.run)
		if !apierrors.IsConflict(err) {
			return err
		}
		live := &v1alpha1.Run{}
		if readErr := s.Reader.Get(ctx, client.ObjectKeyFromObject(s.run), live); readErr != nil {
			return readErr
		}
		if live.UID != s.run.UID || !sameStatus(&live.Status, s.stored) || s.decidedOtherwise(live) {
			return errFenced
		}
		s.run = live
		return err
	})
	if apierrors.IsNotFound(err) {
		return errFenced
	}
	if err != nil {
		wanted.DeepCopyInto(&s.run.Status)
		return err
	}
	s.stored = s.run.Status.DeepCopy()
	s.written.note(s.run)
	return nil
}

// decidedOtherwise says whether somebody has decided by now what this step has
// answered in another way: his decision counts, and the step is taken again.
func (s *runScope) decidedOtherwise(live *v1alpha1.Run) bool {
	return s.state != nil && s.state.CheckDecisions(live.Spec.Decisions) != nil
}

// savePinned shows that the Run has its Version, before the first step, and records
// the question whether it may begin, if somebody asks.
func (s *runScope) savePinned(ctx context.Context, asked []engine.ModelCall) error {
	state, err := engine.Fold(string(s.run.UID), nil, nil)
	if err != nil {
		return err
	}
	s.state = state
	if len(asked) > 0 {
		if err := state.Append(s.Now(), state.MessageEntry(engine.ModelMessage{Calls: asked})); err != nil {
			return err
		}
	}
	return s.save(ctx)
}

// saveHold shows why the Run does not go on. A Run that has begun stays where it
// is otherwise.
func (s *runScope) saveHold(ctx context.Context, held *holdError) error {
	status := &s.run.Status
	status.ObservedGeneration = s.run.Generation
	if status.Phase == "" {
		status.Phase = v1alpha1.RunPending
	}
	if status.Version == "" {
		status.Holder = ""
		s.condition(v1alpha1.ConditionAccepted, metav1.ConditionFalse, held.reason, held.detail)
	}
	s.condition(v1alpha1.ConditionComplete, metav1.ConditionFalse, held.reason, held.detail)
	s.condition(v1alpha1.ConditionReconciling, metav1.ConditionTrue, held.reason, held.detail)
	return s.write(ctx)
}

// saveEnd closes a Run that can never go on. Where its log can still be written
// the end is a record of it.
func (s *runScope) saveEnd(ctx context.Context, ended *endError) error {
	if s.state != nil && !s.state.Ended() && ended.reason != v1alpha1.ReasonLogCorrupt {
		if err := s.state.Append(s.Now(), engine.Fail(ended.reason, ended.detail)); err == nil {
			return s.save(ctx)
		}
	}
	s.finish(v1alpha1.RunFailed, ended.reason, ended.detail)
	s.condition(v1alpha1.ConditionStalled, metav1.ConditionTrue, ended.reason, ended.detail)
	if s.run.Status.Version == "" {
		s.condition(v1alpha1.ConditionAccepted, metav1.ConditionFalse, ended.reason, ended.detail)
	}
	return s.write(ctx)
}

// saveCancelled closes a Run that was cancelled before it began.
func (s *runScope) saveCancelled(ctx context.Context) error {
	s.finish(v1alpha1.RunCancelled, v1alpha1.ReasonCancelled, "spec.cancel is set")
	return s.write(ctx)
}

func (s *runScope) finish(phase v1alpha1.RunPhase, reason, detail string) {
	status := &s.run.Status
	now := metav1.NewTime(s.Now().UTC().Truncate(time.Second))
	status.ObservedGeneration = s.run.Generation
	status.Phase = phase
	status.CompletedAt = &now
	if len(status.Pending) > 0 {
		status.WaitedSeconds += int64(max(now.Sub(status.Pending[0].RequestedAt.Time), 0) / time.Second)
	}
	status.Pending, status.WaitingFor = nil, ""
	s.condition(v1alpha1.ConditionComplete, metav1.ConditionFalse, reason, detail)
	meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionReconciling)
}

func (s *runScope) condition(kind string, state metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&s.run.Status.Conditions, metav1.Condition{
		Type: kind, Status: state, Reason: reason, Message: bounded(message, 4096),
		ObservedGeneration: s.run.Generation, LastTransitionTime: metav1.NewTime(s.Now().UTC().Truncate(time.Second)),
	})
}
