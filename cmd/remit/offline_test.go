// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const agent = `apiVersion: remit.dev/v1alpha1
kind: Spec
metadata: {name: helpdesk}
spec:
  instructions: You help.
  models: [{grant: openai, model: gpt}]
  tools: [{name: now, kind: Function, function: {name: current_time}}]
`

// run gives what a command wrote, what it wrote to standard error with its own
// error at the end, and the exit code.
func run(t *testing.T, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	root := newRootCommand()
	var out, errOut bytes.Buffer
	root.SetIn(strings.NewReader(stdin))
	root.SetOut(&out)
	root.SetErr(&errOut)
	root.SetArgs(args)
	if err := root.ExecuteContext(t.Context()); err != nil {
		errOut.WriteString(err.Error())
		code = exitCode(err)
	}
	return out.String(), errOut.String(), code
}

func TestOfflineCommands(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"good.yaml": agent, "bad.yaml": agent + "  builtins: [run_code]\n", "broken.yaml": "a: [",
		"other.yaml": strings.Replace(agent, "You help.", "You do.", 1), "service.yaml": "apiVersion: v1\nkind: Service\n",
		"chart/a.yaml": "{{ x }}\n", "empty/README.md": "", "twice/a.yaml": agent, "twice/b.yaml": strings.Replace(agent, "You help.", "You do.", 1),
		"unchecked.yaml": agent + "  limits: {steps: many}\n", "kustomization.yaml": "resources: [good.yaml]\n",
	} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	const finding = `bad.yaml:8:14: Spec helpdesk: spec.builtins[0]: builtin "run_code" needs the sandbox: ` +
		"set spec.sandbox.enabled to true, or remove it (sandbox_disabled)\n"
	tests := map[string]struct {
		stdin          string
		args           []string
		stdout, stderr string
		code           int
	}{
		"lint: nothing found": {
			args: []string{"lint", "good.yaml", "-"}, stdin: agent,
			stdout: "2 objects checked, no findings\n",
		},
		"lint: findings": {
			args: []string{"lint", "bad.yaml", "good.yaml"}, code: 1,
			stdout: finding + "2 objects checked, 1 finding in 1 of them\n",
		},
		"lint: the rest of what can be read": {
			args: []string{"lint", "broken.yaml", "bad.yaml", "none.yaml"}, code: 2,
			stdout: finding + "1 object checked, 1 finding in 1 of them\n",
			stderr: "broken.yaml:1: yaml: did not find expected node content\nnone.yaml: no such file or directory",
		},
		"lint: nothing of ours": {
			args:   []string{"lint", "service.yaml"},
			stdout: "0 objects checked, no findings\n",
			stderr: "remit: there is no object of remit.dev in the input\n",
		},
		"lint: nothing in a directory": {
			args:   []string{"lint", "empty"},
			stdout: "0 objects checked, no findings\n",
			stderr: "remit: there is no object of remit.dev in the input\n",
		},
		"lint: nothing in what is named": {
			args: []string{"lint", "-"}, code: 2,
			stdout: "0 objects checked, no findings\n",
			stderr: "stdin: there is no object in it",
		},
		"lint: a kustomization beside its resources": {
			args:   []string{"lint", "kustomization.yaml", "good.yaml"},
			stdout: "1 object checked, no findings\n",
		},
		"lint: a template in a directory": {
			args:   []string{"lint", "chart", "good.yaml"},
			stdout: "1 object checked, no findings\n",
			stderr: "remit: chart/a.yaml:1: left out, as it names no apiVersion of remit.dev: yaml: invalid map key: map[interface {}]interface {}{\"x\":interface {}(nil)}\n",
		},
		"lint: what was not checked": {
			args: []string{"lint", "unchecked.yaml"}, code: 1,
			stdout: `unchecked.yaml:8:12: Spec helpdesk: spec.limits.steps: Invalid value: "string": spec.limits.steps in body must be of type integer: "string" (schema)` +
				"\nunchecked.yaml:1:1: Spec helpdesk: some rules were not checked because of the findings: correct them, and check again\n" +
				"1 object checked, 1 finding in 1 of them\n",
		},
		"lint: JSON of what cannot be read": {
			args: []string{"lint", "-o", "json", "broken.yaml"}, code: 2,
			stdout: "{\n  \"objects\": [],\n  \"errors\": [\n    {\n      \"source\": \"broken.yaml\",\n      \"line\": 1,\n" +
				"      \"message\": \"yaml: did not find expected node content\"\n    }\n  ],\n  \"notices\": []\n}\n",
			stderr: "broken.yaml:1: yaml: did not find expected node content",
		},
		"lint: a function of somebody's own operator": {
			args: []string{"lint", "-", "--function", "refund"}, stdin: strings.Replace(agent, "current_time", "refund", 1),
			stdout: "1 object checked, no findings\n",
		},
		"lint: no path":      {args: []string{"lint"}, code: 2, stderr: "requires at least 1 arg(s), only received 0"},
		"lint: unknown flag": {args: []string{"lint", "--x"}, code: 2, stderr: "unknown flag: --x"},
		"lint: unknown form": {args: []string{"lint", "-o", "xml", "-"}, code: 2, stderr: `--output: "xml" is none of text, json, sarif`},
		"hash: one of each":  {args: []string{"hash", "good.yaml"}, stdout: "HASH  NAME  Spec helpdesk\n"},
		"hash: findings":     {args: []string{"hash", "bad.yaml"}, code: 1, stderr: finding + "1 object checked, 1 finding in 1 of them\n"},
		"hash: no Spec":      {args: []string{"hash", "service.yaml"}, code: 2, stderr: "service.yaml: there is no Spec in it"},
		"diff: the same":     {args: []string{"diff", "-", "good.yaml"}, stdin: strings.Replace(agent, "gpt}", "gpt, parameters: null}", 1), stdout: "helpdesk: same hash HASH\n"},
		"diff: not the same": {args: []string{"diff", "-", "other.yaml"}, stdin: agent, code: 1, stdout: "helpdesk: 1 change\n- HASH\n+ OTHER\n\nspec.instructions\n- \"You help.\"\n+ \"You do.\"\n"},
		"diff: findings":     {args: []string{"diff", "good.yaml", "bad.yaml"}, code: 2, stderr: finding + "2 objects checked, 1 finding in 1 of them\nthere are findings"},
		"diff: two of one name": {
			args: []string{"diff", "good.yaml", "twice"}, code: 2,
			stderr: "Spec helpdesk is in twice/a.yaml:1 and, with another content, in twice/b.yaml:1: name one of the two",
		},
		"diff: one path only": {args: []string{"diff", "good.yaml"}, code: 2, stderr: "accepts 2 arg(s), received 1"},
	}
	fields := func(path string) []string {
		out, _, _ := run(t, "", "hash", path)
		return strings.Fields(out)
	}
	known := strings.NewReplacer("HASH", fields("good.yaml")[0], "NAME", fields("good.yaml")[1], "OTHER", fields("other.yaml")[0])
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, code := run(t, test.stdin, test.args...)
			if diff := cmp.Diff(known.Replace(test.stdout), stdout); diff != "" {
				t.Errorf("stdout (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(known.Replace(test.stderr), stderr); diff != "" {
				t.Errorf("stderr (-want +got):\n%s", diff)
			}
			if code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
		})
	}
}

// What is wrong is in the JSON, too.
func TestJSONOfFindings(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.yaml")
	if err := os.WriteFile(bad, []byte(agent+"  builtins: [run_code]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	type report struct {
		Objects []struct{ Findings []struct{ Rule, Path string } }
		Errors  []struct{ Source string }
	}
	rulesOf := func(r report) (rules []string) {
		for _, o := range r.Objects {
			for _, f := range o.Findings {
				rules = append(rules, f.Rule+" "+f.Path)
			}
		}
		for _, e := range r.Errors {
			rules = append(rules, "error "+filepath.Base(e.Source))
		}
		return rules
	}
	tests := map[string]struct {
		args []string
		code int
		want []string
	}{
		"hash":             {[]string{"hash", "-o", "json", bad}, 1, []string{"sandbox_disabled spec.builtins[0]"}},
		"hash, and errors": {[]string{"hash", "-o", "json", bad, filepath.Join(dir, "none.yaml")}, 2, []string{"sandbox_disabled spec.builtins[0]", "error none.yaml"}},
		"diff":             {[]string{"diff", "-o", "json", "-", bad}, 2, []string{"sandbox_disabled spec.builtins[0]"}},
		"diff, and errors": {[]string{"diff", "-o", "json", filepath.Join(dir, "none.yaml"), bad}, 2, []string{"sandbox_disabled spec.builtins[0]", "error none.yaml"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			stdout, _, code := run(t, agent, test.args...)
			var got struct {
				report
				Specs    *[]any
				Unusable report
			}
			if err := json.Unmarshal([]byte(stdout), &got); err != nil {
				t.Fatalf("%v in %s", err, stdout)
			}
			found := rulesOf(got.report)
			if test.args[0] == "diff" {
				if got.Specs == nil || len(*got.Specs) != 0 {
					t.Errorf("specs: %v", got.Specs)
				}
				found = rulesOf(got.Unusable)
			}
			if diff := cmp.Diff(test.want, found); diff != "" || code != test.code {
				t.Errorf("exit code %d, findings (-want +got):\n%s", code, diff)
			}
		})
	}
}
