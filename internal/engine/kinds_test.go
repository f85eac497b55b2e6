// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"

	"remit.dev/remit/api/v1alpha1"
)

// H2: a question suspends as an approval does, and its answer is what the model reads.
func TestQuestion(t *testing.T) {
	s := play(t)
	s.model("", "ask_user which?", "lookup a", "refund 1")
	s.expect("execute lookup")
	s.outcomes("ok")
	s.expect("append suspension of ask_user, refund")
	pending := s.project().Pending
	if diff := cmp.Diff([]v1alpha1.PendingKind{v1alpha1.PendingQuestion, v1alpha1.PendingTool},
		[]v1alpha1.PendingKind{pending[0].Kind, pending[1].Kind}); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
	s.answer(0, "the blue one")
	s.expect("wait until 24h0m0s") // H13: the refund is undecided
	s.decide()
	s.decisions[string(s.id(2))] = s.decisions[string(s.id(0))]
	s.expect("append decision on ask_user: yes; decision on refund: yes")
	s.expect("append result of ask_user: ok")
	s.expect("execute refund! after watermark refund")
	s.outcomes("ok")
	if got := s.state.Context()[1].Result.Text; got != "the blue one" {
		t.Errorf("the model reads %q", got)
	}
	s.expect("call the model")
}

// H17: what a person says no to is a failed result of its own words.
func TestRefusedKinds(t *testing.T) {
	for tool, want := range map[string]string{
		"ask_user":     "A person does not answer this question: later",
		"wait_webhook": "A person ended this wait: later",
	} {
		t.Run(tool, func(t *testing.T) {
			s := play(t)
			s.model("", tool)
			s.expect("append suspension of " + tool)
			s.decide("no later")
			s.expect("append decision on " + tool + ": no")
			s.expect("append result of " + tool + ": denied")
			if got := s.result(); !strings.Contains(got, want) {
				t.Errorf("the model reads %s", got)
			}
			s.expect("call the model")
		})
	}
}

// H2, P41: a request to the webhook of a call is its answer, together with what
// people decide on the others, in either order.
func TestWebhook(t *testing.T) {
	suspend := func(t *testing.T) *scenario {
		s := play(t)
		s.model("", "wait_webhook", "refund 1")
		s.expect("append suspension of wait_webhook, refund")
		return s
	}
	request := func(s *scenario) { s.received = map[v1alpha1.CallID]string{s.id(0): "done"} }
	goesOn := func(t *testing.T, s *scenario) {
		t.Helper()
		s.expect("append result of wait_webhook: ok")
		if got := s.result(); got != "done" {
			t.Errorf("the model reads %q", got)
		}
		s.expect("execute refund! after watermark refund")
	}
	t.Run("the request comes first", func(t *testing.T) {
		s := suspend(t)
		request(s)
		s.expect("wait until 24h0m0s")
		s.decideOnly(1, true)
		s.expect("append decision on wait_webhook: yes; decision on refund: yes")
		if by := s.state.Records()[2].Decision.By; by != "" {
			t.Errorf("%q answered in place of a request", by)
		}
		goesOn(t, s)
	})
	t.Run("the decision comes first, and is recorded at once", func(t *testing.T) {
		s := suspend(t)
		s.decideOnly(1, true)
		s.expect("append decision on refund: yes")
		s.expect("wait until 24h0m0s")
		status := s.project()
		if len(status.Pending) != 1 || status.Pending[0].Kind != v1alpha1.PendingWebhook || len(status.Decided) != 1 ||
			status.WaitingFor != "wait_webhook" || status.Phase != v1alpha1.RunSuspended {
			t.Errorf("the status shows %+v", status)
		}
		request(s)
		s.expect("append decision on wait_webhook: yes")
		goesOn(t, s)
	})
	t.Run("a decision that was recorded is not lost to the expiry of the webhook", func(t *testing.T) {
		s := suspend(t)
		s.decideOnly(1, true)
		s.expect("append decision on refund: yes")
		s.later(24 * time.Hour)
		s.expect("append end Abandoned, SuspensionExpired")
		status := s.project()
		if end := s.state.Records()[3].End; !strings.Contains(end.Message, "nobody decided 1 calls") || len(status.Decided) != 1 {
			t.Errorf("the end says %q, decided are %+v", end.Message, status.Decided)
		}
	})
	t.Run("what people say counts more", func(t *testing.T) {
		s := play(t)
		s.model("", "wait_webhook")
		s.expect("append suspension of wait_webhook")
		s.received = map[v1alpha1.CallID]string{s.id(0): "done"}
		s.decide("no")
		s.expect("append decision on wait_webhook: no")
	})
	t.Run("no other call takes it", func(t *testing.T) {
		s := play(t)
		s.model("", "refund 1")
		s.expect("append suspension of refund")
		s.received = map[v1alpha1.CallID]string{s.id(0): "done"}
		s.expect("wait until 24h0m0s")
	})
	t.Run("after the expiry", func(t *testing.T) {
		s := play(t)
		s.model("", "wait_webhook")
		s.expect("append suspension of wait_webhook")
		s.received = map[v1alpha1.CallID]string{s.id(0): "done"}
		s.later(24 * time.Hour)
		s.expect("append end Abandoned, SuspensionExpired")
	})
}

func (s *scenario) decideOnly(i int, approved bool) {
	s.decisions[string(s.id(i))] = v1alpha1.Decision{Approved: &approved, By: "alice"}
}

// whole begins a Run that somebody must let begin.
func whole(t *testing.T) *scenario {
	s := play(t)
	s.tools[v1alpha1.RunItem] = testTool{definition: "sha256:version", ask: "Runs need a lead"}
	s.append(s.state.MessageEntry(ModelMessage{Calls: []ModelCall{
		{Tool: v1alpha1.RunItem, Arguments: `{"version":"v-1"}`, Definition: "sha256:version", Whole: true}}}))
	return s
}

// P24: a question about the whole Run comes before its first step; the model never
// sees it, and it is no step.
func TestWholeRun(t *testing.T) {
	accepted := func(s *scenario) string {
		status := s.project()
		c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionAccepted)
		return string(c.Status) + " " + c.Reason
	}
	t.Run("a person lets it begin", func(t *testing.T) {
		s := whole(t)
		s.expect("append suspension of " + v1alpha1.RunItem)
		pending := s.project().Pending[0]
		want := v1alpha1.PendingCall{ID: s.id(0), Kind: v1alpha1.PendingRun, Tool: "(run)", Arguments: "{\n  \"version\": \"v-1\"\n}",
			ArgumentsDigest: pending.ArgumentsDigest, DefinitionDigest: "sha256:version", Reason: "Runs need a lead", Class: pending.Class,
			RequestedAt: metaTime(began), ExpiresAt: metaTime(began.Add(24 * time.Hour))}
		if diff := cmp.Diff(want, pending); diff != "" {
			t.Errorf("pending (-want +got):\n%s", diff)
		}
		if got := accepted(s); got != "False ApprovalRequired" {
			t.Errorf("accepted: %s", got)
		}
		s.decide("yes")
		s.expect("append decision on (run): yes")
		s.expect("append result of (run): ok")
		s.expect("call the model")
		if got := accepted(s); got != "True VersionPinned" {
			t.Errorf("accepted: %s", got)
		}
		if context := s.state.Context(); len(context) != 0 || s.project().Steps != 0 {
			t.Errorf("the model reads %+v after %d steps", context, s.project().Steps)
		}
	})
	t.Run("a person does not", func(t *testing.T) {
		s := whole(t)
		s.expect("append suspension of " + v1alpha1.RunItem)
		s.decide("no budget is spent")
		s.expect("append decision on (run): no")
		s.expect("append result of (run): denied")
		s.expect("append end Failed, Denied")
		if got := accepted(s); got != "False Denied" {
			t.Errorf("accepted: %s", got)
		}
	})
	t.Run("policy denies after the approval (P37)", func(t *testing.T) {
		s := whole(t)
		s.expect("append suspension of " + v1alpha1.RunItem)
		s.decide("yes")
		s.expect("append decision on (run): yes")
		s.tools[v1alpha1.RunItem] = testTool{definition: "sha256:version", refusal: &Failure{Kind: v1alpha1.ErrorDenied, Message: "closed"}}
		s.expect("append result of (run): denied")
		s.expect("append end Failed, PolicyDenied")
	})
	t.Run("nobody asks any more", func(t *testing.T) {
		s := whole(t)
		s.tools[v1alpha1.RunItem] = testTool{definition: "sha256:version"}
		s.expect("append result of (run): ok")
		s.expect("call the model")
	})
	t.Run("expiry", func(t *testing.T) {
		s := whole(t)
		s.expect("append suspension of " + v1alpha1.RunItem)
		s.later(24 * time.Hour)
		s.decide("yes")
		s.expect("append end Abandoned, SuspensionExpired")
	})
	t.Run("not in the middle of a log", func(t *testing.T) {
		s := play(t)
		s.model("", "lookup a")
		s.expect("execute lookup")
		s.outcomes("ok")
		err := s.state.Append(s.now, s.state.MessageEntry(ModelMessage{Calls: []ModelCall{{Tool: v1alpha1.RunItem, Whole: true}}}))
		expectCorrupt(t, err, "cannot stand for the whole Run")
	})
}

// H6: a call that another Run answers needs nobody here: it comes to its end before
// the others are suspended.
func TestDelegatedCall(t *testing.T) {
	s := play(t)
	s.model("", "run_subagent x", "refund 1", "lookup a")
	s.expect("delegate run_subagent")
	s.children = map[v1alpha1.CallID]Child{s.id(0): {}}
	s.expect("execute lookup")
	s.outcomes("ok")
	s.expect("wait until 1h0m0s")
	if status := s.project(); status.WaitingFor != "run_subagent" || status.Phase != v1alpha1.RunRunning {
		t.Errorf("waits for %q in phase %s", status.WaitingFor, status.Phase)
	}
	s.crash()
	s.append(s.state.MessageEntry(ModelMessage{Grant: "llm", Calls: []ModelCall{{Tool: "run_subagent", Definition: "sha256:subagent"}}}))
	s.children = map[v1alpha1.CallID]Child{s.id(0): {Outcome: &Outcome{Content: "found it"}}}
	s.expect("append result of run_subagent: ok")
	if got := s.result(); got != "found it" {
		t.Errorf("the model reads %q", got)
	}
	s.expect("call the model")
}

// H28: however a child ends, its parent goes on; and its deadline goes on meanwhile.
func TestDelegatedCallThatFails(t *testing.T) {
	s := play(t)
	s.model("", "run_subagent x")
	s.children = map[v1alpha1.CallID]Child{s.id(0): {Outcome: &Outcome{Error: v1alpha1.ErrorTool, Content: "it was abandoned"}}}
	s.expect("append result of run_subagent: tool_error")
	s.model("", "run_subagent y")
	s.children[s.id(0)] = Child{Worked: time.Hour}
	s.later(time.Hour)
	s.expect("append end Failed, DeadlineExceeded")
}

// H43: steps come before the model, one after the other, gated as any call.
func TestWorkflow(t *testing.T) {
	s := play(t)
	s.steps = []v1alpha1.StepID{"find", "pay"}
	s.step(0, "lookup a")
	s.expect("execute lookup")
	s.outcomes("ok A-1")
	if diff := cmp.Diff([]string{"A-1"}, s.state.StepResults()); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	s.step(1, "refund 1")
	s.expect("append suspension of refund")
	if pending := s.project().Pending[0]; pending.StepID != "pay" { // H44
		t.Errorf("the pending call is of step %q", pending.StepID)
	}
	s.decide("yes")
	s.expect("append decision on refund: yes")
	s.expect("execute refund! after watermark refund") // H45
	s.outcomes("ok")
	s.expect("call the model")
	if got := s.project(); got.Steps != 0 || got.Decided[0].StepID != "pay" {
		t.Errorf("%d model calls, decided %+v", got.Steps, got.Decided)
	}
}

// H45: a denied step fails as denied and is never made again; the model goes on.
func TestWorkflowThatFails(t *testing.T) {
	s := play(t)
	s.steps = []v1alpha1.StepID{"pay", "tell"}
	s.step(0, "refund 1")
	s.expect("append suspension of refund")
	s.decide("no")
	s.expect("append decision on refund: no")
	s.expect("append result of refund: denied")
	s.expect("call the model")

	s = play(t)
	s.steps = []v1alpha1.StepID{"pay", "tell"}
	s.expect("take step 0")
	s.append(s.state.FailedStep(ModelCall{Tool: "refund", StepID: "pay"}, Failure{Kind: v1alpha1.ErrorInvalidArguments, Message: "no such key"})...)
	s.expect("call the model")
	if got := s.result(); !strings.Contains(got, "no such key") {
		t.Errorf("the model reads %s", got)
	}
}

// step takes the step that is next.
func (s *scenario) step(index int, call string) {
	s.Helper()
	s.expect("take step " + string(rune('0'+index)))
	tool, arguments, _ := strings.Cut(call, " ")
	s.append(s.state.MessageEntry(ModelMessage{Calls: []ModelCall{
		{Tool: tool, Arguments: arguments, Definition: s.tools[tool].definition, StepID: s.steps[index]}}}))
}
