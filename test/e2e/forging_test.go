// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
)

// forgingTurns ask for a refund that is denied, and then for another and for a look at its order. The
// second pair is what everybody tries to get through.
const forgingTurns = `turns:
- calls: [{tool: desk__refund_order, arguments: {order_id: A-1002, cents: 12900, reason: Lost.}}]
- calls:
  - {tool: desk__refund_order, arguments: {order_id: A-1001, cents: 4200, reason: Broken.}}
  - {tool: desk__lookup_order, arguments: {order_id: A-1001}}
- text: Done.
`

// attempt is one way in which somebody without the right might decide.
type attempt struct {
	path string
	user string
	do   func(*testing.T, *person) error
	// want stands in the refusal. It is empty where the API server accepts what is done, which
	// then has no effect.
	want string
}

// forging is a Run that waits for decisions on destructive calls, and those who try to forge them.
type forging struct {
	*tenant
	desk   *helpdesk
	people map[string]*person
	server *v1alpha1.MCPServer
	grant  *v1alpha1.Grant
	run    *v1alpha1.Run
	was    standing
	// before is how often the server was called before the first attempt.
	before int
	// seen is the Run's resourceVersion at the last look.
	seen string
	// words stand for what is known of the Run, in requests and refusals.
	words map[string]string
	// probes counts the Runs that show what a Grant now says.
	probes int
}

// standing is what must not move while nobody with the right has decided.
type standing struct {
	UID       types.UID
	Version   string
	Phase     v1alpha1.RunPhase
	Approved  metav1.ConditionStatus
	Pending   []v1alpha1.PendingCall
	Decided   []v1alpha1.DecidedCall
	Records   []v1alpha1.Record
	Sealed    []v1alpha1.SealedSegment
	Decisions map[string]v1alpha1.Decision
}

func standingOf(run *v1alpha1.Run) standing {
	return standing{
		UID: run.UID, Version: run.Status.Version, Phase: run.Status.Phase,
		Approved: condition(run.Status.Conditions, v1alpha1.ConditionApproved).Status, Pending: run.Status.Pending, Decided: run.Status.Decided,
		Records: run.Status.Log.Records, Sealed: run.Status.Log.Sealed, Decisions: run.Spec.Decisions,
	}
}

// Nobody without the right decides on a suspended call, on whichever path (P35 to P38, H11 to H16). At
// the end somebody with the right does, which shows that the call could have been made all along.
func TestNobodyForgesADecision(t *testing.T) {
	useOperator(t)
	f := newForging(t)
	for _, group := range []struct {
		name     string
		attempts []attempt
	}{
		{"write", f.writes()},
		{"recorded", f.changesOfARecordedDecision()},
		{"metadata", f.metadata()},
		{"status", f.statuses()},
		{"rights", f.rights()},
		{"grant", f.grants()},
		{"other Run", f.otherRuns()},
		{"Spec and Version", f.versions()},
	} {
		t.Run(group.name, func(t *testing.T) { f.try(t, group.attempts) })
	}
	f.checkApproval(t)
}

func newForging(t *testing.T) *forging {
	t.Helper()
	f := &forging{desk: startHelpdesk(t), tenant: newTenant(t)}
	f.server = f.catalogued("desk", f.desk.url, func(s *v1alpha1.MCPServerSpec) { s.Annotations = v1alpha1.AnnotationsUntrusted })
	f.grant = f.granted("desk")
	f.scripted(forgingTurns)
	f.agent("desk")
	f.run = awaitSuspended(t, f.start("teapot"))
	f.people = newPeople(t, f.namespace)

	first := f.run.Status.Pending
	if len(first) != 1 {
		t.Fatalf("pending: %+v", first)
	}
	body := applied(fmt.Sprintf(`{"decisions":{%q:%s}}`, first[0].ID, denial))
	path := "/apis/remit.dev/v1alpha1/namespaces/" + f.namespace + "/runs/teapot?fieldManager=console"
	if err := f.people[approver].send(t, "PATCH", path, applyPatch, body); err != nil {
		t.Fatal(err)
	}
	f.begin(t, awaitRun(t, f.run, "waits for two calls", func(r *v1alpha1.Run) bool { return len(r.Status.Pending) == 2 }))
	f.words["DENIED"] = string(first[0].ID)
	f.unmoved(t)
	return f
}

// begin notes how a Run stands that waits for two decisions.
func (f *forging) begin(t *testing.T, run *v1alpha1.Run) {
	t.Helper()
	f.run, f.was, f.before, f.seen = run, standingOf(run), f.made(t), run.ResourceVersion
	refund, other := run.Status.Pending[0].ID, run.Status.Pending[1].ID
	runs := "/apis/remit.dev/v1alpha1/namespaces/" + f.namespace + "/runs"
	f.words = map[string]string{
		"NS": f.namespace, "RUNS": runs, "RUN": runs + "/" + run.Name, "UID": string(run.UID), "VERSION": run.Status.Version,
		"REFUND": string(refund), "LOOKUP": string(other),
		"YES": fmt.Sprintf(`{%q:{"approved":true},%q:{"approved":true}}`, refund, other),
	}
}

// try makes the attempts, one after the other, and looks after each at the Run and at the ledger. What was
// refused has not been stored, and what was accepted the operator has seen.
func (f *forging) try(t *testing.T, attempts []attempt) {
	t.Helper()
	for _, a := range attempts {
		stands := true
		t.Run(a.path+" by "+a.user, func(t *testing.T) {
			as := f.people[a.user]
			f.words["USER"] = as.name
			err := a.do(t, as)
			check(t, err, f.expand(a.want))
			stands = err != nil && f.untouched(t) || f.unmoved(t)
		})
		if !stands {
			t.Fatal("the Run has moved, so nothing else can be tried on it")
		}
	}
}

// check compares the outcome of an attempt.
func check(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("refused: %v", err)
	case want != "" && err == nil:
		t.Errorf("accepted, and it should say %q", want)
	case want != "" && !strings.Contains(err.Error(), want):
		t.Errorf("refused with\n%v\nwhich should say\n%s", err, want)
	}
}

// unmoved says whether the Run still waits for the same decisions, once the operator has looked at it
// again, and whether nothing has been called.
func (f *forging) unmoved(t *testing.T) bool {
	t.Helper()
	f.reconciled(t)
	return f.stands(t, f.stored(t))
}

// untouched says the same of a Run that nobody has written to since the last look.
func (f *forging) untouched(t *testing.T) bool {
	t.Helper()
	run := f.stored(t)
	return run.ResourceVersion == f.seen && f.stands(t, run)
}

func (f *forging) stored(t *testing.T) *v1alpha1.Run {
	t.Helper()
	run := &v1alpha1.Run{}
	if err := env.users[admin].Get(t.Context(), client.ObjectKeyFromObject(f.run), run); err != nil {
		t.Fatal(err)
	}
	return run
}

func (f *forging) stands(t *testing.T, run *v1alpha1.Run) bool {
	t.Helper()
	f.seen = run.ResourceVersion
	diff := cmp.Diff(f.was, standingOf(run))
	if diff != "" {
		t.Errorf("the suspended Run (-before +after):\n%s", diff)
	}
	made := f.made(t) - f.before
	if made != 0 {
		t.Errorf("the server was called %d times: %+v", made, f.desk.entries(t))
	}
	return diff == "" && made == 0
}

// made is how often the server was asked for anything about the orders that Runs wait for.
func (f *forging) made(t *testing.T) int {
	t.Helper()
	return f.called(t, "A-1001") + f.called(t, "A-1002")
}

// called is how often the server was asked for anything about an order.
func (f *forging) called(t *testing.T, order string) int {
	t.Helper()
	return f.desk.begun(t, "refund_order", order) + f.desk.begun(t, "lookup_order", order) + f.desk.begun(t, "add_note", order)
}

// reconciled waits until the operator has taken a step of the Run that began later: spec.cancel is put from
// absent to false or back, which means nothing, and is a generation that the operator observes.
func (f *forging) reconciled(t *testing.T) {
	t.Helper()
	generation := f.stored(t).Generation
	run := f.run.DeepCopy()
	for _, nothing := range []string{"false", "null"} {
		body := []byte(`{"spec":{"cancel":` + nothing + `}}`)
		if err := env.users[admin].Patch(t.Context(), run, client.RawPatch(types.MergePatchType, body)); err != nil {
			t.Fatal(err)
		}
		if run.Generation > generation {
			break
		}
	}
	generation = run.Generation
	awaitRun(t, run, "is reconciled", func(r *v1alpha1.Run) bool { return r.Status.ObservedGeneration >= generation })
}

// expand puts in what the words of a request or a refusal stand for.
func (f *forging) expand(text string) string {
	return os.Expand(text, func(word string) string {
		value, ok := f.words[word]
		if !ok {
			f.Errorf("nothing is known as $%s", word)
		}
		return value
	})
}

// checkApproval is the one decision of somebody who may decide: the calls are made, once each, with what
// was shown, and what was denied is never made.
func (f *forging) checkApproval(t *testing.T) {
	t.Helper()
	yes := approved()
	yes.By = author // is stamped over
	if err := decide(t, approver, f.run, decisions(f.run, yes)); err != nil {
		t.Fatal(err)
	}
	run := awaitEnd(t, f.run)
	checkEnded(t, run, v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
	if n := f.desk.begun(t, "refund_order", `"cents":4200`); n != 1 || f.called(t, "A-1001") != 2 || f.called(t, "A-1002") != 0 {
		t.Errorf("%d refunds in\n%+v", n, f.desk.entries(t))
	}
	by := map[string]string{}
	for _, d := range run.Status.Decided {
		by[string(d.ID)] = d.By
	}
	want := map[string]string{f.words["DENIED"]: approver, f.words["REFUND"]: approver, f.words["LOOKUP"]: approver}
	if diff := cmp.Diff(want, by); diff != "" {
		t.Errorf("who decided (-want +got):\n%s", diff)
	}
}

// way is one path that is tried by several users.
type way struct {
	path string
	do   func(*testing.T, *person) error
}

// all makes an attempt on each path for each user, with what that user is told.
func all(ways []way, wants map[string]string) []attempt {
	var attempts []attempt
	for _, w := range ways {
		for _, user := range slices.Sorted(maps.Keys(wants)) {
			attempts = append(attempts, attempt{w.path, user, w.do, wants[user]})
		}
	}
	return attempts
}

func each(path string, do func(*testing.T, *person) error, wants map[string]string) []attempt {
	return all([]way{{path, do}}, wants)
}
