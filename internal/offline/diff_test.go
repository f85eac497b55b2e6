// SPDX-License-Identifier: Apache-2.0

package offline_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/offline"
	"remit.dev/remit/internal/publish"
)

const rich = valid + `  tools:
  - name: weather
    kind: Function
    function: {name: lookup_weather}
    inputSchema: {type: object, required: [city, day], default: null}
  - name: order
    kind: HTTP
    idempotent: false
    http: {grant: shop, method: GET, url: "https://shop/orders", query: {a.b: "1"}}
  mcp:
  - grant: github
    tools: [read_file, list_issues]
`

// Each change shows under its path, with what was there before and after.
func TestDiff(t *testing.T) {
	tests := map[string]struct {
		old, new string
		want     []string
	}{
		"nothing": {},
		"order of sets and keys, defaults": {
			old: "    tools: [read_file, list_issues]\n", new: "    tools: [list_issues, read_file]\n  limits: {steps: 32}\n",
		},
		"a text":            {old: "You help.", new: "You do.", want: []string{`spec.instructions "You help." "You do."`}},
		"a field of a tool": {old: "    kind: HTTP\n", new: "    kind: HTTP\n    attempts: 1\n    timeout: 1s\n", want: []string{`spec.tools[order].timeout "30s" "1s"`}},
		"a tri-state field": {old: "    idempotent: false\n", want: []string{`spec.tools[order].idempotent false `}},
		"an entry of a set": {old: "read_file, list", new: "write_file, list", want: []string{`spec.mcp[github].tools[read_file] "read_file" `, `spec.mcp[github].tools[write_file]  "write_file"`}},
		"an entry of a keyed list": {old: "grant: github", new: "grant: gitlab", want: []string{
			`spec.mcp[github] {"grant":"github","tools":["list_issues","read_file"]} `, `spec.mcp[gitlab]  {"grant":"gitlab","tools":["list_issues","read_file"]}`,
		}},
		"an ordered list": {old: "    model: gpt\n", new: "    model: gpt-2\n  - {grant: openai, model: gpt}\n", want: []string{
			`spec.models[0].model "gpt" "gpt-2"`, `spec.models[1]  {"grant":"openai","model":"gpt"}`,
		}},
		"an array of free-form JSON": {old: "[city, day]", new: "[day, city]", want: []string{
			`spec.tools[weather].inputSchema.required[0] "city" "day"`, `spec.tools[weather].inputSchema.required[1] "day" "city"`,
		}},
		"null and nothing in free-form JSON": {old: ", default: null", want: []string{`spec.tools[weather].inputSchema.default null `}},
		"a map":                              {old: `a.b: "1"`, new: `a.b: "2", c: "<"`, want: []string{`spec.tools[order].http.query.a.b "1" "2"`, `spec.tools[order].http.query.c  "<"`}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			a, b := check(t, rich)[0], check(t, strings.Replace(rich, test.old, test.new, 1))[0]
			if publish.Refused(plain(a.Findings)) || publish.Refused(plain(b.Findings)) {
				t.Fatal(a.Findings, b.Findings)
			}
			changes, err := offline.Diff(a.Body, b.Body)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range changes {
				got = append(got, c.Path+" "+string(c.Old)+" "+string(c.New))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			if same := a.Hash == b.Hash; same != (len(changes) == 0) {
				t.Errorf("hashes are the same: %t, and there are %d changes", same, len(changes))
			}
		})
	}
}

func TestCompare(t *testing.T) {
	named := func(name, instructions string) string {
		return strings.NewReplacer("helpdesk", name, "You help.", instructions).Replace(valid) + "---\n"
	}
	hashOf := func(instructions string) string { return string(check(t, named("x", instructions))[0].Hash) }
	tests := map[string]struct{ old, new, want string }{
		"one on each side, whatever its name": {
			old: named("a", "A"), new: named("b", "B"),
			want: "support/a -> support/b: 1 change\n- " + hashOf("A") + "\n+ " + hashOf("B") + "\n\nspec.instructions\n- \"A\"\n+ \"B\"\n",
		},
		"several, by their names": {
			old: named("a", "A") + named("b", "B"), new: named("b", "C") + named("c", "C") + named("a", "A"),
			want: "support/a: same hash " + hashOf("A") + "\n" +
				"support/b: 1 change\n- " + hashOf("B") + "\n+ " + hashOf("C") + "\n\nspec.instructions\n- \"B\"\n+ \"C\"\n" +
				"support/c: 1 change\n- none\n+ " + hashOf("C") + "\n\nspec\n+ {\"instructions\":\"C\",\"limits\":{\"deadline\":\"1h0m0s\",\"failureStreak\":5,\"steps\":32},\"models\":[{\"grant\":\"openai\",\"model\":\"gpt\"}]}\n",
		},
		"a text of several lines": {
			old: named("a", "|-\n    One.\n    Two.\n    Three."), new: named("a", "|-\n    One.\n    \u202e2\n    Zwei.\n    Three."),
			want: "support/a: 1 change\n- " + hashOf("|-\n    One.\n    Two.\n    Three.") + "\n+ " + hashOf("|-\n    One.\n    \u202e2\n    Zwei.\n    Three.") +
				"\n\nspec.instructions\n@ line 2\n- Two.\n+ \\u202e2\n+ Zwei.\n",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			compared, err := offline.Compare(check(t, test.old), check(t, test.new))
			if err != nil {
				t.Fatal(err)
			}
			var text bytes.Buffer
			if err := compared.WriteText(&text); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, text.String()); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
		})
	}
}

// plain are findings without their places.
func plain(findings []offline.Finding) []v1alpha1.Finding {
	plain := make([]v1alpha1.Finding, len(findings))
	for i := range findings {
		plain[i] = findings[i].Finding
	}
	return plain
}
