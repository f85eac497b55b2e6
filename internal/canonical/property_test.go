// SPDX-License-Identifier: Apache-2.0

package canonical

import (
	"encoding/json"
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	kubernetesjson "sigs.k8s.io/json"
)

// init runs more cases than rapid's default; the flag still overrides it.
func init() {
	if err := flag.Set("rapid.checks", "2000"); err != nil {
		panic(err)
	}
}

// C2, C5, C6: whatever the spelling, one meaning has one canonical form.
func TestSpellingDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := drawValue(t, 3)
		first, second := spell(t, value), spell(t, value)
		got, want := mustJSON(t, first), mustJSON(t, second)
		if got != want {
			t.Fatalf("%s\n→ %s\n%s\n→ %s", first, got, second, want)
		}
		if again := mustJSON(t, got); again != got {
			t.Fatalf("%s is not a fixed point: %s", got, again)
		}
	})
}

// C2: any one change of meaning gives another canonical form.
func TestMeaningMatters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := drawValue(t, 3)
		changed := change(t, value)
		first, second := spell(t, value), spell(t, changed)
		if got := mustJSON(t, first); got == mustJSON(t, second) {
			t.Fatalf("%s\n%s\n→ %s", first, second, got)
		}
	})
}

// P4: an object has the canonical form of its file, however often the API server
// stored it in between.
func TestKubernetesChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := spell(t, drawValue(t, 3))
		checkStored(t, raw, mustJSON(t, raw))
	})
}

// P4: nor does it for any number, those that it rounds included.
func TestKubernetesChangesNoNumber(t *testing.T) {
	literal := rapid.StringMatching(`-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,24})?([eE][-+]?1?[0-9]{1,2})?`)
	rapid.Check(t, func(t *rapid.T) {
		raw := literal.Draw(t, "literal")
		checkStored(t, raw, mustJSON(t, raw))
	})
}

func checkStored(t failer, raw, want string) {
	stored := raw
	for range 3 {
		var value any
		if err := kubernetesjson.UnmarshalCaseSensitivePreserveInts([]byte(stored), &value); err != nil {
			t.Fatalf("%s: %v", stored, err)
		}
		next, err := json.Marshal(value)
		if err != nil {
			t.Fatalf("%s: %v", stored, err)
		}
		stored = string(next)
		if got, err := JSON(next); err != nil || string(got) != want {
			t.Fatalf("%s, stored as %s: got %s, %v, want %s", raw, stored, got, err, want)
		}
	}
}

// C9, C11, P3, P5: in typed fields the order of sets and null against absent
// against empty do not matter.
func TestTypedSpellingDoesNotMatter(t *testing.T) {
	names := rapid.SliceOfDistinct(rapid.StringN(0, 4, -1).Filter(isJSONText), rapid.ID)
	rapid.Check(t, func(t *rapid.T) {
		set, keys := names.Draw(t, "set"), names.Draw(t, "keys")
		build := func() sample {
			var s sample
			for _, name := range rapid.Permutation(set).Draw(t, "set order") {
				s.Set = append(s.Set, sampleName(name))
				if rapid.Bool().Draw(t, "repeat") {
					s.Set = append(s.Set, sampleName(name))
				}
			}
			for _, key := range rapid.Permutation(keys).Draw(t, "key order") {
				s.Tools = append(s.Tools, sampleTool{Name: key, Uses: rapid.Permutation(set).Draw(t, "uses")})
			}
			return s
		}
		first, second := mustTyped(t, build()), mustTyped(t, build())
		if diff := cmp.Diff(string(first), string(second)); diff != "" {
			t.Fatal(diff)
		}
		if again := mustJSON(t, string(first)); again != string(first) {
			t.Fatalf("%s is not a fixed point of JSON: %s", first, again)
		}
	})
}

// C2: the canonical form, read back, is the same value.
func TestTypedLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawSample(t)
		first := mustTyped(t, want)
		var got sample
		if err := json.Unmarshal(first, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", first, diff)
		}
		if again := mustTyped(t, got); string(again) != string(first) {
			t.Fatalf("not a fixed point:\n%s\n%s", first, again)
		}
	})
}

// drawSample draws a sample that is already in normal form: sets sorted, nothing
// empty that is not told apart from absent.
func drawSample(t *rapid.T) sample {
	text := rapid.StringN(1, 8, -1).Filter(isJSONText)
	// ASCII sorts the same in every encoding.
	names := rapid.SliceOfNDistinct(rapid.StringMatching(`[ -~]{1,3}`), 1, 4, rapid.ID)
	sorted := func(label string) []string { return slices.Sorted(slices.Values(names.Draw(t, label))) }
	var s sample
	draws := []func(){
		func() { s.Text = text.Draw(t, "text") },
		func() { s.On = true },
		func() { s.Count = rapid.Int32().Draw(t, "count") },
		func() { s.Weight = rapid.Float64Range(-1e300, 1e300).Draw(t, "weight") + 0 },
		func() { s.Choice = new(rapid.Bool().Draw(t, "choice")) },
		func() { s.Limit = new(rapid.Int64().Draw(t, "limit")) },
		func() { s.Note = new(rapid.SampledFrom([]string{"", "n"}).Draw(t, "note")) },
		func() { s.Approval = rapid.SampledFrom([][]string{{}, {"a"}, {"a", "b"}}).Draw(t, "approval") },
		func() { s.Order = rapid.SliceOfN(text, 1, 4).Draw(t, "order") },
		func() { s.Labels = rapid.MapOfN(text, text, 1, 4).Draw(t, "labels") },
		func() { s.Marked = rapid.SampledFrom([]*sampleStep{{}, {Wait: 1}}).Draw(t, "marked") },
		func() {
			for _, name := range sorted("tools") {
				s.Tools = append(s.Tools, sampleTool{Name: name, Uses: sorted("uses")})
			}
		},
		func() { s.Raw = json.RawMessage(mustJSON(t, spell(t, object{{"k", drawValue(t, 2)}}))) },
	}
	for _, draw := range draws {
		if rapid.Bool().Draw(t, "present") {
			draw()
		}
	}
	return s
}

// failer is a testing.T, a testing.B or a rapid.T.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

func mustJSON(t failer, raw string) string {
	t.Helper()
	got, err := JSON([]byte(raw))
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return string(got)
}

// isJSONText keeps out what rapid draws to test decoders of UTF-8.
func isJSONText(s string) bool { return strings.ToValidUTF8(s, "") == s }
