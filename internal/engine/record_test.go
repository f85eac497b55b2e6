// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit.dev/remit/api/v1alpha1"
)

// hostile are texts that do not survive JSON as they are, or grow in it.
var hostile = map[string]string{
	"empty":               "",
	"NUL":                 "a\x00b",
	"control characters":  "\x01\x02\b\f\v\x1f\x7f",
	"line ends":           "a\r\nb\tc\n",
	"invalid UTF-8":       "a\xff\xfeb\xc0",
	"a cut 4-byte rune":   "a\xf0\x9f\x98",
	"a surrogate":         "\xed\xa0\x80",
	"too large a rune":    "\xf4\x90\x80\x80",
	"the replacement":     "\uFFFD",
	"4-byte runes":        "😀😀",
	"line separators":     "\u2028\u2029",
	"a byte order mark":   "\ufeffa",
	"a bidirectional one": "\u202eabc",
	"HTML":                "<a href='x'>&amp;</a>",
	"quotes":              `"\"\\`,
	"JSON":                `{"a":[1,2.0,null]}`,
	"not normalised":      "e\u0301",
}

// TestHostileText: whatever a model, a tool or a person writes, the log that is
// read back is the log that was written, to the digest.
func TestHostileText(t *testing.T) {
	for name, text := range hostile {
		t.Run(name, func(t *testing.T) {
			s := play(t)
			s.append(s.state.MessageEntry(ModelMessage{
				Grant: "llm", Model: text, Text: text,
				Calls:    []ModelCall{{Tool: text, Arguments: text}, {Tool: "refund", Arguments: text, Definition: "sha256:refund"}},
				Attempts: []v1alpha1.ModelAttempt{{Grant: "llm", Model: text, Kind: "garbage", Detail: text}},
			}))
			first := s.state.last().calls[0].record
			s.append(s.state.ResultEntry(first.ID, Outcome{Content: text, Error: v1alpha1.ErrorTool}))
			s.expect("append suspension of refund")
			yes := true
			s.decisions[string(s.state.last().calls[1].record.ID)] = v1alpha1.Decision{
				Approved: &yes, Answer: text, Reason: text, By: text}
			s.expect("append decision on refund: yes")
			s.append(s.state.ResultEntry(s.state.last().calls[1].record.ID, Outcome{Content: text}))
			s.append(Fail("Why", text))

			if want := strings.ToValidUTF8(text, "\uFFFD"); s.state.last().message.Text != want {
				t.Errorf("the text is %q, want %q", s.state.last().message.Text, want)
			}
			if first.Tool == "" {
				t.Error("the tool has no name")
			}
			for _, message := range s.state.Context() {
				if message.Result != nil && message.Result.Text == "" {
					t.Error("the model reads an empty result")
				}
			}
		})
	}
}

// TestDigestIsStable: a digest covers the one before it and the record as JSON,
// each with its length in front. If that ever changes, no stored log can be read.
func TestDigestIsStable(t *testing.T) {
	s := play(t)
	s.model("Hello.")
	const record = `{"sequence":1,"type":"Message","time":"2026-03-01T12:00:00Z","digest":"",` +
		`"message":{"grant":"llm","model":"m-1","text":"Hello."}}`
	first := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte("remit.dev/run-log/v1\x0036:"+uid)))
	want := fmt.Sprintf("sha256:%x", sha256.Sum256(
		fmt.Appendf(nil, "remit.dev/run-log/v1\x00%d:%s%d:%s", len(first), first, len(record), record)))
	if got := s.state.Head(); string(got) != want || s.state.Records()[0].Digest != got {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestDigestIgnoresTheZone: a time reads back in the zone of the process.
func TestDigestIgnoresTheZone(t *testing.T) {
	records := wholeLog(t)
	zone := time.FixedZone("somewhere", -7*3600)
	for i := range records {
		records[i].Time = metaTime(records[i].Time.In(zone))
	}
	if _, err := Fold(uid, nil, records); err != nil {
		t.Error(err)
	}
}

// TestTimesAreWholeSeconds, in UTC, as they are stored.
func TestTimesAreWholeSeconds(t *testing.T) {
	s := play(t)
	s.now = time.Date(2026, 3, 1, 12, 0, 0, 999_999_999, time.FixedZone("somewhere", 3600))
	s.model("Hello.")
	want := time.Date(2026, 3, 1, 11, 0, 0, 0, time.UTC)
	if got := s.state.Records()[0].Time.Time; got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestCallID has the form of the API's pattern and covers each thing it is made of.
func TestCallID(t *testing.T) {
	ids := map[string]v1alpha1.CallID{
		"reference":             CallID(uid, 1, 0, "refund", "{}", "sha256:d"),
		"another Run":           CallID(uid+"x", 1, 0, "refund", "{}", "sha256:d"),
		"another message":       CallID(uid, 2, 0, "refund", "{}", "sha256:d"),
		"another place":         CallID(uid, 1, 1, "refund", "{}", "sha256:d"),
		"another tool":          CallID(uid, 1, 0, "refunds", "{}", "sha256:d"),
		"other arguments":       CallID(uid, 1, 0, "refund", "{ }", "sha256:d"),
		"another definition":    CallID(uid, 1, 0, "refund", "{}", "sha256:e"),
		"no definition":         CallID(uid, 1, 0, "refund", "{}", ""),
		"shifted: tool":         CallID(uid, 1, 0, "refund{}", "", "sha256:d"),
		"shifted: arguments":    CallID(uid, 1, 0, "refund", "{}sha256:d", ""),
		"shifted: message":      CallID(uid, 11, 0, "refund", "{}", "sha256:d"),
		"shifted: place":        CallID(uid, 1, 10, "refund", "{}", "sha256:d"),
		"shifted: run":          CallID(uid+"1", 1, 0, "refund", "{}", "sha256:d"),
		"lengths in the text":   CallID(uid, 1, 0, "refund2:{}", "", "sha256:d"),
		"arguments are no tool": CallID(uid, 1, 0, "{}", "refund", "sha256:d"),
	}
	pattern := regexp.MustCompile(`^call-[0-9a-f]{16}$`)
	seen := map[v1alpha1.CallID]string{}
	for name, id := range ids {
		if !pattern.MatchString(string(id)) {
			t.Errorf("%s: %q", name, id)
		}
		if other, ok := seen[id]; ok {
			t.Errorf("%s and %s share the id %s", name, other, id)
		}
		seen[id] = name
	}
	if again := CallID(uid, 1, 0, "refund", "{}", "sha256:d"); again != ids["reference"] {
		t.Errorf("the same call has the ids %s and %s", again, ids["reference"])
	}
}

// TestProviderIDsRepeat: equal calls of one message, and of two, have ids of their
// own, and each gets its own result.
func TestProviderIDsRepeat(t *testing.T) {
	s := play(t)
	s.model("", "lookup a", "lookup a")
	s.expect("execute lookup, lookup")
	s.outcomes("ok one", "ok two")
	s.model("", "lookup a")
	s.expect("execute lookup")
	s.outcomes("ok three")
	var ids []v1alpha1.CallID
	var texts []string
	for _, message := range s.state.Context() {
		if message.Result != nil {
			ids = append(ids, message.Result.ID)
			texts = append(texts, message.Result.Text)
		}
	}
	if ids[0] == ids[1] || ids[1] == ids[2] || ids[0] == ids[2] {
		t.Errorf("ids repeat: %v", ids)
	}
	if diff := cmp.Diff([]string{"one", "two", "three"}, texts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestCallIDIsNewToTheRun: an id is short, so two calls could be made to share one;
// the approval of the first would then be that of the second.
func TestCallIDIsNewToTheRun(t *testing.T) {
	s := play(t)
	shared := CallID(uid, 1, 0, "refund", "1", "sha256:refund")
	s.state.ids[shared] = true // as if an earlier call had it
	entry := s.state.MessageEntry(ModelMessage{Grant: "llm",
		Calls: []ModelCall{{Tool: "refund", Arguments: "1", Definition: "sha256:refund"}}})
	if id := entry.Message.Calls[0].ID; id == shared {
		t.Fatalf("call %s would be approved already", id)
	}
	if err := s.state.Append(s.now, entry); err != nil {
		t.Error(err)
	}
}

func TestIdempotencyKey(t *testing.T) {
	key := IdempotencyKey(uid, "call-1")
	if !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(key) {
		t.Errorf("%q", key)
	}
	if IdempotencyKey(uid, "call-1") != key {
		t.Error("one call has two keys")
	}
	if IdempotencyKey(uid, "call-2") == key || IdempotencyKey(uid+"x", "call-1") == key {
		t.Error("two calls share a key")
	}
}
