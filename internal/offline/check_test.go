// SPDX-License-Identifier: Apache-2.0

package offline_test

import (
	"errors"
	"fmt"
	"slices"
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
	report := checker.Check(t.Context(), offline.Source{Name: "agents.yaml", Content: []byte(text)})
	if err := report.Err(); err != nil {
		t.Fatal(err)
	}
	return report.Objects
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
		// incomplete says that some rules cannot be checked.
		incomplete bool
		// atLeast leaves the other findings out of the comparison.
		atLeast bool
	}{
		"none": {text: valid},
		"the schema": {
			text: valid + "  limits: {steps: 501, deadline: 1d}\n",
			want: []string{
				`11:24 schema spec.limits.deadline: Invalid value: "1d": spec.limits.deadline in body should match '^([0-9]{1,6}h)?([0-9]{1,6}m)?([0-9]{1,6}s)?([0-9]{1,6}ms)?$'`,
				`11:12 schema spec.limits.steps: Invalid value: 501: spec.limits.steps in body should be less than or equal to 500`,
			},
			incomplete: true,
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
			want: []string{`13:5 duplicate_name spec.mcp[1].grant: "github" is the grant of an earlier entry too: rename or remove one of them`},
		},
		"B2 a set": {
			text: valid + "  builtins: [ask_user, ask_user]\n",
			want: []string{`11:24 duplicate_name spec.builtins[1]: "ask_user" is in this list already: remove one of them`},
		},
		"A2 there is no tool of kind MCP": {
			text:       valid + "  tools:\n  - {name: x, kind: MCP}\n",
			want:       []string{`12:15 schema spec.tools[0].kind: Unsupported value: "MCP": supported values: "Code", "HTTP", "Function"`},
			incomplete: true,
		},
		"B9 F4 an unknown tag": {
			text: valid + "  mcp:\n  - grant: github\n    enable: ['@write']\n",
			want: []string{
				`13:14 unknown_tag spec.mcp[0].enable[0]: unknown tag "@write": this list knows @all and @read-only; anything else is the exact name of a tool`,
			},
		},
		"B9 F4 a tag in a list of names": {
			text: valid + "  mcp:\n  - grant: github\n    tools: ['@all']\n",
			want: []string{`13:13 unknown_tag spec.mcp[0].tools[0]: "@all" is a tag, and this list takes exact tool names only`},
		},
		"F3 F4 an unknown tag of a Grant": {
			text: "apiVersion: remit.dev/v1alpha1\nkind: Grant\nmetadata: {name: g}\nspec: {mcpServer: {name: s}, approval: ['@read-only']}\n",
			want: []string{`4:41 unknown_tag spec.approval[0]: unknown tag "@read-only": this list knows @all, @write and @destructive; anything else is the exact name of a tool`},
		},
		"the schema and publication at once": {
			text: valid + "  foo: 1\n  tools:\n  - {name: t, kind: Function, function: {name: nope}, attempts: 9, timeout: 0s, inputSchema: {type: string}}\n" +
				"  builtins: [run_code]\n  skills: [{name: s, description: d, body: '[[skill:z]]'}]\n",
			want: []string{
				`14:14 sandbox_disabled spec.builtins[0]: builtin "run_code" needs the sandbox: set spec.sandbox.enabled to true, or remove it`,
				`11:3 unknown_field spec.foo: unknown field: correct its name, or remove it`,
				`15:38 dangling_skill_link spec.skills[0].body: line 1 links to "[[skill:z]]", and there is no skill of this name: correct the link, or add the skill`,
				`13:55 attempts_not_idempotent spec.tools[0].attempts: attempts is 9 and tool "t" is not known to be idempotent: set attempts to 1, or set idempotent to true if repeating a call does no harm`,
				`13:55 schema spec.tools[0].attempts: Invalid value: 9: spec.tools[0].attempts in body should be less than or equal to 5`,
				`13:42 unknown_function spec.tools[0].function.name: no function "nope" is registered in the operator: correct the name, or register the function`,
				`13:81 input_schema spec.tools[0].inputSchema: arguments are an object: set type to "object" at the root`,
				`13:68 schema spec.tools[0].timeout: Invalid value: "0s": timeout must be more than 0s and at most 10m`,
			},
		},
		"a value that is missing is not wrong besides": {
			text: strings.Replace(valid, "  instructions: You help.\n", "", 1) + "  schedules: [{name: a}]\n  builtins: [run_code]\n",
			want: []string{
				`11:14 sandbox_disabled spec.builtins[0]: builtin "run_code" needs the sandbox: set spec.sandbox.enabled to true, or remove it`,
				`6:1 schema spec.instructions: Required value`,
				`10:15 schema spec.schedules[0].cron: Required value`,
			},
			incomplete: true,
		},
		"nor is anything within it": {
			text:       "apiVersion: remit.dev/v1alpha1\nkind: Spec\nmetadata: {name: a}\n",
			want:       []string{`1:1 schema spec: Required value`},
			incomplete: true,
		},
		"nor is one of another type": {
			text: valid + "    parameters: []\n  builtins: [run_code]\n",
			want: []string{
				`12:14 sandbox_disabled spec.builtins[0]: builtin "run_code" needs the sandbox: set spec.sandbox.enabled to true, or remove it`,
				`11:5 schema spec.models[0].parameters: Invalid value: "array": spec.models[0].parameters in body must be of type object: "array"`,
			},
			incomplete: true,
		},
		"an empty text is found once": {
			text: strings.Replace(valid, "You help.", "''", 1),
			want: []string{`7:3 schema spec.instructions: Invalid value: "": spec.instructions in body should be at least 1 chars long`},
		},
		"a value of another type hides publication": {
			text:       valid + "  limits: {steps: many}\n  builtins: [run_code]\n",
			want:       []string{`11:12 schema spec.limits.steps: Invalid value: "string": spec.limits.steps in body must be of type integer: "string"`},
			incomplete: true,
		},
		"so do lists without bounds": {
			text:       valid + "  builtins: [run_code, a, b, c, d, e, f, g, h]\n",
			want:       []string{`11:3 schema spec.builtins: Too many: 9: must have at most 8 items`},
			incomplete: true,
			atLeast:    true,
		},
		"labels that are none hide the rest": {
			text:       strings.Replace(valid, "  namespace: support\n", "  labels: {a: 1}\n", 1) + "  foo: 1\n",
			want:       []string{`3:1 metadata metadata: json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string`},
			incomplete: true,
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
			if test.atLeast {
				got = slices.DeleteFunc(got, func(line string) bool { return !slices.Contains(test.want, line) })
			}
			if objects[0].Incomplete != test.incomplete {
				t.Errorf("incomplete: %t", objects[0].Incomplete)
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
		"a List of one kind": {
			text: `{"apiVersion":"remit.dev/v1alpha1","kind":"SpecList","items":[` + strings.NewReplacer(`"apiVersion":"remit.dev/v1alpha1",`, "", `"kind":"Spec",`, "").Replace(compact) + `]}`,
			want: []string{"1 Spec support/second"},
		},
		"a List in a List": {
			text: `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"ConfigMap"},{"apiVersion":"v1","kind":"List","items":[` + "\n" + compact + `]}]}`,
			want: []string{"2 Spec support/second"},
		},
		"what follows a separator": {text: "--- \t\n" + valid + "---\t# more\n" + second + "---", want: []string{"2 Spec support/helpdesk", "13 Spec support/second"}},
		"a byte order mark":        {text: "\ufeff" + valid, want: []string{"1 Spec support/helpdesk"}},
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
		`17:5 duplicate_object metadata.name`,
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
		"not YAML":                  {"a: [", "agents.yaml:1: yaml: did not find expected node content"},
		"no object":                 {"---\n- a\n", "agents.yaml:2: an object is needed, with apiVersion, kind and metadata"},
		"nothing at all":            {"", "agents.yaml: there is no object in it"},
		"comments only":             {"# none\n---\n# either\n", "agents.yaml: there is no object in it"},
		"UTF-16":                    {"\xff\xfea\x00:\x00", "agents.yaml:1: the text is UTF-16: save it as UTF-8"},
		"a control character":       {valid + "# \x01\n", "agents.yaml:11: yaml: control characters are not allowed"},
		"text after a separator":    {valid + "--- {a: b}\n" + valid, `agents.yaml:11: only a comment can follow "---" on its line`},
		"an item that is no object": {"apiVersion: v1\nkind: List\nitems: [1]\n", "agents.yaml:1: items[0]: an object is needed, with apiVersion, kind and metadata"},
		"a List with two lists":     {"apiVersion: v1\nkind: List\nitems: []\nitems: []\n", "agents.yaml:4: items: the key is there more than once; keep one"},
		"a number out of range": {
			`{"apiVersion": "remit.dev/v1alpha1", "kind": "Spec", "spec": {"limits": {"steps": 1e400}}}`,
			"agents.yaml:1: spec.limits.steps: 1e400 is beyond the range of a 64-bit float; write it as a string",
		},
		"each document by itself": {
			"a: [\n---\n" + valid + "---\nb: ]\n",
			"agents.yaml:1: yaml: did not find expected node content\nagents.yaml:14: yaml: did not find expected node content",
		},
		"no kind":            {"\n\na: b\n", "agents.yaml:1: an object is needed, with apiVersion, kind and metadata"},
		"text after the end": {valid + "...\n" + valid, `agents.yaml:1: begin each document with "---"`},
		"not UTF-8":          {"a: b\nc: \xff\n", "agents.yaml:2: yaml: invalid leading UTF-8 octet"},
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
			err := checker.Check(t.Context(), offline.Source{Name: "agents.yaml", Content: []byte(test.text)}).Err()
			var unreadable *offline.ReadError
			if !errors.As(err, &unreadable) || err.Error() != test.want {
				t.Errorf("error %v, want %s", err, test.want)
			}
		})
	}
}
