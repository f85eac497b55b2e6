// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
)

// refunding makes a tenant with the help desk, whose model asks for one refund in each Run, with the Run's
// input as the reason, and then says something.
func refunding(t *testing.T) (*tenant, *helpdesk) {
	t.Helper()
	h := startHelpdesk(t)
	n := newTenant(t)
	n.catalogued("desk", h.url)
	n.granted("desk")
	var model *endpoint
	model = newEndpoint(t, func(asked int, w http.ResponseWriter, _ *http.Request) {
		messages := model.requests()[asked-1].Messages
		reply := says("Done.")
		if last := messages[len(messages)-1]; last.Role == "user" {
			reply = toolCallOf("desk__refund_order", fmt.Sprintf(`{"order_id":"A-1001","cents":1,"reason":%q}`, last.Content))
		}
		completes(w, reply)
	})
	n.openAI("model", model.url, "")
	n.agent("desk")
	return n, h
}

// voter is somebody who may approve, with what he says.
type voter struct {
	name string
	as   client.Client
	says v1alpha1.Decision
	// replaces says that he reads the Run and writes it back whole, as a user interface may; the
	// others send a merge patch.
	replaces bool
}

// people are distinct users with the approvers' role. Every other one says yes, and each has a reason
// of his own.
func people(t *testing.T, number int) []*voter {
	t.Helper()
	base, err := clientcmd.BuildConfigFromFlags("", env.ready.Kubeconfigs[admin])
	if err != nil {
		t.Fatal(err)
	}
	base.QPS = -1
	all := make([]*voter, number)
	for i := range all {
		p := &voter{name: fmt.Sprintf("approver-%02d", i), replaces: i%5 == 0}
		config := rest.CopyConfig(base)
		config.Impersonate = rest.ImpersonationConfig{UserName: p.name, Groups: []string{"remit:approvers", "system:authenticated"}}
		p.as, err = client.New(config, client.Options{Scheme: env.users[admin].Scheme(), Mapper: env.users[admin].RESTMapper()})
		if err != nil {
			t.Fatal(err)
		}
		yes := i%2 == 0
		p.says = v1alpha1.Decision{Approved: &yes, Reason: fmt.Sprintf("%s says %t", p.name, yes)}
		all[i] = p
	}
	return all
}

// decide writes what the voter says of the one pending call.
func (p *voter) decide(ctx context.Context, run *v1alpha1.Run) error {
	id := run.Status.Pending[0].ID
	if !p.replaces {
		merged := run.DeepCopy()
		merged.Spec.Decisions = map[string]v1alpha1.Decision{string(id): p.says}
		return p.as.Patch(ctx, merged, client.MergeFrom(run))
	}
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		now := &v1alpha1.Run{}
		if err := p.as.Get(ctx, client.ObjectKeyFromObject(run), now); err != nil {
			return err
		}
		now.Spec.Decisions = map[string]v1alpha1.Decision{string(id): p.says}
		return p.as.Update(ctx, now)
	})
}

// Races: fifty approvers decide one Run at once, half yes and half no. Exactly one decision stands, all
// the others are told that it does, and the effect happens as it says, once. Runs follow until both a
// yes and a no have come first.
func TestFiftyApproversDecideAtOnce(t *testing.T) {
	useOperator(t)
	const rounds, mostRounds = 6, 24
	n, h := refunding(t)
	approvers := people(t, 50)
	rng := rand.New(rand.NewPCG(50, 0))
	stood := map[bool]int{}
	for round := 0; round < rounds || len(stood) < 2; round++ {
		if round == mostRounds {
			t.Fatalf("of %d Runs each was decided in the same way: %v", mostRounds, stood)
		}
		run := awaitSuspended(t, n.start(fmt.Sprintf("run-%d", round), func(r *v1alpha1.RunSpec) { r.Input = ticket(round) }))
		rng.Shuffle(len(approvers), func(i, j int) { approvers[i], approvers[j] = approvers[j], approvers[i] })
		winner := decideAtOnce(t, approvers, run)
		if winner == nil {
			return
		}
		stood[*winner.says.Approved]++
		checkStands(t, awaitEnd(t, run), winner, h.begun(t, "refund_order", ticket(round)))
	}
	t.Logf("a yes stood %d times, a no %d times", stood[true], stood[false])
}

// decideAtOnce lets all of them decide the same Run and gives the one whose decision was taken.
func decideAtOnce(t *testing.T, all []*voter, run *v1alpha1.Run) *voter {
	t.Helper()
	refusals := make([]error, len(all))
	begin := make(chan struct{})
	var deciding sync.WaitGroup
	for i, p := range all {
		deciding.Go(func() {
			<-begin
			refusals[i] = p.decide(t.Context(), run)
		})
	}
	close(begin)
	deciding.Wait()
	var winner *voter
	for i, err := range refusals {
		switch {
		case err == nil && winner == nil:
			winner = all[i]
		case err == nil:
			t.Errorf("the decisions of both %s and %s were taken", winner.name, all[i].name)
		case !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.decisions: Forbidden: a recorded decision never changes"):
			t.Errorf("%s was refused with %v", all[i].name, err)
		}
	}
	if winner == nil {
		t.Error("nobody's decision was taken")
	}
	return winner
}

// checkStands compares what stands everywhere, and what was done, with what the winner has said.
func checkStands(t *testing.T, run *v1alpha1.Run, winner *voter, refunds int) {
	t.Helper()
	checkEnded(t, run, v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
	if len(run.Status.Decided) != 1 {
		t.Fatalf("%s is shown as decided %d times", run.Name, len(run.Status.Decided))
	}
	id, said := run.Status.Decided[0].ID, winner.says
	said.By = winner.name
	if diff := cmp.Diff(map[string]v1alpha1.Decision{string(id): said}, run.Spec.Decisions); diff != "" {
		t.Errorf("%s: spec.decisions (-want +got):\n%s", run.Name, diff)
	}
	shown := []v1alpha1.DecidedCall{{ID: id, Tool: "desk__refund_order", Kind: v1alpha1.PendingTool, Approved: said.Approved, By: said.By, Reason: said.Reason}}
	if diff := cmp.Diff(shown, run.Status.Decided, cmpopts.IgnoreFields(v1alpha1.DecidedCall{}, "DecidedAt")); diff != "" {
		t.Errorf("%s: status.decided (-want +got):\n%s", run.Name, diff)
	}
	logged := []*v1alpha1.DecisionRecord{{ID: id, Approved: said.Approved, By: said.By, Reason: said.Reason}}
	if diff := cmp.Diff(logged, decisionRecords(run)); diff != "" {
		t.Errorf("%s: decisions in the log (-want +got):\n%s", run.Name, diff)
	}
	kinds, effects := []v1alpha1.ErrorKind{v1alpha1.ErrorDenied}, 0
	if *said.Approved {
		kinds, effects = []v1alpha1.ErrorKind{""}, 1
	}
	if diff := cmp.Diff(kinds, resultKinds(run)); diff != "" || refunds != effects {
		t.Errorf("%s: %s, and %d refunds were made; the results (-want +got):\n%s", run.Name, said.Reason, refunds, diff)
	}
}

// decisionRecords are the decisions in a Run's log.
func decisionRecords(run *v1alpha1.Run) []*v1alpha1.DecisionRecord {
	var decisions []*v1alpha1.DecisionRecord
	for i := range run.Status.Log.Records {
		if decision := run.Status.Log.Records[i].Decision; decision != nil {
			decisions = append(decisions, decision)
		}
	}
	return decisions
}

const (
	// expirySeeds is how many Runs are approved around the instant at which they expire.
	expirySeeds = 200
	// An approval is sent at a time of its seed's own between so long ahead of the expiry and so long
	// after it. It takes its way to the operator, so most of that is ahead.
	sentAhead, sentAfter = time.Second, 300 * time.Millisecond
)

// Races: expiry against approval at the same instant. It is never both: either the Run is abandoned, and
// nothing was decided and nothing done, or it was decided ahead of the expiry, and done once (H26, P23).
func TestExpiryAgainstApproval(t *testing.T) {
	ownOperator(t, "--run-workers", "64")
	n, h := refunding(t)
	ended := make([]*raced, expirySeeds)
	t.Run("seeds", func(t *testing.T) { // returns when all of them have ended
		for seed := range ended {
			t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
				t.Parallel()
				ended[seed] = raceExpiry(&tenant{t, n.namespace}, seed)
			})
		}
	})
	phases, inVain := map[v1alpha1.RunPhase]int{}, 0
	for seed, r := range ended {
		if r == nil {
			continue // it has failed
		}
		r.check(t, fmt.Sprintf("seed %d", seed), h.begun(t, "refund_order", ticket(seed)))
		phases[r.run.Status.Phase]++
		if r.refusal == nil && r.run.Status.Phase == v1alpha1.RunAbandoned {
			inVain++
		}
	}
	t.Logf("%v; of the abandoned Runs %d had an approval that came in too late to be taken", phases, inVain)
	for _, phase := range []v1alpha1.RunPhase{v1alpha1.RunComplete, v1alpha1.RunAbandoned} {
		if phases[phase] == 0 {
			t.Errorf("no Run of the seeds 0 to %d is %s, so this was no race: %v", expirySeeds-1, phase, phases)
		}
	}
}

// raced is a Run that was approved about when it expired.
type raced struct {
	run     *v1alpha1.Run
	expires metav1.Time
	// sent is when the approval was, and refusal what the API server said to it.
	sent    time.Time
	refusal error
}

func raceExpiry(n *tenant, seed int) *raced {
	n.Helper()
	rng := rand.New(rand.NewPCG(uint64(seed), 0)) // the jitter of a seed is always the same
	jitter := time.Duration(rng.Int64N(int64(sentAhead+sentAfter))) - sentAhead
	run := awaitSuspended(n.T, n.start(fmt.Sprintf("run-%d", seed), func(r *v1alpha1.RunSpec) {
		r.Input = ticket(seed)
		r.Limits = &v1alpha1.RunLimits{ApprovalExpiry: &metav1.Duration{Duration: 2 * time.Second}}
	}))
	r := &raced{expires: run.Status.Pending[0].ExpiresAt}
	<-time.After(time.Until(r.expires.Add(jitter)))
	r.sent = time.Now()
	r.refusal = decide(n.T, approver, run, decisions(run, approved()))
	r.run = awaitEnd(n.T, run)
	return r
}

// check looks for anything of the one outcome in the other.
func (r *raced) check(t *testing.T, seed string, refunds int) {
	t.Helper()
	status := &r.run.Status
	var types []v1alpha1.RecordType
	switch status.Phase {
	case v1alpha1.RunComplete:
		types = []v1alpha1.RecordType{
			v1alpha1.RecordMessage, v1alpha1.RecordSuspension, v1alpha1.RecordDecision, v1alpha1.RecordWatermark, v1alpha1.RecordResult,
			v1alpha1.RecordMessage, v1alpha1.RecordEnd,
		}
		checkEnded(t, r.run, v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
		switch {
		case r.refusal != nil:
			t.Errorf("%s: it is Complete, and the approval was refused: %v", seed, r.refusal)
		case !r.sent.Before(r.expires.Time):
			t.Errorf("%s: approved at %s, and it had expired at %s", seed, r.sent, r.expires)
		case len(status.Decided) != 1 || !*status.Decided[0].Approved || !status.Decided[0].DecidedAt.Before(&r.expires):
			t.Errorf("%s: decided %+v, and it expired at %s", seed, status.Decided, r.expires)
		case refunds != 1 || !cmp.Equal(resultKinds(r.run), []v1alpha1.ErrorKind{""}):
			t.Errorf("%s: approved once, and %d refunds were made with the results %q", seed, refunds, resultKinds(r.run))
		}
	default:
		types = []v1alpha1.RecordType{v1alpha1.RecordMessage, v1alpha1.RecordSuspension, v1alpha1.RecordEnd}
		checkEnded(t, r.run, v1alpha1.RunAbandoned, v1alpha1.ReasonSuspensionExpired)
		switch {
		case r.refusal != nil && !strings.Contains(r.refusal.Error(), "a decision must name a call that is pending in status.pending"):
			t.Errorf("%s: the approval was refused with %v", seed, r.refusal)
		case len(status.Decided) > 0 || refunds > 0:
			t.Errorf("%s: abandoned, and yet decided %+v, and %d refunds were made", seed, status.Decided, refunds)
		case status.CompletedAt.Before(&r.expires):
			t.Errorf("%s: abandoned at %s, ahead of %s", seed, status.CompletedAt, r.expires)
		}
	}
	if diff := cmp.Diff(types, recordTypes(r.run)); diff != "" {
		t.Errorf("%s: the log (-want +got):\n%s", seed, diff)
	}
}
