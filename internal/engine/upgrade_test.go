// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"
	"testing"

	"remit.dev/remit/api/v1alpha1"
)

// A log that was written under other bounds, or with an answer that nobody asked for,
// still holds what people decided.
func TestDecisionsOfEarlierBounds(t *testing.T) {
	yes := true
	long := strings.Repeat("a", 2000)
	for name, test := range map[string]struct {
		logged  v1alpha1.DecisionRecord
		made    v1alpha1.Decision
		corrupt bool
	}{
		"a reason that was cut":        {v1alpha1.DecisionRecord{Reason: long[:100]}, v1alpha1.Decision{Reason: long[:1024]}, false},
		"an answer to a tool":          {v1alpha1.DecisionRecord{Answer: "Go on."}, v1alpha1.Decision{Answer: "Go on."}, false},
		"an answer that was cut":       {v1alpha1.DecisionRecord{Answer: long[:50] + "\n[cut: the whole has 2000 bytes]"}, v1alpha1.Decision{Answer: long}, false},
		"an answer cut in silence":     {v1alpha1.DecisionRecord{Answer: long[:50]}, v1alpha1.Decision{Answer: long}, true},
		"another reason":               {v1alpha1.DecisionRecord{Reason: "b"}, v1alpha1.Decision{Reason: long[:10]}, true},
		"an answer with another end":   {v1alpha1.DecisionRecord{Answer: long[:50] + "b"}, v1alpha1.Decision{Answer: long}, true},
		"a reason that nobody gave":    {v1alpha1.DecisionRecord{Reason: "b"}, v1alpha1.Decision{}, true},
		"a name that is no beginning":  {v1alpha1.DecisionRecord{By: "eve"}, v1alpha1.Decision{By: "alice"}, true},
		"the beginning of a name":      {v1alpha1.DecisionRecord{By: "al"}, v1alpha1.Decision{By: "alice"}, true},
		"no name in place of a person": {v1alpha1.DecisionRecord{}, v1alpha1.Decision{By: "alice"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := play(t)
			s.model("", "refund {}")
			s.expect("append suspension of refund")
			record := test.logged
			record.ID, record.Approved, test.made.Approved = s.id(0), &yes, &yes
			s.append(Entry{Decision: &record})
			err := s.state.CheckDecisions(map[string]v1alpha1.Decision{string(s.id(0)): test.made})
			if (err != nil) != test.corrupt {
				t.Errorf("got %v", err)
			}
		})
	}
}
