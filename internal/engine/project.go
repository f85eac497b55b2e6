// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"remit.dev/remit/api/v1alpha1"
)

// Project writes into a status what the log says. What people were shown of a
// suspended call stays as it was shown.
func Project(in Input, generation int64, status *v1alpha1.RunStatus) {
	s := in.State
	status.ObservedGeneration = generation
	status.Phase = s.phase()
	status.Steps = s.steps
	status.Usage = s.usage
	status.WaitedSeconds = int64(s.waited / time.Second)
	status.Decided = s.decided
	status.FailureStreaks = s.failures().list()
	status.Output = s.output()
	status.Log.Records = s.records
	status.Pending = s.pending(in, status.Pending)
	status.WaitingFor = waitingFor(s.awaited(in, status.Pending))
	if s.end != nil {
		at := metav1.NewTime(s.end.time)
		status.CompletedAt = &at
	}
	s.conditions(in, generation, status)
}

func (s *State) phase() v1alpha1.RunPhase {
	switch {
	case s.end != nil:
		return s.end.record.Phase
	case s.waiting() != nil:
		return v1alpha1.RunSuspended
	default:
		return v1alpha1.RunRunning
	}
}

// output is the newest text of the model.
func (s *State) output() string {
	for _, t := range slices.Backward(s.turns) {
		if text := t.message.Text; text != "" {
			return text
		}
	}
	return ""
}

// pending shows the calls of the open suspension.
func (s *State) pending(in Input, shown []v1alpha1.PendingCall) []v1alpha1.PendingCall {
	w := s.waiting()
	if w == nil || s.end != nil {
		return nil
	}
	before := map[v1alpha1.CallID]v1alpha1.PendingCall{}
	for _, p := range shown {
		before[p.ID] = p
	}
	budget := share(maxShownArguments, maxPendingArguments, len(w.calls))
	pending := make([]v1alpha1.PendingCall, 0, len(w.calls))
	for _, c := range w.calls {
		if c.decided() {
			continue
		}
		if p, ok := before[c.record.ID]; ok {
			pending = append(pending, c.restored(p, budget))
		} else if in.Judge != nil {
			pending = append(pending, c.view(in, w, budget))
		}
	}
	return pending
}

// restored is a view with what the log says of the call, whatever somebody wrote into
// the status meanwhile.
func (c *call) restored(p v1alpha1.PendingCall, budget int) v1alpha1.PendingCall {
	p.Kind, p.Tool, p.StepID, p.DefinitionDigest = c.kind(), cut(c.record.Tool, maxToolView), c.record.StepID, c.record.DefinitionDigest
	if arguments, err := ReadArguments(c.record.Arguments); err == nil {
		p.Arguments, p.ArgumentsDigest = cutWithNotice(clean(arguments.Indented), budget), arguments.Digest
	}
	return p
}

func (c *call) view(in Input, w *suspension, budget int) v1alpha1.PendingCall {
	judgement := in.Judge(c.record)
	return v1alpha1.PendingCall{
		ID:               c.record.ID,
		Kind:             c.kind(),
		StepID:           c.record.StepID,
		Tool:             judgement.Tool,
		Class:            judgement.Class,
		Arguments:        cutWithNotice(clean(judgement.Arguments), budget),
		ArgumentsDigest:  judgement.ArgumentsDigest,
		DefinitionDigest: judgement.DefinitionDigest,
		Reason:           cut(clean(judgement.Ask), maxReason),
		RequestedAt:      metav1.NewTime(w.since),
		ExpiresAt:        metav1.NewTime(in.expires(w).UTC()),
	}
}

// conditions follow kstatus: Reconciling while the Run goes on, Stalled when it
// failed, neither when it ended otherwise.
func (s *State) conditions(in Input, generation int64, status *v1alpha1.RunStatus) {
	set := func(kind string, state metav1.ConditionStatus, reason, message string) {
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: kind, Status: state, Reason: reason, Message: message,
			ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(in.Now.UTC().Truncate(time.Second)),
		})
	}
	s.acceptedCondition(status, set)
	s.approvedCondition(status, set)
	if s.end == nil {
		reason, message := v1alpha1.ReasonInProgress, fmt.Sprintf("%d model calls so far", s.steps)
		if s.waiting() != nil {
			reason, message = v1alpha1.ReasonApprovalRequired, waitingMessage(status.Pending)
		} else if status.WaitingFor != "" {
			message += "; waits for " + status.WaitingFor
		}
		set(v1alpha1.ConditionComplete, metav1.ConditionFalse, reason, message)
		set(v1alpha1.ConditionReconciling, metav1.ConditionTrue, reason, message)
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionStalled)
		return
	}
	end := s.end.record
	complete := metav1.ConditionFalse
	if end.Phase == v1alpha1.RunComplete {
		complete = metav1.ConditionTrue
	}
	set(v1alpha1.ConditionComplete, complete, end.Reason, end.Message)
	meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionReconciling)
	if end.Phase == v1alpha1.RunFailed || end.Phase == v1alpha1.RunAbandoned {
		set(v1alpha1.ConditionStalled, metav1.ConditionTrue, end.Reason, end.Message)
	}
}

type setCondition func(kind string, state metav1.ConditionStatus, reason, message string)

// acceptedCondition is True from the moment on from which the Run may begin.
func (s *State) acceptedCondition(status *v1alpha1.RunStatus, set setCondition) {
	switch whole := s.whole(); {
	case whole == nil || whole.result != nil && whole.result.Error == "":
		set(v1alpha1.ConditionAccepted, metav1.ConditionTrue, v1alpha1.ReasonVersionPinned, "executes "+status.Version)
	case s.end != nil:
		set(v1alpha1.ConditionAccepted, metav1.ConditionFalse, s.end.record.Reason, s.end.record.Message)
	default:
		set(v1alpha1.ConditionAccepted, metav1.ConditionFalse, v1alpha1.ReasonApprovalRequired,
			"a person must let the Run begin with "+status.Version)
	}
}

func (s *State) approvedCondition(status *v1alpha1.RunStatus, set setCondition) {
	switch {
	case len(status.Pending) > 0:
		set(v1alpha1.ConditionApproved, metav1.ConditionFalse, v1alpha1.ReasonApprovalRequired, waitingMessage(status.Pending))
	case s.end != nil && s.end.record.Reason == v1alpha1.ReasonSuspensionExpired:
		set(v1alpha1.ConditionApproved, metav1.ConditionFalse, v1alpha1.ReasonSuspensionExpired, s.end.record.Message)
	case len(s.decided) > 0:
		state, reason, message := s.verdict()
		set(v1alpha1.ConditionApproved, state, reason, message)
	default: // the Run ended while it waited, or nothing ever did
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionApproved)
	}
}

// verdict sums up the newest suspension that was decided: False if anything of it
// was denied, and in any case who said what.
func (s *State) verdict() (metav1.ConditionStatus, string, string) {
	state, reason := metav1.ConditionTrue, v1alpha1.ReasonDecided
	var said []string
	for _, c := range s.lastDecided() {
		verdict, by := "approved", c.decision.By
		switch {
		case !*c.decision.Approved:
			verdict = "denied"
			state, reason = metav1.ConditionFalse, v1alpha1.ReasonDenied
		case c.decision.Answer != "":
			verdict = "answered"
		}
		if by == "" && c.kind() == v1alpha1.PendingWebhook {
			by = "a request"
		}
		said = append(said, fmt.Sprintf("%s was %s by %s", cut(c.record.Tool, maxToolView), verdict, by))
	}
	return state, reason, cut(strings.Join(said, "; "), maxMessage)
}

// lastDecided are the calls of the newest suspension that was decided.
func (s *State) lastDecided() []*call {
	for _, t := range slices.Backward(s.turns) {
		if suspended := t.suspension; suspended != nil && !suspended.open {
			return suspended.calls
		}
	}
	return nil
}

// awaited are the tools of what waits for people, or else of the calls that other
// Runs answer.
func (s *State) awaited(in Input, pending []v1alpha1.PendingCall) []string {
	var tools []string
	for _, p := range pending {
		tools = append(tools, p.Tool)
	}
	t := s.last()
	if len(tools) > 0 || t == nil || s.end != nil {
		return tools
	}
	for _, c := range t.open() {
		if child, delegated := in.Children[c.record.ID]; delegated && child.Outcome == nil {
			tools = append(tools, cut(c.record.Tool, maxToolView))
		}
	}
	return tools
}

// waitingFor fits into a column: the first tool, and how many more there are.
func waitingFor(tools []string) string {
	switch len(tools) {
	case 0:
		return ""
	case 1:
		return tools[0]
	default:
		return fmt.Sprintf("%s and %d more", tools[0], len(tools)-1)
	}
}

func waitingMessage(pending []v1alpha1.PendingCall) string {
	names := make([]string, 0, len(pending))
	for _, p := range pending {
		names = append(names, p.Tool)
	}
	return cut("waits for a decision on "+strings.Join(names, ", "), 1024)
}
