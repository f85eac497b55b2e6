// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"remit.dev/remit/api/v1alpha1"
)

func metaTime(t time.Time) metav1.Time { return metav1.NewTime(t) }

func TestAnswer(t *testing.T) {
	s := play(t)
	s.model("Hello.")
	s.expect("append end Complete, Succeeded")
	s.expect("done")
	s.expect("done")
	status := s.project()
	if status.Output != "Hello." || status.Phase != v1alpha1.RunComplete || status.Steps != 1 {
		t.Errorf("status: output %q, phase %s, %d steps", status.Output, status.Phase, status.Steps)
	}
}

// TestToolsAreResolvedWhenNeeded: a Run whose servers are away can be cancelled,
// expire, run out of time and take decisions.
func TestToolsAreResolvedWhenNeeded(t *testing.T) {
	suspend := func(s *scenario) {
		s.model("", "refund 1")
		s.expect("append suspension of refund")
		s.shown = s.project().Pending
	}
	tests := map[string]struct {
		prepare func(*scenario)
		want    string
	}{
		"before the model":   {func(*scenario) {}, "resolve the tools"},
		"before calls":       {func(s *scenario) { s.model("", "lookup a") }, "resolve the tools"},
		"answered":           {func(s *scenario) { s.model("Hello.") }, "append end Complete, Succeeded"},
		"cancelled":          {func(s *scenario) { s.model("", "lookup a"); s.cancel = true }, "append end Cancelled, Cancelled"},
		"out of time":        {func(s *scenario) { s.model("", "lookup a"); s.later(time.Hour) }, "append end Failed, DeadlineExceeded"},
		"out of steps":       {func(s *scenario) { s.limits.Steps = 0 }, "append end Failed, StepLimit"},
		"suspended":          {suspend, "wait until 24h0m0s"},
		"suspended, unshown": {func(s *scenario) { suspend(s); s.shown = nil }, "resolve the tools"},
		"expired":            {func(s *scenario) { suspend(s); s.later(24 * time.Hour) }, "append end Abandoned, SuspensionExpired"},
		"decided":            {func(s *scenario) { suspend(s); s.decide("no") }, "append decision on refund: no"},
		"unknown outcome": {func(s *scenario) {
			s.model("", "note b")
			s.expect("execute note! after watermark note")
		}, "append result of note: outcome_unknown"},
		"stopped": {func(s *scenario) { s.limits.FailureStreak = 1; s.fail("lookup a", "tool_error") }, "append end Complete, FailureStreak"},
		"ended":   {func(s *scenario) { s.append(Fail("Why", "")) }, "done"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := play(t)
			test.prepare(s)
			s.unresolved = true
			s.expect(test.want)
			s.project() // needs no tools either
		})
	}
}

func TestTruncatedAnswerSaysSo(t *testing.T) {
	s := play(t)
	s.append(s.state.MessageEntry(ModelMessage{Grant: "llm", Text: "Hel", Truncated: true}))
	s.expect("append end Complete, Succeeded")
	if message := s.state.Records()[1].End.Message; message != "the model's answer was cut off at its length limit" {
		t.Errorf("the end says %q", message)
	}
}

// TestToolLoop: calls, results, and the model again, until it answers.
func TestToolLoop(t *testing.T) {
	s := play(t)
	s.model("I look it up.", "lookup a")
	s.expect("execute lookup")
	s.outcomes("ok found")
	s.model("", "note b")
	s.expect("execute note! after watermark note")
	s.outcomes("ok")
	s.model("Done.")
	s.expect("append end Complete, Succeeded")
}

// TestWatermark names each call with an effect, and no other (P28).
func TestWatermark(t *testing.T) {
	s := play(t)
	s.model("", "lookup a", "note b", "note c")
	s.expect("execute lookup, note!, note! after watermark note, note")
	calls := s.state.last().message.Calls
	want := &v1alpha1.WatermarkRecord{Calls: []v1alpha1.WatermarkedCall{
		{ID: calls[1].ID, Tool: "note", ArgumentsDigest: digest("arguments", "b"), IdempotencyKey: IdempotencyKey(uid, calls[1].ID)},
		{ID: calls[2].ID, Tool: "note", ArgumentsDigest: digest("arguments", "c"), IdempotencyKey: IdempotencyKey(uid, calls[2].ID)},
	}}
	if diff := cmp.Diff(want, s.state.Records()[1].Watermark); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestCrashAfterWatermark: what may have had its effect is not made again, and
// the model reads that its outcome is unknown (N17, E12); what is idempotent is
// executed again.
func TestCrashAfterWatermark(t *testing.T) {
	s := play(t)
	s.model("", "lookup a", "note b")
	s.expect("execute lookup, note! after watermark note")
	s.save()
	s.crash()
	s.expect("append result of note: outcome_unknown")
	s.expect("execute lookup")
	s.outcomes("ok")
	results := s.state.Context()[1:]
	if results[0].Result.Failed || !results[1].Result.Failed {
		t.Errorf("the order of the results is not that of the calls")
	}
	const kind = `{"error":{"kind":"outcome_unknown","message":"The operator stopped while this call was made.`
	if text := results[1].Result.Text; !strings.HasPrefix(text, kind) {
		t.Errorf("the model reads %s", text)
	}
}

// TestCrashBeforeWatermark: nothing was sent, so the call is simply made.
func TestCrashBeforeWatermark(t *testing.T) {
	s := play(t)
	s.model("", "note b")
	s.save()
	s.expect("execute note! after watermark note")
	s.crash()
	s.expect("execute note! after watermark note")
}

// TestCrashIsSettledFirst: an unknown outcome is recorded also where the Run ends.
func TestCrashIsSettledFirst(t *testing.T) {
	ends := map[string]struct {
		end  func(*scenario)
		want string
	}{
		"cancelled": {func(s *scenario) { s.cancel = true }, "append end Cancelled, Cancelled"},
		"too late":  {func(s *scenario) { s.later(time.Hour) }, "append end Failed, DeadlineExceeded"},
	}
	for name, test := range ends {
		t.Run(name, func(t *testing.T) {
			s := play(t)
			s.model("", "note b")
			s.expect("execute note! after watermark note")
			test.end(s)
			s.expect("append result of note: outcome_unknown")
			s.expect(test.want)
		})
	}
}

// TestWatermarkBindsWhateverTheToolBecomes: a call that had an effect when it was
// made is not repeated because its tool claims to be idempotent since.
func TestWatermarkBindsWhateverTheToolBecomes(t *testing.T) {
	s := play(t)
	s.model("", "note b")
	s.expect("execute note! after watermark note")
	s.tools["note"] = testTool{definition: "sha256:note"}
	s.expect("append result of note: outcome_unknown")
}

// TestApprovedReadIsRepeatedAfterACrash: a gated call without effect needs no
// watermark, and its approval holds after a restart.
func TestApprovedReadIsRepeatedAfterACrash(t *testing.T) {
	s := play(t)
	s.model("", "peek a")
	s.expect("append suspension of peek")
	s.decide("yes")
	s.expect("append decision on peek: yes")
	s.save()
	s.expect("execute peek")
	s.crash()
	s.later(48 * time.Hour) // the decision came in time
	s.limits.Deadline = 72 * time.Hour
	s.expect("execute peek")
	s.outcomes("ok")
	s.expect("call the model")
}

func TestCancel(t *testing.T) {
	tests := map[string]func(*scenario){
		"at the start":       func(*scenario) {},
		"with calls to make": func(s *scenario) { s.model("", "lookup a", "note b") },
		"suspended": func(s *scenario) {
			s.model("", "refund 1")
			s.expect("append suspension of refund")
		},
		"suspended and decided": func(s *scenario) {
			s.model("", "refund 1")
			s.expect("append suspension of refund")
			s.decide("yes")
		},
		"suspended and expired": func(s *scenario) {
			s.model("", "refund 1")
			s.expect("append suspension of refund")
			s.later(24 * time.Hour)
		},
		"approved": func(s *scenario) {
			s.model("", "refund 1")
			s.expect("append suspension of refund")
			s.decide("yes")
			s.expect("append decision on refund: yes")
		},
		"past its deadline": func(s *scenario) { s.later(2 * time.Hour) },
		"out of steps":      func(s *scenario) { s.limits.Steps = 0 },
	}
	for name, prepare := range tests {
		t.Run(name, func(t *testing.T) {
			s := play(t)
			prepare(s)
			s.cancel = true
			s.expect("append end Cancelled, Cancelled")
			s.expect("done")
		})
	}
}

// TestEndIsTheEnd: nothing is required after the last record, whatever else holds.
func TestEndIsTheEnd(t *testing.T) {
	s := play(t)
	s.model("", "refund 1")
	s.expect("append suspension of refund")
	s.append(Fail(v1alpha1.ReasonModelUnavailable, "no model answers"))
	s.decide("yes")
	s.cancel = true
	s.later(100 * time.Hour)
	s.expect("done")
	if status := s.project(); status.Pending != nil || status.Phase != v1alpha1.RunFailed {
		t.Errorf("phase %s, pending %v", status.Phase, status.Pending)
	}
}

// TestDeadline counts the time at work, and not the time that people took (H25).
func TestDeadline(t *testing.T) {
	s := play(t)
	s.later(time.Minute)
	s.model("", "refund 1")
	s.expect("append suspension of refund")
	s.later(20 * time.Hour)
	s.expect("wait until 24h1m0s")
	s.decide("yes")
	s.expect("append decision on refund: yes")
	s.later(59*time.Minute - 1)
	s.expect("execute refund! after watermark refund")
	s.outcomes("ok")
	s.expect("call the model")
	s.later(1)
	s.expect("append end Failed, DeadlineExceeded")
}

func TestDeadlineStopsCalls(t *testing.T) {
	s := play(t)
	s.model("", "lookup a", "refund 1")
	s.later(time.Hour)
	s.expect("append end Failed, DeadlineExceeded")
}

// TestAnswerBeatsDeadline: a Run that has its answer is not failed for the time
// that passed until somebody looked.
func TestAnswerBeatsDeadline(t *testing.T) {
	s := play(t)
	s.model("Hello.")
	s.later(100 * time.Hour)
	s.expect("append end Complete, Succeeded")
}

// TestClocksOfReplicasDiffer: a decision taken by a replica whose clock is behind
// does not count as work.
func TestClocksOfReplicasDiffer(t *testing.T) {
	s := play(t)
	s.later(59 * time.Minute)
	s.model("", "refund 1")
	s.expect("append suspension of refund")
	s.later(-30 * time.Minute)
	s.decide("yes")
	s.expect("append decision on refund: yes")
	s.later(30 * time.Minute)
	s.expect("execute refund! after watermark refund")
}

func TestStepLimit(t *testing.T) {
	s := play(t)
	s.limits.Steps = 2
	for range 2 {
		s.model("", "lookup a")
		s.expect("execute lookup")
		s.outcomes("ok")
	}
	s.expect("append end Failed, StepLimit")
	if steps := s.project().Steps; steps != 2 {
		t.Errorf("%d steps", steps)
	}
}

// TestAnswerAtTheStepLimit: the last step may be the answer, and the calls of the
// last message are still made.
func TestAnswerAtTheStepLimit(t *testing.T) {
	s := play(t)
	s.limits.Steps = 1
	s.model("Hello.")
	s.expect("append end Complete, Succeeded")
}
