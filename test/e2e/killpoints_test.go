// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
)

const (
	// seedsVariable says how many seeds to try; a longer search is for a quiet hour.
	seedsVariable = "REMIT_E2E_SEEDS"
	defaultSeeds  = 12

	// Each seed kills the operator so often, while so many Runs are at work.
	kills   = 3
	tickets = 4
	// A kill comes after up to so many changes of Runs, and up to so much later.
	maxChanges = 10
	maxPause   = 40 * time.Millisecond
)

// Kill -9 at any other point of a Run: an approved effect happens at most once, what the model was told
// of it is true, and the Run always ends.
func TestKilledAtAnyPoint(t *testing.T) {
	seeds := defaultSeeds
	if text := os.Getenv(seedsVariable); text != "" {
		var err error
		if seeds, err = strconv.Atoi(text); err != nil {
			t.Fatalf("%s: %v", seedsVariable, err)
		}
	}
	for seed := range seeds {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { killAtPointsOf(t, uint64(seed)) })
	}
}

// ticket is the marker of one Run, in its input and in the arguments of its calls.
func ticket(i int) string { return fmt.Sprintf("ticket-%d.", i) }

// ticketTurns is a script for all Runs of one seed.
func ticketTurns() string {
	var turns []string
	for i := range tickets {
		lookup := `{"tool": "desk__lookup_order", "arguments": {"order_id": "A-1001"}}`
		refund := fmt.Sprintf(`{"tool": "desk__refund_order", "arguments": {"order_id": "A-1001", "cents": 1, "reason": %q}}`, ticket(i))
		turns = append(turns,
			fmt.Sprintf(`{"when": %q, "calls": [%s]}`, ticket(i), lookup),
			fmt.Sprintf(`{"when": %q, "calls": [%s, %s]}`, ticket(i), lookup, refund),
			fmt.Sprintf(`{"when": %q, "text": "Done."}`, ticket(i)))
	}
	return `{"turns": [` + strings.Join(turns, ",") + `]}`
}

func killAtPointsOf(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 0)) // the points of a seed are always the same
	o := ownOperator(t)
	n, h := helpdeskTenant(t, ticketTurns(), "--delay", "20ms")
	changes := watchRuns(t, n.namespace)
	for i := range tickets {
		n.start(fmt.Sprintf("run-%d", i), func(r *v1alpha1.RunSpec) { r.Input = ticket(i) })
	}

	ended := map[string]*v1alpha1.Run{}
	decided := map[string]bool{}
	left, until := kills, rng.IntN(maxChanges)
	deadline := time.After(patience)
	for len(ended) < tickets {
		select {
		case <-deadline:
			t.Fatalf("%d of %d Runs ended within %s", len(ended), tickets, patience)
		case run := <-changes:
			if run.Status.CompletedAt != nil {
				ended[run.Name] = run
			}
			if len(run.Status.Pending) > 0 && !decided[run.Name] {
				decided[run.Name] = true
				if err := decide(t, approver, run, decisions(run, approved())); err != nil {
					t.Fatal(err)
				}
			}
			if until--; until < 0 && left > 0 {
				<-time.After(time.Duration(rng.Int64N(int64(maxPause))))
				o.crash(t)
				o.restart(t)
				left, until = left-1, rng.IntN(maxChanges)
			}
		}
	}
	for i := range tickets {
		checkTicket(t, ended[fmt.Sprintf("run-%d", i)], h.begun(t, "refund_order", ticket(i)))
	}
}

// checkTicket compares what a Run says with the ledger of the server.
func checkTicket(t *testing.T, run *v1alpha1.Run, refunds int) {
	t.Helper()
	checkEnded(t, run, v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
	results := resultKinds(run)
	unknown := 0
	for _, kind := range results {
		switch kind {
		case "":
		case v1alpha1.ErrorOutcomeUnknown:
			unknown++
		default:
			t.Errorf("a call ended as %s\n%s", kind, describe(run))
		}
	}
	switch {
	case len(results) != 3 || unknown > 1:
		t.Errorf("the results are %v, want three with at most one outcome_unknown", results)
	case refunds > 1:
		t.Errorf("one approval led to %d refunds", refunds)
	case refunds == 0 && unknown == 0:
		t.Error("the model was told of a refund that was never made")
	}
	if run.Status.Steps != 3 || len(run.Status.Decided) != 1 {
		t.Errorf("%d steps and %d decisions, want 3 and 1", run.Status.Steps, len(run.Status.Decided))
	}
}

// watchRuns gives every change of the Runs of a namespace that is seen, until the test ends.
func watchRuns(t *testing.T, namespace string) <-chan *v1alpha1.Run {
	t.Helper()
	ctx := t.Context()
	changes := make(chan *v1alpha1.Run)
	go func() {
		for ctx.Err() == nil {
			passOn(ctx, namespace, changes)
		}
	}()
	return changes
}

// passOn watches until the watch ends.
func passOn(ctx context.Context, namespace string, changes chan<- *v1alpha1.Run) {
	watch, err := env.users[admin].Watch(ctx, &v1alpha1.RunList{}, client.InNamespace(namespace))
	if err != nil {
		return
	}
	defer watch.Stop()
	for event := range watch.ResultChan() {
		if run, ok := event.Object.(*v1alpha1.Run); ok {
			select {
			case changes <- run:
			case <-ctx.Done():
				return
			}
		}
	}
}
