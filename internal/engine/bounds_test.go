// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"remit.dev/remit/api/v1alpha1"
)

func TestModelMessageCheck(t *testing.T) {
	calls := func(n, size int) []ModelCall {
		list := make([]ModelCall, n)
		for i := range list {
			list[i].Arguments = strings.Repeat("a", size)
		}
		return list
	}
	tests := map[string]struct {
		message ModelMessage
		want    *TooLargeError
	}{
		"nothing":                       {ModelMessage{}, nil},
		"the longest text":              {ModelMessage{Text: strings.Repeat("a", 131072)}, nil},
		"a longer text":                 {ModelMessage{Text: strings.Repeat("a", 131073)}, &TooLargeError{"bytes of text", 131072, 131073}},
		"a text that grows":             {ModelMessage{Text: strings.Repeat("<", 21846)}, &TooLargeError{"bytes of text", 131072, 131076}},
		"most calls":                    {ModelMessage{Calls: calls(64, 0)}, nil},
		"more calls":                    {ModelMessage{Calls: calls(65, 0)}, &TooLargeError{"calls", 64, 65}},
		"the longest arguments":         {ModelMessage{Calls: calls(1, 65536)}, nil},
		"longer arguments":              {ModelMessage{Calls: calls(1, 65537)}, &TooLargeError{"bytes of arguments in one call", 65536, 65537}},
		"quotes count twice":            {ModelMessage{Calls: []ModelCall{{Arguments: strings.Repeat(`"`, 32769)}}}, &TooLargeError{"bytes of arguments in one call", 65536, 65538}},
		"most arguments":                {ModelMessage{Calls: calls(3, 65536)}, nil},
		"more arguments":                {ModelMessage{Calls: calls(4, 49153)}, &TooLargeError{"bytes of arguments", 196608, 196612}},
		"an invalid byte becomes three": {ModelMessage{Text: strings.Repeat("\xff", 43691)}, &TooLargeError{"bytes of text", 131072, 131073}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := test.message.Check()
			var tooLarge *TooLargeError
			errors.As(err, &tooLarge)
			if diff := cmp.Diff(test.want, tooLarge); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	const text = "the model's message has 65 calls, and the limit is 64"
	if got := (&TooLargeError{"calls", 64, 65}).Error(); got != text {
		t.Errorf("the error says %q", got)
	}
}

// TestUsageIsBelievable: what an endpoint says it used cannot spoil the status.
func TestUsageIsBelievable(t *testing.T) {
	s := play(t)
	for range 3 {
		s.append(s.state.MessageEntry(ModelMessage{Grant: "llm",
			Usage: v1alpha1.Usage{InputTokens: math.MaxInt64, OutputTokens: math.MinInt64}}))
	}
	want := v1alpha1.Usage{InputTokens: 3 << 40}
	if diff := cmp.Diff(want, s.project().Usage); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestResultShare: the calls of one message share one bound, and a result that is
// cut says so.
func TestResultShare(t *testing.T) {
	tests := map[string]struct{ calls, want int }{
		"one": {1, 131072}, "three": {3, 131072}, "four": {4, 98304}, "sixty-four": {64, 6144},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := play(t)
			message := ModelMessage{Grant: "llm"}
			for range test.calls {
				message.Calls = append(message.Calls, ModelCall{Tool: "lookup"})
			}
			s.append(s.state.MessageEntry(message))
			id := s.state.last().calls[0].record.ID
			fits := s.state.ResultEntry(id, Outcome{Content: strings.Repeat("a", test.want)})
			if got := fits.Result.Content; got != strings.Repeat("a", test.want) {
				t.Errorf("a result of %d bytes was cut to %d", test.want, len(got))
			}
			content := strings.Repeat("a", test.want+1)
			notice := fmt.Sprintf("\n[cut: the whole has %d bytes]", test.want+1)
			want := content[:test.want-len(notice)-1] + notice // the line end takes two bytes
			if got := s.state.ResultEntry(id, Outcome{Content: content}).Result.Content; got != want {
				t.Errorf("got %d bytes that end in %q", len(got), got[len(got)-40:])
			}
		})
	}
}

// TestResultWithoutMessage is a mistake of the caller's, and no panic.
func TestResultWithoutMessage(t *testing.T) {
	state := play(t).state
	err := state.Append(began, state.ResultEntry("call-0000000000000000", Outcome{}))
	expectCorrupt(t, err, "is not open")
}

// TestToolNameIsCut between two characters, and is never empty.
func TestToolNameIsCut(t *testing.T) {
	tests := map[string]struct{ name, want string }{
		"empty":              {"", "(no name)"},
		"fits":               {strings.Repeat("a", 128), strings.Repeat("a", 128)},
		"too long":           {strings.Repeat("a", 129), strings.Repeat("a", 128)},
		"a rune at the end":  {strings.Repeat("a", 124) + "😀", strings.Repeat("a", 124) + "😀"},
		"a rune across it 1": {strings.Repeat("a", 125) + "😀", strings.Repeat("a", 125)},
		"a rune across it 2": {strings.Repeat("a", 126) + "😀", strings.Repeat("a", 126)},
		"a rune across it 3": {strings.Repeat("a", 127) + "😀", strings.Repeat("a", 127)},
		"escapes":            {strings.Repeat("\x00", 30), strings.Repeat("\x00", 21)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			entry := play(t).state.MessageEntry(ModelMessage{Calls: []ModelCall{{Tool: test.name}}})
			if got := entry.Message.Calls[0].Tool; got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestCut: what is left is the longest beginning that fits as JSON and is valid.
func TestCut(t *testing.T) {
	text := rapid.StringOfN(rapid.OneOf(rapid.Rune(), rapid.RuneFrom([]rune("<>&\"\\\n\x00\u2028\uFFFD😀"))), 0, 60, -1)
	rapid.Check(t, func(t *rapid.T) {
		whole, limit := clean(text.Draw(t, "text")), rapid.IntRange(0, 200).Draw(t, "limit")
		got := cut(whole, limit)
		if !strings.HasPrefix(whole, got) || !utf8.ValidString(got) {
			t.Fatalf("%q was cut to %q", whole, got)
		}
		if jsonSize(got) > limit {
			t.Fatalf("%q takes %d bytes, more than %d", got, jsonSize(got), limit)
		}
		if got != whole {
			r, _ := utf8.DecodeRuneInString(whole[len(got):])
			if jsonSize(got)+runeSize(r) <= limit {
				t.Fatalf("%q was cut to %q, and %q would fit", whole, got, r)
			}
		}
		if noticed := cutWithNotice(whole, limit+60); jsonSize(noticed) > limit+60 {
			t.Fatalf("with its notice it takes %d bytes, more than %d", jsonSize(noticed), limit+60)
		}
	})
}

// TestJSONSize is what encoding/json makes of a text, or more.
func TestJSONSize(t *testing.T) {
	for r := range rune(0x3000) {
		text := string(r)
		content, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		if size := len(content) - 2; jsonSize(text) < size || jsonSize(text) > max(size, 6) {
			t.Errorf("%q takes %d bytes, and not %d", text, size, jsonSize(text))
		}
	}
}

// TestDecisionTextsAreBounded: one long answer is kept, and many share one bound.
func TestDecisionTextsAreBounded(t *testing.T) {
	for _, test := range []struct{ calls, want int }{{1, 16 << 10}, {4, 16 << 10}, {64, 1 << 10}} {
		s := play(t)
		var calls []string
		for range test.calls {
			calls = append(calls, "ask_user")
		}
		s.model("", calls...)
		s.expect("append suspension of " + strings.Join(calls, ", "))
		yes := true
		for _, c := range s.state.last().calls {
			s.decisions[string(c.record.ID)] = v1alpha1.Decision{Approved: &yes,
				Answer: strings.Repeat("<", 16384), Reason: strings.Repeat("<", 1024), By: strings.Repeat("<", 1024)}
		}
		action, err := Next(s.input())
		if err != nil {
			t.Fatal(err)
		}
		decision := action.(Append).Entries[0].Decision
		if size := jsonSize(decision.Answer); size > test.want || size < test.want-6 {
			t.Errorf("%d calls: an answer of %d bytes, want %d", test.calls, size, test.want)
		}
		if jsonSize(decision.Reason) > 1024 || jsonSize(decision.By) > 1024 {
			t.Errorf("a reason of %d bytes, a name of %d", jsonSize(decision.Reason), jsonSize(decision.By))
		}
	}
}

// filler are characters that make the most of a bound in one way or another.
var filler = map[string]string{"escapes": "<", "4-byte runes": "😀", "letters": "a"}

// worst plays a Run that fills everything that a status can hold.
type worst struct {
	*scenario
	fill string
}

func (w worst) text(limit int) string { return cut(strings.Repeat(w.fill, limit), limit) }

func (w worst) message(tool func(i int) string, definition v1alpha1.Digest, arguments int) []v1alpha1.CallRecord {
	w.Helper()
	message := ModelMessage{Grant: strings.Repeat("g", 40), Model: w.text(128), Text: w.text(MaxText)}
	for i := range MaxCalls {
		message.Calls = append(message.Calls, ModelCall{Tool: tool(i), Definition: definition, Arguments: w.text(arguments)})
	}
	for range 20 {
		message.Attempts = append(message.Attempts, v1alpha1.ModelAttempt{
			Grant: message.Grant, Model: message.Model, Kind: strings.Repeat("k", 64), Detail: w.text(4096)})
	}
	if err := message.Check(); err != nil {
		w.Fatal(err)
	}
	w.append(w.state.MessageEntry(message))
	return w.state.last().message.Calls
}

// TestLargestStatus: with everything at its bound a status leaves room for the rest
// of its Run under etcd's limit of 1.5 MiB, in every state of the longest turn.
func TestLargestStatus(t *testing.T) {
	const limit = 1280 << 10
	for name, fill := range filler {
		t.Run(name, func(t *testing.T) {
			w := worst{play(t), fill}
			w.unchecked = true
			longDigest := digest("any")
			gated := "grant__" + strings.Repeat("t", 57)
			w.tools[gated] = testTool{ask: w.text(4096), effect: true, definition: longDigest}
			w.tools["wait_webhook"] = testTool{ask: w.text(4096), definition: longDigest}
			waits := func(i int) string { return []string{gated, "wait_webhook"}[i%2] }
			status := v1alpha1.RunStatus{Version: "v-0123456789abcdef0123", Holder: strings.Repeat("h", 253)}
			for i := range MaxSegments {
				status.Log.Sealed = append(status.Log.Sealed, v1alpha1.SealedSegment{
					ConfigMap: fmt.Sprintf("%s-log-%020d", strings.Repeat("r", 63), i), Digest: longDigest, Records: 1000})
			}
			check := func(state string) {
				t.Helper()
				w.shown = status.Pending
				for {
					segment, err := w.state.Seal(SealAbove)
					if err != nil {
						t.Fatal(err)
					}
					if segment == nil {
						break
					}
					w.state.Sealed(segment)
				}
				Project(w.input(), 1, &status)
				content, err := json.Marshal(status)
				if err != nil {
					t.Fatal(err)
				}
				if len(content) > limit {
					t.Errorf("%s: %d bytes, more than %d", state, len(content), limit)
				}
				t.Logf("%s: %d KiB", state, len(content)>>10)
			}
			for turn := range 2 { // 128 streaks
				name := func(i int) string { return fmt.Sprintf("%d-%d-", turn, i) + w.text(128) }
				for _, c := range w.message(name, "", 1024) {
					w.append(w.state.ResultEntry(c.ID, Outcome{Error: v1alpha1.ErrorTool, Content: w.text(MaxResult)}))
				}
				check("failures")
			}
			calls := w.message(waits, longDigest, MaxMessageArguments/MaxCalls)
			check("called")
			w.expect("append suspension of " + strings.TrimSuffix(strings.Repeat(gated+", wait_webhook, ", MaxCalls/2), ", "))
			check("suspended")
			for i := range status.Pending {
				if status.Pending[i].Kind == v1alpha1.PendingWebhook {
					status.Pending[i].Webhook = &v1alpha1.PendingWebhookStatus{SecretRef: v1alpha1.NamedReference{Name: strings.Repeat("s", 253)},
						TokenDigest: longDigest, ReceivedAt: &status.Pending[i].RequestedAt, Body: cut(w.text(16384), (64<<10)/(MaxCalls/2))}
				}
			}
			check("received")
			yes := true
			for _, c := range calls {
				w.decisions[string(c.ID)] = v1alpha1.Decision{Approved: &yes,
					Answer: w.text(16384), Reason: w.text(1024), By: w.text(1024)}
			}
			for _, next := range []string{"decided", "webhooks answered", "executed"} {
				action, err := Next(w.input())
				if err != nil {
					t.Fatal(err)
				}
				switch action := action.(type) {
				case Append:
					w.append(action.Entries...)
				case Execute:
					w.append(Entry{Watermark: action.Watermark})
				}
				check(next)
			}
			for _, c := range w.open(calls) {
				w.append(w.state.ResultEntry(c.ID, Outcome{Error: v1alpha1.ErrorOutcomeUnknown, Content: w.text(MaxResult)}))
			}
			check("answered")
			w.append(Fail(strings.Repeat("R", 64), w.text(8192)))
			check("ended")
			if n := len(status.FailureStreaks); n != maxStreaks {
				t.Errorf("%d streaks", n)
			}
			if n := len(status.Decided); n != maxDecided {
				t.Errorf("%d decided calls", n)
			}
		})
	}
}

// open are those of the calls that have no result yet.
func (w worst) open(calls []v1alpha1.CallRecord) []v1alpha1.CallRecord {
	return slices.DeleteFunc(slices.Clone(calls), func(c v1alpha1.CallRecord) bool { return w.state.last().byID[c.ID].result != nil })
}

// TestShownArgumentsAreCut: the view of a pending call is bounded, and says when
// it is not the whole.
func TestShownArgumentsAreCut(t *testing.T) {
	s := play(t)
	s.model("", "refund "+strings.Repeat("a", 20000), "refund 1")
	s.expect("append suspension of refund, refund")
	pending := s.project().Pending
	const notice = "\n[cut: the whole has 20000 bytes]"
	if got := pending[0].Arguments; !strings.HasSuffix(got, notice) || len(got) != 16383 {
		t.Errorf("%d bytes that end in %q", len(got), got[len(got)-40:])
	}
	if pending[1].Arguments != "1" {
		t.Errorf("%q", pending[1].Arguments)
	}
	if want := digest("arguments", strings.Repeat("a", 20000)); pending[0].ArgumentsDigest != want {
		t.Error("the digest is not that of the whole")
	}
}
