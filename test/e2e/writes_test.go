// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
)

// A Run of T turns whose tools are idempotent costs at most T + 3 writes: one for each turn, one to
// pin its Version, and two that put the finalizer on the Version and take it away again.
func TestWritesOfARun(t *testing.T) {
	for _, turns := range []int{1, 2, 5, 12} {
		t.Run(fmt.Sprintf("%d turns", turns), func(t *testing.T) {
			useOperator(t)
			n := newTenant(t)
			fake := newFakeServer(t, twoTools)
			awaitServer(t, n.catalogued("desk", fake.url), v1alpha1.ReasonDiscovered)
			awaitGrant(t, n.granted("desk"), v1alpha1.ReasonGranted)
			var script strings.Builder
			for i := range turns - 1 {
				fmt.Fprintf(&script, "- calls: [{tool: desk__find, arguments: {number: %d}}, {tool: desk__find}]\n", i)
			}
			awaitGrant(t, n.scripted("turns:\n"+script.String()+"- text: Done.\n"), v1alpha1.ReasonGranted)
			version := awaitPublished(t, n.agent("desk"))

			mark := markPublished(t, version)
			run := awaitEnd(t, n.start("run"))
			checkEnded(t, run, v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
			writes := writesUntilReleased(t, mark, version)
			if len(writes) > turns+3 {
				t.Errorf("%d writes for %d turns, want at most %d: %v", len(writes), turns, turns+3, writes)
			}
			if int(run.Status.Steps) != turns || len(fake.made()) != 2*(turns-1) {
				t.Errorf("%d steps and %d calls, want %d and %d", run.Status.Steps, len(fake.made()), turns, 2*(turns-1))
			}
		})
	}
}

// A call with an effect costs one write more: the watermark ahead of it.
func TestWritesOfARunWithAnEffect(t *testing.T) {
	useOperator(t)
	n := newTenant(t)
	fake := newFakeServer(t, "["+toolSend+"]")
	awaitServer(t, n.catalogued("desk", fake.url), v1alpha1.ReasonDiscovered)
	none := []v1alpha1.ApprovalSelector{}
	awaitGrant(t, n.granted("desk", func(g *v1alpha1.GrantSpec) { g.Approval = none }), v1alpha1.ReasonGranted)
	awaitGrant(t, n.scripted(`{"turns": [{"calls": [{"tool": "desk__send"}]}, {"text": "Sent."}]}`), v1alpha1.ReasonGranted)
	version := awaitPublished(t, n.agent("desk"))

	mark := markPublished(t, version)
	run := awaitEnd(t, n.start("run"))
	checkEnded(t, run, v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
	if writes := writesUntilReleased(t, mark, version); len(writes) > 2+3+1 {
		t.Errorf("%d writes, want at most %d: %v", len(writes), 2+3+1, writes)
	}
	want := []v1alpha1.RecordType{v1alpha1.RecordMessage, v1alpha1.RecordWatermark, v1alpha1.RecordResult, v1alpha1.RecordMessage, v1alpha1.RecordEnd}
	if diff := cmp.Diff(want, recordTypes(run)); diff != "" {
		t.Errorf("the log (-want +got):\n%s", diff)
	}
}

// markPublished is the end of the audit log once it has the writes that published the Version: a watch
// may show an object before its write is in the log.
func markPublished(t *testing.T, version *v1alpha1.Version) int64 {
	t.Helper()
	eventually(t, "the audit log has the publication", func() bool {
		written := map[string]bool{}
		for _, w := range by(operatorUser, writesSince(t, 0, version.Namespace)) {
			written[w.Resource] = true
		}
		return written["specs/status"] && written["versions/status"]
	})
	return auditMark(t)
}

// writesUntilReleased are the operator's writes until no Run holds the Version, which is the last of them.
func writesUntilReleased(t *testing.T, mark int64, version *v1alpha1.Version) []write {
	t.Helper()
	await(t, &v1alpha1.VersionList{}, version, "Version "+version.Name+" is released", func(v *v1alpha1.Version) bool {
		return !slices.Contains(v.Finalizers, v1alpha1.VersionFinalizer)
	})
	var writes []write
	eventually(t, "the audit log has the release of the Version", func() bool {
		writes = by(operatorUser, writesSince(t, mark, version.Namespace))
		released := 0
		for _, w := range writes {
			if w.Resource == "versions" {
				released++
			}
		}
		return released >= 2 // held, and released
	})
	return writes
}

func recordTypes(run *v1alpha1.Run) []v1alpha1.RecordType {
	var types []v1alpha1.RecordType
	for _, record := range run.Status.Log.Records {
		types = append(types, record.Type)
	}
	return types
}

// Reconciling every kind when there is nothing to change writes nothing: neither after a start of the
// operator, which reconciles all there is, nor when somebody touches an object.
func TestReconcileWithoutChangeWritesNothing(t *testing.T) {
	first := ownOperator(t)
	n, _ := desk(t, wipes)
	down := n.catalogued("down", "http://"+freeAddress(t)+"/mcp")
	dangling := n.granted("nothing")
	broken := n.unpublished("model", "model-of-nobody")
	broken.Name = "broken"
	broken.Spec.Skills = []v1alpha1.Skill{{Name: "one", Description: "One.", Body: "See [[skill:two]]."}}
	n.create(author, broken)
	held := n.start("held", func(r *v1alpha1.RunSpec) { r.SpecRef.Name = "nobody" })
	ended := n.start("ended")
	suspended := n.start("suspended")
	if ended = awaitSuspended(t, ended); decide(t, approver, ended, decisions(ended, approved())) != nil {
		t.Fatal("the approval was refused")
	}
	awaitEnd(t, ended)
	awaitSuspended(t, suspended)
	awaitHeld(t, held, v1alpha1.ReasonWaitingForVersion)
	awaitServer(t, down, v1alpha1.ReasonUnreachable)
	awaitGrant(t, dangling, v1alpha1.ReasonServerNotFound)
	await(t, &v1alpha1.SpecList{}, broken, "the Spec has findings", func(s *v1alpha1.Spec) bool { return len(s.Status.Findings) > 0 })
	awaitNoTerminatingNamespace(t)
	first.finish(t)

	mark := auditMark(t)
	o, metrics := ownOperatorWithMetrics(t)
	metrics.awaitAllReconciled(t)
	check := func(when string) {
		t.Helper()
		if writes := by(operatorUser, writesSince(t, mark, n.namespace)); len(writes) > 0 {
			t.Errorf("%s the operator made %d writes: %v", when, len(writes), writes)
		}
	}
	check("after a start")

	before := metrics.reconciles(t)
	for _, run := range []*v1alpha1.Run{held, ended, suspended} {
		touch(t, run)
	}
	metrics.await(t, "the touched Runs are reconciled", func(now counts) bool {
		return now.total["run"] >= before.total["run"]+3 && now.idle()
	})
	check("after a touch")
	if o.hasEnded() {
		t.Errorf("the operator ended: %s", o.tail())
	}
}

// awaitNoTerminatingNamespace waits until what earlier tests have left is gone, which takes an operator:
// else what there is to reconcile would become less.
func awaitNoTerminatingNamespace(t *testing.T) {
	t.Helper()
	eventually(t, "no namespace is being deleted", func() bool {
		var namespaces corev1.NamespaceList
		if err := env.users[admin].List(t.Context(), &namespaces); err != nil {
			t.Fatal(err)
		}
		return !slices.ContainsFunc(namespaces.Items, func(ns corev1.Namespace) bool { return !ns.DeletionTimestamp.IsZero() })
	})
}

// touch changes an object in a way that means nothing to the operator.
func touch(t *testing.T, run *v1alpha1.Run) {
	t.Helper()
	touched := run.DeepCopy()
	if err := env.users[author].Get(t.Context(), client.ObjectKeyFromObject(run), touched); err != nil {
		t.Fatal(err)
	}
	before := touched.DeepCopy()
	metav1.SetMetaDataAnnotation(&touched.ObjectMeta, "example.com/touched", "yes")
	if err := env.users[author].Patch(t.Context(), touched, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}
