// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"remit.dev/remit/api/v1alpha1"
)

// The Events of a Run. They are for people who watch; the log is the record.
const (
	eventApprovalRequired = "ApprovalRequired"
	eventApproved         = "Approved"
	eventDenied           = "Denied"
	eventExpired          = "Expired"
	eventOutcomeUnknown   = "OutcomeUnknown"

	// runEventSource is who Events of Runs say that they come from.
	runEventSource = "remit.dev/run"

	actionSuspend = "Suspend"
	actionDecide  = "Decide"
	actionExecute = "Execute"
)

// maxNote is how long the note of an Event may be, in bytes.
const maxNote = 1024

// announce makes Events of records that have just become durable over an earlier
// status, and measures how long people took. Names of tools and users come from outside, so they are quoted.
func (s *runScope) announce(before *v1alpha1.RunStatus, records []v1alpha1.Record) {
	for i := range records {
		record := &records[i]
		switch {
		case record.Suspension != nil:
			for _, pending := range s.run.Status.Pending {
				s.event(pending.ID, corev1.EventTypeNormal, eventApprovalRequired, actionSuspend,
					"call %s of %q waits for a decision until %s: %s", pending.ID, pending.Tool, pending.ExpiresAt.UTC().Format("2006-01-02T15:04:05Z"), pending.Reason)
			}
		case record.Decision != nil:
			s.announceDecision(before, record)
		case record.Result != nil && record.Result.Error == v1alpha1.ErrorOutcomeUnknown:
			s.event(record.Result.ID, corev1.EventTypeWarning, eventOutcomeUnknown, actionExecute,
				"call %s of %q may or may not have had its effect, and is not made again", record.Result.ID, s.state.ToolOf(record.Result.ID))
		case record.End != nil && record.End.Reason == v1alpha1.ReasonSuspensionExpired:
			s.announceExpiry(before, record)
		}
	}
}

func (s *runScope) announceDecision(before *v1alpha1.RunStatus, record *v1alpha1.Record) {
	decision := record.Decision
	reason, said, by := eventApproved, "approved", fmt.Sprintf("%q", decision.By)
	switch {
	case !*decision.Approved:
		reason, said = eventDenied, "denied"
	case decision.By == "":
		said, by = "answered", "a request"
	case decision.Answer != "":
		said = "answered"
	}
	s.event(decision.ID, corev1.EventTypeNormal, reason, actionDecide, "call %s of %q was %s by %s", decision.ID, s.state.ToolOf(decision.ID), said, by)
	for _, pending := range before.Pending {
		if pending.ID == decision.ID {
			observeWait(said, record.Time.Sub(pending.RequestedAt.Time))
		}
	}
}

func (s *runScope) announceExpiry(before *v1alpha1.RunStatus, record *v1alpha1.Record) {
	for _, pending := range before.Pending {
		note := "nobody decided call %s of %q by %s"
		if _, late := s.run.Spec.Decisions[string(pending.ID)]; late {
			note = "the decision on call %s of %q was not taken by %s, when it expired"
		}
		s.event(pending.ID, corev1.EventTypeWarning, eventExpired, actionSuspend, note,
			pending.ID, pending.Tool, pending.ExpiresAt.UTC().Format("2006-01-02T15:04:05Z"))
		observeWait("expired", record.Time.Sub(pending.RequestedAt.Time))
	}
}

// event makes an Event of a call, as of a container of a Pod: Events that differ in
// nothing but their text would be counted as one.
func (s *runScope) event(call v1alpha1.CallID, kind, reason, action, note string, args ...any) {
	regarding := &corev1.ObjectReference{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "Run", Namespace: s.run.Namespace, Name: s.run.Name,
		UID: s.run.UID, ResourceVersion: s.run.ResourceVersion, FieldPath: "status.log{" + string(call) + "}",
	}
	s.events.Eventf(regarding, nil, kind, reason, action, "%s", bounded(fmt.Sprintf(note, args...), maxNote))
}
