// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"slices"
	"strings"

	"remit.dev/remit/api/v1alpha1"
)

// AdvisoryThreshold is the number of failures in a row from which the model is
// told to stop retrying.
const AdvisoryThreshold = 3

// streaks counts failures in a row by the name of the tool alone, over the whole
// Run, whatever the arguments.
type streaks map[string]int32

// failures are the streaks as they stand now.
func (s *State) failures() streaks {
	failures := streaks{}
	for _, t := range s.turns {
		failures.count(t)
	}
	return failures
}

// count takes in the results of a turn, in the message's order. Where a call has
// no result yet, later ones of the same tool wait for it.
func (s streaks) count(t *turn) {
	open := map[string]bool{}
	for _, c := range t.calls {
		switch {
		case c.result == nil:
			open[c.record.Tool] = true
		case open[c.record.Tool]:
		case c.result.Error == "":
			delete(s, c.record.Tool)
		case counts(c.result.Error):
			s[c.record.Tool]++
		}
	}
}

// counts says whether a failure is the tool's or the model's own doing. What a
// person or a policy stopped before execution says nothing about the tool.
func counts(kind v1alpha1.ErrorKind) bool {
	switch kind {
	case v1alpha1.ErrorDenied, v1alpha1.ErrorCancelled, v1alpha1.ErrorToolUnavailable, v1alpha1.ErrorToolChanged,
		v1alpha1.ErrorApprovalRequiredInProgram:
		return false
	case v1alpha1.ErrorUnknownTool, v1alpha1.ErrorInvalidArguments, v1alpha1.ErrorTool, v1alpha1.ErrorTimeout,
		v1alpha1.ErrorServerUnavailable, v1alpha1.ErrorUnauthorized, v1alpha1.ErrorOutcomeUnknown,
		v1alpha1.ErrorBadResult:
		return true
	default:
		return true
	}
}

// broken is the tool with the longest streak of at least threshold failures.
func (s streaks) broken(threshold int32) (tool string, failures int32) {
	for name, count := range s {
		if count >= threshold && (count > failures || count == failures && name < tool) {
			tool, failures = name, count
		}
	}
	return tool, failures
}

// list gives the streaks for the status, the longest first.
func (s streaks) list() []v1alpha1.FailureStreak {
	var list []v1alpha1.FailureStreak
	for tool, failures := range s {
		list = append(list, v1alpha1.FailureStreak{Tool: tool, Failures: failures})
	}
	slices.SortFunc(list, func(a, b v1alpha1.FailureStreak) int {
		if a.Failures != b.Failures {
			return int(b.Failures - a.Failures)
		}
		return strings.Compare(a.Tool, b.Tool)
	})
	return list[:min(len(list), maxStreaks)]
}

func advisory(failures int32) string {
	return fmt.Sprintf("This tool has failed %d times in a row. Stop retrying it. "+
		"Explain to the user what does not work instead of calling it again with similar input.", failures)
}

func stopped(tool string, failures int32) string {
	return fmt.Sprintf("I stopped because the tool %q failed %d times in a row. "+
		"Please check what it needs, or ask me to reach the goal in another way.", tool, failures)
}
