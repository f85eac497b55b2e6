// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/engine"
	"remit.dev/remit/internal/tools"
)

// listingPatience is how long a Run of a subagent waits for its parent to list it. The
// parent does so right after it made the Run, however long that write may take.
const listingPatience = 2 * saveTimeout

// standing is how a Run of a subagent stands to its parent.
type standing int

const (
	// early: the parent may come to wait for the Run.
	early standing = iota
	// wanted: the parent has the call, and is about to list the Run.
	wanted
	// awaited: the parent waits for the Run.
	awaited
	// over: the parent does not wait for the Run, and never will.
	over
)

// followParent lets the Run of a subagent go on only while its parent waits for it.
// The status of the parent, which nobody but an operator writes, lists each child, so
// a Run that somebody else made never begins. The end of a parent, its children's
// ends and the decisions on them come in the order in which they were written, since
// one watch brings them all: what is approved after the parent's end has no effect.
func followParent(ctx context.Context, s *runScope) (bool, error) {
	reference := s.run.Spec.ParentRef
	if reference == nil {
		return false, nil
	}
	parent := &v1alpha1.Run{}
	err := s.Get(ctx, types.NamespacedName{Namespace: s.run.Namespace, Name: reference.Name}, parent)
	switch {
	case apierrors.IsNotFound(err), err == nil && string(parent.UID) != reference.UID:
		s.orphaned = fmt.Sprintf("Run %q, whose subagent this is, was deleted", reference.Name)
	case err != nil:
		return false, err
	case ended(parent):
		s.orphaned = fmt.Sprintf("Run %q, whose subagent this is, has ended", parent.Name)
	default:
		s.parent = parent
		if err := s.awaitListing(standingTo(parent, s.run)); err != nil {
			return false, err
		}
	}
	if s.orphaned != "" && s.run.Status.Version == "" {
		s.finish(v1alpha1.RunCancelled, v1alpha1.ReasonParentEnded, s.orphaned)
		return true, s.write(ctx)
	}
	return false, nil
}

// awaitListing puts a Run off that is not listed yet. Where its parent has no such call,
// it does not do so for ever.
func (s *runScope) awaitListing(now standing) error {
	age := s.Now().Sub(s.run.CreationTimestamp.Time)
	switch {
	case now == awaited, s.run.Spec.Cancel:
		return nil
	case now == wanted:
		return &deferError{} // until the parent changes
	case now == early && age < listingPatience:
		return &deferError{after: listingPatience - age}
	}
	s.orphaned = fmt.Sprintf("Run %q does not wait for call %s", s.parent.Name, s.run.Spec.ParentRef.CallID)
	return nil
}

// ended says whether a parent takes no further step, or none but its last.
func ended(parent *v1alpha1.Run) bool {
	return Finished(parent.Status.Phase) || parent.Spec.Cancel || !parent.DeletionTimestamp.IsZero()
}

// standingTo compares a child with the call in its parent's log, and with the list of
// the parent's children.
func standingTo(parent, child *v1alpha1.Run) standing {
	id := child.Spec.ParentRef.CallID
	call, open := callOf(parent.Status.Log.Records, id)
	listed := slices.IndexFunc(parent.Status.Children, func(c v1alpha1.ChildRun) bool { return c.CallID == id })
	switch {
	case call != nil && (!open || !matches(parent, child, call)):
		return over
	case listed >= 0 && parent.Status.Children[listed] != childOf(child):
		return over
	case call != nil && listed >= 0:
		return awaited
	case child.Status.Version != "": // it was listed once
		return over
	case call != nil:
		return wanted
	default:
		return early
	}
}

// callOf finds a call, and whether it has no result yet. The newest message is always
// in the inline part of a log.
func callOf(records []v1alpha1.Record, id v1alpha1.CallID) (call *v1alpha1.CallRecord, open bool) {
	for i := range slices.Backward(records) {
		if result := records[i].Result; result != nil && result.ID == id {
			return &v1alpha1.CallRecord{ID: id}, false
		}
		if records[i].Message == nil {
			continue
		}
		at := slices.IndexFunc(records[i].Message.Calls, func(c v1alpha1.CallRecord) bool { return c.ID == id })
		if at >= 0 {
			return &records[i].Message.Calls[at], true
		}
	}
	return nil, false
}

// matches says whether the child is what the call asks for.
func matches(parent, child *v1alpha1.Run, call *v1alpha1.CallRecord) bool {
	asked, err := tools.ReadSubagentCall(call.Arguments)
	return err == nil && call.Tool == v1alpha1.RunSubagent &&
		asked.Name == child.Spec.Subagent && asked.Input == child.Spec.Input &&
		child.Spec.VersionRef != nil && child.Spec.VersionRef.Name == parent.Status.Version
}

// attributed says of the end of a Run that its parent is the cause, where it is.
func (s *runScope) attributed(entries []engine.Entry) []engine.Entry {
	for _, entry := range entries {
		if s.orphaned != "" && entry.End != nil && entry.End.Reason == v1alpha1.ReasonCancelled {
			entry.End.Reason, entry.End.Message = v1alpha1.ReasonParentEnded, s.orphaned
		}
	}
	return entries
}

// specRef is the Spec that the Run, or its parent, was started with.
func (s *runScope) specRef() *v1alpha1.NamedReference {
	if s.parent != nil {
		return s.parent.Spec.SpecRef
	}
	return s.run.Spec.SpecRef
}
