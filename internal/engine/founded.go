// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"slices"
	"strings"

	"remit.dev/remit/api/v1alpha1"
)

// CheckDecisions says whether the log decides as people did. Whoever may write the
// status can write a log whose digests are right, but a decision counts only where
// the API server let somebody make it who had the right to. It gives a *CorruptError.
func (s *State) CheckDecisions(made map[string]v1alpha1.Decision) error {
	for _, t := range s.turns {
		if t.suspension == nil {
			continue
		}
		for _, c := range t.suspension.calls {
			if c.decided() && !t.suspension.founded(c, made) {
				return &CorruptError{Sequence: s.sequence, Detail: fmt.Sprintf(
					"call %s was decided otherwise than spec.decisions says", c.record.ID)}
			}
		}
	}
	return nil
}

// founded says whether the decision on a call is a person's, or a webhook's, which
// nobody signs.
func (w *suspension) founded(c *call, made map[string]v1alpha1.Decision) bool {
	decision, ok := made[string(c.record.ID)]
	if !ok {
		return c.kind() == v1alpha1.PendingWebhook && !c.denied() && c.decision.By == ""
	}
	return decision.Approved != nil && *decision.Approved == *c.decision.Approved &&
		c.decision.By == cut(clean(decision.By), maxReason) &&
		strings.HasPrefix(clean(decision.Reason), c.decision.Reason) &&
		(sameAnswer(decision.Answer, c.decision.Answer) || c.decision.Answer == "" && !c.takesAnswer())
}

// sameAnswer says whether the answer in the log is what somebody wrote, or the
// beginning of it with the notice that it was cut: bounds may have been others then.
func sameAnswer(whole, logged string) bool {
	whole = clean(whole)
	if at := strings.LastIndex(logged, cutNotice); at >= 0 && logged != whole {
		return strings.HasPrefix(whole, logged[:at])
	}
	return logged == whole
}

// record is a decision on a call of the suspension as the log has it.
func (w *suspension) record(c *call, decision v1alpha1.Decision) *v1alpha1.DecisionRecord {
	record := &v1alpha1.DecisionRecord{
		ID:       c.record.ID,
		Approved: decision.Approved,
		Reason:   cut(clean(decision.Reason), maxReason),
		By:       cut(clean(decision.By), maxReason),
	}
	if c.takesAnswer() {
		record.Answer = cutWithNotice(clean(decision.Answer), share(maxAnswer, maxAnswers, w.answers()))
	}
	return record
}

// answers is how many calls of the suspension take an answer.
func (w *suspension) answers() int {
	n := 0
	for _, c := range w.calls {
		if c.takesAnswer() {
			n++
		}
	}
	return n
}

// AnswerFits says whether an answer is recorded whole, beside those to the others that
// wait.
func AnswerFits(text string, pending []v1alpha1.PendingCall) bool {
	answers := 0
	for i := range pending {
		if kind := pending[i].Kind; kind == v1alpha1.PendingQuestion || kind == v1alpha1.PendingWebhook {
			answers++
		}
	}
	return jsonSize(clean(text)) <= share(maxAnswer, maxAnswers, answers)
}

// halfDecided says whether people decided on some of the calls and not on others: only
// webhooks are waited for beside what was decided.
func (w *suspension) halfDecided() bool {
	undecided := func(c *call) bool { return !c.decided() && c.kind() != v1alpha1.PendingWebhook }
	return slices.ContainsFunc(w.calls, (*call).decided) && slices.ContainsFunc(w.calls, undecided)
}

// shown says whether people see every call of the suspension that is undecided.
func (w *suspension) shown(pending []v1alpha1.PendingCall) bool {
	return !slices.ContainsFunc(w.calls, func(c *call) bool {
		return !c.decided() && !slices.ContainsFunc(pending, func(p v1alpha1.PendingCall) bool { return p.ID == c.record.ID })
	})
}
