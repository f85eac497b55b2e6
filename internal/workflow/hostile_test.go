// SPDX-License-Identifier: Apache-2.0

package workflow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/canonical"
	"remit.dev/remit/internal/workflow"
)

// What a short expression could use up, and does not: each would take gigabytes, or
// longer than anybody waits without a chance to interrupt it.
func TestHostileExpressions(t *testing.T) {
	const tooLarge, tooMuch = "it makes a value that is too large", "it looks at too much"
	text := strings.Repeat("a", 128<<10)
	list := "[" + strings.Repeat("0,", 60_000) + "0]"
	doubled := func(n int, list string) string { return "[0]" + strings.Repeat(".map(a, "+list+")", n) }
	for name, test := range map[string]struct{ expression, says string }{
		"replace":               {`{"x": steps.find.text.replace("a", steps.find.text).size()}`, tooLarge},
		"replace nothing":       {`{"x": steps.find.text.replace("", steps.find.text).size()}`, tooLarge},
		"join":                  {`{"x": steps.find.text.split("").join(steps.find.text).size()}`, tooLarge},
		"format":                {`{"x": "%s".format([` + doubled(14, "[a,a,a,a]") + `]).size()}`, tooLarge},
		"lists of the same":     {`{"x": ` + doubled(15, "[a,a,a,a,a]") + ` == [dyn(0)]}`, tooLarge},
		"maps of the same":      {`{"x": ` + doubled(15, "{'a':a,'b':a,'c':a,'d':a}") + ` == [dyn(0)]}`, tooLarge},
		"lists in lists":        {`{"x": steps.read.json.map(x, steps.read.json) == [dyn(0)]}`, tooLarge},
		"inserted":              {`{"x": steps.read.json.map(x, string(x)).transformMapEntry(i, x, {string(i): steps.read.json}).size()}`, tooLarge},
		"long lists":            {`{"x": [dyn([0])]` + strings.Repeat(".map(a, a+a)", 25) + ` == [dyn(0)]}`, tooLarge},
		"texts in lists":        {`{"x": steps.find.text.split("").map(x, steps.find.text.lowerAscii()).size()}`, tooLarge},
		"comparing":             {`{"x": steps.read.json.all(x, steps.read.json == steps.read.json)}`, tooMuch},
		"looking for":           {`{"x": steps.read.json.filter(x, 1 in steps.read.json) == []}`, tooMuch},
		"a large program":       {`{"x": steps.find.text.matches("` + strings.Repeat("(a|b){1000}", 20) + `")}`, "the pattern is too large"},
		"a program and a text":  {`{"x": steps.find.text.find("(a?){600}b")}`, tooMuch},
		"quadratic search":      {`{"x": steps.find.text.indexOf(steps.find.text.substring(0, 60000) + "b")}`, tooMuch},
		"quadratic search back": {`{"x": steps.find.text.lastIndexOf("b" + steps.find.text.substring(0, 60000))}`, tooMuch},
		"reading":               {`{"x": steps.read.json.filter(x, steps.find.text.upperAscii().size() == 1) == []}`, tooMuch},
		"loops":                 {`{"x": steps.read.json.all(x, steps.read.json.all(y, x == y))}`, tooMuch},
		"making":                {`{"x": steps.read.json.map(x, steps.read.json.map(y, x + y)).size()}`, tooMuch},
		"concatenating":         {`{"x": (` + strings.Repeat("steps.find.text + ", 100) + `"").size()}`, tooMuch},
	} {
		t.Run(name, func(t *testing.T) {
			w := compiled(t, threeSteps(test.expression))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := w.Arguments(t.Context(), 2, "", []string{text, list})
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want %q", err, test.says)
			}
			if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 256 {
				t.Errorf("%d MiB were allocated", used)
			}
		})
	}
}

// Results of any size and depth are read in one pass.
func TestHostileResults(t *testing.T) {
	w := compiled(t, threeSteps(`{"a": steps.find.json == null, "b": steps.find.text.size(), "c": inputJSON == null}`))
	for name, text := range map[string]string{
		"deep lists":       strings.Repeat("[", 5<<20),
		"deep and closed":  strings.Repeat("[", 1<<20) + strings.Repeat("]", 1<<20),
		"deep objects":     strings.Repeat(`{"a":`, 1<<20),
		"a long text":      `"` + strings.Repeat("a", 10<<20) + `"`,
		"a long number":    strings.Repeat("9", 1<<20),
		"a large exponent": "1e999999999",
		"duplicate keys":   `{"a":1,"a":2}`,
		"half a character": `"\ud800"`,
		"not UTF-8":        "\"\xff\"",
		"two values":       "1 2",
		"nothing":          "",
	} {
		t.Run(name, func(t *testing.T) {
			got, err := w.Arguments(t.Context(), 2, text, []string{text, ""})
			if err != nil {
				t.Fatal(err)
			}
			want := fmt.Sprintf(`{"a":true,"b":%d,"c":true}`, len([]rune(text)))
			if string(got) != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

// FuzzArguments: whatever an expression, an input and results are, there are arguments,
// a canonical object within the bounds and always the same, or there is a typed error.
func FuzzArguments(f *testing.F) {
	for _, seed := range [][4]string{
		{`{"q": input, "j": inputJSON, "t": steps.find.text, "r": steps.read.json}`, `{"a": 1}`, "text", `[1, 2.5, "x", null]`},
		{`steps.find.json`, "", `{"a": {"b": [9007199254740993, 1e300]}}`, ""},
		{`dyn(steps)`, "", strings.Repeat("[", 100), "\xff\xfe"},
		{`{"x": steps.find.json.map(x, x.id)}`, "", `[{"id": 1}, {"id": null}, {}]`, ""},
		{`{"x": input.replace(steps.find.text, steps.read.text)}`, "aaaa", "", "bbbb"},
		{`{"x": steps.find.json.join(input), "y": input.split(steps.read.text)}`, ",", `["a", 1]`, ""},
		{`{"x": input.format(steps.find.json)}`, "%s %d %.3f %x", `[[1], 2, 3.5, "x"]`, ""},
		{`{"x": input.matches(steps.find.text), "y": input.find(steps.read.text)}`, "abc", "(a|b)*c", "[[:alpha:]]"},
		{`{"x": steps.find.json == steps.read.json, "y": inputJSON in steps.find.json}`, "1", `[1, {"a": 1}]`, `[1.0, {"a": 1}]`},
		{`{?"a": inputJSON.?a.?b, "c": inputJSON[?"c"].orValue(0)}`, `{"a": {"b": 1}}`, "", ""},
		{`{"x": 0.0 / double(input), "y": uint(steps.find.text)}`, "0", "18446744073709551615", ""},
		{`steps.find.json.transformMapEntry(k, v, {string(v): k})`, "", `{"a": 1, "b": 1}`, ""},
		{`{"x": [1].map(a, [a, a]).map(b, [b, b]) + steps.find.json, "y": b"\xff"}`, "", "[]", ""},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	f.Fuzz(func(t *testing.T, expression, input, found, read string) {
		w, err := workflow.Compile(threeSteps(expression))
		if err != nil {
			if _, ok := errors.AsType[workflow.Errors](err); !ok {
				t.Fatalf("an untyped error: %v", err)
			}
			return
		}
		got, err := w.Arguments(t.Context(), 2, input, []string{found, read})
		if err != nil {
			if wrong, ok := errors.AsType[*workflow.StepError](err); !ok || len(wrong.Detail) > 1024 {
				t.Fatalf("no error to show: %v", err)
			}
			return
		}
		text, err := canonical.JSON(got)
		if err != nil || string(text) != string(got) || got[0] != '{' || len(got) > workflow.MaxArgumentsBytes {
			t.Fatalf("no canonical object: %q, %v", got, err)
		}
		if again, err := w.Arguments(t.Context(), 2, input, []string{found, read}); err != nil || string(again) != string(got) {
			t.Fatalf("%s, then %s, %v", got, again, err)
		}
	})
}

// drawJSON draws the text of a JSON value.
func drawJSON(depth int) *rapid.Generator[string] {
	scalars := rapid.OneOf(
		rapid.SampledFrom([]string{"null", "true", "false", "0", "-0.0", "1.50", "1e21", "9007199254740993", "-9223372036854775808", "18446744073709551616"}),
		rapid.Custom(func(t *rapid.T) string { return quoted(rapid.String().Draw(t, "text")) }),
		rapid.Custom(func(t *rapid.T) string { return fmt.Sprint(rapid.Int64().Draw(t, "integer")) }),
		rapid.Custom(func(t *rapid.T) string { return fmt.Sprintf("%g", rapid.Float64().Draw(t, "float")) }),
	)
	if depth == 0 {
		return scalars
	}
	values := rapid.SliceOfN(drawJSON(depth-1), 0, 4)
	return rapid.OneOf(scalars,
		rapid.Custom(func(t *rapid.T) string { return "[" + strings.Join(values.Draw(t, "elements"), ", ") + "]" }),
		rapid.Custom(func(t *rapid.T) string {
			var members []string
			for i, value := range values.Draw(t, "members") {
				members = append(members, fmt.Sprintf("%s: %s", quoted(fmt.Sprintf("%d%s", i, rapid.String().Draw(t, "key"))), value))
			}
			return "{" + strings.Join(members, ", ") + "}"
		}),
	)
}

func quoted(text string) string {
	q, err := json.Marshal(text)
	if err != nil {
		panic(err) // a text has no error
	}
	return string(q)
}

func canonicalJSON(t *rapid.T, text string) string {
	c, err := canonical.JSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return string(c)
}

// BenchmarkCompile and BenchmarkArguments are what a Run pays.
func BenchmarkCompile(b *testing.B) {
	var steps []v1alpha1.WorkflowStep
	for i := range 32 {
		steps = append(steps, v1alpha1.WorkflowStep{ID: v1alpha1.StepID(fmt.Sprintf("s%d", i)), ArgumentsExpression: `{"id": inputJSON.id, "q": input}`})
	}
	for b.Loop() {
		if _, err := workflow.Compile(steps); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkArguments(b *testing.B) {
	w := compiled(b, threeSteps(`{"ids": steps.find.json.items.map(x, x.id)}`))
	found := `{"items": [` + strings.Repeat(`{"id": 1, "name": "x"}, `, 1000) + `{"id": 2}]}`
	for b.Loop() {
		if _, err := w.Arguments(context.Background(), 2, "", []string{found, ""}); err != nil {
			b.Fatal(err)
		}
	}
}
