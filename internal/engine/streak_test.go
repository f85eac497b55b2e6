// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit.dev/remit/api/v1alpha1"
)

const end = "append end Complete, FailureStreak"

// fail takes one turn in which the model calls the tool and it fails.
func (s *scenario) fail(tool, outcome string) {
	s.Helper()
	s.model("Again.", tool)
	s.expect("execute " + strings.Fields(tool)[0])
	s.outcomes(outcome)
}

func (s *scenario) streaks() []v1alpha1.FailureStreak { return s.project().FailureStreaks }

func (s *scenario) expectStreaks(want ...v1alpha1.FailureStreak) {
	s.Helper()
	if diff := cmp.Diff(want, s.streaks()); diff != "" {
		s.Fatalf("streaks (-want +got):\n%s", diff)
	}
}

// TestStreakByToolName: differing arguments feed one counter, and a success with
// any arguments resets it (I1, I2); turns of other tools change nothing (I3).
func TestStreakByToolName(t *testing.T) {
	s := play(t)
	s.fail("lookup a", "tool_error")
	s.fail("lookup b", "timeout")
	s.expectStreaks(v1alpha1.FailureStreak{Tool: "lookup", Failures: 2})
	s.model("", "note x")
	s.expect("execute note! after watermark note")
	s.outcomes("ok")
	s.expectStreaks(v1alpha1.FailureStreak{Tool: "lookup", Failures: 2})
	s.fail("lookup c", "bad_result")
	s.expectStreaks(v1alpha1.FailureStreak{Tool: "lookup", Failures: 3})
	s.fail("lookup d", "ok")
	s.expectStreaks()
}

// TestWhatCounts goes through every kind of failure (I5 to I8, P1, P36, P38).
func TestWhatCounts(t *testing.T) {
	tests := map[v1alpha1.ErrorKind]bool{
		v1alpha1.ErrorTool:              true,  // I5
		v1alpha1.ErrorTimeout:           true,  // I5
		v1alpha1.ErrorServerUnavailable: true,  // I5
		v1alpha1.ErrorUnauthorized:      true,  // I5
		v1alpha1.ErrorOutcomeUnknown:    true,  // I5
		v1alpha1.ErrorBadResult:         true,  // I5
		v1alpha1.ErrorInvalidArguments:  true,  // I5
		v1alpha1.ErrorUnknownTool:       true,  // I6
		v1alpha1.ErrorCancelled:         false, // I7
		v1alpha1.ErrorDenied:            false, // I8, P1
		v1alpha1.ErrorToolUnavailable:   false, // I8, P36
		v1alpha1.ErrorToolChanged:       false, // I8, P38
	}
	for kind, want := range tests {
		t.Run(string(kind), func(t *testing.T) {
			s := play(t)
			s.fail("lookup a", "tool_error")
			s.fail("lookup a", string(kind))
			failures := int32(1) // it neither counts nor resets
			if want {
				failures = 2
			}
			s.expectStreaks(v1alpha1.FailureStreak{Tool: "lookup", Failures: failures})
		})
	}
}

// TestUnknownNameSharesTheStreak: a tool that fails and then goes away keeps its
// counter (I6).
func TestUnknownNameSharesTheStreak(t *testing.T) {
	s := play(t)
	s.limits.FailureStreak = 3
	s.fail("lookup a", "tool_error")
	s.fail("lookup a", "tool_error")
	s.model("Again.", "lookup b")
	delete(s.tools, "lookup")
	s.expect("append result of lookup: unknown_tool")
	s.expect(end)
}

// TestDenialNeitherCountsNorResets: it was not the tool's fault (P1).
func TestDenialNeitherCountsNorResets(t *testing.T) {
	s := play(t)
	s.limits.FailureStreak = 3
	turn := func(verdict, outcome string) {
		t.Helper()
		s.model("Again.", "peek a")
		s.expect("append suspension of peek")
		s.decide(verdict)
		s.expect("append decision on peek: " + verdict)
		if verdict == "no" {
			s.expect("append result of peek: denied")
			return
		}
		s.expect("execute peek")
		s.outcomes(outcome)
	}
	turn("yes", "tool_error")
	turn("no", "")
	turn("no", "")
	turn("yes", "tool_error")
	turn("no", "")
	s.expectStreaks(v1alpha1.FailureStreak{Tool: "peek", Failures: 2})
	turn("yes", "tool_error")
	s.expect(end)
}

// TestStreakOrder: a call counts once, by its final outcome, in the order of the
// message and not of the log (P11).
func TestStreakOrder(t *testing.T) {
	tests := map[string]struct {
		outcomes []string
		want     int32
	}{
		"the success last":  {[]string{"tool_error", "tool_error", "ok"}, 0},
		"the success first": {[]string{"ok", "tool_error", "tool_error"}, 2},
		"in between":        {[]string{"tool_error", "ok", "tool_error"}, 1},
		"none":              {[]string{"tool_error", "tool_error", "tool_error"}, 3},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := play(t)
			s.model("", "lookup a", "lookup b", "lookup c")
			s.expect("execute lookup, lookup, lookup")
			// They ended in the opposite order.
			calls := s.executing
			for i := range slices.Backward(calls) {
				s.executing = calls[i : i+1]
				s.outcomes(test.outcomes[i])
			}
			var want []v1alpha1.FailureStreak
			if test.want > 0 {
				want = append(want, v1alpha1.FailureStreak{Tool: "lookup", Failures: test.want})
			}
			s.expectStreaks(want...)
		})
	}
}

// TestAdvisory rides in the tool's own result from the third failure on, beside
// the tool's error (I9, I10).
func TestAdvisory(t *testing.T) {
	s := play(t)
	for range 2 {
		s.fail("lookup a", "tool_error it broke")
	}
	s.model("", "lookup a", "lookup b")
	s.expect("execute lookup, lookup")
	s.outcomes("tool_error it broke", "tool_error it broke")
	const plain = `{"error":{"kind":"tool_error","message":"it broke"}}`
	advised := func(times string) string {
		return `{"error":{"kind":"tool_error","message":"it broke"},"advisory":"This tool has failed ` + times +
			` times in a row. Stop retrying it. Explain to the user what does not work instead of calling it again with similar input."}`
	}
	var got []string
	for _, message := range s.state.Context() {
		if message.Result != nil {
			got = append(got, message.Result.Text)
		}
	}
	if diff := cmp.Diff([]string{plain, plain, advised("3"), advised("4")}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(s.state.Context()) != 3+4 {
		t.Errorf("the advisory is a message of its own")
	}
}

// TestAdvisoryIsTakenBack by a success, and does not count what does not count.
func TestAdvisoryIsTakenBack(t *testing.T) {
	s := play(t)
	for _, outcome := range []string{"tool_error", "tool_error", "ok", "tool_error", "cancelled", "denied", "tool_error"} {
		s.fail("lookup a", outcome)
	}
	for _, message := range s.state.Context() {
		if message.Result != nil && strings.Contains(message.Result.Text, "advisory") {
			t.Errorf("the model reads %s", message.Result.Text)
		}
	}
}

// TestHardStop comes ahead of the next model call and of the step budget (I11),
// is no failure (I14, P10) and says what to do.
func TestHardStop(t *testing.T) {
	for _, limit := range []int32{1, 2, 3, 5, 20} {
		s := play(t)
		s.limits.FailureStreak = limit
		s.limits.Steps = limit // both limits are reached at once
		for range limit {
			s.fail("lookup a", "tool_error")
			s.save()
		}
		if limit < AdvisoryThreshold { // I12: the stop precedes the advisory
			for _, message := range s.state.Context() {
				if message.Result != nil && strings.Contains(message.Result.Text, "advisory") {
					t.Errorf("limit %d: %s", limit, message.Result.Text)
				}
			}
		}
		s.expect(end)
		s.expect("done")
		status := s.project()
		if status.Phase != v1alpha1.RunComplete || status.Output != "Again." {
			t.Errorf("limit %d: phase %s, output %q", limit, status.Phase, status.Output)
		}
	}
}

// TestHardStopExplains: only where the model said nothing, a message is written
// that names the tool and another way (I13).
func TestHardStopExplains(t *testing.T) {
	s := play(t)
	s.limits.FailureStreak = 1
	s.model("", "lookup a")
	s.expect("execute lookup")
	s.outcomes("tool_error")
	s.expect("append message of 0 calls; end Complete, FailureStreak")
	const explanation = `I stopped because the tool "lookup" failed 1 times in a row. ` +
		`Please check what it needs, or ask me to reach the goal in another way.`
	status := s.project()
	if status.Output != explanation {
		t.Errorf("output %q", status.Output)
	}
	if status.Steps != 1 {
		t.Errorf("a message that no model wrote was counted as a step: %d", status.Steps)
	}
}

// TestHardStopBeforeAnybodyIsAsked: nobody is asked to approve a call of a Run
// that stops anyway, and the calls left over are answered.
func TestHardStopBeforeAnybodyIsAsked(t *testing.T) {
	s := play(t)
	s.limits.FailureStreak = 2
	s.model("", "lookup a", "refund 1", "lookup b")
	s.expect("execute lookup, lookup")
	s.outcomes("tool_error", "tool_error")
	s.expect("append result of refund: cancelled; message of 0 calls; end Complete, FailureStreak")
}

// TestResumeOverTheLimit: the counter survives suspension and restart, and a Run
// resumed over the limit stops at once, before what was approved is done (I4).
func TestResumeOverTheLimit(t *testing.T) {
	s := play(t)
	s.fail("lookup a", "tool_error")
	s.model("Now this.", "lookup b", "refund 1", "wipe")
	s.expect("execute lookup")
	s.outcomes("tool_error")
	s.expect("append suspension of refund, wipe")
	s.save()
	s.crash()
	s.expectStreaks(v1alpha1.FailureStreak{Tool: "lookup", Failures: 2})
	s.decide("yes", "no")
	s.limits.FailureStreak = 2 // the operator's ceiling was lowered meanwhile
	s.expect("append decision on refund: yes; decision on wipe: no")
	s.expect("append result of refund: cancelled; result of wipe: cancelled; end Complete, FailureStreak")
	s.expect("done")
}

// TestOpenCallHoldsBackTheCount: while an earlier call of the tool is open, a
// later one's failure does not count yet, since the order decides (P11).
func TestOpenCallHoldsBackTheCount(t *testing.T) {
	s := play(t)
	s.limits.FailureStreak = 1
	s.model("", "peek a", "peek b")
	calls := s.state.last().message.Calls
	s.expect("append suspension of peek, peek")
	s.decide("yes", "yes")
	s.expect("append decision on peek: yes; decision on peek: yes")
	s.append(s.state.ResultEntry(calls[1].ID, Outcome{Error: v1alpha1.ErrorTool}))
	s.expectStreaks()
	s.expect("execute peek")
	s.outcomes("ok")
	s.expectStreaks(v1alpha1.FailureStreak{Tool: "peek", Failures: 1})
}

// TestStreaksAreListed with the longest first, and bounded.
func TestStreaksAreListed(t *testing.T) {
	all := streaks{"b": 2, "a": 2, "c": 7, "d": 1}
	want := []v1alpha1.FailureStreak{{Tool: "c", Failures: 7}, {Tool: "a", Failures: 2}, {Tool: "b", Failures: 2}, {Tool: "d", Failures: 1}}
	if diff := cmp.Diff(want, all.list()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for i := range 200 {
		all["tool-"+string(rune('a'+i%26))+string(rune('a'+i/26))] = 1
	}
	if n := len(all.list()); n != maxStreaks {
		t.Errorf("%d streaks are listed", n)
	}
}
