// SPDX-License-Identifier: Apache-2.0

package publish_test

import (
	"fmt"
	"strings"
	"testing"

	"remit.dev/remit/api/v1alpha1"
)

// withProgram makes an agent with one code tool.
func withProgram(source, schema string) func(*agent) {
	return func(a *agent) {
		tool := codeTool("sum")
		tool.Code.Source = source
		if schema != "" {
			tool.InputSchema = raw(schema)
		}
		a.Tools, a.Sandbox.Enabled = []v1alpha1.Tool{tool}, true
	}
}

func TestPrograms(t *testing.T) {
	const path = "spec.tools[0].code.source"
	runRuleTests(t, map[string]ruleTest{
		"A3 grammar": {
			breaks: withProgram("def main(a, b):\n  return a +\n", ""),
			want:   []finding{{Rule: "code", Path: path, Message: "line 2, column 13: got newline, want primary expression"}},
			keeps:  withProgram("def main(a, b):\n  return a + b\n", ""),
		},
		"A3 several undefined names": {
			breaks: withProgram("def main():\n  return add(one)\n", ""),
			want: []finding{
				{Rule: "code", Path: path, Message: "line 2, column 10: undefined: add"},
				{Rule: "code", Path: path, Message: "line 2, column 14: undefined: one"},
			},
			keeps: withProgram("one = 1\ndef add(n):\n  return n + 1\ndef main():\n  return add(one)\n", ""),
		},
		"A3 no main": {
			breaks: withProgram("def run(x):\n  return x\n", ""),
			want: []finding{{Rule: "code", Path: path,
				Message: "line 1, column 1: there is no function main: define one that takes the arguments by name and returns the result"}},
			keeps: withProgram("def main(x):\n  return x\n", ""),
		},
		"A3 calls of tools": {
			breaks: withProgram("def main():\n  return call('refund')\n", ""),
			want: []finding{{Rule: "code", Path: path,
				Message: "line 2, column 10: call is not available: a code tool calls no other tools, only run_code does"}},
			keeps: withProgram("def call(name):\n  return name\ndef main():\n  return call('refund')\n", ""),
		},
		"A3 a parameter that the schema does not require": {
			breaks: withProgram("def main(a, b):\n  return a + b\n", `{"type":"object","properties":{"a":{},"b":{}},"required":["a"]}`),
			want: []finding{{Rule: "code_parameters", Path: path,
				Message: `main needs b: add "b" to inputSchema.properties and inputSchema.required, or give it a default`}},
			keeps: withProgram("def main(a, b=0):\n  return a + b\n", `{"type":"object","properties":{"a":{},"b":{}},"required":["a"]}`),
		},
		"A3 an argument that main does not take": {
			breaks: withProgram("def main(a):\n  return a\n", `{"type":"object","properties":{"a":{},"b":{}},"required":["a"]}`),
			want: []finding{{Rule: "code_parameters", Path: path,
				Message: `main does not take "b" of inputSchema.properties: add it to the parameters of main, or end them with **arguments`}},
			keeps: withProgram("def main(a, **arguments):\n  return a\n", `{"type":"object","properties":{"a":{},"b":{}},"required":["a"]}`),
		},
		"A3 a schema without properties says nothing of them": {
			breaks: withProgram("def main(a: int):\n  return a\n", `{"type":"object"}`),
			want:   []finding{{Rule: "code", Path: path, Message: "line 1, column 12: got ':', want ')'"}},
			keeps:  withProgram("def main(a):\n  return a\n", `{"type":"object"}`),
		},
	})
}

// A program of the largest size must not hold up publication: neither a deeply
// nested one nor one with thousands of names, none of which is defined.
func TestLargePrograms(t *testing.T) {
	var names strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&names, "a%d = b%d\n", i, i)
	}
	tests := map[string]string{"parentheses": strings.Repeat("(", 1<<16), "names": names.String()}
	for name, source := range tests {
		t.Run(name, func(t *testing.T) {
			_, findings := published(minimal(withProgram(source, "")))
			if len(findings) == 0 || len(findings) > 8 {
				t.Errorf("%d findings, want 1 to 8", len(findings))
			}
			for _, f := range findings {
				if f.Rule != "code" {
					t.Errorf("a finding of rule %s: %s", f.Rule, f.Message)
				}
			}
		})
	}
}
