// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"remit.dev/remit/api/v1alpha1"
)

// newWaitingSimulation has the builtins that wait, subagents and a workflow, too.
func newWaitingSimulation(choose func(string, int) int, fault func(string, ...any)) *simulation {
	w := newSimulation(choose, fault)
	w.offered, w.tools = everyTool, everyTool()
	w.steps = []v1alpha1.StepID{"one", "two", "three"}[:choose("workflow", 4)]
	return w
}

// goOn takes a step of the workflow, or asks the model.
func (w *simulation) goOn(action Action) error {
	step, ok := action.(TakeStep)
	if !ok {
		return w.callModel()
	}
	if step.Index >= len(w.steps) || w.state.steps > 0 {
		w.fault("step %d of %d is taken after %d model calls", step.Index, len(w.steps), w.state.steps)
	}
	names := slices.Sorted(maps.Keys(w.offered()))
	name := names[w.choose("step's tool", len(names))]
	call := ModelCall{Tool: name, Definition: w.tools[name].definition, StepID: w.steps[step.Index]}
	w.log("  step %s calls %s", call.StepID, name)
	if err := w.kill("before a step"); err != nil {
		return err
	}
	w.now = w.now.Add(time.Second)
	if w.chance("no arguments", 15) {
		return w.append(w.state.FailedStep(call, Failure{Kind: v1alpha1.ErrorInvalidArguments, Message: "no such key"})...)
	}
	return w.append(w.state.MessageEntry(ModelMessage{Calls: []ModelCall{call}}))
}

// delegate starts a child for each call, once.
func (w *simulation) delegate(calls []v1alpha1.CallRecord) error {
	for _, c := range calls {
		if _, started := w.children[c.ID]; started {
			w.fault("%s is delegated twice", c.Tool)
		}
		w.children[c.ID] = Child{}
		w.log("  a child begins")
		if err := w.kill("after a child began"); err != nil {
			return err
		}
	}
	return nil
}

// answer is a request to each webhook that waits, or the end of the children.
func (w *simulation) answer(pending []v1alpha1.PendingCall) {
	for _, p := range pending {
		if p.Kind == v1alpha1.PendingWebhook {
			w.received[p.ID] = "report"
			w.log("a webhook is called")
		}
	}
	for id, child := range w.children {
		if child.Outcome == nil {
			w.children[id] = Child{Outcome: &Outcome{Content: "found"}, Worked: child.Worked}
			w.log("a child ends")
		}
	}
}

// TestSimulationWaits holds the promises of TestSimulation where calls wait for
// answers, requests and other Runs as well (H2, H28, H43).
func TestSimulationWaits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		choose := func(label string, n int) int { return rapid.IntRange(0, n-1).Draw(t, label) }
		newWaitingSimulation(choose, t.Fatalf).run()
	})
}

// TestSimulationWaitsSeeds shows that the simulated Runs come to all of it.
func TestSimulationWaitsSeeds(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(60) {
		w := newWaitingSimulation(seeded(seed), nil)
		w.fault = func(format string, args ...any) {
			t.Helper()
			t.Fatalf("seed %d: %s\n%s", seed, fmt.Sprintf(format, args...), strings.Join(w.journal, "\n"))
		}
		w.run()
		for _, record := range w.history() {
			if result := record.Result; result != nil {
				seen[result.Content]++
			}
		}
		seen["step"] += min(len(w.steps), w.messages)
		seen[w.state.end.record.Reason]++
	}
	for _, what := range []string{"blue", "report", "found", "step", "Succeeded", "SuspensionExpired"} {
		if seen[what] == 0 {
			t.Errorf("no Run came to %q: %v", what, seen)
		}
	}
}
