// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/engine"
)

// findChildren looks at the Runs that answer calls of the newest message: which of
// them have come to their end, and how long they worked.
func findChildren(ctx context.Context, s *runScope) (bool, error) {
	if len(s.body.Subagents) == 0 {
		return false, nil
	}
	runs := &v1alpha1.RunList{}
	err := s.List(ctx, runs, client.InNamespace(s.run.Namespace), client.MatchingFields{RunParentField: string(s.run.UID)},
		client.UnsafeDisableDeepCopy) // they are only read
	if err != nil {
		return false, err
	}
	s.children = map[v1alpha1.CallID]engine.Child{}
	for _, listed := range s.run.Status.Children {
		child, err := s.child(ctx, runs.Items, listed)
		if err != nil {
			return false, err
		}
		s.children[listed.CallID] = engine.Child{
			Outcome:    outcomeOf(listed, child),
			Worked:     workedBy(child, s.Now()),
			WithPeople: child != nil && child.Status.Phase == v1alpha1.RunSuspended,
		}
	}
	return false, nil
}

// workedBy is how long a child has been at work since it was made: what it waited for
// people is none. Of one that was deleted nobody knows.
func workedBy(child *v1alpha1.Run, now time.Time) time.Duration {
	if child == nil {
		return 0
	}
	until := now
	if at := child.Status.CompletedAt; at != nil {
		until = at.Time
	}
	worked := until.Sub(child.CreationTimestamp.Time) - time.Duration(child.Status.WaitedSeconds)*time.Second
	if len(child.Status.Pending) > 0 {
		worked -= until.Sub(child.Status.Pending[0].RequestedAt.Time)
	}
	return max(worked, 0)
}

// child finds a Run that is listed, or gives nil where there is none any more. That
// is never taken back, so the API server is asked before it is believed.
func (s *runScope) child(ctx context.Context, runs []v1alpha1.Run, listed v1alpha1.ChildRun) (*v1alpha1.Run, error) {
	at := slices.IndexFunc(runs, func(r v1alpha1.Run) bool { return string(r.UID) == listed.UID })
	if at >= 0 {
		return &runs[at], nil
	}
	live := &v1alpha1.Run{}
	err := s.Reader.Get(ctx, types.NamespacedName{Namespace: s.run.Namespace, Name: listed.Name}, live)
	if apierrors.IsNotFound(err) || err == nil && string(live.UID) != listed.UID {
		return nil, nil
	}
	return live, err
}

// outcomeOf is what came of a child, or nil while it goes on. One that was deleted is
// not started again: what it did cannot be taken back.
func outcomeOf(listed v1alpha1.ChildRun, child *v1alpha1.Run) *engine.Outcome {
	switch {
	case child == nil, !child.DeletionTimestamp.IsZero() && !Finished(child.Status.Phase):
		return &engine.Outcome{Error: v1alpha1.ErrorTool, Content: fmt.Sprintf(
			"The Run of the subagent (%s) was deleted before it came to an end. What it did until then remains done.", listed.Name)}
	case !Finished(child.Status.Phase):
		return nil
	case child.Status.Phase == v1alpha1.RunComplete:
		return &engine.Outcome{Content: child.Status.Output}
	}
	outcome := &engine.Outcome{Error: v1alpha1.ErrorTool}
	if child.Status.Phase == v1alpha1.RunCancelled {
		outcome.Error = v1alpha1.ErrorCancelled
	}
	outcome.Content = fmt.Sprintf("The subagent %s did not come to an answer: its Run %s is %s.", child.Spec.Subagent, listed.Name, child.Status.Phase)
	if complete := meta.FindStatusCondition(child.Status.Conditions, v1alpha1.ConditionComplete); complete != nil {
		outcome.Content += fmt.Sprintf(" %s: %s", complete.Reason, complete.Message)
	}
	return outcome
}
