// SPDX-License-Identifier: Apache-2.0

package api

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const spec = `
apiVersion: remit.dev/v1alpha1
kind: Spec
metadata: {name: helpdesk}
spec:
  instructions: Help.
  models: [{grant: model, model: large}]
`

const (
	codeRule     = `spec.tools[0]: Invalid value: code is required when kind is Code, and forbidden otherwise`
	httpRule     = `spec.tools[0]: Invalid value: http is required when kind is HTTP, and forbidden otherwise`
	functionRule = `spec.tools[0]: Invalid value: function is required when kind is Function, and forbidden otherwise`
	accessTags   = `this list knows @all and @read-only; anything else is the exact name of a tool`

	codeMember     = "code: {source: x}"
	httpMember     = "http: {grant: g, method: GET, url: 'https://a.example/'}"
	functionMember = "function: {name: f}"
)

func TestSpec(t *testing.T) {
	judge(t, spec, []verdict{
		{name: "valid"},
		{name: "name that begins with a digit", edits: edits{"metadata.name": "1desk"}, want: []string{nameRule}},
		{name: "name that is too long", edits: edits{"metadata.name": text(41)}, want: []string{nameRule}},
		{name: "no instructions", edits: edits{"spec.instructions": absent}, want: []string{`spec.instructions: Required value`}},
		{name: "empty instructions", edits: edits{"spec.instructions": "''"},
			want: []string{`spec.instructions: Invalid value: "": spec.instructions in body should be at least 1 chars long`}},
		{name: "instructions that are too long", edits: edits{"spec.instructions": text(65537)},
			want: []string{`spec.instructions: Too long: may not be more than 65536 bytes`}},
		{name: "no models", edits: edits{"spec.models": "[]"},
			want: []string{`spec.models: Invalid value: 0: spec.models in body should have at least 1 items`}},
		{name: "one model twice: the order is a failover", edits: edits{"spec.models": "[{grant: a, model: m}, {grant: b, model: m}, {grant: a, model: m}]"}},
		{name: "grant that is no slug (P33)", edits: edits{"spec.models": "[{grant: my__grant, model: m}]"},
			want: []string{`spec.models[0].grant: Invalid value: "my__grant": spec.models[0].grant in body should match '^[a-z]([a-z0-9-]*[a-z0-9])?$'`}},
		{name: "parameters that are no object", edits: edits{"spec.models": "[{grant: a, model: m, parameters: [1]}]"},
			want: []string{`spec.models[0].parameters: Invalid value: "array": spec.models[0].parameters in body must be of type object: "array"`}},
		{name: "limits at their most", edits: edits{"spec.limits": "{steps: 500, deadline: 168h, failureStreak: 20}"}},
		{name: "hard stop out of range (P6)", edits: edits{"spec.limits": "{failureStreak: 21}"},
			want: []string{`spec.limits.failureStreak: Invalid value: 21: spec.limits.failureStreak in body should be less than or equal to 20`}},
		{name: "no steps", edits: edits{"spec.limits": "{steps: 0}"},
			want: []string{`spec.limits.steps: Invalid value: 0: spec.limits.steps in body should be greater than or equal to 1`}},
		{name: "deadline of nothing", edits: edits{"spec.limits": "{deadline: 0s}"},
			want: []string{`spec.limits.deadline: Invalid value: "0s": deadline must be more than 0s and at most 168h`}},
		{name: "unknown builtin", edits: edits{"spec.builtins": "[shell]"},
			want: []string{`spec.builtins[0]: Unsupported value: "shell": supported values: "ask_user", "run_code", "wait_webhook"`}},
		{name: "skill without a body", edits: edits{"spec.skills": "[{name: a, description: d}]"}, want: []string{`spec.skills[0].body: Required value`}},
		{name: "channel of another kind", edits: edits{"spec.channels": "[{name: a, kind: Pigeon}]"},
			want: []string{`spec.channels[0].kind: Unsupported value: "Pigeon": supported values: "Webhook"`}},
	})
}

// A2, A6: the union of tools is closed and exactly its own member is set.
func TestSpecToolUnion(t *testing.T) {
	judge(t, spec, []verdict{
		{name: "code", edits: edits{"spec.tools": "[{name: t, kind: Code, " + codeMember + "}]"}},
		{name: "HTTP", edits: edits{"spec.tools": "[{name: t, kind: HTTP, " + httpMember + "}]"}},
		{name: "function", edits: edits{"spec.tools": "[{name: t, kind: Function, " + functionMember + "}]"}},
		{name: "MCP", edits: edits{"spec.tools": "[{name: t, kind: MCP}]"},
			want: []string{`spec.tools[0].kind: Unsupported value: "MCP": supported values: "Code", "HTTP", "Function"`}},
		{name: "no kind", edits: edits{"spec.tools": "[{name: t, " + codeMember + "}]"}, want: []string{`spec.tools[0].kind: Required value`}},
		{name: "code without code", edits: edits{"spec.tools": "[{name: t, kind: Code}]"}, want: []string{codeRule}},
		{name: "HTTP without http", edits: edits{"spec.tools": "[{name: t, kind: HTTP}]"}, want: []string{httpRule}},
		{name: "function without function", edits: edits{"spec.tools": "[{name: t, kind: Function}]"}, want: []string{functionRule}},
		{name: "code with http", edits: edits{"spec.tools": "[{name: t, kind: Code, " + codeMember + ", " + httpMember + "}]"}, want: []string{httpRule}},
		{name: "HTTP with function", edits: edits{"spec.tools": "[{name: t, kind: HTTP, " + httpMember + ", " + functionMember + "}]"}, want: []string{functionRule}},
		{name: "function with code", edits: edits{"spec.tools": "[{name: t, kind: Function, " + functionMember + ", " + codeMember + "}]"}, want: []string{codeRule}},
		{name: "one kind with another's member", edits: edits{"spec.tools": "[{name: t, kind: Code, " + functionMember + "}]"}, want: []string{codeRule, functionRule}},
		{name: "name that looks like MCP (P33)", edits: edits{"spec.tools": "[{name: desk__refund, kind: Code, " + codeMember + "}]"},
			want: []string{`spec.tools[0].name: Invalid value: "desk__refund": two underscores in a row are kept for the tools of MCP servers (GRANT__TOOL)`}},
		{name: "name in upper case", edits: edits{"spec.tools": "[{name: Refund, kind: Code, " + codeMember + "}]"},
			want: []string{`spec.tools[0].name: Invalid value: "Refund": spec.tools[0].name in body should match '^[a-z][a-z0-9_]*$'`}},
		{name: "method in lower case (P16)", edits: edits{"spec.tools": "[{name: t, kind: HTTP, http: {grant: g, method: get, url: 'https://a.example/'}}]"},
			want: []string{`spec.tools[0].http.method: Unsupported value: "get": supported values: "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"`}},
		{name: "URL of another scheme", edits: edits{"spec.tools": "[{name: t, kind: HTTP, http: {grant: g, method: GET, url: 'file:///etc/passwd'}}]"},
			want: []string{`spec.tools[0].http.url: Invalid value: "file:///etc/passwd": spec.tools[0].http.url in body should match '^https?://'`}},
		{name: "another language", edits: edits{"spec.tools": "[{name: t, kind: Code, code: {language: Python, source: x}}]"},
			want: []string{`spec.tools[0].code.language: Unsupported value: "Python": supported values: "Starlark"`}},
		{name: "no annotation at all", edits: edits{"spec.tools": "[{name: t, kind: Code, " + codeMember + ", annotations: {}}]"},
			want: []string{`spec.tools[0].annotations: Invalid value: 0: spec.tools[0].annotations in body should have at least 1 properties`}},
		{name: "schema that is no object", edits: edits{"spec.tools": "[{name: t, kind: Code, " + codeMember + ", inputSchema: string}]"},
			want: []string{`spec.tools[0].inputSchema: Invalid value: "string": spec.tools[0].inputSchema in body must be of type object: "string"`}},
		{name: "attempts out of range (P7)", edits: edits{"spec.tools": "[{name: t, kind: Code, " + codeMember + ", attempts: 6}]"},
			want: []string{`spec.tools[0].attempts: Invalid value: 6: spec.tools[0].attempts in body should be less than or equal to 5`}},
		{name: "timeout at its most", edits: edits{"spec.tools": "[{name: t, kind: Code, " + codeMember + ", timeout: 10m}]"}},
		{name: "timeout too long", edits: edits{"spec.tools": "[{name: t, kind: Code, " + codeMember + ", timeout: 11m}]"},
			want: []string{`spec.tools[0].timeout: Invalid value: "11m": timeout must be more than 0s and at most 10m`}},
	})
}

// F1, F2, F4: each list takes its own vocabulary, in the agent and in its subagents.
func TestSpecSelectors(t *testing.T) {
	subagent := func(mcp string) string {
		return "[{name: s, description: d, instructions: i, mcp: [" + mcp + "]}]"
	}
	judge(t, spec, []verdict{
		{name: "both tags and a name", edits: edits{"spec.mcp": "[{grant: desk, tools: [a], enable: ['@all', a], disable: ['@read-only'], preload: ['@all']}]"}},
		{name: "unknown tag in enable", edits: edits{"spec.mcp": "[{grant: desk, enable: ['@readonly']}]"},
			want: []string{`spec.mcp[0].enable[0]: Invalid value: "@readonly": unknown tag "@readonly": ` + accessTags}},
		{name: "unknown tag in disable", edits: edits{"spec.mcp": "[{grant: desk, disable: [a, '@']}]"},
			want: []string{`spec.mcp[0].disable[1]: Invalid value: "@": unknown tag "@": ` + accessTags}},
		{name: "approval's tag in preload", edits: edits{"spec.mcp": "[{grant: desk, preload: ['@destructive']}]"},
			want: []string{`spec.mcp[0].preload[0]: Invalid value: "@destructive": unknown tag "@destructive": ` + accessTags}},
		{name: "tag in tools", edits: edits{"spec.mcp": "[{grant: desk, tools: ['@all']}]"},
			want: []string{`spec.mcp[0].tools[0]: Invalid value: "@all": "@all" is a tag, and this list takes exact tool names only`}},
		{name: "unknown tag of a subagent", edits: edits{"spec.subagents": subagent("{grant: desk, enable: ['@write']}")},
			want: []string{`spec.subagents[0].mcp[0].enable[0]: Invalid value: "@write": unknown tag "@write": ` + accessTags}},
		{name: "tag among a subagent's tools", edits: edits{"spec.subagents": "[{name: s, description: d, instructions: i, tools: ['@all']}]"},
			want: []string{`spec.subagents[0].tools[0]: Invalid value: "@all": "@all" is a tag, and this list takes exact tool names only`}},
	})
}

// A15, B2: the API server itself refuses a name twice in one collection.
func TestSpecDuplicates(t *testing.T) {
	judge(t, spec, []verdict{
		{name: "tools", edits: edits{"spec.tools": "[{name: t, kind: Code, " + codeMember + "}, {name: t, kind: Function, " + functionMember + "}]"},
			want: []string{`spec.tools[1]: Duplicate value: {"name":"t"}`}},
		{name: "mcp", edits: edits{"spec.mcp": "[{grant: desk, tools: [a]}, {grant: desk, tools: [b]}]"},
			want: []string{`spec.mcp[1]: Duplicate value: {"grant":"desk"}`}},
		{name: "skills", edits: edits{"spec.skills": "[{name: a, description: d, body: b}, {name: a, description: d, body: c}]"},
			want: []string{`spec.skills[1]: Duplicate value: {"name":"a"}`}},
		{name: "subagents", edits: edits{"spec.subagents": "[{name: a, description: d, instructions: i}, {name: a, description: d, instructions: j}]"},
			want: []string{`spec.subagents[1]: Duplicate value: {"name":"a"}`}},
		{name: "schedules", edits: edits{"spec.schedules": "[{name: a, cron: '0 * * * *'}, {name: a, cron: '1 * * * *'}]"},
			want: []string{`spec.schedules[1]: Duplicate value: {"name":"a"}`}},
		{name: "channels", edits: edits{"spec.channels": "[{name: a, kind: Webhook}, {name: a, kind: Webhook}]"},
			want: []string{`spec.channels[1]: Duplicate value: {"name":"a"}`}},
		{name: "builtins", edits: edits{"spec.builtins": "[run_code, run_code]"}, want: []string{`spec.builtins[1]: Duplicate value: "run_code"`}},
		{name: "mcp tools", edits: edits{"spec.mcp": "[{grant: desk, tools: [a, a]}]"}, want: []string{`spec.mcp[0].tools[1]: Duplicate value: "a"`}},
		{name: "enable", edits: edits{"spec.mcp": "[{grant: desk, enable: [a, a]}]"}, want: []string{`spec.mcp[0].enable[1]: Duplicate value: "a"`}},
		{name: "disable", edits: edits{"spec.mcp": "[{grant: desk, disable: [a, a]}]"}, want: []string{`spec.mcp[0].disable[1]: Duplicate value: "a"`}},
		{name: "preload", edits: edits{"spec.mcp": "[{grant: desk, preload: ['@all', '@all']}]"}, want: []string{`spec.mcp[0].preload[1]: Duplicate value: "@all"`}},
		{name: "subagent's mcp", edits: edits{"spec.subagents": "[{name: a, description: d, instructions: i, mcp: [{grant: b}, {grant: b}]}]"},
			want: []string{`spec.subagents[0].mcp[1]: Duplicate value: {"grant":"b"}`}},
		{name: "subagent's tools", edits: edits{"spec.subagents": "[{name: a, description: d, instructions: i, tools: [b, b]}]"},
			want: []string{`spec.subagents[0].tools[1]: Duplicate value: "b"`}},
	})
}

// A6: a Spec has no place for the address of a server or of a model.
func TestSpecHoldsNoAddress(t *testing.T) {
	ns := env.Namespace(t)
	for name, tc := range map[string]struct {
		edits edits
		want  string
	}{
		"of a server": {edits{"spec.mcp": "[{grant: desk, url: 'http://evil.example/mcp'}]"},
			`strict decoding error: unknown field "spec.mcp[0].url"`},
		"of a model": {edits{"spec.models": "[{grant: model, model: m, endpoint: 'http://evil.example/v1'}]"},
			`strict decoding error: unknown field "spec.models[0].endpoint"`},
		"in a tool": {edits{"spec.tools": "[{name: t, kind: Function, " + functionMember + ", mcp: {url: 'http://evil.example/mcp'}}]"},
			`strict decoding error: unknown field "spec.tools[0].mcp"`},
	} {
		t.Run(name, func(t *testing.T) {
			u := tc.edits.apply(t, parse(t, spec))
			u.SetNamespace(ns)
			err := admin.Create(t.Context(), u, &client.CreateOptions{
				DryRun:          []string{metav1.DryRunAll},
				FieldValidation: metav1.FieldValidationStrict,
			})
			if !apierrors.IsBadRequest(err) {
				t.Fatalf("want a bad request, got %v", err)
			}
			want := `Spec in version "v1alpha1" cannot be handled as a Spec: ` + tc.want
			if diff := cmp.Diff(want, err.Error()); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSpecDefaults(t *testing.T) {
	u := edits{
		"spec.tools":     "[{name: t, kind: Code, " + codeMember + "}]",
		"spec.schedules": "[{name: a, cron: '0 * * * *'}]",
	}.apply(t, parse(t, spec))
	u.SetNamespace(env.Namespace(t))
	if err := admin.Create(t.Context(), u, client.DryRunAll); err != nil {
		t.Fatal(err)
	}
	got, _, err := unstructured.NestedMap(u.Object, "spec")
	if err != nil {
		t.Fatal(err)
	}
	want := parse(t, `
instructions: Help.
models: [{grant: model, model: large}]
tools: [{name: t, kind: Code, attempts: 1, timeout: 30s, code: {language: Starlark, source: x}}]
schedules: [{name: a, cron: '0 * * * *', timeZone: Etc/UTC}]
sandbox: {enabled: false}
limits: {steps: 32, deadline: 1h, failureStreak: 5}
kind: Spec
`).Object
	delete(want, "kind") // only needed to parse
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
}
