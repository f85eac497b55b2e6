// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/engine"
)

// noTools answers no call.
func noTools(context.Context, string, json.RawMessage) engine.Outcome {
	return engine.Outcome{Error: v1alpha1.ErrorUnknownTool, Content: "There is no such tool."}
}

func TestRun(t *testing.T) {
	runner := newTestRunner(t, "sandbox", nil)
	tests := map[string]struct {
		program Program
		want    Result
	}{
		"A3 arguments": {
			program: Program{Source: "def main(a, b=2):\n  print(a)\n  return a + b\n", Arguments: json.RawMessage(`{"a":1}`)},
			want:    Result{Value: json.RawMessage("3"), Output: "1\n"},
		},
		"no arguments": {
			program: Program{Source: "def main(): return []"},
			want:    Result{Value: json.RawMessage("[]")},
		},
		"A3 nothing of one program is there for the next": {
			program: Program{Source: "seen = []\nseen.append(1)\ndef main(): return len(seen)\n"},
			want:    Result{Value: json.RawMessage("1")},
		},
		"a time without a zone is in UTC": {
			program: Program{Source: "def main(): return time.from_timestamp(0)"},
			want:    Result{Value: json.RawMessage(`"1970-01-01T00:00:00Z"`)},
		},
		"as much memory as it may have": {
			program: Program{Source: "def main():\n  n = 0\n  for i in range(64):\n    n += len('x' * (8 << 20))\n  return n\n"},
			want:    Result{Value: json.RawMessage("536870912")},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if underRace && strings.Contains(name, "memory") {
				t.Skip("the race detector takes more")
			}
			for range 2 {
				got, err := runner.Run(t.Context(), test.program, nil)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("result (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// made is one call as the tools saw it.
type made struct{ Tool, Arguments string }

func TestCalls(t *testing.T) {
	runner := newTestRunner(t, "sandbox", nil)
	tests := map[string]struct {
		source  string
		answers []engine.Outcome
		calls   []made
		want    string // the value, or the error
	}{
		"arguments by name, among them name": {
			source:  "def main(): return call('get_pod', name='a', all=True, ids=[1 << 60])",
			answers: []engine.Outcome{{Content: "running"}},
			calls:   []made{{"get_pod", `{"name":"a","all":true,"ids":[1152921504606846976]}`}},
			want:    `"running"`,
		},
		"arguments in a dict": {
			source:  "def main(): return json.decode(call('shop__find', {'order-id': 7}))['state']",
			answers: []engine.Outcome{{Content: `{"state":"paid"}`}},
			calls:   []made{{"shop__find", `{"order-id":7}`}},
			want:    `"paid"`,
		},
		"several, one after the other": {
			source:  "def main(): return [call('t', n=n) for n in range(3)]",
			answers: []engine.Outcome{{Content: "a"}, {Content: "b"}, {Content: "<c>"}},
			calls:   []made{{"t", `{"n":0}`}, {"t", `{"n":1}`}, {"t", `{"n":2}`}},
			want:    `["a","b","<c>"]`,
		},
		"H39 a call that fails ends the program": {
			source: "def main():\n  call('refund', id=1)\n  return call('mail')\n",
			answers: []engine.Outcome{{Error: "approval_required_in_program",
				Content: "A person must approve this call. Call refund directly, not from a program."}},
			calls: []made{{"refund", `{"id":1}`}},
			want: "line 2, column 7: the call of tool refund failed: approval_required_in_program: " +
				"A person must approve this call. Call refund directly, not from a program.",
		},
		"H39 a program that looks at failures": {
			source: "def main():\n  a = try_call('refund')\n  b = try_call('mail')\n  return [a.ok, a.error, a.content, b.ok, b.error, b.content]\n",
			answers: []engine.Outcome{
				{Error: "approval_required_in_program", Content: "Call refund directly."}, {Content: "sent"},
			},
			calls: []made{{"refund", `{}`}, {"mail", `{}`}},
			want:  `[false,"approval_required_in_program","Call refund directly.",true,"","sent"]`,
		},
		"a tool without a name": {
			source: "def main(): return call(tool='t')",
			want:   "line 1, column 24: call: give the name of a tool first, then its arguments by name, or all of them in one dict",
		},
		"a name that is no string": {
			source: "def main(): return call(1)",
			want:   "line 1, column 24: call: the name of a tool is a string of 1 to 128 bytes",
		},
		"arguments in both ways": {
			source: "def main(): return try_call('t', {'a': 1}, b=2)",
			want:   "line 1, column 28: try_call: give the arguments either by name or all of them in one dict",
		},
		"an argument without JSON": {
			source: "def main(): return call('t', a=[len])",
			want:   "line 1, column 24: call: the arguments for tool t: .a[0]: a value of type builtin_function_or_method has no form in JSON",
		},
		"large arguments": {
			source: "def main(): return call('t', a='x' * 65536)",
			want:   "line 1, column 24: call: the arguments for tool t are more than 65536 bytes of JSON",
		},
		"a large result": {
			source:  "def main():\n  r = try_call('t')\n  return [r.ok, r.error, r.content]\n",
			answers: []engine.Outcome{{Content: strings.Repeat("x", MaxContent+1)}},
			calls:   []made{{"t", `{}`}},
			want:    `[false,"bad_result","the call was made, and its result has 1048577 bytes: a program is given 1048576 at most"]`,
		},
		"the largest result": {
			source:  "def main(): return len(call('t'))",
			answers: []engine.Outcome{{Content: strings.Repeat("<", MaxContent)}},
			calls:   []made{{"t", `{}`}},
			want:    "1048576",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var calls []made
			result, err := runner.Run(t.Context(), Program{Source: test.source},
				func(_ context.Context, tool string, arguments json.RawMessage) engine.Outcome {
					calls = append(calls, made{tool, string(arguments)})
					return test.answers[len(calls)-1]
				})
			got := string(result.Value)
			if err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.calls, calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if result.Calls != len(calls) {
				t.Errorf("%d calls are counted, and %d were made", result.Calls, len(calls))
			}
		})
	}
}

func TestCallsAreBounded(t *testing.T) {
	result, err := newTestRunner(t, "sandbox", nil).Run(t.Context(),
		Program{Source: "def main():\n  for _ in range(100):\n    try_call('t')\n"}, noTools)
	checkKind(t, err, CallLimit, "line 3, column 13: the program called more than 64 tools")
	if result.Calls != MaxCalls {
		t.Errorf("%d calls, want %d", result.Calls, MaxCalls)
	}
}

// Without tools the names are not even defined.
func TestCodeToolsCallNothing(t *testing.T) {
	_, err := newTestRunner(t, "sandbox", nil).Run(t.Context(), Program{Source: "def main(): return call('t')"}, nil)
	checkKind(t, err, Syntax, "call is not available")
}

// A program that calls a code tool waits for it, whatever else waits.
func TestCallersLeaveRoomForCodeTools(t *testing.T) {
	runner := newTestRunner(t, "sandbox", func(o *Options) { o.Children = 1 })
	result, err := runner.Run(t.Context(), Program{Source: "def main(): return int(call('double', n=21))"},
		func(ctx context.Context, _ string, arguments json.RawMessage) engine.Outcome {
			inner, err := runner.Run(ctx, Program{Source: "def main(n): return 2 * n", Arguments: arguments}, nil)
			if err != nil {
				t.Error(err)
			}
			return engine.Outcome{Content: string(inner.Value)}
		})
	if err != nil || string(result.Value) != "42" {
		t.Errorf("%s, %v: want 42", result.Value, err)
	}
}

func TestPlacesAreBounded(t *testing.T) {
	runner := newTestRunner(t, "sandbox", func(o *Options) { o.Children = 2 })
	taken, free := make(chan struct{}), make(chan struct{})
	var running sync.WaitGroup
	for range 2 {
		running.Go(func() {
			_, err := runner.Run(t.Context(), Program{Source: "def main(): call('wait')"},
				func(context.Context, string, json.RawMessage) engine.Outcome {
					taken <- struct{}{}
					<-free
					return engine.Outcome{}
				})
			if err != nil {
				t.Error(err)
			}
		})
	}
	<-taken
	<-taken
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err := runner.Run(ctx, Program{Source: "def main(): pass"}, noTools)
	checkKind(t, err, Unavailable, "all 2 places of the sandbox were taken")
	close(free)
	running.Wait()
	if _, err := runner.Run(t.Context(), Program{Source: "def main(): pass"}, noTools); err != nil {
		t.Error(err)
	}
}

func TestCallerGivesUp(t *testing.T) {
	runner := newTestRunner(t, "sandbox", nil)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := runner.Run(ctx, Program{Source: "def main():\n  call('wait')\n  while True: pass\n"},
		func(inner context.Context, _ string, _ json.RawMessage) engine.Outcome {
			cancel()
			<-inner.Done()
			return engine.Outcome{}
		})
	checkKind(t, err, Canceled, "the call was given up")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v is not %v", err, context.Canceled)
	}
	_, err = runner.Run(ctx, Program{Source: "def main(): pass"}, nil)
	checkKind(t, err, Canceled, "the call was given up")
}

// A tool that panics takes its program down, and not the child's place with it.
func TestToolPanics(t *testing.T) {
	runner := newTestRunner(t, "sandbox", func(o *Options) { o.Children = 1 })
	func() {
		defer func() {
			if fault := recover(); fault != "broken" {
				t.Errorf("recovered %v", fault)
			}
		}()
		_, _ = runner.Run(t.Context(), Program{Source: "def main(): call('t')"},
			func(context.Context, string, json.RawMessage) engine.Outcome { panic("broken") })
	}()
	if _, err := runner.Run(t.Context(), Program{Source: "def main(): pass"}, noTools); err != nil {
		t.Error(err)
	}
}

func TestProbe(t *testing.T) {
	missing, err := newTestRunner(t, "sandbox", nil).Probe(t.Context())
	if err != nil || len(missing) > 0 {
		t.Errorf("missing %v, error %v", missing, err)
	}
	_, err = newTestRunner(t, "dies", nil).Probe(t.Context())
	checkKind(t, err, Unavailable, "the sandbox cannot run programs: the sandbox broke down: exit status 1: I cannot")
}

func TestOptions(t *testing.T) {
	tests := map[string]struct {
		options Options
		want    string
	}{
		"no command":      {Options{}, "the sandbox has no command to start its children with"},
		"little memory":   {Options{Command: []string{"x"}, Memory: 1 << 20}, "the sandbox needs 1 child or more, each with 16777216 bytes or more: 4 children with 1048576 bytes are asked for"},
		"negative places": {Options{Command: []string{"x"}, Children: -1}, "the sandbox needs 1 child or more, each with 16777216 bytes or more: -1 children with 67108864 bytes are asked for"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := NewRunner(test.options); err == nil || err.Error() != test.want {
				t.Errorf("%v, want %s", err, test.want)
			}
		})
	}
}

func TestLeastMemory(t *testing.T) {
	if underRace {
		t.Skip("the race detector takes more")
	}
	runner := newTestRunner(t, "sandbox", func(o *Options) { o.Memory = MinMemory })
	if _, err := runner.Run(t.Context(), Program{Source: "def main(): return [str(n) for n in range(10000)]"}, nil); err != nil {
		t.Error(err)
	}
}

func TestArgumentsAreBounded(t *testing.T) {
	arguments := fmt.Sprintf(`{"a":"%s"}`, strings.Repeat("x", MaxArguments))
	_, err := newTestRunner(t, "sandbox", nil).Run(t.Context(), Program{Source: "def main(a): pass", Arguments: json.RawMessage(arguments)}, nil)
	checkKind(t, err, Runtime, "the arguments have 65544 bytes, more than 65536")
}

func checkKind(t *testing.T, err error, kind Kind, says string) {
	t.Helper()
	failure, ok := errors.AsType[*Error](err)
	if !ok || failure.Kind != kind || !strings.Contains(err.Error(), says) {
		t.Errorf("the error is %v, want one of kind %s that says %q", err, kind, says)
	}
}
