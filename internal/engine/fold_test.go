// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit.dev/remit/api/v1alpha1"
)

// wholeLog is the log of a Run that holds every type of record.
func wholeLog(t testing.TB) []v1alpha1.Record {
	s := play(t)
	s.model("First.", "lookup a", "refund 1", "note b")
	s.expect("execute lookup, note! after watermark note")
	s.outcomes("ok found", "tool_error")
	s.expect("append suspension of refund")
	s.decide("yes")
	s.expect("append decision on refund: yes")
	s.expect("execute refund! after watermark refund")
	s.outcomes("ok")
	s.model("Done.")
	s.expect("append end Complete, Succeeded")
	return roundTrip(t, s.state.Records())
}

func expectCorrupt(t *testing.T, err error, want string) {
	t.Helper()
	if _, corrupt := errors.AsType[*CorruptError](err); !corrupt {
		t.Fatalf("got the error %v, want a CorruptError", err)
	}
	if !strings.Contains(err.Error(), want) {
		t.Errorf("got %q, want it to say %q", err, want)
	}
}

// TestFoldWholeLog: a log splits anywhere into sealed and inline records.
func TestFoldWholeLog(t *testing.T) {
	records := wholeLog(t)
	whole, err := Fold(uid, nil, records)
	if err != nil {
		t.Fatal(err)
	}
	for i := range records {
		state, err := Fold(uid, records[:i], records[i:])
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(records[i:], state.Records()); diff != "" {
			t.Errorf("split at %d: inline records (-want +got):\n%s", i, diff)
		}
		state.records = whole.records
		expectSame(t, whole, state)
	}
}

// TestFoldLeavesItsArguments: the records belong to an object of a cache.
func TestFoldLeavesItsArguments(t *testing.T) {
	records := wholeLog(t)
	records = records[:len(records)-1]
	spare := append(slices.Clone(records), v1alpha1.Record{Sequence: 99})
	state, err := Fold(uid, nil, spare[:len(records)])
	if err != nil {
		t.Fatal(err)
	}
	if err := state.Append(began, Fail("Why", "because")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(append(records, v1alpha1.Record{Sequence: 99}), spare); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTamperedLog: a log that anybody else has changed does not fold.
func TestTamperedLog(t *testing.T) {
	other := play(t)
	other.model("Something else.")
	foreign := other.state.Records()[0]
	type log = []v1alpha1.Record
	tests := map[string]struct {
		tamper func(log) log
		want   string
	}{
		"the text of a message": {func(r log) log { r[0].Message.Text = "Furst."; return r }, "record 1 of the log: its digest does not follow"},
		"a call's arguments":    {func(r log) log { r[0].Message.Calls[1].Arguments = "2"; return r }, "record 1 of the log: its digest does not follow"},
		"a result":              {func(r log) log { r[2].Result.Content = "lost"; return r }, "record 3 of the log: its digest does not follow"},
		"a failure made good":   {func(r log) log { r[3].Result.Error = ""; return r }, "record 4 of the log: its digest does not follow"},
		"a decision":            {func(r log) log { *r[5].Decision.Approved = false; return r }, "record 6 of the log: its digest does not follow"},
		"who decided":           {func(r log) log { r[5].Decision.By = "mallory"; return r }, "record 6 of the log: its digest does not follow"},
		"a time":                {func(r log) log { r[4].Time = metaTime(r[4].Time.AddDate(1, 0, 0)); return r }, "record 5 of the log: its digest does not follow"},
		"a sequence":            {func(r log) log { r[4].Sequence = 50; return r }, "record 50 of the log: its sequence should be 5"},
		"a digest":              {func(r log) log { r[1].Digest = r[0].Digest; return r }, "record 2 of the log: its digest does not follow"},
		"no digest":             {func(r log) log { r[1].Digest = ""; return r }, "record 2 of the log: its digest does not follow"},
		"a type":                {func(r log) log { r[2].Type = v1alpha1.RecordEnd; return r }, "record 3 of the log: its digest does not follow"},
		"one more member":       {func(r log) log { r[2].End = &v1alpha1.EndRecord{}; return r }, "record 3 of the log: its digest does not follow"},
		"the first removed":     {func(r log) log { return r[1:] }, "record 2 of the log: its sequence should be 1"},
		"the watermark removed": {func(r log) log { return slices.Delete(r, 1, 2) }, "record 3 of the log: its sequence should be 2"},
		"removed and renumbered": {func(r log) log {
			r = slices.Delete(r, 1, 2)
			for i := range r {
				r[i].Sequence = int64(i + 1)
			}
			return r
		}, "record 2 of the log: its digest does not follow"},
		"two in another order": {func(r log) log { r[2], r[3] = r[3], r[2]; return r }, "record 4 of the log: its sequence should be 3"},
		"one there twice":      {func(r log) log { return slices.Insert(r, 3, r[2]) }, "record 3 of the log: its sequence should be 4"},
		"one of another log": {func(r log) log {
			foreign.Sequence = 9
			return append(r[:8], foreign)
		}, "record 9 of the log: its digest does not follow"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			records := test.tamper(wholeLog(t))
			_, err := Fold(uid, nil, records)
			expectCorrupt(t, err, test.want)
			_, err = Fold(uid, records, nil)
			expectCorrupt(t, err, test.want)
		})
	}
}

// TestLogOfAnotherRun: a log cannot be carried over to another Run, or to a later
// one of the same name.
func TestLogOfAnotherRun(t *testing.T) {
	_, err := Fold(uid+"0", nil, wholeLog(t))
	expectCorrupt(t, err, "record 1 of the log: its digest does not follow")
}

// chained makes a log of entries without asking whether they fit, as somebody
// could who may write a Run's status.
func chained(t testing.TB, entries ...Entry) []v1alpha1.Record {
	t.Helper()
	var records []v1alpha1.Record
	head := start(uid)
	for i, entry := range entries {
		record, err := entry.record(head, int64(i+1), began)
		if err != nil {
			t.Fatal(err)
		}
		head = record.Digest
		records = append(records, record)
	}
	return records
}

// rechained gives records the digests that they should have.
func rechained(t testing.TB, records []v1alpha1.Record) []v1alpha1.Record {
	t.Helper()
	head := start(uid)
	for i := range records {
		var err error
		if records[i].Digest, err = chain(head, records[i]); err != nil {
			t.Fatal(err)
		}
		head = records[i].Digest
	}
	return records
}

// TestRecordsThatDoNotFit: whoever can compute digests cannot make a log fold in
// which something happened that the engine would not have let happen.
func TestRecordsThatDoNotFit(t *testing.T) {
	empty := play(t).state
	message := empty.MessageEntry(ModelMessage{Grant: "llm", Calls: []ModelCall{{Tool: "a"}, {Tool: "b"}}})
	a, b := message.Message.Calls[0].ID, message.Message.Calls[1].ID
	yes := true
	result := func(id v1alpha1.CallID) Entry { return Entry{Result: &v1alpha1.ResultRecord{ID: id}} }
	suspend := func(message int64, ids ...v1alpha1.CallID) Entry {
		return Entry{Suspension: &v1alpha1.SuspensionRecord{Message: message, Calls: ids}}
	}
	decide := func(id v1alpha1.CallID, approved *bool) Entry {
		return Entry{Decision: &v1alpha1.DecisionRecord{ID: id, Approved: approved}}
	}
	mark := func(ids ...v1alpha1.CallID) Entry {
		w := &v1alpha1.WatermarkRecord{}
		for _, id := range ids {
			w.Calls = append(w.Calls, v1alpha1.WatermarkedCall{ID: id})
		}
		return Entry{Watermark: w}
	}
	finished := Fail("Why", "")
	calls := func(calls ...v1alpha1.CallRecord) Entry {
		return Entry{Message: &v1alpha1.MessageRecord{Calls: calls}}
	}
	tests := map[string]struct {
		log  []Entry
		want string
	}{
		"a message follows open calls":      {[]Entry{message, result(a), calls()}, "record 3 of the log: a message follows calls that have no result"},
		"a call with an id of its own":      {[]Entry{calls(v1alpha1.CallRecord{ID: "call-1", Tool: "a"})}, "record 1 of the log: call call-1 should have the id call-"},
		"a call that is there twice":        {[]Entry{calls(message.Message.Calls[0], message.Message.Calls[0])}, "should have the id call-"},
		"a call of another message":         {[]Entry{message, result(a), result(b), calls(message.Message.Calls[0])}, "record 4 of the log: call " + string(a) + " should have the id"},
		"a watermark before any message":    {[]Entry{mark(a)}, "record 1 of the log: call " + string(a) + " is not open"},
		"a watermark of another call":       {[]Entry{message, mark("call-x")}, "call call-x is not open"},
		"a watermark after the result":      {[]Entry{message, result(a), mark(a)}, "call " + string(a) + " is not open"},
		"a second watermark":                {[]Entry{message, mark(a), mark(a)}, "call " + string(a) + " may not be made now"},
		"a watermark with one call twice":   {[]Entry{message, mark(a, a)}, "call " + string(a) + " may not be made now"},
		"a watermark ahead of the decision": {[]Entry{message, suspend(1, a, b), mark(a)}, "call " + string(a) + " may not be made now"},
		"a watermark of a denied call": {[]Entry{message, suspend(1, a, b), decide(a, new(bool)), decide(b, &yes), mark(a)},
			"call " + string(a) + " may not be made now"},
		"a result before any message":    {[]Entry{result(a)}, "record 1 of the log: call " + string(a) + " is not open"},
		"a result of another call":       {[]Entry{message, result("call-x")}, "call call-x is not open"},
		"a second result":                {[]Entry{message, result(a), result(a)}, "call " + string(a) + " is not open"},
		"a result ahead of the decision": {[]Entry{message, suspend(1, a, b), result(a)}, "calls of its message still wait for a decision"},
		"a denied call that succeeded": {[]Entry{message, suspend(1, a, b), decide(a, new(bool)), decide(b, &yes), result(a)},
			"call " + string(a) + " was denied, and did not fail"},
		"a result of a half-decided suspension":    {[]Entry{message, suspend(1, a, b), decide(a, &yes), result(a)}, "calls of its message still wait for a decision"},
		"a watermark of a half-decided suspension": {[]Entry{message, suspend(1, a, b), decide(a, &yes), mark(a)}, "call " + string(a) + " may not be made now"},
		"H13, H16: a half-decided suspension":      {[]Entry{message, suspend(1, a, b), decide(a, &yes)}, "some of the calls that wait were decided, and not all"},
		"a suspension before any message":          {[]Entry{suspend(1, a)}, "it suspends calls of another message"},
		"a suspension of another message":          {[]Entry{message, suspend(2, a, b)}, "it suspends calls of another message"},
		"a suspension of no calls":                 {[]Entry{message, suspend(1)}, "it suspends 0 of 2 open calls"},
		"a suspension of no open calls":            {[]Entry{message, result(a), result(b), suspend(1)}, "it suspends 0 of 0 open calls"},
		"a suspension of a part":                   {[]Entry{message, suspend(1, b)}, "it suspends 1 of 2 open calls"},
		"a suspension of an answered call":         {[]Entry{message, result(a), suspend(1, a, b)}, "call " + string(a) + " is not open"},
		"a suspension with one call twice":         {[]Entry{message, suspend(1, a, a)}, "call " + string(a) + " is there twice"},
		"a second suspension":                      {[]Entry{message, suspend(1, a, b), suspend(1, a, b)}, "calls of this message were suspended before"},
		"a suspension after the watermark":         {[]Entry{message, mark(a), suspend(1, a, b)}, "call " + string(a) + " was about to be made"},
		"a decision without a suspension":          {[]Entry{message, decide(a, &yes)}, "call " + string(a) + " does not wait for a decision"},
		"a decision that decides nothing":          {[]Entry{message, suspend(1, a, b), decide(a, nil)}, "call " + string(a) + " does not wait for a decision"},
		"a second decision":                        {[]Entry{message, suspend(1, a, b), decide(a, &yes), decide(a, new(bool))}, "call " + string(a) + " does not wait for a decision"},
		"a decision on another call":               {[]Entry{message, suspend(1, a, b), decide("call-x", &yes)}, "call call-x is not open"},
		"a record after the end":                   {[]Entry{finished, message}, "record 2 of the log: the log has already ended"},
		"a second end":                             {[]Entry{finished, finished}, "record 2 of the log: the log has already ended"},
		"a record without a member":                {[]Entry{{}}, "it has 0 members"},
		"a record with two members":                {[]Entry{{Message: &v1alpha1.MessageRecord{}, End: &v1alpha1.EndRecord{}}}, "it has 2 members"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Fold(uid, nil, chained(t, test.log...))
			expectCorrupt(t, err, test.want)
		})
	}
	t.Run("another member than the type names", func(t *testing.T) {
		records := chained(t, message)
		records[0].Type = v1alpha1.RecordResult
		_, err := Fold(uid, nil, rechained(t, records))
		expectCorrupt(t, err, `it has no member for its type "Result"`)
	})
}
