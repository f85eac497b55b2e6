// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit.dev/remit/api/v1alpha1"
)

// reader gives the bytes of a fuzzer's input one by one, and zeros after them.
type reader struct{ data []byte }

func (r *reader) next(n int) int {
	if len(r.data) == 0 {
		return 0
	}
	b := r.data[0]
	r.data = r.data[1:]
	return int(b) % n
}

// anyLog reads a program of records: most do not fit together, and all are chained.
func anyLog(t testing.TB, data []byte) []v1alpha1.Record {
	r := &reader{data}
	state := play(t).state // gives ids to calls
	ids := []v1alpha1.CallID{"call-0000000000000000"}
	var newest []v1alpha1.CallID
	var entries []Entry
	some := func() v1alpha1.CallID { return ids[len(ids)-1-r.next(len(ids))] }
	kinds := []v1alpha1.ErrorKind{"", v1alpha1.ErrorTool, v1alpha1.ErrorDenied, "strange"}
	message := int64(0)
	for len(r.data) > 0 && len(entries) < 64 {
		switch r.next(7) {
		case 0, 6:
			m := ModelMessage{Grant: []string{"llm", ""}[r.next(2)], Text: []string{"", "text"}[r.next(2)]}
			for range r.next(5) {
				name := []string{"lookup", "note", "refund", "peek", ""}[r.next(5)]
				m.Calls = append(m.Calls, ModelCall{Tool: name, Definition: usualTools()[name].definition})
			}
			message = int64(len(entries) + 1)
			state.sequence = message - 1
			entry := state.MessageEntry(m)
			newest = nil
			for _, c := range entry.Message.Calls {
				newest = append(newest, c.ID)
			}
			ids = append(ids, newest...)
			entries = append(entries, entry)
		case 1:
			w := &v1alpha1.WatermarkRecord{}
			for range r.next(3) {
				w.Calls = append(w.Calls, v1alpha1.WatermarkedCall{ID: some()})
			}
			entries = append(entries, Entry{Watermark: w})
		case 2:
			entries = append(entries, Entry{Result: &v1alpha1.ResultRecord{ID: some(), Error: kinds[r.next(len(kinds))]}})
		case 3:
			s := &v1alpha1.SuspensionRecord{Message: message, Calls: slices.Clone(newest)}
			if r.next(3) == 1 {
				s.Calls = []v1alpha1.CallID{some()}
			}
			entries = append(entries, Entry{Suspension: s})
		case 4:
			d := &v1alpha1.DecisionRecord{ID: some()}
			if n := r.next(3); n < 2 {
				approved := n == 0
				d.Approved = &approved
			}
			entries = append(entries, Entry{Decision: d})
		case 5:
			if r.next(8) == 7 {
				entries = append(entries, Fail("Why", ""))
			}
		}
	}
	return chained(t, entries...)
}

// checkFold: a log either is a CorruptError or folds into a state that goes on to
// its end, with whatever the Run's people and tools do.
func checkFold(t *testing.T, records []v1alpha1.Record) {
	state, err := Fold(uid, nil, records)
	if err != nil {
		if _, corrupt := errors.AsType[*CorruptError](err); !corrupt {
			t.Fatalf("%T: %v", err, err)
		}
		return
	}
	again, err := Fold(uid, nil, roundTrip(t, records))
	if err != nil {
		t.Fatalf("read back, it no longer folds: %v", err)
	}
	if diff := cmp.Diff(state, again, wholeState); diff != "" {
		t.Fatalf("read back, it differs:\n%s", diff)
	}
	w := newSimulation(func(_ string, n int) int { return n / 2 }, t.Fatalf)
	w.state, w.limits = state, usual
	w.now = began.Add(time.Second)
	for range 200 {
		action, err := Next(w.input())
		if err != nil {
			t.Fatal(err)
		}
		var status v1alpha1.RunStatus
		Project(w.input(), 1, &status)
		if diff := cmp.Diff(countStreaks(state.Records()), streakMap(status.FailureStreaks)); diff != "" {
			t.Fatalf("the streaks differ (-counted by hand +status):\n%s", diff)
		}
		for _, message := range state.Context() {
			if message.Result != nil && message.Result.Text == "" {
				t.Fatalf("%s has an empty result", message.Result.ID)
			}
		}
		if !proceed(t, w, action) {
			return
		}
	}
	t.Fatal("the Run did not end")
}

// proceed does what the action asks for, and decides what waits.
func proceed(t *testing.T, w *simulation, action Action) bool {
	t.Helper()
	var entries []Entry
	switch action := action.(type) {
	case ResolveTools:
		w.resolved = true
		return true
	case Append:
		entries = action.Entries
	case CallModel:
		entries = []Entry{w.state.MessageEntry(ModelMessage{Grant: "llm", Text: "Done."})}
	case Execute:
		if action.Watermark != nil {
			entries = append(entries, Entry{Watermark: action.Watermark})
		}
		for _, e := range action.Calls {
			entries = append(entries, w.state.ResultEntry(e.Call.ID, Outcome{}))
		}
	case Wait:
		for _, c := range w.state.waiting().calls {
			approved := len(w.decisions)%2 == 0
			w.decisions[string(c.record.ID)] = v1alpha1.Decision{Approved: &approved}
		}
		return true
	case Done:
		return false
	}
	if len(entries) == 0 {
		t.Fatalf("%T asks for nothing", action)
	}
	if err := w.state.Append(w.now, entries...); err != nil {
		t.Fatalf("what Next asks for does not fit: %v", err)
	}
	return true
}

// FuzzFoldRecords folds chained logs of records in any order.
func FuzzFoldRecords(f *testing.F) {
	for _, seed := range []string{
		"", "\x00\x00\x01\x00", "\x00\x00\x00\x02\x00\x01\x02\x00\x00\x02\x00\x00",
		"\x00\x00\x00\x02\x02\x03\x03\x00\x04\x00\x00\x04\x01\x01\x01\x01\x00\x02\x00\x00\x02\x01\x02",
		"\x00\x00\x00\x01\x01\x01\x01\x00", "\x05\x07\x00", strings.Repeat("\x00\x00\x00\x01\x00\x02\x00\x01", 6),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		checkFold(t, anyLog(t, data))
	})
}

// FuzzFold folds logs whose JSON was changed, as they are and with the digests that
// they should have.
func FuzzFold(f *testing.F) {
	add := func(records []v1alpha1.Record) {
		content, err := json.Marshal(records)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
	}
	add(nil)
	add(wholeLog(f))
	for seed := range uint64(8) {
		w := newSimulation(seeded(seed), f.Fatalf)
		w.run()
		add(w.history())
	}
	f.Add([]byte(`[{"sequence":1,"type":"Suspension","suspension":{"message":0,"calls":[]}}]`))
	f.Add([]byte(`[{"sequence":1,"type":"Decision","decision":{"id":"x","approved":null}}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var records []v1alpha1.Record
		if json.Unmarshal(data, &records) != nil {
			return
		}
		checkFold(t, records)
		checkFold(t, rechained(t, roundTrip(t, records)))
	})
}
