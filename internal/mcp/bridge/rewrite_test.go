package bridge

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestReplace(t *testing.T) {
	for _, row := range []struct {
		object, want, was string
		path              []string
	}{
		{`{"id":1}`, `{"id":X}`, `1`, []string{"id"}},
		{`{ "a":{"id":1} , "id" :  "one\"" ,"b":2}`, `{ "a":{"id":1} , "id" :  X ,"b":2}`, `"one\""`, []string{"id"}},
		{`{"\u0069d":1}`, `{"\u0069d":X}`, `1`, []string{"id"}},
		{`{"ID":1}`, `{"ID":1}`, ``, []string{"id"}},
		{`{"p":{"_meta":{"t":[1,{"t":2}]}}}`, `{"p":{"_meta":{"t":X}}}`, `[1,{"t":2}]`, []string{"p", "_meta", "t"}},
		{`{"p":[{"t":1}]}`, `{"p":[{"t":1}]}`, ``, []string{"p", "t"}},
		{`{"p":null}`, `{"p":null}`, ``, []string{"p", "t"}},
		{`[1]`, `[1]`, ``, []string{"id"}},
	} {
		got, was, err := replace([]byte(row.object), []byte("X"), row.path...)
		if err != nil || string(got) != row.want || string(was) != row.was {
			t.Errorf("%s: got %s, %s, %v", row.object, got, was, err)
		}
	}
	for _, object := range []string{`{"id":1,"id":1}`, `{"id":1,"\u0069d":2}`} {
		if _, _, err := replace([]byte(object), []byte("X"), "id"); !errors.Is(err, errTwice) {
			t.Errorf("%s: %v", object, err)
		}
	}
}

// Whatever else is in a message stays as it was, and the new value is what a reader finds.
func TestReplaceChangesNothingElse(t *testing.T) {
	values := rapid.OneOf(
		rapid.Map(rapid.String(), func(s string) any { return s }),
		rapid.Map(rapid.Int64(), func(n int64) any { return n }),
		rapid.Map(rapid.MapOf(rapid.String(), rapid.Bool()), func(m map[string]bool) any { return m }),
		rapid.Map(rapid.SliceOf(rapid.Bool()), func(l []bool) any { return l }),
	)
	rapid.Check(t, func(t *rapid.T) {
		object := rapid.MapOf(rapid.String(), values).Draw(t, "object")
		object["id"] = values.Draw(t, "id")
		text, err := json.MarshalIndent(object, "", rapid.SampledFrom([]string{"", " ", "\t"}).Draw(t, "indent"))
		if err != nil {
			t.Fatal(err)
		}
		changed, was, err := replace(text, []byte("42"), "id")
		if err != nil {
			t.Fatal(err)
		}
		back, _, err := replace(changed, was, "id")
		if err != nil || string(back) != string(text) {
			t.Errorf("there and back: %s, %v, want %s", back, err, text)
		}
		var want, got map[string]any
		if json.Unmarshal(text, &want) != nil || json.Unmarshal(changed, &got) != nil {
			t.Fatalf("not JSON any more: %s", changed)
		}
		want["id"] = 42.0
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
