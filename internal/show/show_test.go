// SPDX-License-Identifier: Apache-2.0

package show

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"remit.dev/remit/api/v1alpha1"
)

var noon = metav1.NewTime(time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC))

func result(id, content string, envelope *v1alpha1.ResultEnvelope) v1alpha1.Record {
	return v1alpha1.Record{Time: noon, Result: &v1alpha1.ResultRecord{ID: v1alpha1.CallID(id), Content: content, Envelope: envelope}}
}

func shown(t *testing.T, run *v1alpha1.Run, options Options) string {
	t.Helper()
	var b strings.Builder
	if err := Log(&b, run, nil, options); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestLog(t *testing.T) {
	yes, no := true, false
	run := &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "r1"}}
	run.Spec.Input, run.Spec.CreatedBy = "Refund A-1.", "alice"
	run.Status = v1alpha1.RunStatus{Phase: v1alpha1.RunSuspended, Version: "v-1", Steps: 1}
	run.Status.Log.Records = []v1alpha1.Record{
		{Time: noon, Message: &v1alpha1.MessageRecord{Grant: "openai", Model: "small", Text: "I look.\nThen I refund.", Calls: []v1alpha1.CallRecord{
			{ID: "call-1", Tool: "desk__find", Arguments: `{"a":1}`}, {ID: "call-2", Tool: "desk__refund", Arguments: `{}`}}}},
		{Time: noon, Watermark: &v1alpha1.WatermarkRecord{}},
		result("call-1", "found\x1b[2J", nil),
		{Time: noon, Suspension: &v1alpha1.SuspensionRecord{Calls: []v1alpha1.CallID{"call-2"}}},
		{Time: noon, Decision: &v1alpha1.DecisionRecord{ID: "call-2", Approved: &yes, By: "bob", Answer: "Go on."}},
		{Time: noon, Decision: &v1alpha1.DecisionRecord{ID: "call-3", Approved: &no, By: "bob", Reason: "too much"}},
		{Time: noon, Result: &v1alpha1.ResultRecord{ID: "call-2", Error: v1alpha1.ErrorTool, Content: "no paper"}},
		{Time: noon, End: &v1alpha1.EndRecord{Phase: v1alpha1.RunComplete, Reason: "Succeeded", Message: "the model answered"}},
	}
	run.Status.Pending = []v1alpha1.PendingCall{{ID: "call-4", Tool: "desk__wipe", Reason: "class Destructive", Arguments: "{}", RequestedAt: noon, ExpiresAt: noon}}
	want := `Run team-a/r1: Suspended, Version v-1, 1 model calls
Created by alice

Input
  Refund A-1.

2026-01-02T12:00:00Z  Model small of openai
  I look.
  Then I refund.
  calls desk__find, call-1
  {"a":1}
  calls desk__refund, call-2
  {}

2026-01-02T12:00:00Z  desk__find (call-1) returned
  found` + "\uFFFD" + `[2J

2026-01-02T12:00:00Z  Waits for decisions on 1 calls

2026-01-02T12:00:00Z  bob answered desk__refund (call-2)
  Go on.

2026-01-02T12:00:00Z  bob denied - (call-3): too much

2026-01-02T12:00:00Z  desk__refund (call-2) failed: tool_error
  no paper

2026-01-02T12:00:00Z  Complete, Succeeded: the model answered

Waits since 2026-01-02T12:00:00Z, until 2026-01-02T12:00:00Z: desk__wipe, call-4
  class Destructive
  {}
`
	if diff := cmp.Diff(want, shown(t, run, DefaultOptions)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// K18 and K29: a table is a table, with every cell as it is and numbers to the right.
func TestTables(t *testing.T) {
	for name, test := range map[string]struct {
		content  string
		envelope v1alpha1.ResultEnvelope
		want     string
	}{
		"tabular": {`{"columns":["host","size"],"column_kinds":["fqdn","big_integer"],"rows":[["a.example","18446744073709551616"],["b",7],[null,null]],"row_count":3,"truncated":true,"next_cursor":"x"}`,
			v1alpha1.ResultEnvelope{Kind: "Tabular", Count: 3, Truncated: true, Resumable: true, Warnings: []string{"c\nis down"}}, `
  host                       size
  a.example  18446744073709551616
  b                             7
  … 1 rows more
  3 items; there are more, and the tool can go on
  warning: c` + "\uFFFD" + `is down
`},
		"records": {`{"records":[{"id":9007199254740993,"tags":["x"]},{"name":"b","id":null}],"count":2,"truncated":true,"stop_reason":"run_deadline"}`,
			v1alpha1.ResultEnvelope{Kind: "Records", Count: 2, Truncated: true, StopReason: "run_deadline"}, `
  id                tags   name
  9007199254740993  ["x"]
                           b
  2 items; the list was cut short (run_deadline)
`},
		"records that were cut": {`{"records":[{"id":1`, v1alpha1.ResultEnvelope{Kind: "Records", Count: 2}, `
  {"records":[{"id":1
`},
		"records of no objects": {`{"records":[1,"a"],"count":2,"truncated":false}`, v1alpha1.ResultEnvelope{Kind: "Records", Count: 2}, "\n\n  1\n  \"a\"\n"},
	} {
		t.Run(name, func(t *testing.T) {
			run := &v1alpha1.Run{}
			run.Status.Log.Records = []v1alpha1.Record{result("call-1", test.content, &test.envelope)}
			got := shown(t, run, Options{Rows: 2, Text: 1024})
			_, got, _ = strings.Cut(got, "returned")
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTextIsCut(t *testing.T) {
	run := &v1alpha1.Run{}
	run.Status.Log.Records = []v1alpha1.Record{result("call-1", strings.Repeat("ä", 10), nil)}
	if got := shown(t, run, Options{Rows: 1, Text: 5}); !strings.Contains(got, "  ää\n  … 15 bytes more\n") {
		t.Errorf("got %q", got)
	}
}

// What is written into a Run by whomever moves no cursor and ends no program.
func TestHostileRun(t *testing.T) {
	const evil = "\x1b[2J\u202e\u200f"
	run := &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Namespace: evil, Name: evil}}
	run.Status.Phase, run.Status.Version = evil, evil
	run.Status.Log.Records = []v1alpha1.Record{
		{Time: noon, Message: &v1alpha1.MessageRecord{Grant: evil, Model: evil, Calls: []v1alpha1.CallRecord{{ID: evil, Tool: evil}}}},
		{Time: noon, Result: &v1alpha1.ResultRecord{ID: evil, Error: evil, Artifacts: []v1alpha1.ArtifactReference{{Reference: evil}}}},
		{Time: noon, Decision: &v1alpha1.DecisionRecord{ID: evil, By: evil}},
		{Time: noon, End: &v1alpha1.EndRecord{Phase: evil, Reason: evil}},
	}
	if got := shown(t, run, DefaultOptions); strings.ContainsAny(got, "\x1b\u202e\u200f") {
		t.Errorf("got %q", got)
	}
}
