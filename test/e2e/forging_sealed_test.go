// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/engine"
)

// longReading makes an agent that reads until the first part of its log is sealed, and then asks for two refunds.
func longReading(t *testing.T) (*tenant, *helpdesk) {
	t.Helper()
	h, n := startHelpdesk(t), newTenant(t)
	book := newFakeServer(t, twoTools)
	page := strings.Repeat("All work and no play makes Jack a dull boy. ", 1300) // small enough not to be put aside
	book.call = func(toolCall) string { return `{"content":[{"type":"text","text":"` + page + `"}]}` }
	n.catalogued("book", book.url)
	n.granted("book")
	n.catalogued("desk", h.url)
	n.granted("desk")
	n.scripted("turns:\n" + strings.Repeat("- calls: [{tool: book__find}, {tool: book__find}, {tool: book__find}]\n", 2) + `- calls:
  - {tool: desk__refund_order, arguments: {order_id: A-1001, cents: 4200, reason: Broken.}}
  - {tool: desk__refund_order, arguments: {order_id: A-1002, cents: 12900, reason: Lost.}}
- text: Done.
`)
	n.agent("book", "desk")
	return n, h
}

// The sealed part of a log is kept in ConfigMaps that are immutable, but that the namespace's admin may delete
// and make again. An operator that has read them goes on waiting. One that starts anew ends a Run whose segment
// is gone or holds something else, with no effect, and asks again for nothing: the Run whose segment is the same
// still waits, though its Grant has approval: [] by then (H1, H16).
func TestForgedSegmentDecidesNothing(t *testing.T) {
	o := ownOperator(t)
	n, h := longReading(t)
	runs := []*v1alpha1.Run{n.start("kept"), n.start("gone"), n.start("forged")}
	people := newPeople(t, n.namespace)
	kept, gone, forged := suspendedOf(n, h, people, runs[0]), suspendedOf(n, h, people, runs[1]), suspendedOf(n, h, people, runs[2])
	kept.try(t, kept.segmentWrites(t))
	three := []*forging{kept, gone, forged}
	for _, f := range three {
		f.unmoved(t) // with its segment read
	}
	gone.replaceSegment(t, nil)
	forged.replaceSegment(t, func(content string) string { return strings.Replace(content, "dull boy", "rich man", 1) })
	kept.replaceSegment(t, func(content string) string { return content })
	for _, f := range three {
		f.unmoved(t)
	}
	o.crash(t)
	if err := patch(t, admin, &v1alpha1.Grant{ObjectMeta: n.meta("desk")}, map[string]any{"approval": []string{}}); err != nil {
		t.Fatal(err)
	}
	o.restart(t)
	for _, f := range []*forging{gone, forged} {
		run := awaitEnd(t, f.run)
		checkEnded(t, run, v1alpha1.RunFailed, v1alpha1.ReasonLogCorrupt)
		if message := condition(run.Status.Conditions, v1alpha1.ConditionComplete).Message; !strings.Contains(message, f.segment(t)) {
			t.Errorf("the Run says %q, without the ConfigMap", message)
		}
		checkTooLate(t, f.run)
	}
	if kept.unmoved(t) {
		kept.checkBoth(t)
	}
}

// segment is the name of the ConfigMap that holds the beginning of the log.
func (f *forging) segment(t *testing.T) string {
	t.Helper()
	if len(f.was.Sealed) == 0 {
		t.Fatal("nothing of the log was sealed")
	}
	return f.was.Sealed[0].ConfigMap
}

// segmentWrites are refused whoever makes them.
func (f *forging) segmentWrites(t *testing.T) []attempt {
	t.Helper()
	f.words["SEGMENT"] = "/api/v1/namespaces/" + f.namespace + "/configmaps/" + f.segment(t)
	const immutable = "field is immutable when `immutable` is set"
	cannot := func(verb string) string { return `User "$USER" cannot ` + verb + ` resource "configmaps"` }
	edit := f.request("PATCH", "$SEGMENT", mergePatch, `{"data":{"`+engine.SegmentKey+`":"[]"}}`)
	attempts := each("edited segment", edit, map[string]string{lead: immutable, author: cannot("patch"), approver: cannot("patch"), platform: cannot("patch"), theOperator: cannot("patch")})
	attempts = append(attempts, each("segment that may be edited", f.request("PATCH", "$SEGMENT", mergePatch, `{"immutable":false}`),
		map[string]string{lead: immutable})...)
	return append(attempts, each("deleted segment", f.request("DELETE", "$SEGMENT", plainJSON, ""),
		map[string]string{author: cannot("delete"), approver: cannot("delete"), platform: cannot("delete"), theOperator: cannot("delete")})...)
}

// replaceSegment deletes the ConfigMap, as the namespace's admin may, and makes it again with other content,
// or not at all.
func (f *forging) replaceSegment(t *testing.T, change func(string) string) {
	t.Helper()
	lead := f.people[lead]
	segment := &corev1.ConfigMap{ObjectMeta: f.meta(f.segment(t))}
	if err := env.users[admin].Get(t.Context(), client.ObjectKeyFromObject(segment), segment); err != nil {
		t.Fatal(err)
	}
	path := "/api/v1/namespaces/" + f.namespace + "/configmaps"
	if err := lead.send(t, "DELETE", path+"/"+segment.Name, plainJSON, ""); err != nil {
		t.Fatal(err)
	}
	if change == nil {
		return
	}
	content := segment.Data[engine.SegmentKey]
	made := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: segment.Name, OwnerReferences: segment.OwnerReferences},
		Immutable:  segment.Immutable, Data: map[string]string{engine.SegmentKey: change(content)},
	}
	if err := lead.send(t, "POST", path, plainJSON, jsonOf(t, made)); err != nil {
		t.Fatal(err)
	}
}

// checkBoth approves both refunds, which are then made once.
func (f *forging) checkBoth(t *testing.T) {
	t.Helper()
	if err := decide(t, approver, f.run, decisions(f.run, approved())); err != nil {
		t.Fatal(err)
	}
	checkEnded(t, awaitEnd(t, f.run), v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
	if made := f.made(t) - f.before; made != 2 {
		t.Errorf("%d refunds were made, want 2: %+v", made, f.desk.entries(t))
	}
}
