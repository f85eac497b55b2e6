// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"slices"
	"time"

	"remit.dev/remit/api/v1alpha1"
)

// Action is what is required now: Append, ResolveTools, TakeStep, CallModel, Execute,
// Delegate, Wait or Done.
type Action interface{ action() }

// Append adds entries to the log and asks again; it needs no I/O.
type Append struct{ Entries []Entry }

// ResolveTools sets Input.Judge and asks again: nothing before it needs the tools,
// so a Run can be cancelled and can expire while its servers are away.
type ResolveTools struct{}

// CallModel calls the model with Context and appends its message.
type CallModel struct{}

// TakeStep appends the message of a step of the workflow.
type TakeStep struct{ Index int }

// Delegate starts a Run of its own for each of the calls, where there is none yet.
type Delegate struct{ Calls []v1alpha1.CallRecord }

// Execute makes calls, in order, and appends a result for each. Where there is a
// watermark, it is durable before anything is sent.
type Execute struct {
	Calls     []Execution
	Watermark *v1alpha1.WatermarkRecord
}

// WatermarkWithout is the watermark of the calls that are to be made after all, or
// nil where none of those has an effect.
func (e Execute) WatermarkWithout(refused map[v1alpha1.CallID]Outcome) *v1alpha1.WatermarkRecord {
	if e.Watermark == nil {
		return nil
	}
	marked := slices.DeleteFunc(slices.Clone(e.Watermark.Calls), func(c v1alpha1.WatermarkedCall) bool {
		_, ok := refused[c.ID]
		return ok
	})
	if len(marked) == 0 {
		return nil
	}
	return &v1alpha1.WatermarkRecord{Calls: marked}
}

// Execution is one call to make. An effect runs alone; neighbours without effect
// may run at the same time.
type Execution struct {
	Call   v1alpha1.CallRecord
	Effect bool
}

// Wait does nothing until people decide, a delegated call is answered, or the time
// has come, if there is one.
type Wait struct{ Until time.Time }

// Done does nothing, ever.
type Done struct{}

func (Append) action()       {}
func (ResolveTools) action() {}
func (TakeStep) action()     {}
func (CallModel) action()    {}
func (Delegate) action()     {}
func (Execute) action()      {}
func (Wait) action()         {}
func (Done) action()         {}

// Failure is a refusal that the model reads.
type Failure struct {
	Kind    v1alpha1.ErrorKind
	Message string
}

// Judgement is what the tools of this very step say of a call.
type Judgement struct {
	// Refusal is set when the call may not be made at all.
	Refusal *Failure
	// Ask is why a person must approve; empty when none must.
	Ask string
	// Delegated says that a Run of its own answers the call.
	Delegated bool
	// Effect says that making the call twice is not the same as making it once.
	Effect bool

	Tool             string
	Class            v1alpha1.ToolClass
	DefinitionDigest v1alpha1.Digest
	ArgumentsDigest  v1alpha1.Digest
	// Arguments are the arguments as indented JSON.
	Arguments string
}

// Limits of a Run: the least that its Version, itself and the operator allow.
type Limits struct {
	Steps          int32
	Deadline       time.Duration
	FailureStreak  int32
	ApprovalExpiry time.Duration
}

// Input is everything that Next looks at.
type Input struct {
	State *State
	// Judge gives the judgement of a call by the tools of this step; nil until
	// they are resolved.
	Judge     func(v1alpha1.CallRecord) Judgement
	Decisions map[string]v1alpha1.Decision
	// Received are the bodies of the requests that webhooks got.
	Received map[v1alpha1.CallID]string
	// Children are the Runs that answer delegated calls.
	Children map[v1alpha1.CallID]Child
	// Steps are those of the workflow.
	Steps   []v1alpha1.StepID
	Cancel  bool
	Limits  Limits
	Started time.Time
	// Expires is when the open suspension was announced to expire. It is zero as
	// long as the status shows none, and never that of an earlier suspension.
	Expires time.Time
	// Shown are the calls that the status shows as pending.
	Shown []v1alpha1.PendingCall
	Now   time.Time
}

// Next says what is required now. Each check returns an action or nothing, and
// the first action counts.
func Next(in Input) (Action, error) {
	for _, check := range []func(Input) (Action, error){
		ended, crashed, cancelled, answered, kept, suspended, deadlined, resumed, unanswered, streaked, unapproved,
		stepped, exhausted,
	} {
		if action, err := check(in); action != nil || err != nil {
			return action, err
		}
	}
	if in.Judge == nil {
		return ResolveTools{}, nil
	}
	return CallModel{}, nil
}

func ended(in Input) (Action, error) {
	if in.State.Ended() {
		return Done{}, nil
	}
	return nil, nil
}

// crashed finds calls that were about to be made when a step broke off. Whether
// they were is unknown, so they are never made again.
func crashed(in Input) (Action, error) {
	t := in.State.last()
	if t == nil {
		return nil, nil
	}
	var entries []Entry
	for _, c := range t.open() {
		if c.watermarked {
			entries = append(entries, failed(c.record.ID, Failure{
				Kind: v1alpha1.ErrorOutcomeUnknown,
				Message: "The operator stopped while this call was made. It may or may not have had its effect, " +
					"and it is not made again. Find out what happened before you go on.",
			}))
		}
	}
	return appendOrNothing(entries)
}

func cancelled(in Input) (Action, error) {
	if !in.Cancel {
		return nil, nil
	}
	return finish(v1alpha1.RunCancelled, v1alpha1.ReasonCancelled, "spec.cancel is set"), nil
}

// suspended settles an expired suspension before it looks at decisions, so that
// a late one can never run the tool.
func suspended(in Input) (Action, error) {
	w := in.State.waiting()
	if w == nil {
		return nil, nil
	}
	expires := in.expires(w)
	if !in.Now.Before(expires) {
		return finish(v1alpha1.RunAbandoned, v1alpha1.ReasonSuspensionExpired, in.expired(w, expires)), nil
	}
	var entries []Entry
	for _, c := range w.calls {
		if c.decided() {
			continue
		}
		decision, ok := in.decision(c)
		if ok {
			entries = append(entries, Entry{Decision: w.record(c, decision)})
		} else if c.kind() != v1alpha1.PendingWebhook {
			return in.wait(expires), nil
		}
	}
	// What people decided is recorded, though a webhook may still be waited for.
	if len(entries) > 0 {
		return Append{Entries: entries}, nil
	}
	return in.wait(expires), nil
}

// expired tells whoever decided that it was too late.
func (in Input) expired(w *suspension, at time.Time) string {
	undecided, late := 0, 0
	for _, c := range w.calls {
		if _, ok := in.decision(c); ok && !c.decided() {
			late++
		} else if !c.decided() {
			undecided++
		}
	}
	what, calls := "nobody decided %d calls by %s", undecided
	if undecided == 0 {
		what, calls = "the decision on %d calls was not taken by %s, when they expired", late
	}
	return fmt.Sprintf("suspension_expired: "+what+"; create another Run to try again", calls, at.UTC().Format(time.RFC3339))
}

// decision is what a person decided on a call, or else what its webhook got.
func (in Input) decision(c *call) (v1alpha1.Decision, bool) {
	decision, ok := in.Decisions[string(c.record.ID)]
	if ok && decision.Approved != nil {
		return decision, true
	}
	body, ok := in.Received[c.record.ID]
	if !ok || c.kind() != v1alpha1.PendingWebhook {
		return v1alpha1.Decision{}, false
	}
	yes := true
	return v1alpha1.Decision{Approved: &yes, Answer: body}, true
}

// wait needs the tools only where people are not shown yet what they decide on.
func (in Input) wait(until time.Time) Action {
	if in.Judge == nil && !in.State.waiting().shown(in.Shown) {
		return ResolveTools{}
	}
	return Wait{Until: until}
}

// expires is when the suspension expires: as announced, or else by the limit.
func (in Input) expires(w *suspension) time.Time {
	if !in.Expires.IsZero() {
		return in.Expires
	}
	// As it will be announced: a status holds whole seconds.
	return w.since.Add(in.Limits.ApprovalExpiry).Truncate(time.Second)
}

func deadlined(in Input) (Action, error) {
	if worked := in.worked(); worked >= in.Limits.Deadline {
		return finish(v1alpha1.RunFailed, v1alpha1.ReasonDeadlineExceeded, fmt.Sprintf(
			"the Run worked for %s, and its deadline is %s", worked.Round(time.Second), in.Limits.Deadline)), nil
	}
	return nil, nil
}

// resumed stops a Run that people let go on with a streak over the limit before
// it makes the calls that they approved.
func resumed(in Input) (Action, error) {
	if t := in.State.last(); t != nil && t.suspension != nil {
		return streaked(in)
	}
	return nil, nil
}

// unanswered deals with the calls of the newest message that have no result:
// what is refused is answered, and what needs nobody is executed to the end.
func unanswered(in Input) (Action, error) {
	t := in.State.last()
	if t == nil || len(t.open()) == 0 {
		return nil, nil
	}
	if in.Judge == nil {
		return ResolveTools{}, nil
	}
	var results []Entry
	var delegate Delegate
	var execute Execute
	for _, c := range t.open() {
		judgement := in.Judge(c.record)
		child, started := in.Children[c.record.ID]
		switch failure := c.refusal(judgement); {
		case failure != nil:
			results = append(results, failed(c.record.ID, *failure))
		case c.answeredBy(judgement):
			results = append(results, in.State.ResultEntry(c.record.ID, c.answer()))
		case judgement.Ask != "" && !c.decided():
		case judgement.Delegated && child.Outcome != nil:
			results = append(results, in.State.childEntry(c.record.ID, child))
		case judgement.Delegated && !started:
			delegate.Calls = append(delegate.Calls, c.record)
		case !judgement.Delegated:
			execute.add(in, c, judgement)
		}
	}
	switch {
	case len(results) > 0:
		return Append{Entries: results}, nil
	case len(delegate.Calls) > 0:
		return delegate, nil
	case len(execute.Calls) > 0:
		return execute, nil
	}
	return nil, nil
}

// answeredBy says whether the call needs no execution: what a person or a webhook
// said is the answer, or nobody has to let the Run begin any more.
func (c *call) answeredBy(judgement Judgement) bool {
	if c.kind() == v1alpha1.PendingRun {
		return c.decided() || judgement.Ask == ""
	}
	return c.takesAnswer() && c.decided()
}

func (c *call) answer() Outcome {
	if !c.decided() || c.kind() == v1alpha1.PendingRun {
		return Outcome{Content: "The Run may begin."}
	}
	if c.decision.Answer == "" { // nobody approves a question without one
		return Outcome{Content: "The request came, and had no body."}
	}
	return Outcome{Content: c.decision.Answer}
}

// add takes a call in, with its watermark where it has an effect.
func (e *Execute) add(in Input, c *call, judgement Judgement) {
	e.Calls = append(e.Calls, Execution{Call: c.record, Effect: judgement.Effect})
	if !judgement.Effect {
		return
	}
	if e.Watermark == nil {
		e.Watermark = &v1alpha1.WatermarkRecord{}
	}
	e.Watermark.Calls = append(e.Watermark.Calls, in.watermark(c, judgement))
}

func (in Input) watermark(c *call, judgement Judgement) v1alpha1.WatermarkedCall {
	return v1alpha1.WatermarkedCall{
		ID:              c.record.ID,
		Tool:            judgement.Tool,
		ArgumentsDigest: judgement.ArgumentsDigest,
		IdempotencyKey:  IdempotencyKey(in.State.runUID, c.record.ID),
	}
}

// unapproved suspends what is left of the newest message's calls: those that a
// person must approve. Delegated ones come to their end first. Suspending a call
// that was suspended before is an error of the log, never a second question.
func unapproved(in Input) (Action, error) {
	t := in.State.last()
	if t == nil {
		return nil, nil
	}
	if wait, running := in.awaitChildren(t); running {
		return wait, nil
	}
	var gated []v1alpha1.CallID
	for _, c := range t.open() {
		gated = append(gated, c.record.ID)
	}
	if len(gated) == 0 {
		return nil, nil
	}
	return Append{Entries: []Entry{{Suspension: &v1alpha1.SuspensionRecord{Message: t.sequence, Calls: gated}}}}, nil
}

// refusal is why a call may not be made now, or nil. An approval holds for
// exactly what was shown, and only while the tool is still there; a call that
// nobody could approve in that way is not put before anybody.
func (c *call) refusal(judgement Judgement) *Failure {
	switch {
	case c.denied():
		return &Failure{Kind: v1alpha1.ErrorDenied, Message: denial(c.kind(), c.decision.Reason)}
	case judgement.Refusal != nil && c.suspended && judgement.Refusal.Kind == v1alpha1.ErrorUnknownTool:
		return &Failure{Kind: v1alpha1.ErrorToolUnavailable,
			Message: "The tool was taken away while the call waited for approval. The call was not made."}
	case judgement.Refusal != nil:
		return judgement.Refusal
	case (c.suspended || judgement.Ask != "") && judgement.DefinitionDigest != c.record.DefinitionDigest:
		return &Failure{Kind: v1alpha1.ErrorToolChanged,
			Message: "The tool's definition changed after you called it. The call was not made; " +
				"read the tool's new description before you call it again."}
	}
	return nil
}

func denial(kind v1alpha1.PendingKind, reason string) string {
	said := "A person denied this call"
	switch kind {
	case v1alpha1.PendingQuestion:
		said = "A person does not answer this question"
	case v1alpha1.PendingWebhook:
		said = "A person ended this wait"
	case v1alpha1.PendingRun:
		said = "A person did not let the Run begin"
	case v1alpha1.PendingTool:
	}
	if reason == "" {
		return said + " and gave no reason."
	}
	return said + ": " + reason
}

// streaked stops a Run whose tool fails on and on, with an explanation. It comes
// ahead of the next model call, of the step budget and of any question to people.
func streaked(in Input) (Action, error) {
	tool, failures := in.State.failures().broken(in.Limits.FailureStreak)
	if failures == 0 {
		return nil, nil
	}
	var entries []Entry
	t := in.State.last()
	for _, c := range t.open() {
		failure := Failure{Kind: v1alpha1.ErrorCancelled, Message: "The Run stopped before this call was made."}
		if _, started := in.Children[c.record.ID]; started {
			failure.Message = "The Run stopped before this subagent came to its end. What it did until then remains done."
		}
		entries = append(entries, failed(c.record.ID, failure))
	}
	explanation := stopped(tool, failures)
	if t.message.Text == "" {
		entries = append(entries, Entry{Message: &v1alpha1.MessageRecord{Text: explanation}})
	}
	return Append{Entries: append(entries, Entry{End: &v1alpha1.EndRecord{
		Phase: v1alpha1.RunComplete, Reason: v1alpha1.ReasonFailureStreak, Message: explanation}})}, nil
}

// answered ends a Run as soon as its model has no more calls to make. An answer
// counts even if the deadline has passed since.
func answered(in Input) (Action, error) {
	t := in.State.last()
	if t == nil || len(t.calls) > 0 {
		return nil, nil
	}
	message := "the model answered"
	if t.message.Truncated {
		message = "the model's answer was cut off at its length limit"
	}
	return finish(v1alpha1.RunComplete, v1alpha1.ReasonSucceeded, message), nil
}

// kept ends a Run that a person or a policy did not let begin.
func kept(in Input) (Action, error) {
	c := in.State.whole()
	if c == nil || c.result == nil || c.result.Error == "" {
		return nil, nil
	}
	reason := v1alpha1.ReasonPolicyDenied
	if c.denied() {
		reason = v1alpha1.ReasonDenied
	}
	return finish(v1alpha1.RunFailed, reason, c.result.Content), nil
}

// stepped takes the next step of the workflow, unless the one before it failed.
func stepped(in Input) (Action, error) {
	taken, failed := in.State.workflow()
	if failed || taken >= len(in.Steps) {
		return nil, nil
	}
	if in.Judge == nil {
		return ResolveTools{}, nil
	}
	return TakeStep{Index: taken}, nil
}

func exhausted(in Input) (Action, error) {
	if in.State.steps < in.Limits.Steps {
		return nil, nil
	}
	return finish(v1alpha1.RunFailed, v1alpha1.ReasonStepLimit, fmt.Sprintf(
		"the model was called %d times without coming to an end, which is the limit", in.State.steps)), nil
}

// Fail ends a Run for a reason that lies outside the log.
func Fail(reason, message string) Entry {
	return Entry{End: &v1alpha1.EndRecord{
		Phase: v1alpha1.RunFailed, Reason: reason, Message: cut(clean(message), maxMessage)}}
}

func finish(phase v1alpha1.RunPhase, reason, message string) Action {
	return Append{Entries: []Entry{{End: &v1alpha1.EndRecord{Phase: phase, Reason: reason, Message: message}}}}
}

func appendOrNothing(entries []Entry) (Action, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	return Append{Entries: entries}, nil
}

func failed(id v1alpha1.CallID, failure Failure) Entry {
	return Entry{Result: &v1alpha1.ResultRecord{
		ID: id, Error: failure.Kind, Content: cutWithNotice(clean(failure.Message), maxMessage)}}
}
