// SPDX-License-Identifier: Apache-2.0

package api

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
)

const grant = `
apiVersion: remit.dev/v1alpha1
kind: Grant
metadata: {name: desk}
spec:
  mcpServer: {name: helpdesk, namespace: catalogue}
`

const (
	targetRule   = `spec: Invalid value: exactly one of mcpServer, model and http must be set`
	toolsRule    = `spec: Invalid value: tools belongs to a Grant of an mcpServer`
	gateRule     = `spec: Invalid value: approval, always, never, policy, requireAccess and decisionEndpoint belong to a Grant of an mcpServer or of http`
	scriptedRule = `spec: Invalid value: a Scripted model takes no credential`
	scriptRule   = `spec.model: Invalid value: scriptRef is required when provider is Scripted, and forbidden otherwise`
	endpointRule = `spec.model: Invalid value: endpoint is required unless provider is Scripted, and forbidden then`

	openAI   = "{provider: OpenAI, endpoint: 'https://models.example/v1'}"
	scripted = "{provider: Scripted, scriptRef: {name: turns}}"
	bearer   = "{type: Bearer, secretRef: {name: s, key: k}}"
)

func TestGrant(t *testing.T) {
	judge(t, grant, []verdict{
		{name: "MCP server"},
		{name: "model", edits: edits{"spec.mcpServer": absent, "spec.model": openAI, "spec.credential": bearer}},
		{name: "scripted model", edits: edits{"spec.mcpServer": absent, "spec.model": scripted}},
		{name: "hosts", edits: edits{"spec.mcpServer": absent, "spec.http": "{hosts: [api.example, 'api.example:8443'], methods: [GET, HEAD]}"}},
		{name: "name with two dashes", edits: edits{"metadata.name": "help--desk"}},
		{name: "name that ends with a dash", edits: edits{"metadata.name": "desk-"}, want: []string{
			`metadata.name: Invalid value: "desk-": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
			nameRule,
		}},
		{name: "name that is too long (P33)", edits: edits{"metadata.name": text(41)}, want: []string{nameRule}},
		{name: "name that begins with a digit (P33)", edits: edits{"metadata.name": "1desk"}, want: []string{nameRule}},

		{name: "no target", edits: edits{"spec": "{}"}, want: []string{targetRule}},
		{name: "two targets", edits: edits{"spec.model": openAI}, want: []string{targetRule}},
		{name: "three targets", edits: edits{"spec.model": openAI, "spec.http": "{hosts: [a.example]}"}, want: []string{targetRule}},
		{name: "tools of a model", edits: edits{"spec.mcpServer": absent, "spec.model": openAI, "spec.tools": "[a]"}, want: []string{toolsRule}},
		{name: "tools of hosts", edits: edits{"spec.mcpServer": absent, "spec.http": "{hosts: [a.example]}", "spec.tools": "[a]"}, want: []string{toolsRule}},
		{name: "approval of hosts", edits: edits{"spec.mcpServer": absent, "spec.http": "{hosts: [a.example]}", "spec.approval": "[]", "spec.always": "[a]", "spec.never": "[b]",
			"spec.policy": "[{name: a, expression: 'true', action: Ask}]", "spec.requireAccess": "true"}},
		{name: "always of a model", edits: edits{"spec.mcpServer": absent, "spec.model": openAI, "spec.always": "[a]"}, want: []string{gateRule}},
		{name: "never of a model", edits: edits{"spec.mcpServer": absent, "spec.model": openAI, "spec.never": "[a]"}, want: []string{gateRule}},
		{name: "policy of a model", edits: edits{"spec.mcpServer": absent, "spec.model": openAI, "spec.policy": "[{name: a, expression: 'true', action: Deny}]"}, want: []string{gateRule}},
		{name: "two messages", edits: edits{"spec.policy": "[{name: a, expression: 'true', action: Deny, message: x, messageExpression: '\"x\"'}]"},
			want: []string{`spec.policy[0]: Invalid value: message and messageExpression exclude each other`}},
		{name: "another action", edits: edits{"spec.policy": "[{name: a, expression: 'true', action: Allow}]"},
			want: []string{`spec.policy[0].action: Unsupported value: "Allow": supported values: "Deny", "Ask"`}},
		{name: "a decision endpoint without TLS", edits: edits{"spec.decisionEndpoint": "{url: 'http://opa.example/v1/data/x'}"},
			want: []string{`spec.decisionEndpoint.url: Invalid value: "http://opa.example/v1/data/x": url must be an https URL with a host and without user information`}},
		{name: "credential of a scripted model", edits: edits{"spec.mcpServer": absent, "spec.model": scripted, "spec.credential": bearer}, want: []string{scriptedRule}},
		{name: "server's name that is no slug", edits: edits{"spec.mcpServer.name": "help_desk"},
			want: []string{`spec.mcpServer.name: Invalid value: "help_desk": spec.mcpServer.name in body should match '^[a-z]([a-z0-9-]*[a-z0-9])?$'`}},
	})
}

func TestGrantLists(t *testing.T) {
	judge(t, grant, []verdict{
		{name: "exact names", edits: edits{"spec.tools": "[read, write]", "spec.always": "[read]", "spec.never": "[write]"}},
		{name: "approval tags (F3)", edits: edits{"spec.approval": "['@all', '@write', '@destructive', read]"}},
		{name: "tag of the other vocabulary in approval (F1)", edits: edits{"spec.approval": "['@read-only']"},
			want: []string{`spec.approval[0]: Invalid value: "@read-only": unknown tag "@read-only": this list knows @all, @write and @destructive; anything else is the exact name of a tool`}},
		{name: "unknown tag in approval (F4)", edits: edits{"spec.approval": "[read, '@distructive']"},
			want: []string{`spec.approval[1]: Invalid value: "@distructive": unknown tag "@distructive": this list knows @all, @write and @destructive; anything else is the exact name of a tool`}},
		{name: "tag in tools", edits: edits{"spec.tools": "['@all']"},
			want: []string{`spec.tools[0]: Invalid value: "@all": "@all" is a tag, and this list takes exact tool names only`}},
		{name: "tag in always", edits: edits{"spec.always": "['@write']"},
			want: []string{`spec.always[0]: Invalid value: "@write": "@write" is a tag, and this list takes exact tool names only`}},
		{name: "tag in never", edits: edits{"spec.never": "['@all']"},
			want: []string{`spec.never[0]: Invalid value: "@all": "@all" is a tag, and this list takes exact tool names only`}},
		{name: "empty name", edits: edits{"spec.tools": "['']"},
			want: []string{`spec.tools[0]: Invalid value: "": spec.tools[0] in body should be at least 1 chars long`}},
		{name: "name twice in tools", edits: edits{"spec.tools": "[a, a]"}, want: []string{`spec.tools[1]: Duplicate value: "a"`}},
		{name: "name twice in approval", edits: edits{"spec.approval": "[a, a]"}, want: []string{`spec.approval[1]: Duplicate value: "a"`}},
		{name: "name twice in always", edits: edits{"spec.always": "[a, a]"}, want: []string{`spec.always[1]: Duplicate value: "a"`}},
		{name: "name twice in never", edits: edits{"spec.never": "[a, a]"}, want: []string{`spec.never[1]: Duplicate value: "a"`}},
		{name: "as many tools as fit", edits: edits{"spec.tools": repeat(512, "tool%d")}},
		{name: "too many tools", edits: edits{"spec.tools": repeat(513, "tool%d")},
			want: []string{`spec.tools: Too many: 513: must have at most 512 items`}},
	})
}

func TestGrantModel(t *testing.T) {
	judge(t, edits{"spec": "{model: " + openAI + "}"}.yaml(t, grant), []verdict{
		{name: "valid"},
		{name: "model names", edits: edits{"spec.model.models": "[small, large]"}},
		{name: "model name twice", edits: edits{"spec.model.models": "[a, a]"}, want: []string{`spec.model.models[1]: Duplicate value: "a"`}},
		{name: "no endpoint", edits: edits{"spec.model.endpoint": absent}, want: []string{endpointRule}},
		{name: "script and endpoint", edits: edits{"spec.model.scriptRef": "{name: turns}"}, want: []string{scriptRule}},
		{name: "scripted without a script", edits: edits{"spec.model": "{provider: Scripted}"}, want: []string{scriptRule}},
		{name: "scripted with an endpoint", edits: edits{"spec.model.provider": "Scripted", "spec.model.scriptRef": "{name: turns}"}, want: []string{endpointRule}},
		{name: "another provider", edits: edits{"spec.model.provider": "Oracle"},
			want: []string{`spec.model.provider: Unsupported value: "Oracle": supported values: "OpenAI", "Scripted"`}},
		{name: "endpoint without a host", edits: edits{"spec.model.endpoint": "'https:///v1'"},
			want: []string{`spec.model.endpoint: Invalid value: "https:///v1": endpoint must be an http or https URL with a host`}},
		{name: "endpoint of another scheme", edits: edits{"spec.model.endpoint": "'unix:///v1'"},
			want: []string{`spec.model.endpoint: Invalid value: "unix:///v1": endpoint must be an http or https URL with a host`}},
		{name: "endpoint with a key", edits: edits{"spec.model.endpoint": "'https://key@models.example/v1'"},
			want: []string{`spec.model.endpoint: Forbidden: endpoint must not hold user information: a key belongs in credential`}},
		{name: "empty endpoint", edits: edits{"spec.model.endpoint": "''"}, want: []string{
			`spec.model.endpoint: Invalid value: "": endpoint must be an http or https URL with a host`,
			`spec.model.endpoint: Invalid value: "": spec.model.endpoint in body should be at least 1 chars long`,
		}},
	})
}

func TestGrantHosts(t *testing.T) {
	judge(t, edits{"spec": "{http: {hosts: [a.example]}}"}.yaml(t, grant), []verdict{
		{name: "valid"},
		{name: "no host", edits: edits{"spec.http.hosts": "[]"},
			want: []string{`spec.http.hosts: Invalid value: 0: spec.http.hosts in body should have at least 1 items`}},
		{name: "host twice", edits: edits{"spec.http.hosts": "[a.example, a.example]"}, want: []string{`spec.http.hosts[1]: Duplicate value: "a.example"`}},
		{name: "host with a path", edits: edits{"spec.http.hosts": "[a.example/x]"},
			want: []string{`spec.http.hosts[0]: Invalid value: "a.example/x": spec.http.hosts[0] in body should match '^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?$'`}},
		{name: "wildcard", edits: edits{"spec.http.hosts": "['*.example']"},
			want: []string{`spec.http.hosts[0]: Invalid value: "*.example": spec.http.hosts[0] in body should match '^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?$'`}},
		{name: "method in lower case (P16)", edits: edits{"spec.http.methods": "[get]"},
			want: []string{`spec.http.methods[0]: Unsupported value: "get": supported values: "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"`}},
		{name: "method twice", edits: edits{"spec.http.methods": "[GET, GET]"}, want: []string{`spec.http.methods[1]: Duplicate value: "GET"`}},
	})
}

// F9: omitted and empty are told apart all the way to the API server and back.
func TestGrantApprovalHasThreeStates(t *testing.T) {
	ns := env.Namespace(t)
	for name, approval := range map[string][]v1alpha1.ApprovalSelector{
		"omitted": nil,
		"empty":   {},
		"listed":  {"@write"},
	} {
		t.Run(name, func(t *testing.T) {
			g := &v1alpha1.Grant{}
			g.Name, g.Namespace = name, ns
			g.Spec.MCPServer = &v1alpha1.MCPServerReference{Name: "helpdesk"}
			g.Spec.Approval = approval
			if err := admin.Create(t.Context(), g); err != nil {
				t.Fatal(err)
			}
			got := &v1alpha1.Grant{}
			if err := admin.Get(t.Context(), client.ObjectKeyFromObject(g), got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(approval, got.Spec.Approval); diff != "" {
				t.Errorf("approval (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("null is omitted", func(t *testing.T) {
		u := edits{"metadata.name": "nothing", "spec.approval": "null"}.apply(t, parse(t, grant))
		u.SetNamespace(ns)
		if err := admin.Create(t.Context(), u); err != nil {
			t.Fatal(err)
		}
		got := &v1alpha1.Grant{}
		if err := admin.Get(t.Context(), client.ObjectKeyFromObject(u), got); err != nil {
			t.Fatal(err)
		}
		if got.Spec.Approval != nil {
			t.Errorf("approval is %v, want nil", got.Spec.Approval)
		}
	})
}

// yaml is an object with the edits made, as text.
func (e edits) yaml(t *testing.T, base string) string {
	t.Helper()
	data, err := e.apply(t, parse(t, base)).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
