// SPDX-License-Identifier: Apache-2.0

package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/engine"
	"remit.dev/remit/internal/pipeline"
	"remit.dev/remit/internal/sandbox"
	"remit.dev/remit/internal/schema"
)

// sandboxArgument makes this binary a child of the sandbox.
const sandboxArgument = "sandbox"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == sandboxArgument {
		if err := sandbox.Serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func testSandbox(t *testing.T) *sandbox.Runner {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	runner, err := sandbox.NewRunner(sandbox.Options{Command: []string{executable, sandboxArgument}})
	if err != nil {
		t.Fatal(err)
	}
	return runner
}

func TestCodeTool(t *testing.T) {
	runner := testSandbox(t)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	tests := map[string]struct {
		ctx               context.Context
		source, arguments string
		want              engine.Outcome
	}{
		"A3 a string as it is": {
			source: "def main(city): return 'In ' + city + ': \"fine\"'", arguments: `{"city":"Bern"}`,
			want: engine.Outcome{Content: `In Bern: "fine"`},
		},
		"A3 anything else as JSON": {
			source: "def main(a, b): return {'sum': a + b}", arguments: `{"a":1,"b":9007199254740993}`,
			want: engine.Outcome{Content: `{"sum":9007199254740994}`},
		},
		"nothing": {source: "def main(): pass", arguments: `{}`, want: engine.Outcome{Content: "null"}},
		"a failure": {
			source: "def main():\n  fail('no such city')", arguments: `{}`,
			want: engine.Outcome{Error: v1alpha1.ErrorTool, Content: "The tool's program failed: line 2, column 7: fail: no such city"},
		},
		"a result that is too large": {
			source: "def main(): return 'x' * 200000", arguments: `{}`,
			want: engine.Outcome{Error: v1alpha1.ErrorBadResult,
				Content: "The tool's program failed: main returned more than 131072 bytes of JSON: return less"},
		},
		"a tool of its own": {
			source: "def main(): return call('refund')", arguments: `{}`,
			want: engine.Outcome{Error: v1alpha1.ErrorTool, Content: "The tool's program failed: line 1, column 20: " +
				"call is not available: a code tool calls no other tools, only run_code does"},
		},
		"a Run that was cancelled": {
			ctx: cancelled, source: "def main(): pass", arguments: `{}`,
			want: engine.Outcome{Error: v1alpha1.ErrorCancelled, Content: "The tool's program failed: the call was given up"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.ctx == nil {
				test.ctx = t.Context()
			}
			got := NewCodeTool(runner, test.source).Execute(test.ctx, pipeline.Invocation{Arguments: json.RawMessage(test.arguments)}).Outcome
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRunCode(t *testing.T) {
	runner := testSandbox(t)
	call := func(_ context.Context, tool string, arguments json.RawMessage) engine.Outcome {
		if tool == "refund" {
			return engine.Outcome{Error: "approval_required_in_program", Content: "Call refund directly."}
		}
		return engine.Outcome{Content: string(arguments)}
	}
	tests := map[string]struct {
		code string
		want engine.Outcome
	}{
		"N14 calls of tools": {
			code: "def main():\n  found = [json.decode(call('find', n=n))['n'] for n in range(3)]\n  return found\n",
			want: engine.Outcome{Content: "[0,1,2]"},
		},
		"output": {
			code: "def main():\n  print('one')\n  return 'two'\n",
			want: engine.Outcome{Content: "two\nPrinted:\none\n"},
		},
		"H39 a call that a person must approve": {
			code: "def main():\n  call('find')\n  call('refund')\n",
			want: engine.Outcome{Error: v1alpha1.ErrorTool, Content: "The program failed: line 3, column 7: " +
				"the call of tool refund failed: approval_required_in_program: Call refund directly.\n" +
				"Before it failed it called 2 tools; what those calls did is not undone."},
		},
		"a syntax error": {
			code: "def main():\n  return import os\n",
			want: engine.Outcome{Error: v1alpha1.ErrorTool, Content: "The program failed: line 2, column 10: got import, want primary expression"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			arguments, err := json.Marshal(map[string]string{"code": test.code})
			if err != nil {
				t.Fatal(err)
			}
			got := (&RunCodeTool{Runner: runner, Call: call}).Execute(t.Context(), pipeline.Invocation{Arguments: arguments}).Outcome
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
		})
	}
}

// What run_code says of itself is a schema, and true of its programs.
func TestRunCodeDescription(t *testing.T) {
	if _, err := schema.Compile(RunCodeSchema); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"main", "call", "try_call", "ok", "content", "error", "json", "math", "time"} {
		if !strings.Contains(RunCodeDescription, name) {
			t.Errorf("the description does not tell of %s", name)
		}
	}
}
