// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write the golden files")

// seeded chooses by a seed, so that a simulation can be played again.
func seeded(seed uint64) func(string, int) int {
	random := rand.New(rand.NewPCG(seed, 1))
	return func(_ string, n int) int { return random.IntN(n) }
}

// TestSimulation: whatever models, tools, people and clocks do, and wherever the
// operator is killed, an effect takes place at most once, nothing gated is made
// without its approval, the saved log folds into what was in memory, and the Run
// ends.
func TestSimulation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		choose := func(label string, n int) int { return rapid.IntRange(0, n-1).Draw(t, label) }
		w := newSimulation(choose, t.Fatalf)
		w.run()
	})
}

// TestSimulationSeeds plays Runs that are the same every time, and shows that they
// come to every kind of end.
func TestSimulationSeeds(t *testing.T) {
	const seeds = 60
	kills, ends, repeated := 0, map[string]int{}, 0
	for seed := range uint64(seeds) {
		w := newSimulation(seeded(seed), nil)
		w.fault = func(format string, args ...any) {
			t.Helper()
			t.Fatalf("seed %d: %s\n%s", seed, fmt.Sprintf(format, args...), strings.Join(w.journal, "\n"))
		}
		w.run()
		kills += w.kills
		ends[w.state.end.record.Reason]++
		for _, n := range w.attempts {
			if n > 1 {
				repeated++
			}
		}
	}
	// A simulation that never gets anywhere proves nothing.
	for _, reason := range []string{"Succeeded", "FailureStreak", "StepLimit", "SuspensionExpired", "Cancelled", "DeadlineExceeded"} {
		if ends[reason] == 0 {
			t.Errorf("no Run ended as %s: %v", reason, ends)
		}
	}
	if kills < seeds || repeated == 0 {
		t.Errorf("%d kills, and %d calls were repeated", kills, repeated)
	}
	t.Logf("%d kills, %d repeated calls, ends: %v", kills, repeated, ends)
}

// TestSimulationGolden compares what happens with what happened when somebody last
// read it: go test ./internal/engine -run Golden -update
func TestSimulationGolden(t *testing.T) {
	for _, seed := range []uint64{73, 133, 138, 171, 267, 347} {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			w := newSimulation(seeded(seed), t.Fatalf)
			w.run()
			got := strings.Join(w.journal, "\n") + "\n"
			file := filepath.Join("testdata", fmt.Sprintf("simulation-%d.golden", seed))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
