// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// hostile are programs that want more than they may have, each with the kinds of
// error in which it may end and what the error then says.
var hostile = map[string]struct {
	source  string
	timeout time.Duration
	kinds   []Kind
	says    string
}{
	"endless loop": {
		source: "def main():\n  n = 0\n  while True:\n    n += 1\n", timeout: 500 * time.Millisecond, // long before its last step
		kinds: []Kind{Deadline}, says: "the program took longer",
	},
	"more steps than are allowed": {
		source: "def main():\n  for i in range(1000000000):\n    pass\n", timeout: 5 * time.Minute,
		kinds: []Kind{StepLimit}, says: "the program took more than 100000000 steps",
	},
	"a single step without end": {
		source: "def main():\n  n = 3\n  for _ in range(24):\n    n *= n\n  return str(n)\n", timeout: 2 * time.Second,
		kinds: []Kind{Deadline}, says: "the program took longer",
	},
	"a long string": {
		source: "def main(): return len('x' * 1000000000)",
		kinds:  []Kind{Memory}, says: "more than the 64 MiB of memory",
	},
	"a longer string than Starlark makes": {
		source: "def main(): return len('x' * (1 << 40))",
		kinds:  []Kind{Runtime}, says: "repeat count 1099511627776 too large",
	},
	"a long list": {
		source: "def main(): return len([0] * 100000000)",
		kinds:  []Kind{Memory}, says: "more than the 64 MiB of memory",
	},
	"a list of a long range": {
		source: "def main(): return len(list(range(1000000000)))",
		kinds:  []Kind{Memory}, says: "more than the 64 MiB of memory",
	},
	"a string that doubles": {
		source: "def main():\n  s = 'x'\n  while True:\n    s += s\n",
		kinds:  []Kind{Memory}, says: "more than the 64 MiB of memory",
	},
	"a list that doubles": {
		source: "def main():\n  l = [1]\n  while True:\n    l = l + l\n",
		kinds:  []Kind{Memory}, says: "more than the 64 MiB of memory",
	},
	"a list that grows": {
		source: "def main():\n  l = []\n  while True:\n    l.append({'n': len(l)})\n",
		kinds:  []Kind{Memory}, says: "more than the 64 MiB of memory",
	},
	"integers that double": {
		source: "def main():\n  n = 3\n  while True:\n    n *= n\n", timeout: 3 * time.Second,
		kinds: []Kind{Memory, Deadline}, says: "the program",
	},
	"a shift of an integer": {
		source: "def main(): return 1 << 1000000000",
		kinds:  []Kind{Runtime}, says: "shift count too large",
	},
	"deep recursion": {
		source: "def f(n): return f(n + 1)\ndef main(): return f(0)\n",
		kinds:  []Kind{Runtime}, says: "function f called recursively",
	},
	"recursion through a value": {
		source: "def f(g): return g(g)\ndef main(): return f(f)\n",
		kinds:  []Kind{Runtime}, says: "function f called recursively",
	},
	"deep nesting, returned": {
		source: "def main():\n  l = []\n  for _ in range(100000):\n    l = [l]\n  return l\n",
		kinds:  []Kind{BadResult}, says: "nested in more than 100 others, or in itself",
	},
	"deep nesting, printed": {
		source: "def main():\n  l = []\n  for _ in range(60000):\n    l = [l]\n  print(l)\n", timeout: 5 * time.Second,
		kinds: []Kind{Memory, Deadline}, says: "the program",
	},
	"deep nesting, decoded": {
		source: "def main(): return json.decode('[' * 5000000)",
		kinds:  []Kind{Memory}, says: "nested too deeply",
	},
	"deep nesting, in the source": {
		source: "def main(): return " + strings.Repeat("(", 60000),
		kinds:  []Kind{Syntax}, says: "excessive nesting",
	},
	"a value that holds itself": {
		source: "def main():\n  l = []\n  l.append(l)\n  return l\n",
		kinds:  []Kind{BadResult}, says: "or in itself",
	},
	"a small value that is large in JSON": {
		source: "def main():\n  l = ['x']\n  for _ in range(60):\n    l = [l, l]\n  return l\n",
		kinds:  []Kind{ResultTooLarge}, says: "more than 131072 bytes",
	},
	"a small value that is large as text": {
		source: "def main():\n  l = ['x']\n  for _ in range(60):\n    l = [l, l]\n  print(l)\n", timeout: 10 * time.Second,
		kinds: []Kind{Memory, Deadline}, says: "the program",
	},
	"a huge result": {
		source: "def main(): return 'x' * 1000000",
		kinds:  []Kind{ResultTooLarge}, says: "more than 131072 bytes",
	},
	"an endless result": {
		source: "def main(): return range(1000000000)",
		kinds:  []Kind{ResultTooLarge}, says: "more than 131072 bytes",
	},
	"a huge message": {
		source: "def main(): fail('x' * 10000000)",
		kinds:  []Kind{Runtime}, says: "fail: xxx",
	},
	"a huge output": {
		source: "def main():\n  for _ in range(100000):\n    print('x' * 1000)\n  return None + 1\n",
		kinds:  []Kind{Runtime}, says: "unknown binary op: NoneType + int",
	},
	"a file": {
		source: "def main(): return open('/etc/passwd').read()",
		kinds:  []Kind{Syntax}, says: "undefined: open",
	},
	"another program": {
		source: "load('/etc/passwd', 'root')\ndef main(): return root\n",
		kinds:  []Kind{Syntax}, says: "load is not available",
	},
	"the clock": {
		source: "def main(): return time.now()",
		kinds:  []Kind{Runtime}, says: "module has no .now field or method",
	},
	"a file of the system's time zones": {
		source: "def main(): return time.time(year=2030, location='../../../etc/passwd')",
		kinds:  []Kind{Runtime}, says: "time",
	},
}

// Issue 5: a hostile program is contained, the operator's memory is unmoved, and
// the error is clear.
func TestHostilePrograms(t *testing.T) {
	runner := newTestRunner(t, "sandbox", nil)
	for name, test := range hostile {
		t.Run(name, func(t *testing.T) {
			if test.timeout == 0 {
				test.timeout = time.Minute
			}
			if underRace { // a program takes many times as long
				test.timeout = min(test.timeout, 3*time.Second)
			}
			ctx, cancel := context.WithTimeout(t.Context(), test.timeout)
			defer cancel()
			unmoved := watchMemory(t)
			result, err := runner.Run(ctx, Program{Source: test.source}, nil)
			unmoved()
			failure, ok := errors.AsType[*Error](err)
			if !ok {
				t.Fatalf("the result is %.100s, the error %v", result.Value, err)
			}
			if underRace && (slices.Contains(test.kinds, Memory) || failure.Kind == Deadline) {
				return // it ended, in the race detector's words, or because of its slowness
			}
			if !slices.Contains(test.kinds, failure.Kind) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%s: %.300s\nwant %v, and that it says %q", failure.Kind, err, test.kinds, test.says)
			}
			if len(err.Error()) > maxDetail+maxBacktrace+64 || len(result.Output) > MaxOutput {
				t.Errorf("%d bytes of error, %d of output", len(err.Error()), len(result.Output))
			}
		})
	}
}
