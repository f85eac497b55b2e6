// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"remit.dev/remit/api/v1alpha1"
)

// conditionsOf tells each condition in one line, by type.
func conditionsOf(status v1alpha1.RunStatus) []string {
	var lines []string
	for _, c := range status.Conditions {
		lines = append(lines, fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message))
	}
	slices.Sort(lines)
	return lines
}

// TestConditions in every phase of a Run (H21, H27, I14).
func TestConditions(t *testing.T) {
	const accepted = "Accepted=True VersionPinned: executes v-1"
	suspend := func(s *scenario) {
		s.model("", "refund 1", "wipe")
		s.expect("append suspension of refund, wipe")
	}
	tests := map[string]struct {
		play  func(*scenario)
		phase v1alpha1.RunPhase
		want  []string
	}{
		"at the start": {func(*scenario) {}, v1alpha1.RunRunning, []string{
			accepted, "Complete=False InProgress: 0 model calls so far", "Reconciling=True InProgress: 0 model calls so far"}},
		"at work": {func(s *scenario) { s.model("", "lookup a") }, v1alpha1.RunRunning, []string{
			accepted, "Complete=False InProgress: 1 model calls so far", "Reconciling=True InProgress: 1 model calls so far"}},
		"suspended": {suspend, v1alpha1.RunSuspended, []string{
			accepted, "Approved=False ApprovalRequired: waits for a decision on refund, wipe",
			"Complete=False ApprovalRequired: waits for a decision on refund, wipe",
			"Reconciling=True ApprovalRequired: waits for a decision on refund, wipe"}},
		"decided": {func(s *scenario) {
			suspend(s)
			s.decide("yes", "no")
			s.expect("append decision on refund: yes; decision on wipe: no")
		}, v1alpha1.RunRunning, []string{
			accepted, "Approved=False Denied: refund was approved by alice; wipe was denied by alice",
			"Complete=False InProgress: 1 model calls so far", "Reconciling=True InProgress: 1 model calls so far"}},
		"expired": {func(s *scenario) {
			suspend(s)
			s.later(24 * time.Hour)
			s.expect("append end Abandoned, SuspensionExpired")
		}, v1alpha1.RunAbandoned, []string{
			accepted, "Approved=False SuspensionExpired: suspension_expired: nobody decided 2 calls by 2026-03-02T12:00:00Z; create another Run to try again",
			"Complete=False SuspensionExpired: suspension_expired: nobody decided 2 calls by 2026-03-02T12:00:00Z; create another Run to try again",
			"Stalled=True SuspensionExpired: suspension_expired: nobody decided 2 calls by 2026-03-02T12:00:00Z; create another Run to try again"}},
		"cancelled while suspended": {func(s *scenario) {
			suspend(s)
			s.cancel = true
			s.expect("append end Cancelled, Cancelled")
		}, v1alpha1.RunCancelled, []string{accepted, "Complete=False Cancelled: spec.cancel is set"}},
		"answered": {func(s *scenario) {
			s.model("Hello.")
			s.expect("append end Complete, Succeeded")
		}, v1alpha1.RunComplete, []string{accepted, "Complete=True Succeeded: the model answered"}},
		"stopped": {func(s *scenario) {
			s.limits.FailureStreak = 1
			s.fail("lookup a", "tool_error")
			s.expect("append end Complete, FailureStreak")
		}, v1alpha1.RunComplete, []string{accepted, `Complete=True FailureStreak: I stopped because the tool "lookup" failed 1 times in a row. ` +
			`Please check what it needs, or ask me to reach the goal in another way.`}},
		"out of steps": {func(s *scenario) {
			s.limits.Steps = 0
			s.expect("append end Failed, StepLimit")
		}, v1alpha1.RunFailed, []string{accepted,
			"Complete=False StepLimit: the model was called 0 times without coming to an end, which is the limit",
			"Stalled=True StepLimit: the model was called 0 times without coming to an end, which is the limit"}},
		"out of time": {func(s *scenario) {
			s.later(time.Hour)
			s.expect("append end Failed, DeadlineExceeded")
		}, v1alpha1.RunFailed, []string{accepted,
			"Complete=False DeadlineExceeded: the Run worked for 1h0m0s, and its deadline is 1h0m0s",
			"Stalled=True DeadlineExceeded: the Run worked for 1h0m0s, and its deadline is 1h0m0s"}},
		"failed from outside": {func(s *scenario) { s.append(Fail("ModelUnavailable", "no model answers")) },
			v1alpha1.RunFailed, []string{accepted, "Complete=False ModelUnavailable: no model answers", "Stalled=True ModelUnavailable: no model answers"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := play(t)
			// The status went through a suspension before, as conditions stay.
			status := v1alpha1.RunStatus{Version: "v-1"}
			earlier := play(t)
			suspend(earlier)
			Project(earlier.input(), 1, &status)
			status.Pending = nil
			test.play(s)
			Project(s.input(), 2, &status)
			if status.Phase != test.phase || status.ObservedGeneration != 2 {
				t.Errorf("phase %s, generation %d", status.Phase, status.ObservedGeneration)
			}
			if diff := cmp.Diff(test.want, conditionsOf(status)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for _, c := range status.Conditions {
				if c.ObservedGeneration != 2 {
					t.Errorf("%s describes generation %d", c.Type, c.ObservedGeneration)
				}
			}
			if ended := status.CompletedAt != nil; ended != s.state.Ended() {
				t.Errorf("completedAt is %v", status.CompletedAt)
			}
		})
	}
}

// TestProjectWithoutChange: the same log gives the same status at any later time,
// so a reconcile without change makes no write.
func TestProjectWithoutChange(t *testing.T) {
	records := wholeLog(t)
	for i := range len(records) + 1 {
		s := play(t)
		s.state = s.fold(records[:i])
		status := s.project()
		again := *status.DeepCopy()
		s.shown = status.Pending
		s.later(10 * time.Minute)
		Project(s.input(), 1, &again)
		if diff := cmp.Diff(status, again); diff != "" {
			t.Errorf("%d records, later (-want +got):\n%s", i, diff)
		}
	}
}

// TestDecidedKeepsTheNewest, with who and why.
func TestDecidedKeepsTheNewest(t *testing.T) {
	s := play(t)
	s.unchecked = true
	s.limits.Steps = 100
	for i := range maxDecided + 3 {
		s.model("", "refund 1")
		s.expect("append suspension of refund")
		s.decide(fmt.Sprintf("no reason %d", i))
		s.expect("append decision on refund: no")
		s.expect("append result of refund: denied")
	}
	decided := s.project().Decided
	if len(decided) != maxDecided {
		t.Fatalf("%d decided calls", len(decided))
	}
	no := false
	want := v1alpha1.DecidedCall{Tool: "refund", Kind: v1alpha1.PendingTool, Approved: &no, By: "alice", Reason: "reason 34", DecidedAt: metaTime(began)}
	if diff := cmp.Diff(want, decided[maxDecided-1], cmpopts.IgnoreFields(v1alpha1.DecidedCall{}, "ID")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if decided[0].Reason != "reason 3" {
		t.Errorf("the first is for %s", decided[0].Reason)
	}
}

func TestUsageIsSummed(t *testing.T) {
	s := play(t)
	for range 2 {
		s.append(s.state.MessageEntry(ModelMessage{Grant: "llm", Usage: v1alpha1.Usage{InputTokens: 10, OutputTokens: 3}}))
	}
	if diff := cmp.Diff(v1alpha1.Usage{InputTokens: 20, OutputTokens: 6}, s.project().Usage); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestConditionTimesStay as long as their status does.
func TestConditionTimesStay(t *testing.T) {
	s := play(t)
	status := s.project()
	s.later(time.Minute)
	s.model("", "lookup a")
	Project(s.input(), 1, &status)
	for _, c := range status.Conditions {
		if !c.LastTransitionTime.Equal(&metav1.Time{Time: began}) {
			t.Errorf("%s changed at %v", c.Type, c.LastTransitionTime)
		}
	}
}
