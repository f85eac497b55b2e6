// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"remit.dev/remit/api/v1alpha1"
)

const uid = "2f1c7f6e-0000-4000-8000-000000000001"

var (
	began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	usual = Limits{Steps: 10, Deadline: time.Hour, FailureStreak: 5, ApprovalExpiry: 24 * time.Hour}
)

// testTool is a tool as a test's step sees it.
type testTool struct {
	ask        string
	effect     bool
	definition v1alpha1.Digest
	refusal    *Failure
	delegated  bool
}

// The tools of most tests: one that only reads, and two that change something,
// one of which needs approval.
func usualTools() map[string]testTool {
	return map[string]testTool{
		"lookup": {definition: "sha256:lookup"},
		"note":   {definition: "sha256:note", effect: true},
		"refund": {definition: "sha256:refund", effect: true, ask: "class Destructive"},
		"wipe":   {definition: "sha256:wipe", effect: true, ask: "class Destructive"},
		"peek":   {definition: "sha256:peek", ask: "the Grant always asks for peek"},
	}
}

// everyTool has the builtins, too, whose calls are never made here.
func everyTool() map[string]testTool {
	tools := usualTools()
	tools["ask_user"] = testTool{definition: "sha256:ask", ask: "the agent asks"}
	tools["wait_webhook"] = testTool{definition: "sha256:webhook", ask: "the agent waits"}
	tools["run_subagent"] = testTool{definition: "sha256:subagent", delegated: true}
	return tools
}

// scenario plays a Run by hand: the test says what the model, the tools and the
// people do, and what Next asks for in between.
type scenario struct {
	testing.TB
	state     *State
	saved     []byte
	tools     map[string]testTool
	limits    Limits
	decisions map[string]v1alpha1.Decision
	shown     []v1alpha1.PendingCall
	cancel    bool
	now       time.Time
	executing []Execution
	sealed    []v1alpha1.Record
	received  map[v1alpha1.CallID]string
	children  map[v1alpha1.CallID]Child
	steps     []v1alpha1.StepID
	// unresolved says that the tools of this step are not known yet.
	unresolved bool
	// unchecked leaves out the comparison after each record, for very large logs.
	unchecked bool
}

func play(t testing.TB) *scenario {
	s := &scenario{TB: t, tools: everyTool(), limits: usual, now: began, decisions: map[string]v1alpha1.Decision{}}
	s.state = s.fold(nil)
	s.save()
	return s
}

func (s *scenario) fold(records []v1alpha1.Record) *State {
	s.Helper()
	state, err := Fold(uid, s.sealed, records)
	if err != nil {
		s.Fatal(err)
	}
	return state
}

func (s *scenario) input() Input {
	in := Input{State: s.state, Decisions: s.decisions, Cancel: s.cancel,
		Received: s.received, Children: s.children, Steps: s.steps,
		Limits: s.limits, Started: began, Now: s.now}
	if !s.unresolved {
		in.Judge = judgeBy(s.tools)
	}
	if len(s.shown) > 0 {
		in.Shown, in.Expires = s.shown, s.shown[0].ExpiresAt.Time
	}
	return in
}

// judgeBy judges as the pipeline does: from the tools of the step alone.
func judgeBy(tools map[string]testTool) func(v1alpha1.CallRecord) Judgement {
	return func(c v1alpha1.CallRecord) Judgement {
		tool, ok := tools[c.Tool]
		if !ok {
			return Judgement{Refusal: &Failure{Kind: v1alpha1.ErrorUnknownTool, Message: "There is no such tool."}}
		}
		shown, digest := c.Arguments, digest("arguments", c.Arguments)
		if read, err := ReadArguments(c.Arguments); err == nil {
			shown, digest = read.Indented, read.Digest
		}
		return Judgement{
			Refusal: tool.refusal, Ask: tool.ask, Effect: tool.effect, Delegated: tool.delegated,
			Tool: c.Tool, Class: v1alpha1.ClassWrite, DefinitionDigest: tool.definition,
			ArgumentsDigest: digest, Arguments: shown,
		}
	}
}

// expect compares what Next asks for, and does what needs no I/O: it appends
// entries, and the watermark of an execution.
func (s *scenario) expect(want string) {
	s.Helper()
	action, err := Next(s.input())
	if err != nil {
		s.Fatalf("want %q, got the error %v", want, err)
	}
	if diff := cmp.Diff(want, s.describe(action)); diff != "" {
		s.Fatalf("(-want +got):\n%s", diff)
	}
	switch action := action.(type) {
	case Append:
		s.append(action.Entries...)
	case Execute:
		s.executing = action.Calls
		if action.Watermark != nil {
			s.append(Entry{Watermark: action.Watermark})
		}
	}
}

func (s *scenario) append(entries ...Entry) {
	s.Helper()
	if err := s.state.Append(s.now, entries...); err != nil {
		s.Fatal(err)
	}
	if !s.unchecked {
		expectSame(s, s.state, s.fold(roundTrip(s, s.state.Records())))
	}
}

// model records a message of the model.
func (s *scenario) model(text string, calls ...string) {
	s.Helper()
	s.expect("call the model")
	message := ModelMessage{Grant: "llm", Model: "m-1", Text: text}
	for _, c := range calls {
		tool, arguments, _ := strings.Cut(c, " ")
		message.Calls = append(message.Calls, ModelCall{
			Tool: tool, Arguments: arguments, Definition: s.tools[tool].definition})
	}
	s.append(s.state.MessageEntry(message))
}

// outcomes records what became of the calls that were executed, in their order.
// Each is "ok", or the kind of a failure, and the content after a space.
func (s *scenario) outcomes(outcomes ...string) {
	s.Helper()
	if len(outcomes) != len(s.executing) {
		s.Fatalf("%d outcomes of %d calls", len(outcomes), len(s.executing))
	}
	for i, text := range outcomes {
		kind, content, _ := strings.Cut(text, " ")
		outcome := Outcome{Content: content, Error: v1alpha1.ErrorKind(kind)}
		if kind == "ok" {
			outcome.Error = ""
		}
		s.append(s.state.ResultEntry(s.executing[i].Call.ID, outcome))
	}
	s.executing = nil
}

// decide answers waiting calls in their order: "yes", "no", or "no " and a reason.
func (s *scenario) decide(verdicts ...string) {
	s.Helper()
	waiting := s.state.waiting()
	if waiting == nil {
		s.Fatal("nothing waits for a decision")
	}
	for i, verdict := range verdicts {
		word, reason, _ := strings.Cut(verdict, " ")
		approved := word == "yes"
		s.decisions[string(waiting.calls[i].record.ID)] = v1alpha1.Decision{Approved: &approved, Reason: reason, By: "alice"}
	}
}

// answer answers the waiting call of that position.
func (s *scenario) answer(i int, text string) {
	s.Helper()
	yes := true
	s.decisions[string(s.state.waiting().calls[i].record.ID)] = v1alpha1.Decision{Approved: &yes, Answer: text, By: "alice"}
}

// id is the id of a call of the newest message.
func (s *scenario) id(i int) v1alpha1.CallID { return s.state.last().message.Calls[i].ID }

// result is what the model reads last.
func (s *scenario) result() string {
	context := s.state.Context()
	return context[len(context)-1].Result.Text
}

func (s *scenario) later(d time.Duration) { s.now = s.now.Add(d) }

// save makes the log durable, and crash goes back to what was durable.
func (s *scenario) save() {
	s.Helper()
	content, err := json.Marshal(s.state.Records())
	if err != nil {
		s.Fatal(err)
	}
	s.saved = content
	s.state.Saved()
}

func (s *scenario) crash() {
	s.Helper()
	var records []v1alpha1.Record
	if err := json.Unmarshal(s.saved, &records); err != nil {
		s.Fatal(err)
	}
	s.state = s.fold(records)
	s.executing = nil
}

func (s *scenario) project() v1alpha1.RunStatus {
	status := v1alpha1.RunStatus{Version: "v-1", Pending: s.shown}
	Project(s.input(), 1, &status)
	return status
}

// describe tells an action in one line. An effect has an exclamation mark.
func (s *scenario) describe(action Action) string {
	switch action := action.(type) {
	case Append:
		var parts []string
		for _, entry := range action.Entries {
			parts = append(parts, describeEntry(s.state, entry))
		}
		return "append " + strings.Join(parts, "; ")
	case ResolveTools:
		return "resolve the tools"
	case CallModel:
		return "call the model"
	case Execute:
		var parts, marked []string
		for _, e := range action.Calls {
			part := e.Call.Tool
			if e.Effect {
				part += "!"
			}
			parts = append(parts, part)
		}
		if action.Watermark == nil {
			return "execute " + strings.Join(parts, ", ")
		}
		for _, c := range action.Watermark.Calls {
			marked = append(marked, c.Tool)
		}
		return "execute " + strings.Join(parts, ", ") + " after watermark " + strings.Join(marked, ", ")
	case TakeStep:
		return fmt.Sprintf("take step %d", action.Index)
	case Delegate:
		var parts []string
		for _, c := range action.Calls {
			parts = append(parts, c.Tool)
		}
		return "delegate " + strings.Join(parts, ", ")
	case Wait:
		if action.Until.IsZero() {
			return "wait"
		}
		return "wait until " + action.Until.Sub(began).String()
	case Done:
		return "done"
	}
	return fmt.Sprintf("%T", action)
}

func describeEntry(state *State, entry Entry) string {
	tool := func(id v1alpha1.CallID) string {
		if t := state.last(); t != nil && t.byID[id] != nil {
			return t.byID[id].record.Tool
		}
		return string(id)
	}
	switch {
	case entry.Message != nil:
		return fmt.Sprintf("message of %d calls", len(entry.Message.Calls))
	case entry.Watermark != nil:
		return fmt.Sprintf("watermark of %d calls", len(entry.Watermark.Calls))
	case entry.Result != nil:
		return "result of " + tool(entry.Result.ID) + ": " + kindOrOK(entry.Result.Error)
	case entry.Suspension != nil:
		var tools []string
		for _, id := range entry.Suspension.Calls {
			tools = append(tools, tool(id))
		}
		return "suspension of " + strings.Join(tools, ", ")
	case entry.Decision != nil:
		verdict := "no"
		if *entry.Decision.Approved {
			verdict = "yes"
		}
		return "decision on " + tool(entry.Decision.ID) + ": " + verdict
	}
	return fmt.Sprintf("end %s, %s", entry.End.Phase, entry.End.Reason)
}

func kindOrOK(kind v1alpha1.ErrorKind) string {
	if kind == "" {
		return "ok"
	}
	return string(kind)
}

// roundTrip stores records and reads them, as the API server does.
func roundTrip(t testing.TB, records []v1alpha1.Record) []v1alpha1.Record {
	t.Helper()
	content, err := json.Marshal(records)
	if err != nil {
		t.Fatal(err)
	}
	var read []v1alpha1.Record
	if err := json.Unmarshal(content, &read); err != nil {
		t.Fatal(err)
	}
	return read
}

var wholeState = cmp.Options{
	cmp.AllowUnexported(State{}, turn{}, call{}, suspension{}, endedAt{}),
	cmpopts.IgnoreFields(State{}, "fresh"),
	cmpopts.EquateEmpty(),
}

// expectSame compares two states to the last field, but for what is not saved yet.
func expectSame(t testing.TB, want, got *State) {
	t.Helper()
	if diff := cmp.Diff(want, got, wholeState); diff != "" {
		t.Fatalf("the folded log differs (-in memory +folded):\n%s", diff)
	}
}
