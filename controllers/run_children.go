// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/engine"
)

// findChildren looks at the Runs that answer calls of this one: which of them have
// come to their end, and how long people have had them.
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
	s.children = map[v1alpha1.CallID]*engine.Outcome{}
	for _, listed := range s.run.Status.Children {
		child, err := s.child(ctx, runs.Items, listed)
		if err != nil {
			return false, err
		}
		s.children[listed.CallID] = outcomeOf(listed, child)
		s.withPeople = s.withPeople || child != nil && child.Status.Phase == v1alpha1.RunSuspended
	}
	logs := make([][]v1alpha1.Record, 0, len(runs.Items))
	for i := range runs.Items {
		records, err := s.recordsOf(ctx, &runs.Items[i])
		if err != nil {
			return false, err
		}
		logs = append(logs, records)
	}
	s.waitedFor = engine.Waited(logs, s.Now())
	return false, nil
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

// recordsOf is the whole log of a child, or what can be read of it: whether it is
// intact is for the child to find out.
func (s *runScope) recordsOf(ctx context.Context, child *v1alpha1.Run) ([]v1alpha1.Record, error) {
	var records []v1alpha1.Record
	for _, segment := range child.Status.Log.Sealed {
		sealed, err := s.openSegment(ctx, segment)
		if _, corrupt := errors.AsType[*endError](err); corrupt {
			continue
		}
		if err != nil {
			return nil, err
		}
		records = append(records, sealed...)
	}
	return append(records, child.Status.Log.Records...), nil
}
