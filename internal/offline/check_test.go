// SPDX-License-Identifier: Apache-2.0

package offline_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/sets"

	"remit.dev/remit/internal/offline"
)

// checker is shared: it compiles every CEL rule.
var checker = func() *offline.Checker {
	c, err := offline.NewChecker(sets.New("lookup_weather"))
	if err != nil {
		panic(err)
	}
	return c
}()

func check(t *testing.T, text string) []offline.Object {
	t.Helper()
	objects, err := checker.Check(t.Context(), offline.Source{Name: "agents.yaml", Content: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// lines shows each finding as "line:column rule path: message".
func lines(objects []offline.Object) []string {
	var all []string
	for _, o := range objects {
		for _, f := range o.Findings {
			all = append(all, fmt.Sprintf("%d:%d %s %s: %s", f.Line, f.Column, f.Rule, f.Path, f.Message))
		}
	}
	return all
}

const valid = `apiVersion: remit.dev/v1alpha1
kind: Spec
metadata:
  name: helpdesk
  namespace: support
spec:
  instructions: You help.
  models:
  - grant: openai
    model: gpt
`

func TestFindings(t *testing.T) {
	tests := map[string]struct {
		text string
		want []string
	}{
		"none": {text: valid},
		"the schema": {
			text: valid + "  limits: {steps: 501, deadline: 1d}\n",
			want: []string{
				`11:24 schema spec.limits.deadline: Invalid value: "1d": spec.limits.deadline in body should match '^([0-9]{1,6}h)?([0-9]{1,6}m)?([0-9]{1,6}s)?([0-9]{1,6}ms)?$'`,
				`11:12 schema spec.limits.steps: Invalid value: 501: spec.limits.steps in body should be less than or equal to 500`,
			},
		},
		"a CEL rule": {
			text: valid + "  tools:\n  - name: find__it\n    kind: HTTP\n    function: {name: lookup_weather}\n",
			want: []string{
				`12:5 schema spec.tools[0]: Invalid value: function is required when kind is Function, and forbidden otherwise`,
				`12:5 schema spec.tools[0]: Invalid value: http is required when kind is HTTP, and forbidden otherwise`,
				`12:5 schema spec.tools[0].name: Invalid value: "find__it": two underscores in a row are kept for the tools of MCP servers (GRANT__TOOL)`,
			},
		},
		"B2 a list type": {
			text: valid + "  mcp:\n  - grant: github\n  - grant: github\n",
			want: []string{`13:5 schema spec.mcp[1]: Duplicate value: {"grant":"github"}`},
		},
		"A2 there is no tool of kind MCP": {
			text: valid + "  tools:\n  - {name: x, kind: MCP}\n",
			want: []string{`12:15 schema spec.tools[0].kind: Unsupported value: "MCP": supported values: "Code", "HTTP", "Function"`},
		},
		"B9 F4 an unknown tag": {
			text: valid + "  mcp:\n  - grant: github\n    enable: ['@write']\n",
			want: []string{
				`13:14 schema spec.mcp[0].enable[0]: Invalid value: "@write": unknown tag "@write": this list knows @all and @read-only; anything else is the exact name of a tool`,
			},
		},
		"an unknown field, and a publication rule beside it": {
			text: valid + "  instruction: x\n  builtins: [run_code]\n",
			want: []string{
				`12:14 sandbox_disabled spec.builtins[0]: builtin "run_code" needs the sandbox: set spec.sandbox.enabled to true, or remove it`,
				`11:3 unknown_field spec.instruction: unknown field: correct its name, or remove it`,
			},
		},
		"an unknown field of the metadata": {
			text: strings.Replace(valid, "  namespace: support\n", "  namespace: support\n  label: {a: b}\n", 1),
			want: []string{`6:3 unknown_field metadata.label: unknown field: correct its name, or remove it`},
		},
		"a name that no object can have": {
			text: strings.Replace(valid, "name: helpdesk", "name: Help_Desk", 1),
			want: []string{
				`3:1 schema metadata: Invalid value: metadata.name must be a DNS label of at most 40 characters that begins with a letter`,
				`4:3 metadata metadata.name: Invalid value: "Help_Desk": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
			},
		},
		"no name": {
			text: strings.Replace(valid, "  name: helpdesk\n", "", 1),
			want: []string{
				`3:1 schema metadata: Invalid value: "object": no such key: name evaluating rule: metadata.name must be a DNS label of at most 40 characters that begins with a letter`,
				`3:1 metadata metadata.name: Required value: name or generateName is required`,
			},
		},
		"a generated name": {text: strings.Replace(valid, "name: helpdesk", "generateName: helpdesk-", 1)},
		"a key twice": {
			text: valid + "  instructions: You do not.\n",
			want: []string{`11:3 duplicate_key spec.instructions: the key is there more than once; keep one`},
		},
		"a kind that is not there": {
			text: "apiVersion: remit.dev/v1\nkind: Spec\nmetadata: {name: x}\n",
			want: []string{`2:1 schema kind: remit.dev/v1 has no kind "Spec": correct kind or apiVersion`},
		},
		"another kind": {
			text: "apiVersion: remit.dev/v1alpha1\nkind: Grant\nmetadata: {name: g}\nspec:\n  tool: [x]\n",
			want: []string{
				`5:3 unknown_field spec.tool: unknown field: correct its name, or remove it`,
			},
		},
		"a status is not created": {text: valid + "status: {version: 7}\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			objects := check(t, test.text)
			got := lines(objects)
			if name == "another kind" && len(got) > 1 {
				got = got[len(got)-1:] // which other fields a Grant needs is its own test
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			if hashed := objects[0].Hash != ""; hashed != (test.want == nil) {
				t.Errorf("hash %q with findings %v", objects[0].Hash, got)
			}
		})
	}
}

// P4: what Kubernetes would store as another number is refused, with its path.
func TestRoundedNumbers(t *testing.T) {
	withSchema := func(yaml string) string {
		return valid + "  tools:\n  - name: weather\n    kind: Function\n    function: {name: lookup_weather}\n    inputSchema:\n      type: object\n      default: " + yaml + "\n"
	}
	const path = "spec.tools[0].inputSchema.default"
	tests := map[string]struct {
		literal string
		lost    bool
	}{
		"an integer within int64": {literal: "9007199254740993"},
		"the largest":             {literal: "9223372036854775807"},
		// Kubernetes writes the shortest digits of a float64, which are others.
		"beyond int64, and a float64":        {literal: "9223372036854775808", lost: true},
		"beyond int64, in digits that stay":  {literal: "9223372036854776000"},
		"a fraction, shortest":               {literal: "0.1"},
		"a fraction with digits to lose":     {literal: "0.1000000000000000055", lost: true},
		"a large float with a fraction of 0": {literal: "9007199254740993.0", lost: true},
		"so small that it is 0":              {literal: "1.0e-400", lost: true},
		"underscores":                        {literal: "9_223_372_036_854_775_809", lost: true},
		"underscores that lose nothing":      {literal: "9_007_199_254_740_993"},
		"hexadecimal":                        {literal: "0x8000000000000001", lost: true},
		"hexadecimal that loses nothing":     {literal: "0x7fffffffffffffff"},
		"octal":                              {literal: "0777"},
		"a decimal with a leading zero":      {literal: "08"},
		"a sign and no whole part":           {literal: "+.5"},
		"no fraction":                        {literal: "-5."},
		"a string":                           {literal: `"9223372036854775809"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			objects := check(t, withSchema(test.literal))
			var got []string
			for _, f := range objects[0].Findings {
				got = append(got, f.Rule+" "+f.Path)
				if f.Line != 17 || !strings.Contains(f.Message, " would be stored as ") {
					t.Errorf("line %d, message %q", f.Line, f.Message)
				}
			}
			var want []string
			if test.lost {
				want = []string{"number_rounded " + path}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("JSON", func(t *testing.T) {
		objects := check(t, `{"apiVersion": "remit.dev/v1alpha1", "kind": "Spec", "metadata": {"name": "a"},
			"spec": {"instructions": "x", "models": [{"grant": "g", "model": "m",
			"parameters": {"seed": 3, "temperature": 0.30000000000000001}}]}}`)
		if len(objects[0].Findings) != 1 || objects[0].Findings[0].Path != "spec.models[0].parameters.temperature" || objects[0].Findings[0].Line != 3 {
			t.Errorf("findings: %v", objects[0].Findings)
		}
	})
}

// Kustomize writes documents of every kind, one after the other.
func TestStreams(t *testing.T) {
	second := strings.Replace(valid, "helpdesk", "second", 1)
	deployment := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\nspec: {anything: true}\n"
	compact := `{"apiVersion":"remit.dev/v1alpha1","kind":"Spec","metadata":{"name":"second","namespace":"support"},` +
		`"spec":{"instructions":"You help.","models":[{"grant":"openai","model":"gpt"}]}}`
	tests := map[string]struct {
		text string
		want []string
	}{
		"documents":                 {text: valid + "---\n" + deployment + "---\n" + second, want: []string{"1 Spec support/helpdesk", "17 Spec support/second"}},
		"with comments and nothing": {text: "# all\n---\n---\n" + valid + "--- # more\n# none\n---\n" + second + "---\n", want: []string{"4 Spec support/helpdesk", "17 Spec support/second"}},
		"CRLF":                      {text: strings.ReplaceAll(valid+"---\n"+second, "\n", "\r\n"), want: []string{"1 Spec support/helpdesk", "12 Spec support/second"}},
		"JSON after YAML":           {text: valid + "---\n" + compact + "\n", want: []string{"1 Spec support/helpdesk", "12 Spec support/second"}},
		"JSON after JSON":           {text: compact + "\n\n" + compact, want: []string{"1 Spec support/second", "3 Spec support/second"}},
		"YAML in flow style":        {text: strings.NewReplacer(`":`, ": ", `"`, "").Replace(compact), want: []string{"1 Spec support/second"}},
		"a List": {
			text: "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.TrimSpace(valid), "\n", "\n  ") + "\n- {apiVersion: v1, kind: Secret}\n- " + compact + "\n",
			want: []string{"4 Spec support/helpdesk", "15 Spec support/second"},
		},
		"no objects of ours": {text: deployment},
		"nothing at all":     {text: ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			hashes := sets.New[string]()
			for _, o := range check(t, test.text) {
				got = append(got, fmt.Sprintf("%d %s", o.Line, o.String()))
				hashes.Insert(string(o.Hash))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
			// However they are written and named, they mean the same.
			if len(got) > 0 && (hashes.Len() != 1 || hashes.Has("")) {
				t.Errorf("hashes: %v", sets.List(hashes))
			}
		})
	}
}

func TestFindingsInAList(t *testing.T) {
	indented := strings.ReplaceAll(strings.TrimSpace(valid), "\n", "\n  ")
	text := "apiVersion: v1\nkind: List\nitems:\n- " + indented + "\n- " + indented + "\n" +
		"    limits: {steps: 1.00000000000000000001}\n    step: 1\n"
	want := []string{
		`24:14 number_rounded spec.limits.steps`,
		`25:5 unknown_field spec.step`,
	}
	var got []string
	for _, line := range lines(check(t, text)) {
		got = append(got, strings.Split(line, ": ")[0])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

func TestUnreadable(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"not YAML":           {"a: [", "agents.yaml:1: yaml: did not find expected node content"},
		"no object":          {"---\n- a\n", "agents.yaml:1: an object is needed, with apiVersion, kind and metadata"},
		"no kind":            {"\n\na: b\n", "agents.yaml:1: an object is needed, with apiVersion, kind and metadata"},
		"text after the end": {valid + "...\n" + valid, `agents.yaml:1: begin each document with "---"`},
		"not UTF-8":          {"a: \xff\n", "agents.yaml:1: yaml: invalid leading UTF-8 octet"},
		"too large":          {"a: " + strings.Repeat("x", 3<<20), "agents.yaml:1: the document has more than 3145728 bytes, which no API server takes"},
		"aliases without end": {
			"a: &a [x,x,x,x,x,x,x,x,x]\n" + func() string {
				var b strings.Builder
				for c := 'b'; c < 'k'; c++ {
					fmt.Fprintf(&b, "%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", c, c, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1)
				}
				return b.String()
			}(),
			"agents.yaml:1: yaml: document contains excessive aliasing",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := checker.Check(t.Context(), offline.Source{Name: "agents.yaml", Content: []byte(test.text)})
			var unreadable *offline.ReadError
			if !errors.As(err, &unreadable) || err.Error() != test.want {
				t.Errorf("error %v, want %s", err, test.want)
			}
		})
	}
}
