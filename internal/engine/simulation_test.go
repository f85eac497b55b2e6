// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit.dev/remit/api/v1alpha1"
)

// errCrash is what a killed operator comes to.
var errCrash = errors.New("the operator was killed")

// maxReconciles is far more than any simulated Run needs.
const maxReconciles = 400

// simulation plays a Run as the controller does, one reconcile after another, in a
// world that it does not control: models, tools, people, clocks and kills. Whatever
// is random is chosen by choose, which gives a number from 0 to n-1.
type simulation struct {
	choose func(label string, n int) int
	// fault reports what must never happen.
	fault func(format string, args ...any)

	// The world outlives a kill.
	stored    []byte // the status, as the API server has it
	segments  map[string][]byte
	decisions map[string]v1alpha1.Decision
	cancel    bool
	offered   func() map[string]testTool
	tools     map[string]testTool
	steps     []v1alpha1.StepID
	children  map[v1alpha1.CallID]Child
	// waitedFor are the children as they were at the last write.
	waitedFor map[v1alpha1.CallID]Child
	received  map[v1alpha1.CallID]string
	limits    Limits
	now       time.Time
	expiry    map[v1alpha1.CallID]time.Time
	shown     map[v1alpha1.CallID]v1alpha1.PendingCall
	journal   []string

	// attempts counts how often each call was made, and effects how often it was
	// made as one that has an effect.
	attempts map[v1alpha1.CallID]int
	effects  map[v1alpha1.CallID]int
	messages int
	kills    int

	// One life of the operator.
	state    *State
	status   v1alpha1.RunStatus
	resolved bool
}

func newSimulation(choose func(string, int) int, fault func(string, ...any)) *simulation {
	return &simulation{
		choose: choose, fault: fault,
		stored: []byte(`{"version":"v-1"}`), segments: map[string][]byte{},
		decisions: map[string]v1alpha1.Decision{}, offered: usualTools, tools: usualTools(), now: began,
		children: map[v1alpha1.CallID]Child{}, received: map[v1alpha1.CallID]string{},
		limits: Limits{
			Steps: int32(1 + choose("step limit", 6)), Deadline: time.Duration(5+choose("deadline", 120)) * time.Minute,
			FailureStreak: int32(1 + choose("streak limit", 5)), ApprovalExpiry: time.Hour,
		},
		expiry: map[v1alpha1.CallID]time.Time{}, shown: map[v1alpha1.CallID]v1alpha1.PendingCall{},
		attempts: map[v1alpha1.CallID]int{}, effects: map[v1alpha1.CallID]int{},
	}
}

func (w *simulation) chance(label string, percent int) bool {
	return w.choose(label, 100) < percent
}

func (w *simulation) log(format string, args ...any) {
	w.journal = append(w.journal, fmt.Sprintf(format, args...))
}

// run plays until the Run has ended.
func (w *simulation) run() {
	for range maxReconciles {
		err := w.reconcile()
		switch {
		case errors.Is(err, errCrash):
			w.kills++
			w.log("    killed")
		case err != nil:
			w.fault("reconcile: %v", err)
			return
		case w.state.Ended() && !w.state.Dirty():
			w.checkEnd()
			return
		}
		w.checkStored()
		w.happen()
	}
	w.fault("the Run did not end in %d reconciles", maxReconciles)
}

// kill crashes the operator, but not for ever.
func (w *simulation) kill(point string) error {
	if w.kills < 8 && w.chance("kill "+point, 9) {
		return errCrash
	}
	return nil
}

// reconcile is the controller's loop: it does what Next asks for until a step ends.
func (w *simulation) reconcile() error {
	if err := w.load(); err != nil {
		return err
	}
	w.log("reconcile")
	for called := false; ; {
		action, err := Next(w.input())
		if err != nil {
			return err
		}
		switch action := action.(type) {
		case Append:
			if len(action.Entries) == 0 {
				w.fault("an Append without entries")
			}
			if err := w.append(action.Entries...); err != nil {
				return err
			}
		case ResolveTools:
			if w.resolved {
				w.fault("the tools are resolved twice")
			}
			w.resolved = true
		case TakeStep, CallModel:
			if called {
				return w.save()
			}
			called = true
			if err := w.goOn(action); err != nil {
				return err
			}
		case Delegate:
			if err := w.delegate(action.Calls); err != nil {
				return err
			}
		case Execute:
			if err := w.execute(action); err != nil {
				return err
			}
		case Wait, Done:
			return w.save()
		}
	}
}

// load reads the status and folds its log, as a fresh process does.
func (w *simulation) load() error {
	w.status, w.resolved = v1alpha1.RunStatus{}, false
	if err := json.Unmarshal(w.stored, &w.status); err != nil {
		return err
	}
	var sealed []v1alpha1.Record
	for _, segment := range w.status.Log.Sealed {
		records, err := Open(w.segments[segment.ConfigMap], segment)
		if err != nil {
			return err
		}
		sealed = append(sealed, records...)
	}
	var err error
	w.state, err = Fold(uid, sealed, w.status.Log.Records)
	return err
}

func (w *simulation) input() Input {
	in := Input{State: w.state, Decisions: w.decisions, Cancel: w.cancel,
		Received: w.received, Children: w.children, Steps: w.steps,
		Limits: w.limits, Started: began, Now: w.now}
	if w.resolved {
		in.Judge = judgeBy(w.tools)
	}
	if len(w.status.Pending) > 0 {
		in.Shown, in.Expires = w.status.Pending, w.status.Pending[0].ExpiresAt.Time
	}
	return in
}

func (w *simulation) append(entries ...Entry) error {
	for _, entry := range entries {
		text := describeEntry(w.state, entry)
		if err := w.state.Append(w.now, entry); err != nil {
			return err
		}
		w.log("  %s", text)
	}
	return nil
}

// save writes the status once, segments first.
func (w *simulation) save() error {
	for {
		segment, err := w.state.Seal(4000)
		if err != nil {
			return err
		}
		if segment == nil {
			break
		}
		name := string(segment.Digest)
		w.segments[name] = segment.Content
		if err := w.kill("after a segment"); err != nil {
			return err
		}
		w.status.Log.Sealed = append(w.status.Log.Sealed, v1alpha1.SealedSegment{
			ConfigMap: name, Digest: segment.Digest, Records: segment.Records})
		w.state.Sealed(segment)
	}
	Project(w.input(), 1, &w.status)
	content, err := json.Marshal(w.status)
	if err != nil {
		return err
	}
	if err := w.kill("before a write"); err != nil {
		return err
	}
	if string(content) != string(w.stored) {
		w.log("  write: %s, %d steps", w.status.Phase, w.status.Steps)
	}
	w.stored, w.waitedFor = content, maps.Clone(w.children)
	for _, p := range w.status.Pending {
		if before, ok := w.shown[p.ID]; ok && !cmp.Equal(before, p) {
			w.fault("the view of %s changed from %v to %v", p.ID, before, p)
		}
		w.shown[p.ID], w.expiry[p.ID] = p, p.ExpiresAt.Time
	}
	w.state.Saved()
	return w.kill("after a write")
}

func (w *simulation) callModel() error {
	if streak := w.longestStreak(); streak >= w.limits.FailureStreak {
		w.fault("the model is called after %d failures in a row, and the limit is %d (I11)", streak, w.limits.FailureStreak)
	}
	w.checkContext()
	if w.state.steps >= w.limits.Steps {
		w.fault("the model is called after %d steps, and the limit is %d", w.state.steps, w.limits.Steps)
	}
	w.messages++
	message := ModelMessage{Grant: "llm", Model: "m-1", Usage: v1alpha1.Usage{InputTokens: 10, OutputTokens: 1}}
	if w.chance("text", 60) {
		message.Text = fmt.Sprintf("Message %d.", w.messages)
	}
	names := append(slices.Sorted(maps.Keys(w.offered())), "nonsense")
	for i := range (w.choose("calls", 12) + 1) / 3 {
		name := names[w.choose("tool", len(names))]
		message.Calls = append(message.Calls, ModelCall{
			Tool: name, Arguments: fmt.Sprintf("%d", i%2), Definition: w.tools[name].definition})
	}
	if len(message.Calls) == 0 && message.Text == "" {
		message.Text = "Hello."
	}
	var called []string
	for _, c := range message.Calls {
		called = append(called, c.Tool)
	}
	w.log("  model: %q, calls %v", message.Text, called)
	if err := message.Check(); err != nil {
		return err
	}
	if err := w.kill("after the model"); err != nil {
		return err
	}
	w.now = w.now.Add(time.Duration(1+w.choose("model seconds", 90)) * time.Second)
	return w.append(w.state.MessageEntry(message))
}

// execute makes the calls; only the watermark is durable before.
func (w *simulation) execute(action Execute) error {
	if action.Watermark != nil {
		if err := w.append(Entry{Watermark: action.Watermark}); err != nil {
			return err
		}
		if err := w.save(); err != nil {
			return err
		}
	}
	var results []Entry
	for _, e := range action.Calls {
		if err := w.kill("before a call"); err != nil {
			return err
		}
		results = append(results, w.state.ResultEntry(e.Call.ID, w.make(e)))
		if err := w.kill("after a call"); err != nil {
			return err
		}
	}
	return w.append(results...)
}

// make makes one call, and checks that it may be made.
func (w *simulation) make(e Execution) Outcome {
	id, tool := e.Call.ID, w.tools[e.Call.Tool]
	w.attempts[id]++
	if e.Effect {
		w.effects[id]++
		if w.effects[id] > 1 {
			w.fault("%s had its effect %d times", e.Call.Tool, w.effects[id])
		}
		if !w.watermarkIsDurable(id) {
			w.fault("%s is made, and its watermark is not durable", e.Call.Tool)
		}
	}
	if e.Effect != tool.effect {
		w.fault("%s is made as an effect: %t", e.Call.Tool, e.Effect)
	}
	if _, there := w.tools[e.Call.Tool]; !there {
		w.fault("%s is made, and is gone (P36)", e.Call.Tool)
	}
	if w.cancel {
		w.fault("%s is made in a cancelled Run", e.Call.Tool)
	}
	if !slices.Contains(slices.Collect(maps.Keys(usualTools())), e.Call.Tool) {
		w.fault("%s is made here, and is answered from elsewhere", e.Call.Tool)
	}
	if tool.ask != "" {
		w.checkApproved(e, tool)
	}
	outcomes := []Outcome{
		{Content: "found"}, {}, {Error: v1alpha1.ErrorTool, Content: "it broke"},
		{Error: v1alpha1.ErrorTimeout}, {Error: v1alpha1.ErrorCancelled},
	}
	outcome := outcomes[w.choose("outcome", len(outcomes))]
	w.now = w.now.Add(time.Duration(w.choose("tool seconds", 60)) * time.Second)
	w.log("  made %s: %s", e.Call.Tool, kindOrOK(outcome.Error))
	return outcome
}

// checkApproved: a gated call is made only if a person approved it, in time, as it
// was shown (H7, P23, P37, P38).
func (w *simulation) checkApproved(e Execution, tool testTool) {
	decision, decided := w.decisions[string(e.Call.ID)]
	if !decided || !*decision.Approved {
		w.fault("%s is made, and nobody approved it", e.Call.Tool)
	}
	if w.shown[e.Call.ID].DefinitionDigest != tool.definition {
		w.fault("%s is made as %s, and was shown as %s", e.Call.Tool, tool.definition, w.shown[e.Call.ID].DefinitionDigest)
	}
	for _, record := range w.state.Records() {
		if record.Decision != nil && record.Decision.ID == e.Call.ID {
			if !record.Time.Time.Before(w.expiry[e.Call.ID]) {
				w.fault("%s is made by a decision of %v, and expired at %v", e.Call.Tool, record.Time, w.expiry[e.Call.ID])
			}
			return
		}
	}
	w.fault("%s is made, and its decision is not in the log", e.Call.Tool)
}

// watermarkIsDurable looks at what the API server has.
func (w *simulation) watermarkIsDurable(id v1alpha1.CallID) bool {
	var status v1alpha1.RunStatus
	if err := json.Unmarshal(w.stored, &status); err != nil {
		return false
	}
	return slices.ContainsFunc(status.Log.Records, func(r v1alpha1.Record) bool {
		return r.Watermark != nil && slices.ContainsFunc(r.Watermark.Calls, func(c v1alpha1.WatermarkedCall) bool { return c.ID == id })
	})
}

// happen is what the world does between two reconciles.
func (w *simulation) happen() {
	var status v1alpha1.RunStatus
	if err := json.Unmarshal(w.stored, &status); err != nil {
		w.fault("%v", err)
	}
	switch w.choose("event", 12) {
	case 0:
		w.now = w.now.Add(time.Duration(w.choose("minutes", 90)) * time.Minute)
		w.log("it is %s later", w.now.Sub(began))
	case 1: // to the very instant of expiry
		if len(status.Pending) > 0 && status.Pending[0].ExpiresAt.After(w.now) {
			w.now = status.Pending[0].ExpiresAt.Time
			w.log("it is the instant of expiry")
		}
	case 2:
		if w.chance("cancel", 40) && !w.cancel {
			w.cancel = true
			w.log("somebody cancels")
		}
	case 3:
		name := slices.Sorted(maps.Keys(w.offered()))[w.choose("changed tool", len(w.offered()))]
		switch tool, there := w.tools[name]; {
		case !there:
			w.tools[name] = w.offered()[name]
			w.log("%s comes back", name)
		case w.chance("gone", 50):
			delete(w.tools, name)
			w.log("%s is taken away", name)
		default:
			tool.definition += "'"
			w.tools[name] = tool
			w.log("%s changes", name)
		}
	case 4, 5, 6, 7, 8:
		w.decide(status.Pending)
	case 9, 10:
		w.answer(status.Pending)
	}
}

// decide is one patch that decides every pending call, as the API server demands.
func (w *simulation) decide(pending []v1alpha1.PendingCall) {
	var words []string
	for _, p := range pending {
		if _, decided := w.decisions[string(p.ID)]; decided {
			return // a recorded decision never changes
		}
	}
	for _, p := range pending {
		approved := w.chance("approve", 70)
		decision := v1alpha1.Decision{Approved: &approved, By: "alice"}
		if approved && p.Kind != v1alpha1.PendingTool {
			decision.Answer = "blue"
		}
		w.decisions[string(p.ID)] = decision
		words = append(words, fmt.Sprintf("%s %t", p.Tool, approved))
	}
	if len(words) > 0 {
		w.log("alice decides: %s", strings.Join(words, ", "))
	}
}
