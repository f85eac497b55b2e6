// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit.dev/remit/api/v1alpha1"
)

// P35: a decision in the log counts only as the API server let a person make it.
func TestCheckDecisions(t *testing.T) {
	yes, no := true, false
	made := func(tool string, decision v1alpha1.Decision) *scenario {
		s := play(t)
		s.model("", tool+" {}")
		s.expect("append suspension of " + tool)
		s.append(Entry{Decision: s.state.waiting().record(s.state.last().calls[0], decision)})
		return s
	}
	for name, test := range map[string]struct {
		tool        string
		logged      v1alpha1.Decision
		spec        *v1alpha1.Decision
		wantCorrupt bool
	}{
		"as decided":                    {"refund", v1alpha1.Decision{Approved: &yes, By: "alice"}, &v1alpha1.Decision{Approved: &yes, By: "alice"}, false},
		"nobody decided":                {"refund", v1alpha1.Decision{Approved: &yes, By: "alice"}, nil, true},
		"nobody decided, nobody signed": {"refund", v1alpha1.Decision{Approved: &yes}, nil, true},
		"a denial turned round":         {"refund", v1alpha1.Decision{Approved: &yes, By: "alice"}, &v1alpha1.Decision{Approved: &no, By: "alice"}, true},
		"somebody else's name":          {"refund", v1alpha1.Decision{Approved: &yes, By: "bob"}, &v1alpha1.Decision{Approved: &yes, By: "alice"}, true},
		"another answer":                {"ask_user", v1alpha1.Decision{Approved: &yes, Answer: "a", By: "alice"}, &v1alpha1.Decision{Approved: &yes, Answer: "b", By: "alice"}, true},
		"a request to a webhook":        {"wait_webhook", v1alpha1.Decision{Approved: &yes, Answer: "a"}, nil, false},
		"a webhook that denies":         {"wait_webhook", v1alpha1.Decision{Approved: &no}, nil, true},
		"a webhook signed by a person":  {"wait_webhook", v1alpha1.Decision{Approved: &yes, Answer: "a", By: "alice"}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := made(test.tool, test.logged)
			decisions := map[string]v1alpha1.Decision{}
			if test.spec != nil {
				decisions[string(s.id(0))] = *test.spec
			}
			err := s.state.CheckDecisions(decisions)
			if test.wantCorrupt {
				expectCorrupt(t, err, "was decided otherwise than spec.decisions says")
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

// P38 and H21: whatever somebody wrote into the view of a call, people see the call of
// the log, and every call that waits.
func TestViewIsRestored(t *testing.T) {
	s := play(t)
	s.model("", `refund {"cents":100}`, `refund {"cents":200}`)
	s.expect("append suspension of refund, refund")
	want := s.project().Pending
	forged := s.project().Pending
	forged[0].Arguments, forged[0].ArgumentsDigest, forged[0].Tool, forged[0].Kind = `{"cents": 1}`, "sha256:forged", "lookup", v1alpha1.PendingQuestion
	forged[1].ID = "call-0123456789abcdef"
	s.shown = forged
	s.unresolved = true
	s.expect("resolve the tools")
	s.unresolved = false
	s.expect("wait until 24h0m0s")
	if diff := cmp.Diff(want, s.project().Pending); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
