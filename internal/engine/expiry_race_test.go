// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit.dev/remit/api/v1alpha1"
)

// expirySeeds is how many Runs are played for each instant of a decision.
const expirySeeds = 300

// TestExpiryAgainstDecision: whether a suspension has expired or was decided is settled by the instant at
// which the operator looks, to the nanosecond, for all of its calls alike, and stays settled whatever
// happens later (H13, H26, P23).
func TestExpiryAgainstDecision(t *testing.T) {
	for arrives, offset := range map[string]time.Duration{
		"a nanosecond before": -time.Nanosecond,
		"at the instant":      0,
		"a nanosecond after":  time.Nanosecond,
	} {
		t.Run(arrives, func(t *testing.T) {
			for seed := range uint64(expirySeeds) {
				t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
					rng := rand.New(rand.NewPCG(seed, 0))
					s, expires := awaitDecision(t, rng)
					s.now = expires.Add(offset)
					// Often the operator looks at the very nanosecond at which the decision is there.
					s.later(time.Duration(rng.IntN(2) * rng.IntN(3)))
					verdicts := decideAtRandom(s, rng)
					if s.now.Before(expires) {
						expectDecided(s, rng, verdicts)
					} else {
						expectExpired(t, s, rng, expires)
					}
				})
			}
		})
	}
}

// awaitDecision plays a Run until it waits for people, and gives the time at which it expires.
func awaitDecision(t *testing.T, rng *rand.Rand) (*scenario, time.Time) {
	t.Helper()
	s := play(t)
	s.unchecked = true // mayCrash folds the log anew
	s.limits.Deadline = 10 * 365 * 24 * time.Hour
	expiry := 2*time.Second + time.Duration(rng.IntN(7*24*3600*1000))*time.Millisecond
	s.limits.ApprovalExpiry = expiry
	s.later(time.Duration(rng.Int64N(int64(time.Minute))))
	var calls []string
	for range 1 + rng.IntN(4) {
		calls = append(calls, fmt.Sprintf("%s %d", []string{"refund", "wipe", "peek"}[rng.IntN(3)], rng.IntN(100)))
	}
	s.model("", calls...)
	s.later(time.Duration(rng.Int64N(int64(time.Second))))
	// Times are told in whole seconds, that of the suspension and that of its expiry.
	expires := time.Unix(s.now.Unix()+int64(expiry/time.Second), 0).UTC()
	if diff := cmp.Diff(Action(Wait{Until: expires}), s.settle()); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	if rng.IntN(2) == 0 { // people were shown what waits, and what was announced holds
		s.shown = s.project().Pending
		s.limits.ApprovalExpiry = time.Duration(1 + rng.Int64N(int64(2*expiry)))
	}
	s.mayCrash(rng)
	return s, expires
}

// settle appends what Next asks for, until it asks for something that is not in the log's power.
func (s *scenario) settle() Action {
	s.Helper()
	for {
		action, err := Next(s.input())
		if err != nil {
			s.Fatal(err)
		}
		entries, ok := action.(Append)
		if !ok {
			return action
		}
		s.append(entries.Entries...)
	}
}

// mayCrash makes the log durable, and then may go on with another process.
func (s *scenario) mayCrash(rng *rand.Rand) {
	s.Helper()
	s.save()
	if rng.IntN(2) == 0 {
		s.crash()
	}
}

// decideAtRandom decides everything that waits.
func decideAtRandom(s *scenario, rng *rand.Rand) map[v1alpha1.CallID]bool {
	s.Helper()
	verdicts := map[v1alpha1.CallID]bool{}
	var said []string
	for _, c := range s.state.waiting().calls {
		approved := rng.IntN(3) > 0
		verdicts[c.record.ID] = approved
		said = append(said, map[bool]string{true: "yes", false: "no"}[approved])
	}
	s.decide(said...)
	return verdicts
}

// expectDecided: every decision is in the log, exactly what was approved is to be made, and no later look
// finds that it has expired.
func expectDecided(s *scenario, rng *rand.Rand, verdicts map[v1alpha1.CallID]bool) {
	s.Helper()
	for range 2 {
		action := s.settle()
		logged, made := map[v1alpha1.CallID]bool{}, map[v1alpha1.CallID]bool{}
		for _, record := range s.state.Records() {
			if record.Decision != nil {
				logged[record.Decision.ID] = *record.Decision.Approved
			}
		}
		if execute, ok := action.(Execute); ok {
			for _, execution := range execute.Calls {
				made[execution.Call.ID] = true
			}
		} else if action != Action(CallModel{}) {
			s.Fatalf("it asks for %s", s.describe(action))
		}
		approved := map[v1alpha1.CallID]bool{}
		for id, yes := range verdicts {
			if yes {
				approved[id] = true
			}
		}
		if diff := cmp.Diff(verdicts, logged); diff != "" {
			s.Fatalf("the decisions in the log (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(approved, made); diff != "" {
			s.Fatalf("the calls to make (-want +got):\n%s", diff)
		}
		s.mayCrash(rng)
		s.later(time.Duration(rng.Int64N(int64(30 * 24 * time.Hour))))
	}
}

// expectExpired: nothing is decided, nothing is to be made, and nothing changes that, be it a later look,
// a clock that is set back, or somebody who writes into the log.
func expectExpired(t *testing.T, s *scenario, rng *rand.Rand, expires time.Time) {
	t.Helper()
	for range 3 {
		if action := s.settle(); action != Action(Done{}) {
			s.Fatalf("it asks for %s", s.describe(action))
		}
		records := s.state.Records()
		if end := records[len(records)-1].End; end == nil || end.Phase != v1alpha1.RunAbandoned || end.Reason != v1alpha1.ReasonSuspensionExpired {
			s.Fatalf("the log ends with %+v", records[len(records)-1])
		}
		if slices.ContainsFunc(records, func(r v1alpha1.Record) bool { return r.Decision != nil || r.Watermark != nil || r.Result != nil }) {
			s.Fatalf("it has expired, and yet something was decided or made: %+v", records)
		}
		s.mayCrash(rng)
		s.now = expires.Add(time.Duration(rng.Int64N(int64(time.Hour))) - 30*time.Minute)
	}
	id := s.state.last().calls[0].record.ID
	yes := true
	expectCorrupt(t, s.state.Append(s.now, Entry{Decision: &v1alpha1.DecisionRecord{ID: id, Approved: &yes}}), "the log has already ended")
}
