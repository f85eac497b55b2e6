// SPDX-License-Identifier: Apache-2.0

package language_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit.dev/remit/internal/sandbox/language"
)

func TestErrors(t *testing.T) {
	tests := map[string]struct {
		source string
		calls  bool
		want   []string
	}{
		"the grammar": {
			source: "def main(:\n  return 1\n",
			want:   []string{"line 1, column 11: got ':', want ')'"},
		},
		"not finished": {
			source: "def main():\n",
			want:   []string{"line 2, column 1: got end of file, want indent"},
		},
		"undefined names, in their order": {
			source: "def main():\n  return b + helper(a)\n",
			want: []string{
				"line 2, column 10: undefined: b", "line 2, column 14: undefined: helper", "line 2, column 21: undefined: a",
			},
		},
		"what Python has and Starlark has not": {
			source: "import os\ndef main(): pass\n",
			want:   []string{"line 1, column 1: got import, want primary expression"},
		},
		"files and the network": {
			source: "def main():\n  open('/etc/passwd')\n  return socket\n",
			want:   []string{"line 2, column 3: undefined: open", "line 3, column 10: undefined: socket"},
		},
		"load": {
			source: "load('other.star', 'f')\ndef main(): return f()\n",
			want:   []string{"line 1, column 1: load is not available: a program is a single file"},
		},
		"no main": {
			source: "def run(): return 1\nmain = run\n",
			want:   []string{"line 1, column 1: there is no function main: define one that takes the arguments by name and returns the result"},
		},
		"a main within another function": {
			source: "def f():\n  def main(): return 1\n",
			want:   []string{"line 1, column 1: there is no function main: define one that takes the arguments by name and returns the result"},
		},
		"A3 a code tool that calls a tool": {
			source: "def main(): return call('refund')\n",
			want:   []string{"line 1, column 20: call is not available: a code tool calls no other tools, only run_code does"},
		},
		"return outside of a function": {
			source: "def main(): pass\nreturn 1\n",
			want:   []string{"line 2, column 1: return statement not within a function"},
		},
		"nested deeply": {
			source: "def main(): return " + strings.Repeat("(", 60000),
			want:   []string{"line 1, column 97: excessive nesting"},
		},
		"too long": {
			source: strings.Repeat("#", language.MaxSource+1),
			want:   []string{"line 1, column 1: the program has 262145 bytes, more than 262144: shorten it"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, errors := language.Check(test.source, test.calls)
			var got []string
			for _, err := range errors {
				got = append(got, err.Error())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

func TestErrorsAreBounded(t *testing.T) {
	var source strings.Builder
	for i := range 20000 {
		fmt.Fprintf(&source, "a%d\n", i)
	}
	if _, errors := language.Check(source.String(), false); len(errors) != 8 {
		t.Errorf("%d errors, want 8", len(errors))
	}
	_, errors := language.Check("def main(): return "+strings.Repeat("x", 10000), false)
	if want := "undefined: " + strings.Repeat("x", 64); len(errors) != 1 || errors[0].Detail != want {
		t.Errorf("%v, want one that says %s", errors, want)
	}
}

func TestMain(t *testing.T) {
	tests := map[string]struct {
		source string
		calls  bool
		want   language.Main
	}{
		"no parameters": {source: "def main(): pass"},
		"every kind of parameter": {
			source: "def main(a, b=1, *rest, c, d=2, **others): pass",
			want: language.Main{Parameters: []language.Parameter{
				{Name: "a", Required: true}, {Name: "b"}, {Name: "c", Required: true}, {Name: "d"},
			}, Rest: true},
		},
		"a bare star": {
			source: "def main(*, a): pass",
			want:   language.Main{Parameters: []language.Parameter{{Name: "a", Required: true}}},
		},
		"the last of two": {
			source: "def main(a): pass\ndef main(b): pass",
			want:   language.Main{Parameters: []language.Parameter{{Name: "b", Required: true}}},
		},
		"the dialect": {
			source: "total = 0\nfor i in range(3):\n  total += i\nseen = set([1])\ndef main():\n  while True:\n    break\n" +
				"  return json.encode(struct(a = math.pi, b = time.second))\n",
		},
		"H39 calls of tools": {source: "def main():\n  call('a')\n  return try_call('b').ok\n", calls: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, errors := language.Check(test.source, test.calls)
			if len(errors) > 0 {
				t.Fatal(errors)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("main (-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzCheck(f *testing.F) {
	for _, seed := range []string{
		"def main(a, b=1): return a\n", "load('a', 'b')", "x = \"\\", "def main():\n\treturn [x for x in y if z]\n",
		"def main(*, **k): pass", "lambda: (", "'''", "0x", "\xff", "if 1:\n  pass\n pass", "a.b[c](d)=e",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		main, errors := language.Check(source, false)
		if len(errors) > 8 || len(errors) > 0 && len(main.Parameters) > 0 {
			t.Errorf("%d errors and %d parameters", len(errors), len(main.Parameters))
		}
		for _, err := range errors {
			if err.Line < 1 || err.Column < 1 || err.Detail == "" {
				t.Errorf("an error without a place: %+v", err)
			}
		}
	})
}
