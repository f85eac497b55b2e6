// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"remit.dev/remit/internal/sandbox/language"
)

// interpret runs a program in this process, without calls of tools.
func interpret(source, arguments string) fromChild {
	i := newInterpreter(startMessage{Steps: 1_000_000}, nil)
	return i.run(programMessage{Source: source, Arguments: json.RawMessage(arguments)})
}

func TestValues(t *testing.T) {
	tests := map[string]struct{ source, arguments, want string }{
		"A3 arguments by name":           {"def main(city, days=3): return [city, days]", `{"city":"Bern"}`, `["Bern",3]`},
		"A3 all arguments":               {"def main(**all): return all", `{"b":1,"a":{"c":[]}}`, `{"b":1,"a":{"c":[]}}`},
		"nothing":                        {"def main(): pass", `{}`, `null`},
		"the basic types":                {"def main(): return [None, True, False, 1, 2.5, 'x']", `{}`, `[null,true,false,1,2.5,"x"]`},
		"integers beyond 2^53":           {"def main(n): return [n, n + 1, -n]", `{"n":9007199254740993}`, `[9007199254740993,9007199254740994,-9007199254740993]`},
		"integers beyond 64 bits":        {"def main(n): return n * n", `{"n":18446744073709551616}`, `340282366920938463463374607431768211456`},
		"floats stay floats":             {"def main(x): return [x, 1e100, -0.0, 0.1 + 0.2]", `{"x":1.0}`, `[1.0,1e+100,-0.0,0.30000000000000004]`},
		"text is not escaped needlessly": {"def main(): return '<&>é\\n\"\\u2028'", `{}`, `"<&>é\n\"\u2028"`},
		"half a character":               {"def main(): return 'é'[:1]", `{}`, `"\ufffd"`},
		"collections":                    {"def main(): return (set([1, 2]), range(3), {'z': 1, 'a': (2,)}, struct(b=1, a=2))", `{}`, `[[1,2],[0,1,2],{"z":1,"a":[2]},{"a":2,"b":1}]`},
		"time":                           {"def main(): return time.parse_time('2026-11-30T10:00:00+01:00') + 2 * time.hour", `{}`, `"2026-11-30T12:00:00+01:00"`},
		"json":                           {"def main(s): return json.decode(s)['a'] + [json.encode({'b': 1})]", `{"s":"{\"a\":[12345678901234567890]}"}`, `[12345678901234567890,"{\"b\":1}"]`},
		"math":                           {"def main(): return math.floor(math.sqrt(17.0))", `{}`, `4`},
		"the top level":                  {"squares = {}\nfor i in range(3):\n  squares[str(i)] = i * i\ndef main(): return squares", `{}`, `{"0":0,"1":1,"2":4}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := interpret(test.source, test.arguments)
			if got.Done == nil {
				t.Fatalf("failed: %+v", got.Failed)
			}
			if diff := cmp.Diff(test.want, string(got.Done.Value)); diff != "" {
				t.Errorf("value (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	const only = ": return only None, bool, int, float, string, list, dict and struct"
	tests := map[string]struct {
		source, arguments string
		want              failedMessage
	}{
		"the first of several errors": {
			source: "def main(): return a + b",
			want:   failedMessage{Kind: Syntax, Line: 1, Column: 20, Detail: "undefined: a"},
		},
		"where it failed, and from where that was called": {
			source: "def half(n):\n  return 1 // n\ndef main():\n  return half(0)\n",
			want: failedMessage{Kind: Runtime, Line: 2, Column: 12, Detail: "floored division by zero",
				Backtrace: "Called from:\nline 4, column 14, in main\nline 2, column 12, in half"},
		},
		"at the top level": {
			source: "n = {}['a']\ndef main(): pass",
			want:   failedMessage{Kind: Runtime, Line: 1, Column: 7, Detail: `key "a" not in dict`},
		},
		"on purpose": {
			source: "def main(): fail('no city')",
			want:   failedMessage{Kind: Runtime, Line: 1, Column: 17, Detail: "fail: no city"},
		},
		"of a method": {
			source: "def main(): return [].pop()",
			want:   failedMessage{Kind: Runtime, Line: 1, Column: 26, Detail: "pop: index -1 out of range: empty list"},
		},
		"an argument is missing": {
			source: "def main(city): pass",
			want:   failedMessage{Kind: Runtime, Line: 1, Column: 1, Detail: "function main missing 1 argument (city)"},
		},
		"an argument too many": {
			source: "def main(): pass", arguments: `{"city":"Bern"}`,
			want: failedMessage{Kind: Runtime, Line: 1, Column: 1, Detail: "function main accepts no arguments (1 given)"},
		},
		"arguments that are no object": {
			source: "def main(): pass", arguments: `[1]`,
			want: failedMessage{Kind: Runtime, Detail: "the arguments are no object but of type list"},
		},
		"main is no function any more": {
			source: "def main(): pass\nmain = 1",
			want:   failedMessage{Kind: Runtime, Detail: "invalid call of non-function (int)"},
		},
		"a function as the result": {
			source: "def main(): return {'a': [1, len]}",
			want: failedMessage{Kind: BadResult,
				Detail: "main returned what has no form in JSON: .a[1]: a value of type builtin_function_or_method has no form in JSON" + only},
		},
		"a key that is no string": {
			source: "def main(): return [{1: 2}]",
			want: failedMessage{Kind: BadResult,
				Detail: "main returned what has no form in JSON: [0]: a key is of type int, and JSON has only strings as keys" + only},
		},
		"a float without JSON": {
			source: "def main(): return float('inf')",
			want: failedMessage{Kind: BadResult,
				Detail: "main returned what has no form in JSON: +Inf is a float that has no form in JSON" + only},
		},
		"too many steps": {
			source: "def main():\n  n = 0\n  while True:\n    n += 1\n",
			want: failedMessage{Kind: StepLimit, Line: 4, Column: 7,
				Detail: "the program took more than 1000000 steps: let it do less, or split the work"},
		},
		"N16 what was printed before": {
			source: "def main():\n  print('one', 2)\n  print('é'[:1])\n  fail('then')",
			want:   failedMessage{Kind: Runtime, Line: 4, Column: 7, Detail: "fail: then", printed: printed{Output: "one 2\n?\n"}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.arguments == "" {
				test.arguments = "{}"
			}
			got := interpret(test.source, test.arguments)
			if got.Failed == nil {
				t.Fatalf("done: %s", got.Done.Value)
			}
			if diff := cmp.Diff(test.want, *got.Failed, cmp.AllowUnexported(failedMessage{})); diff != "" {
				t.Errorf("failure (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOutputIsBounded(t *testing.T) {
	got := interpret("def main():\n  print('a' * 10000)\n  print('é' * 10000)\n  print('b')", "{}")
	if got.Done == nil {
		t.Fatal(got.Failed)
	}
	want := strings.Repeat("a", 10000) + "\n" + strings.Repeat("é", (MaxOutput-10001)/2)
	if (MaxOutput-10001)%2 == 1 {
		want += "?" // half a character
	}
	if diff := cmp.Diff(printed{want, true}, got.Done.printed); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

// What publication lets through is there when the program runs, and nothing else.
func TestPredeclared(t *testing.T) {
	i := newInterpreter(startMessage{}, func(callMessage) (answerMessage, error) { return answerMessage{}, nil })
	want := slices.Sorted(slices.Values(slices.Concat(language.Modules, language.Calls)))
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(i.predeclared()))); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

// jsonText draws JSON whose numbers are integers of any size.
func jsonText(t *rapid.T, depth int) string {
	kinds := []string{"null", "bool", "integer", "string"}
	if depth > 0 {
		kinds = append(kinds, "array", "object")
	}
	members := func(member func() string) string {
		var all []string
		for range rapid.IntRange(0, 4).Draw(t, "length") {
			all = append(all, member())
		}
		return strings.Join(all, ",")
	}
	text := func() string {
		encoded, err := json.Marshal(rapid.String().Draw(t, "text"))
		if err != nil {
			t.Fatal(err)
		}
		return string(encoded)
	}
	switch rapid.SampledFrom(kinds).Draw(t, "kind") {
	case "bool":
		return fmt.Sprint(rapid.Bool().Draw(t, "bool"))
	case "integer":
		return rapid.StringMatching(`0|-?[1-9][0-9]{0,40}`).Draw(t, "integer")
	case "string":
		return text()
	case "array":
		return "[" + members(func() string { return jsonText(t, depth-1) }) + "]"
	case "object":
		return "{" + members(func() string { return text() + ":" + jsonText(t, depth-1) }) + "}"
	}
	return "null"
}

// decoded is JSON as values that can be compared, integers as they are written.
func decoded(t *rapid.T, text string) any {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return value
}

// Whatever main is given it can give back, and nothing is lost on the way.
func TestValuesSurvive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := jsonText(t, 4)
		got := interpret("def main(x): return x", `{"x":`+text+`}`)
		if got.Done == nil {
			// A key that comes twice is an error in Starlark, as it should be.
			if strings.Contains(got.Failed.Detail, "duplicate") {
				return
			}
			t.Fatalf("%s for %s", got.Failed.Detail, text)
		}
		if diff := cmp.Diff(decoded(t, text), decoded(t, string(got.Done.Value))); diff != "" {
			t.Errorf("value (-want +got):\n%s", diff)
		}
	})
}
