// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit.dev/remit/api/v1alpha1"
)

// forever is a delay that no test waits for: a call that is under way stays so until somebody dies.
const forever = "1h"

// helpdeskTenant makes a tenant with the help desk granted as "desk", and an agent with its tools.
func helpdeskTenant(t *testing.T, turns string, flags ...string) (*tenant, *helpdesk) {
	t.Helper()
	h := startHelpdesk(t, flags...)
	n := newTenant(t)
	n.catalogued("desk", h.url)
	n.granted("desk")
	n.scripted(turns)
	n.agent("desk")
	return n, h
}

// Kill -9 between the watermark and the result of a destructive call: after the restart it is not
// made again, and the model reads that its outcome is unknown.
func TestKilledDuringADestructiveCall(t *testing.T) {
	o := ownOperator(t)
	n, h := helpdeskTenant(t, `{"turns": [
		{"calls": [{"tool": "desk__refund_order", "arguments": {"order_id": "A-1001", "cents": 4200, "reason": "broken"}}]},
		{"when": "outcome_unknown", "text": "Somebody has to look whether the money was paid."},
		{"text": "Paid."}]}`, "--delay", forever)
	run := awaitSuspended(t, n.start("run"))
	if err := decide(t, approver, run, decisions(run, approved())); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the refund begins", func() bool { return h.begun(t, "refund_order", "") > 0 })
	run = awaitRun(t, run, "has its watermark", func(*v1alpha1.Run) bool { return true })
	types := recordTypes(run)
	if types[len(types)-1] != v1alpha1.RecordWatermark {
		t.Errorf("the refund began, and the log ends with %s, not with its watermark", types[len(types)-1])
	}
	o.crash(t)
	h.replace(t)
	o.restart(t)

	run = awaitEnd(t, run)
	checkEnded(t, run, v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
	if run.Status.Output != "Somebody has to look whether the money was paid." {
		t.Errorf("the model did not read that the outcome is unknown: %q", run.Status.Output)
	}
	if n := h.begun(t, "refund_order", ""); n != 1 {
		t.Errorf("the refund was invoked %d times", n)
	}
	if diff := cmp.Diff([]v1alpha1.ErrorKind{v1alpha1.ErrorOutcomeUnknown}, resultKinds(run)); diff != "" {
		t.Errorf("the results (-want +got):\n%s", diff)
	}
}

// Kill -9 during a call that only reads: after the restart it is made again, and the Run completes.
func TestKilledDuringAReadOnlyCall(t *testing.T) {
	o := ownOperator(t)
	n, h := helpdeskTenant(t, `{"turns": [
		{"calls": [{"tool": "desk__lookup_order", "arguments": {"order_id": "A-1001"}}]},
		{"when": "Order A-1001 of Ada", "text": "I have found it."}]}`, "--delay", forever)
	run := n.start("run")
	eventually(t, "the lookup begins", func() bool { return h.begun(t, "lookup_order", "") > 0 })
	o.crash(t)
	h.replace(t)
	o.restart(t)

	run = awaitEnd(t, run)
	checkEnded(t, run, v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
	if n := h.begun(t, "lookup_order", ""); n != 2 || run.Status.Output != "I have found it." {
		t.Errorf("the lookup was invoked %d times, want 2; the output is %q", n, run.Status.Output)
	}
	if diff := cmp.Diff([]v1alpha1.ErrorKind{""}, resultKinds(run)); diff != "" {
		t.Errorf("the results (-want +got):\n%s", diff)
	}
}

// Kill -9 between recording a turn's calls and running them: while the Run waits for a decision, which
// comes when no operator runs. No call of the turn is skipped, and none is made twice.
func TestKilledBetweenRecordingCallsAndRunningThem(t *testing.T) {
	o := ownOperator(t)
	n, h := helpdeskTenant(t, `{"turns": [
		{"calls": [
			{"tool": "desk__refund_order", "arguments": {"order_id": "A-1001", "cents": 1, "reason": "one"}},
			{"tool": "desk__lookup_order", "arguments": {"order_id": "A-1001"}},
			{"tool": "desk__add_note", "arguments": {"order_id": "A-1001", "note": "two"}}]},
		{"text": "All is done."}]}`)
	run := awaitSuspended(t, n.start("run"))
	o.crash(t)
	if h.begun(t, "refund_order", "") != 0 || h.begun(t, "add_note", "") != 0 {
		t.Fatal("a call that waits for a decision was made")
	}
	if err := decide(t, approver, run, decisions(run, approved())); err != nil {
		t.Fatal(err)
	}
	o.restart(t)

	run = awaitEnd(t, run)
	checkEnded(t, run, v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
	for _, tool := range []string{"refund_order", "lookup_order", "add_note"} {
		if n := h.begun(t, tool, ""); n != 1 {
			t.Errorf("%s was invoked %d times", tool, n)
		}
	}
	if diff := cmp.Diff([]v1alpha1.ErrorKind{"", "", ""}, resultKinds(run)); diff != "" {
		t.Errorf("the results (-want +got):\n%s", diff)
	}
}

// resultKinds are the kinds of the results in a Run's log, empty for a success.
func resultKinds(run *v1alpha1.Run) []v1alpha1.ErrorKind {
	var kinds []v1alpha1.ErrorKind
	for _, record := range run.Status.Log.Records {
		if record.Result != nil {
			kinds = append(kinds, record.Result.Error)
		}
	}
	return kinds
}

// The end of a Run's log is nowhere near what a status can hold; a log that is larger is sealed, and a
// killed operator finds its way through the sealed part.
func TestKilledWithASealedLog(t *testing.T) {
	o := ownOperator(t)
	n := newTenant(t)
	fake := newFakeServer(t, twoTools)
	page := strings.Repeat("All work and no play makes Jack a dull boy. ", 1300) // small enough not to be put aside
	fake.call = func(toolCall) string { return `{"content":[{"type":"text","text":"` + page + `"}]}` }
	n.catalogued("desk", fake.url)
	n.granted("desk")
	turn := `{"calls": [{"tool": "desk__find"}, {"tool": "desk__find"}]}`
	n.scripted(`{"turns": [` + turn + "," + turn + "," + turn + "," + turn + `, {"calls": [{"tool": "desk__wipe"}]}, {"text": "I have read it all."}]}`)
	n.agent("desk")
	run := awaitSuspended(t, n.start("run"))
	if len(run.Status.Log.Sealed) == 0 {
		t.Fatal("nothing of the log was sealed")
	}
	o.crash(t)
	if err := decide(t, approver, run, decisions(run, approved())); err != nil {
		t.Fatal(err)
	}
	o.restart(t)
	run = awaitEnd(t, run)
	checkEnded(t, run, v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
	if made := len(fake.made()); made != 9 || run.Status.Output != "I have read it all." {
		t.Errorf("the tools were called %d times, want 9; the output is %q", made, run.Status.Output)
	}
	names := []string{}
	for _, segment := range run.Status.Log.Sealed {
		names = append(names, segment.ConfigMap)
	}
	out := mustKubectl(t, author, "get", "run", "run", "-n", n.namespace, "-o", "jsonpath={.status.log.sealed[*].configMap}")
	if got := strings.Fields(out); !slices.Equal(got, names) {
		t.Errorf("sealed are %v and %v", got, names)
	}
}
