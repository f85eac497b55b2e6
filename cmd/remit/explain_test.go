// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

const explained = agent + `  mcp: [{grant: desk, tools: [find, gone]}]
---
apiVersion: remit.dev/v1alpha1
kind: Grant
metadata: {name: desk}
spec: {mcpServer: {name: desk}, approval: ["@all"]}
---
apiVersion: remit.dev/v1alpha1
kind: MCPServer
metadata: {name: desk}
spec: {transport: {http: {url: "https://desk.example.com/mcp"}}, allowedNamespaces: {from: All}}
status:
  discoveredAt: "2026-01-02T03:04:05Z"
  tools:
  - {name: find, class: ReadOnly, definitionDigest: "sha256:1"}
  - {name: wipe, class: Destructive, definitionDigest: "sha256:2"}
`

func TestExplainFromFiles(t *testing.T) {
	for name, test := range map[string]struct {
		stdin string
		args  []string
		says  []string
		code  int
	}{
		"all Specs": {explained, []string{"-f", "-"}, []string{
			"find  ReadOnly     Callable     Required  Listed  class ReadOnly, matched by @all",
			"wipe  Destructive  not Granted  -         -       tools of the Spec's grant does not list it",
			"gone  -            not Offered  -         -       tools of the Spec's grant names it"}, 0},
		"one Spec, as JSON": {explained, []string{"-f", "-", "-o", "json", "helpdesk"}, []string{`"qualifiedName": "desk__find"`, `"callable": 2`}, 0},
		"no such Spec":      {explained, []string{"-f", "-", "other"}, []string{`there is no Spec "other"`}, exitUnreadable},
		"no Spec at all":    {"", []string{"-f", "-"}, []string{"stdin: there is no object in it"}, exitUnreadable},
		"no such file":      {"", []string{"-f", "missing.yaml"}, []string{"missing.yaml: no such file"}, exitUnreadable},
		"another form":      {explained, []string{"-f", "-", "-o", "yaml"}, []string{`"yaml" is none of text, json`}, exitUnreadable},
		"a wrong selector":  {explained, []string{"-f", "-", "--approval-selectors", "@read-only"}, []string{`"@read-only" is none of`}, exitUnreadable},
		"what no API server takes": {strings.Replace(explained, "from: All", "from: Some", 1), []string{"-f", "-"},
			[]string{`stdin:15: MCPServer "desk": spec.allowedNamespaces.from: Unsupported value`}, exitUnreadable},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, code := run(t, test.stdin, append([]string{"explain"}, test.args...)...)
			if code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			for _, text := range test.says {
				if !strings.Contains(stdout+stderr, text) {
					t.Errorf("%q is not in\n%s%s", text, stdout, stderr)
				}
			}
		})
	}
}
