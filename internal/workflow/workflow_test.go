// SPDX-License-Identifier: Apache-2.0

package workflow_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"pgregory.net/rapid"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/canonical"
	"remit.dev/remit/internal/workflow"
)

func raw(text string) *apiextensionsv1.JSON { return &apiextensionsv1.JSON{Raw: []byte(text)} }

// threeSteps are two steps and one with an expression that may refer to them.
func threeSteps(expression string) []v1alpha1.WorkflowStep {
	return []v1alpha1.WorkflowStep{
		{ID: "find", Tool: "shop__find"},
		{ID: "read", Tool: "shop__read"},
		{ID: "last", Tool: "shop__last", ArgumentsExpression: expression},
	}
}

func compiled(t testing.TB, steps []v1alpha1.WorkflowStep) *workflow.Workflow {
	t.Helper()
	w, err := workflow.Compile(steps)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// Issue 5, 8: arguments come from the input and from earlier results.
func TestArguments(t *testing.T) {
	const input = `{"order": "A-1", "cents": 9007199254740993, "rate": 1.50}`
	results := []string{`[{"id": "A-1", "lines": [1, 2, 3]}, null]`, "order A-17 is not JSON"}
	for name, test := range map[string]struct{ expression, want string }{
		"the input":                     {`{"q": input}`, `{"q":"{\"order\": \"A-1\", \"cents\": 9007199254740993, \"rate\": 1.50}"}`},
		"the input as JSON":             {`inputJSON`, `{"cents":9007199254740993,"order":"A-1","rate":1.5}`},
		"an integer beyond a float's":   {`{"n": inputJSON.cents + 1}`, `{"n":9007199254740994}`},
		"the ends of the integers":      {`{"n": [9223372036854775807, -9223372036854775808]}`, `{"n":[9223372036854775807,-9223372036854775808]}`},
		"an unsigned integer":           {`{"n": 7u}`, `{"n":7}`},
		"a float":                       {`{"n": inputJSON.rate * 2.0}`, `{"n":3}`},
		"values of several types":       {`{"a": 1, "b": "x", "c": [1, "x", null, true], "d": {}}`, `{"a":1,"b":"x","c":[1,"x",null,true],"d":{}}`},
		"a result as text":              {`{"q": steps.read.text}`, `{"q":"order A-17 is not JSON"}`},
		"a result as JSON":              {`{"id": steps.find.json[0].id}`, `{"id":"A-1"}`},
		"a result that is no JSON":      {`{"q": steps.read.json}`, `{"q":null}`},
		"whether a result is JSON":      {`steps.read.json == null ? {"q": "none"} : {"q": "some"}`, `{"q":"none"}`},
		"what is not there":             {`{"q": has(inputJSON.limit) ? inputJSON.limit : 5}`, `{"q":5}`},
		"what may not be there":         {`{"id": inputJSON.order, ?"limit": inputJSON.?limit, ?"cents": inputJSON.?cents}`, `{"cents":9007199254740993,"id":"A-1"}`},
		"a macro":                       {`{"l": steps.find.json[0].lines.filter(x, x > 1).map(x, x * 10)}`, `{"l":[20,30]}`},
		"a macro of two variables":      {`{"a": 1, "b": 2}.transformMap(k, v, v > 1, v + 1)`, `{"b":3}`},
		"a name for a value":            {`cel.bind(id, inputJSON.order, {"a": id, "b": id})`, `{"a":"A-1","b":"A-1"}`},
		"a regular expression":          {`{"id": steps.read.text.find("[A-Z]-[0-9]+"), "is": steps.read.text.matches("^order")}`, `{"id":"A-17","is":true}`},
		"texts":                         {`{"a": "a-b".replace("-", "+"), "b": ["a", "b"].join(","), "c": "%s/%.2f".format(["x", 1.5]), "d": " x ".trim(), "e": "xyx".lastIndexOf("x")}`, `{"a":"a+b","b":"a,b","c":"x/1.50","d":"x","e":2}`},
		"operators":                     {`{"a": [1] + [2], "b": [1] in [[1]], "c": "x" in {"x": 1}, "d": [1] != [2], "e": "a" + "b", "f": size("äb"), "g": inputJSON.rate == 1.5, "h": dyn(1) == 1.0}`, `{"a":[1,2],"b":true,"c":true,"d":true,"e":"ab","f":2,"g":true,"h":true}`},
		"bytes as text":                 {`{"b": base64.encode(b"\xff")}`, `{"b":"/w=="}`},
		"a time as text":                {`{"t": string(timestamp("2020-01-01T00:00:00Z"))}`, `{"t":"2020-01-01T00:00:00Z"}`},
		"nothing":                       {`{}`, `{}`},
		"the steps themselves":          {`dyn(steps)`, `{"find":{"json":[{"id":"A-1","lines":[1,2,3]},null],"text":"[{\"id\": \"A-1\", \"lines\": [1, 2, 3]}, null]"},"read":{"json":null,"text":"order A-17 is not JSON"}}`},
		"what is beyond HTML and ASCII": {`{"<ä>": "&\u2028\u0000"}`, `{"<ä>":"&` + "\u2028" + `\u0000"}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := compiled(t, threeSteps(test.expression)).Arguments(t.Context(), 2, input, results)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestStaticArguments(t *testing.T) {
	w := compiled(t, []v1alpha1.WorkflowStep{
		{ID: "a", Tool: "x", Arguments: raw(`{"b": 1.0, "a": 9007199254740993}`)},
		{ID: "b", Tool: "x"},
	})
	for i, want := range []string{`{"a":9007199254740993,"b":1}`, `{}`} {
		got, err := w.Arguments(t.Context(), i, "x", nil)
		if err != nil || string(got) != want {
			t.Errorf("step %d: %s, %v; want %s", i, got, err, want)
		}
		got[0] = 'x' // they are the caller's
		if again, _ := w.Arguments(t.Context(), i, "x", nil); string(again) != want {
			t.Errorf("step %d, again: %s", i, again)
		}
	}
}

// Everything that is wrong is said at once, with its step and field.
func TestCompileRefuses(t *testing.T) {
	_, err := workflow.Compile([]v1alpha1.WorkflowStep{
		{ID: "a", ArgumentsExpression: `{"x": steps.b.text}`},
		{ID: "b", ArgumentsExpression: `{"x": steps.a.txt, "y": steps.b.text}`},
		{ID: "in"},
		{ID: "c", Arguments: raw(`[]`)},
		{ID: "d", Arguments: raw(`{"a":1,"a":2}`)},
		{ID: "e", Arguments: raw(`{"a":"` + strings.Repeat("x", workflow.MaxArgumentsBytes) + `"}`)},
		{ID: "f", ArgumentsExpression: `{"x": steps.a.text, "y": steps.e.json.z}`}, // nothing is wrong
		{ID: "g", ArgumentsExpression: "{\n  'x': user}"},
		{ID: "h", ArgumentsExpression: `input`},
		{ID: "i", ArgumentsExpression: `{1: 2}`},
		{ID: "j", ArgumentsExpression: `[1]`},
		{ID: "k", ArgumentsExpression: `{`},
		{ID: "l", ArgumentsExpression: `{"x": google.protobuf.ListValue{}}`},
		{ID: "m", ArgumentsExpression: `{"x": [1].map(x, __result__)}`},
		{ID: "n", ArgumentsExpression: `{"x": ` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`},
		{ID: "o", ArgumentsExpression: `{"x": optional.of(1)` + strings.Repeat(".optMap(x, x)", 20) + `}`},
		{ID: "p", ArgumentsExpression: `{"x": "%.1000000000f".format([1.0])}`},
		{ID: "q", ArgumentsExpression: `{"x": input.matches("(")}`},
		{ID: "r", ArgumentsExpression: `{"x": input + 1}`},
	})
	want := []struct{ step, field, says string }{
		{"a", "argumentsExpression", "1:12: undefined field 'b'"},
		{"b", "argumentsExpression", "1:14: undefined field 'txt'; 1:30: undefined field 'b'; the steps before this one are [a], and each has text and json"},
		{"in", "id", "in is a word of CEL"},
		{"c", "arguments", "must be a JSON object"},
		{"d", "arguments", "duplicate"},
		{"e", "arguments", "larger than 65536 bytes"},
		{"g", "argumentsExpression", "2:8: undeclared reference to 'user'"},
		{"h", "argumentsExpression", "it gives string, and must give a map with text keys"},
		{"i", "argumentsExpression", "it gives map(int, int)"},
		{"j", "argumentsExpression", "it gives list(int)"},
		{"k", "argumentsExpression", "1:2: Syntax error"},
		{"l", "argumentsExpression", "it makes a google.protobuf.ListValue"},
		{"m", "argumentsExpression", "undeclared reference to '__result__'"},
		{"n", "argumentsExpression", "lists, maps and macros are 41 within each other, and the limit is 32"},
		{"o", "argumentsExpression", "undeclared reference to 'x'"},
		{"p", "argumentsExpression", "precision 1000000000 exceeds maximum allowed precision 100"},
		{"q", "argumentsExpression", "invalid matches argument"},
		{"r", "argumentsExpression", "found no matching overload for '_+_' applied to '(string, int)'"},
	}
	found, ok := errors.AsType[workflow.Errors](err)
	if !ok || len(found) != len(want) {
		t.Fatalf("%d errors of %d: %v", len(found), len(want), err)
	}
	for i, one := range found {
		if string(one.ID) != want[i].step || one.Field != want[i].field || !strings.Contains(one.Detail, want[i].says) {
			t.Errorf("%d: got %v, want %v", i, one, want[i])
		}
		if strings.ContainsAny(one.Detail, "\n\x00") || len(one.Detail) > 1024 {
			t.Errorf("%d: %q would not fit a condition", i, one.Detail)
		}
		if !strings.Contains(err.Error(), one.Error()) {
			t.Errorf("%v is left out of %v", one, err)
		}
	}
	if _, ok := errors.AsType[*canonical.Error](found[4]); !ok {
		t.Errorf("%v hides what is behind it", found[4])
	}
}

// An expression that fails says where, and why.
func TestArgumentsRefuses(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 63) + "1" + strings.Repeat("}", 63)
	for name, test := range map[string]struct{ expression, says string }{
		"no map":                   {`steps.find.json`, "it gives list, and must give a map"},
		"no value":                 {`inputJSON`, "it gives null_type, and must give a map"},
		"a key that is not there":  {`{"x": steps.find.json[0].y}`, "no such key: y"},
		"a key that is no text":    {`{dyn(1): 1}`, "a key of a map is no text"},
		"bytes":                    {`{"x": [1, b"x"]}`, "at x.1: a value of type bytes has no form in JSON"},
		"a time":                   {`{"x": timestamp("2020-01-01T00:00:00Z")}`, "at x: a value of type google.protobuf.Timestamp"},
		"a duration":               {`{"x": duration("1h")}`, "at x: a value of type google.protobuf.Duration"},
		"a type":                   {`{"x": type(1)}`, "at x: a value of type type"},
		"an optional value":        {`{"x": optional.of(1)}`, "at x: a value of type optional_type"},
		"NaN":                      {`{"x": 0.0 / 0.0}`, "at x: NaN is no number of JSON"},
		"infinity":                 {`{"x": -1e300 * 1e300}`, "at x: -Inf is no number of JSON"},
		"beyond the integers":      {`{"x": 18446744073709551615u}`, "at x: 18446744073709551615 is beyond 64 bits with a sign"},
		"overflow":                 {`{"x": 9223372036854775807 + 1}`, "overflow"},
		"the first of two":         {`{"b": b"x", "a": 0.0 / 0.0}`, "at a: NaN"},
		"too deep":                 {`{"x": {"y": steps.read.json}}`, "nested more than 64 deep"},
		"too large":                {`{"x": input + input + input + input}`, "the arguments are larger than 65536 bytes"},
		"too many":                 {`{"x": input.split("")}`, "the arguments are larger than 65536 bytes"},
		"an operand of wrong type": {`{"x": dyn({}) + dyn(1)}`, "no such overload"},
		"a receiver of wrong type": {`{"x": dyn(1).replace("x", "y")}`, "no such overload"},
	} {
		t.Run(name, func(t *testing.T) {
			w := compiled(t, threeSteps(test.expression))
			_, err := w.Arguments(t.Context(), 2, strings.Repeat("x", 40_000), []string{`[{"x": 1}]`, deep})
			wrong, ok := errors.AsType[*workflow.StepError](err)
			if !ok || wrong.Index != 2 || wrong.ID != "last" || wrong.Field != "argumentsExpression" || !strings.Contains(wrong.Detail, test.says) {
				t.Errorf("got %v, want %q", err, test.says)
			}
		})
	}
}

func TestArgumentsOfAStepThatCannotBe(t *testing.T) {
	w := compiled(t, threeSteps(`{"x": steps.read.text}`))
	for name, test := range map[string]struct {
		index   int
		results []string
	}{
		"before the first":   {-1, nil},
		"after the last":     {3, []string{"", "", ""}},
		"without its result": {2, []string{""}},
	} {
		_, err := w.Arguments(t.Context(), test.index, "", test.results)
		if _, ok := errors.AsType[*workflow.StepError](err); !ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, err := w.Arguments(t.Context(), 2, "", []string{"a", "b", "c"}); err != nil || string(got) != `{"x":"b"}` {
		t.Errorf("with a later result: %s, %v", got, err)
	}
}

// The texts of errors go to a model and into a condition.
func TestErrorsAreOneShortLine(t *testing.T) {
	w := compiled(t, threeSteps(`{"x": int(steps.find.text)}`))
	_, err := w.Arguments(t.Context(), 2, "", []string{strings.Repeat("\x1b[2J\n\xff", 100_000), ""})
	wrong, ok := errors.AsType[*workflow.StepError](err)
	if !ok || len(wrong.Detail) > 1024 || strings.ContainsAny(wrong.Detail, "\x1b\n") || !utf8.ValidString(wrong.Detail) {
		t.Errorf("got %q", err)
	}
}

func TestInterrupt(t *testing.T) {
	w := compiled(t, threeSteps(`{"x": steps.find.json.all(a, steps.find.json.all(b, a == b))}`))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := w.Arguments(ctx, 2, "", []string{"[" + strings.Repeat("0,", 1000) + "0]", ""})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// Whatever a result is, an expression that hands it on gives its canonical form.
func TestJSONIsHandedOn(t *testing.T) {
	w := compiled(t, threeSteps(`{"input": inputJSON, "found": steps.find.json, "text": steps.read.text}`))
	value := rapid.Deferred(func() *rapid.Generator[string] { return drawJSON(4) })
	rapid.Check(t, func(t *rapid.T) {
		input, found := value.Draw(t, "input"), value.Draw(t, "found")
		text := rapid.String().Draw(t, "text")
		want := canonicalJSON(t, `{"input":`+input+`,"found":`+found+`,"text":`+quoted(text)+`}`)
		got, err := w.Arguments(context.Background(), 2, input, []string{found, text})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
