// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/canonical"
)

// TestMixedTurn: what needs nobody is executed to the end, and what does is
// suspended jointly, each call on its own (H5, H6, H7, H8).
func TestMixedTurn(t *testing.T) {
	s := play(t)
	s.model("", "lookup a", "refund 1", "note b", "nonsense", "refund 2", "wipe all")
	s.expect("append result of nonsense: unknown_tool")
	s.expect("execute lookup, note! after watermark note")
	s.outcomes("ok", "ok")
	s.expect("append suspension of refund, refund, wipe")
	s.expect("wait until 24h0m0s")
}

// TestSuspensionRecord holds the ids and the message, and nothing else (H9).
func TestSuspensionRecord(t *testing.T) {
	s := play(t)
	s.model("", "refund 1", "refund 2")
	calls := s.state.last().message.Calls
	s.expect("append suspension of refund, refund")
	want := &v1alpha1.SuspensionRecord{Message: 1, Calls: []v1alpha1.CallID{calls[0].ID, calls[1].ID}}
	if diff := cmp.Diff(want, s.state.Records()[1].Suspension); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestResume is all or nothing (H11, H13), looks at what is pending alone (H12)
// and executes the very same calls (H15).
func TestResume(t *testing.T) {
	s := play(t)
	s.model("", "refund 1", "wipe", "refund 2")
	calls := s.state.last().message.Calls
	s.expect("append suspension of refund, wipe, refund")
	yes := true
	s.decisions["call-0000000000000000"] = v1alpha1.Decision{Approved: &yes}
	s.expect("wait until 24h0m0s")
	s.decide("yes", "yes")
	s.expect("wait until 24h0m0s")
	s.decisions[string(calls[2].ID)] = v1alpha1.Decision{By: "alice"}
	s.expect("wait until 24h0m0s") // a decision that says neither yes nor no is none
	s.decide("yes", "no", "yes")
	s.expect("append decision on refund: yes; decision on wipe: no; decision on refund: yes")
	s.expect("append result of wipe: denied")
	s.expect("execute refund!, refund! after watermark refund, refund")
	if diff := cmp.Diff([]Execution{{calls[0], true}, {calls[2], true}}, s.executing); diff != "" {
		t.Errorf("other calls than those approved (-want +got):\n%s", diff)
	}
	s.outcomes("ok", "ok")
	s.expect("call the model")
}

// TestDecisionRecord keeps who decided and why (H14, H20), and the model sees
// nothing of it (H14).
func TestDecisionRecord(t *testing.T) {
	s := play(t)
	s.model("", "refund 1")
	s.expect("append suspension of refund")
	s.decide("yes since it is due")
	s.expect("append decision on refund: yes")
	yes := true
	id := s.state.last().message.Calls[0].ID
	want := &v1alpha1.DecisionRecord{ID: id, Approved: &yes, Reason: "since it is due", By: "alice"}
	if diff := cmp.Diff(want, s.state.Records()[2].Decision); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, message := range s.state.Context() {
		if message.Result != nil || strings.Contains(message.Text, "alice") {
			t.Errorf("the model reads %+v", message)
		}
	}
}

// TestDenial is an ordinary failed result with the reason, and the Run goes on
// (H17, H18, P21, P1).
func TestDenial(t *testing.T) {
	tests := map[string]struct{ verdict, want string }{
		"with a reason": {"no the order is not ours", `{"error":{"kind":"denied","message":"A person denied this call: the order is not ours"}}`},
		"without one":   {"no", `{"error":{"kind":"denied","message":"A person denied this call and gave no reason."}}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := play(t)
			s.model("", "refund 1")
			s.expect("append suspension of refund")
			s.decide(test.verdict)
			s.expect("append decision on refund: no")
			s.expect("append result of refund: denied")
			last := s.state.Context()[1].Result
			want := &ContextResult{ID: s.state.last().message.Calls[0].ID, Text: test.want, Failed: true}
			if diff := cmp.Diff(want, last); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			s.model("", "refund 1") // nothing keeps the model from asking again
			s.expect("append suspension of refund")
		})
	}
}

// TestUndecidedCallIsLoud: a call that a suspension left out is an error of the
// log, and never a second question (H16).
func TestUndecidedCallIsLoud(t *testing.T) {
	s := play(t)
	s.model("", "refund 1", "refund 2")
	first := s.state.last().message.Calls[0].ID
	err := s.state.Append(s.now, Entry{Suspension: &v1alpha1.SuspensionRecord{Message: 1, Calls: []v1alpha1.CallID{first}}})
	expectCorrupt(t, err, "it suspends 1 of 2 open calls")

	s = play(t)
	s.model("", "refund 1", "refund 2")
	s.expect("append suspension of refund, refund")
	err = s.state.Append(s.now, Entry{Suspension: s.state.Records()[1].Suspension})
	expectCorrupt(t, err, "calls of this message were suspended before")
}

// TestExpiry: at the very instant it has expired, and a late decision never runs
// the tool (H24 to H27, P23, P41).
func TestExpiry(t *testing.T) {
	tests := map[string]struct {
		after  time.Duration
		expiry time.Duration
		decide bool
		want   string
	}{
		"just before, undecided":  {24*time.Hour - 1, 0, false, "wait until 24h0m0s"},
		"just before, decided":    {24*time.Hour - 1, 0, true, "append decision on refund: yes"},
		"the instant, undecided":  {24 * time.Hour, 0, false, "append end Abandoned, SuspensionExpired"},
		"the instant, decided":    {24 * time.Hour, 0, true, "append end Abandoned, SuspensionExpired"},
		"long after, decided":     {400 * 24 * time.Hour, 0, true, "append end Abandoned, SuspensionExpired"},
		"a Run may ask for less":  {time.Minute, time.Minute, true, "append end Abandoned, SuspensionExpired"},
		"and has until then":      {time.Minute - 1, time.Minute, true, "append decision on refund: yes"},
		"less than a second is 0": {0, time.Millisecond, true, "append end Abandoned, SuspensionExpired"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := play(t)
			s.model("", "refund 1")
			s.expect("append suspension of refund")
			if test.expiry > 0 {
				s.limits.ApprovalExpiry = test.expiry
			}
			if test.decide {
				s.decide("yes")
			}
			s.later(test.after)
			s.expect(test.want)
			if !strings.HasPrefix(test.want, "append end") {
				return
			}
			s.expect("done")
			failure := "suspension_expired: nobody decided 1 calls by "
			if test.decide {
				failure = "suspension_expired: the decision on 1 calls was not taken by "
			}
			if end := s.state.Records()[2].End; !strings.HasPrefix(end.Message, failure) {
				t.Errorf("the end says %q, want it to begin with %q", end.Message, failure)
			}
		})
	}
}

// TestAnnouncedExpiryHolds: what people were told stays, whatever the limits
// become, and one suspension's expiry is not another's (P38, P41).
func TestAnnouncedExpiryHolds(t *testing.T) {
	s := play(t)
	s.model("", "refund 1")
	s.expect("append suspension of refund")
	s.shown = s.project().Pending
	s.limits.ApprovalExpiry = time.Minute
	s.later(time.Hour)
	s.expect("wait until 24h0m0s")
	s.decide("yes")
	s.expect("append decision on refund: yes")
	s.expect("execute refund! after watermark refund")
	s.outcomes("ok")
	s.shown = s.project().Pending
	s.limits.Deadline = 3 * time.Hour
	s.model("", "refund 2")
	s.expect("append suspension of refund")
	s.expect("wait until 1h1m0s")
}

// TestApprovedCallIsJudgedAgain: narrowing, validation, policy and the definition
// count as they are when the call would be made (P36, P37, P38).
func TestApprovedCallIsJudgedAgain(t *testing.T) {
	tests := map[string]struct {
		change func(map[string]testTool)
		want   string
	}{
		"nothing changed": {func(map[string]testTool) {}, "execute refund! after watermark refund"},
		"P36 the tool is gone": {
			func(tools map[string]testTool) { delete(tools, "refund") },
			"append result of refund: tool_unavailable"},
		"P37 a policy denies now": {
			func(tools map[string]testTool) {
				tools["refund"] = testTool{definition: "sha256:refund", refusal: &Failure{Kind: v1alpha1.ErrorDenied}}
			}, "append result of refund: denied"},
		"P37 the arguments no longer fit": {
			func(tools map[string]testTool) {
				tools["refund"] = testTool{definition: "sha256:refund", refusal: &Failure{Kind: v1alpha1.ErrorInvalidArguments}}
			}, "append result of refund: invalid_arguments"},
		"P38 the definition changed": {
			func(tools map[string]testTool) {
				tools["refund"] = testTool{definition: "sha256:other", effect: true, ask: "class Destructive"}
			}, "append result of refund: tool_changed"},
		"P38 the definition changed, and nobody need approve it any more": {
			func(tools map[string]testTool) {
				tools["refund"] = testTool{definition: "sha256:other"}
			}, "append result of refund: tool_changed"},
		"P37 it asks for another reason": {
			func(tools map[string]testTool) {
				tools["refund"] = testTool{definition: "sha256:refund", effect: true, ask: "policy"}
			}, "execute refund! after watermark refund"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := play(t)
			s.model("", "refund 1")
			s.expect("append suspension of refund")
			test.change(s.tools)
			s.decide("yes")
			s.expect("append decision on refund: yes")
			s.expect(test.want)
			if !strings.HasPrefix(test.want, "execute") {
				s.expect("call the model")
			}
		})
	}
}

// TestDenialBeatsRevocation: the person's word is what the model reads.
func TestDenialBeatsRevocation(t *testing.T) {
	s := play(t)
	s.model("", "refund 1")
	s.expect("append suspension of refund")
	delete(s.tools, "refund")
	s.decide("no")
	s.expect("append decision on refund: no")
	s.expect("append result of refund: denied")
}

// TestNobodyIsAskedInVain: a call of a definition that the model has not seen is
// refused before people are asked, as their approval could not hold (P37, P38).
func TestNobodyIsAskedInVain(t *testing.T) {
	s := play(t)
	s.model("", "refund 1", "lookup a")
	changed := s.tools["refund"]
	changed.definition = "sha256:other"
	s.tools["refund"] = changed
	s.tools["lookup"] = testTool{definition: "sha256:other"}
	s.expect("append result of refund: tool_changed")
	s.expect("execute lookup") // nobody vouches for this one, and its arguments fit
}

// TestRevokedBetweenSteps: narrowing is computed anew at each step (P36).
func TestRevokedBetweenSteps(t *testing.T) {
	s := play(t)
	s.model("", "lookup a")
	delete(s.tools, "lookup")
	s.expect("append result of lookup: unknown_tool")
}

// TestPendingView is as at suspension, whatever the tools become (H10, P38).
func TestPendingView(t *testing.T) {
	s := play(t)
	s.model("", `refund {"cents":100}`)
	s.expect("append suspension of refund")
	id := s.state.last().message.Calls[0].ID
	want := []v1alpha1.PendingCall{{
		ID: id, Kind: v1alpha1.PendingTool, Tool: "refund", Class: v1alpha1.ClassWrite,
		Arguments:        "{\n  \"cents\": 100\n}",
		ArgumentsDigest:  v1alpha1.Digest(canonical.Hash("remit.dev/arguments/v1", []byte(`{"cents":100}`)).String()),
		DefinitionDigest: "sha256:refund", Reason: "class Destructive",
		RequestedAt: metaTime(began), ExpiresAt: metaTime(began.Add(24 * time.Hour)),
	}}
	first := s.project().Pending
	if diff := cmp.Diff(want, first); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	s.shown = first
	s.tools = nil
	s.limits.ApprovalExpiry = time.Minute
	s.later(time.Second)
	if diff := cmp.Diff(want, s.project().Pending); diff != "" {
		t.Errorf("later (-want +got):\n%s", diff)
	}
}
