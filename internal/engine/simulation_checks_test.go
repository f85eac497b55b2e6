// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"remit.dev/remit/api/v1alpha1"
)

// history is the whole log of what is stored, sealed records first.
func (w *simulation) history() []v1alpha1.Record {
	var status v1alpha1.RunStatus
	if err := json.Unmarshal(w.stored, &status); err != nil {
		w.fault("%v", err)
	}
	var records []v1alpha1.Record
	for _, segment := range status.Log.Sealed {
		var part []v1alpha1.Record
		if err := json.Unmarshal(w.segments[segment.ConfigMap], &part); err != nil {
			w.fault("%v", err)
		}
		records = append(records, part...)
	}
	return append(records, status.Log.Records...)
}

// checkStored: what is stored folds, into what is in memory if that was saved, and
// says the same.
func (w *simulation) checkStored() {
	memory, clean := w.state, w.state != nil && !w.state.Dirty()
	written := w.status
	if err := w.load(); err != nil {
		w.fault("what was saved does not fold: %v", err)
		return
	}
	stored := w.status
	if clean && memory.Head() == w.state.Head() {
		if diff := cmp.Diff(memory, w.state, wholeState); diff != "" {
			w.fault("the fold of the saved log differs (-memory +fold):\n%s", diff)
		}
		if diff := cmp.Diff(written, stored); diff != "" {
			w.fault("the saved status differs (-memory +stored):\n%s", diff)
		}
	}
	again := *stored.DeepCopy()
	in := w.input()
	in.Children = w.waitedFor
	Project(in, 1, &again)
	if diff := cmp.Diff(stored, again); diff != "" && len(stored.Log.Records) > 0 {
		w.fault("the status says something else than its log (-stored +projected):\n%s", diff)
	}
	if diff := cmp.Diff(w.oracle(), streakMap(stored.FailureStreaks)); diff != "" {
		w.fault("the streaks differ (-counted by hand +status):\n%s", diff)
	}
	if stored.Steps > w.limits.Steps {
		w.fault("%d steps, and the limit is %d", stored.Steps, w.limits.Steps)
	}
}

func streakMap(list []v1alpha1.FailureStreak) map[string]int32 {
	streaks := map[string]int32{}
	for _, s := range list {
		streaks[s.Tool] = s.Failures
	}
	return streaks
}

// oracle counts the streaks of the stored log in another way than the engine: it
// writes each tool's outcomes down in a line, f for one that counts and s for a
// success, and looks at how many f the line ends with (P11, I1, I3, I5 to I8).
func (w *simulation) oracle() map[string]int32 {
	return countStreaks(w.history())
}

func countStreaks(records []v1alpha1.Record) map[string]int32 {
	outcome := map[v1alpha1.CallID]string{}
	for _, r := range records {
		if r.Result == nil {
			continue
		}
		switch r.Result.Error {
		case "":
			outcome[r.Result.ID] = "s"
		case "denied", "cancelled", "tool_changed", "tool_unavailable":
			outcome[r.Result.ID] = "-"
		default:
			outcome[r.Result.ID] = "f"
		}
	}
	lines := map[string]string{}
	for _, r := range records {
		if r.Message == nil {
			continue
		}
		for _, c := range r.Message.Calls {
			mark, answered := outcome[c.ID]
			if !answered {
				mark = "?" // nothing of this tool counts after an open call
			}
			lines[c.Tool] += mark
		}
	}
	streaks := map[string]int32{}
	for tool, line := range lines {
		line, _, _ = strings.Cut(line, "?")
		line = strings.ReplaceAll(line, "-", "")
		if n := len(line) - len(strings.TrimRight(line, "f")); n > 0 {
			streaks[tool] = int32(n)
		}
	}
	return streaks
}

// longestStreak is that of the log in memory.
func (w *simulation) longestStreak() int32 {
	var all []v1alpha1.Record
	for _, segment := range w.status.Log.Sealed {
		var part []v1alpha1.Record
		if err := json.Unmarshal(w.segments[segment.ConfigMap], &part); err != nil {
			w.fault("%v", err)
		}
		all = append(all, part...)
	}
	longest := int32(0)
	for _, n := range countStreaks(append(all, w.state.Records()...)) {
		longest = max(longest, n)
	}
	return longest
}

// checkContext: each call that the model made is followed by one result, in order,
// and no result is empty.
func (w *simulation) checkContext() {
	var open []v1alpha1.CallID
	for _, message := range w.state.Context() {
		if message.Result == nil {
			if len(open) > 0 {
				w.fault("%d calls have no result", len(open))
			}
			for _, c := range message.Calls {
				open = append(open, c.ID)
			}
			continue
		}
		if len(open) == 0 || open[0] != message.Result.ID {
			w.fault("the result of %s is not where it should be", message.Result.ID)
			return
		}
		open = open[1:]
		if message.Result.Text == "" {
			w.fault("the result of %s is empty", message.Result.ID)
		}
	}
	if len(open) > 0 {
		w.fault("%d calls have no result", len(open))
	}
}

// checkEnd looks at the whole log of an ended Run.
func (w *simulation) checkEnd() {
	records := w.history()
	end := records[len(records)-1].End
	if end == nil {
		w.fault("the last record is no end")
		return
	}
	results := map[v1alpha1.CallID]v1alpha1.ErrorKind{}
	marked := map[v1alpha1.CallID]bool{}
	for i, r := range records {
		switch {
		case r.Result != nil:
			if _, twice := results[r.Result.ID]; twice {
				w.fault("%s has two results", r.Result.ID)
			}
			results[r.Result.ID] = r.Result.Error
		case r.Watermark != nil:
			for _, c := range r.Watermark.Calls {
				marked[c.ID] = true
			}
		case r.Message != nil && i > 0 && r.Message.Grant != "" && slices.Contains(w.open(records[:i]), true):
			w.fault("the model went on while calls were open")
		}
	}
	for id, n := range w.attempts {
		kind, answered := results[id]
		if w.effects[id] > 0 && !marked[id] {
			w.fault("%s had an effect without a watermark", id)
		}
		if w.effects[id] > 0 && !answered {
			w.fault("%s had an effect, and the log does not say what came of it", id)
		}
		if answered && kind == v1alpha1.ErrorDenied {
			w.fault("%s was denied, and was made %d times", id, n)
		}
	}
	if end.Reason == v1alpha1.ReasonFailureStreak {
		longest := int32(0)
		for _, n := range w.oracle() {
			longest = max(longest, n)
		}
		if longest < w.limits.FailureStreak {
			w.fault("stopped after %d failures in a row, and the limit is %d", longest, w.limits.FailureStreak)
		}
		if w.status.Output == "" {
			w.fault("stopped without an explanation (I13)")
		}
	}
	if got := w.status.Usage.OutputTokens; got != int64(w.status.Steps) {
		w.fault("%d tokens of %d messages", got, w.status.Steps)
	}
}

// open says for each call of the records whether it has no result.
func (w *simulation) open(records []v1alpha1.Record) []bool {
	var ids []v1alpha1.CallID
	answered := map[v1alpha1.CallID]bool{}
	for _, r := range records {
		if r.Message != nil {
			for _, c := range r.Message.Calls {
				ids = append(ids, c.ID)
			}
		}
		if r.Result != nil {
			answered[r.Result.ID] = true
		}
	}
	open := make([]bool, len(ids))
	for i, id := range ids {
		open[i] = !answered[id]
	}
	return open
}
