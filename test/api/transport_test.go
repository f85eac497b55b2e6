// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const hostedServer = `
apiVersion: remit.dev/v1alpha1
kind: MCPServer
metadata: {name: helpdesk}
spec:
  transport: {hosted: {image: "registry.example/helpdesk:1", port: 8080}}
`

const stdioServer = `
apiVersion: remit.dev/v1alpha1
kind: MCPServer
metadata: {name: helpdesk}
spec:
  transport: {stdio: {image: "registry.example/helpdesk:1", command: [node, index.js]}}
`

// list is a YAML list of n elements; the format may hold their number.
func list(n int, format string) string {
	elements := make([]string, n)
	for i := range elements {
		elements[i] = strings.ReplaceAll(format, "%d", fmt.Sprint(i))
	}
	return "[" + strings.Join(elements, ", ") + "]"
}

const (
	oneTransport = `spec.transport: Too many: 2: must have at most 1 item`
	valueRule    = `: Invalid value: exactly one of value and secretKeyRef must be set`
)

func TestTransports(t *testing.T) {
	judge(t, mcpServer, []verdict{
		{name: "public addresses", edits: edits{"spec.transport.http.network": "Public"}},
		{name: "addresses of the cluster", edits: edits{"spec.transport.http.network": "ClusterInternal"}},
		{name: "another network", edits: edits{"spec.transport.http.network": "Loopback"},
			want: []string{`spec.transport.http.network: Unsupported value: "Loopback": supported values: "Public", "ClusterInternal"`}},
		{name: "two transports", edits: edits{"spec.transport.hosted": "{image: i, port: 1}"}, want: []string{oneTransport}},
		{name: "another transport", edits: edits{"spec.transport": "{sse: {url: x}}"},
			want: []string{`spec.transport: Invalid value: 0: spec.transport in body should have at least 1 properties`}},
	})
}

func TestHostedTransport(t *testing.T) {
	const at = "spec.transport.hosted."
	judge(t, hostedServer, []verdict{
		{name: "valid"},
		{name: "everything", edits: edits{"spec.transport.hosted": `{image: "localhost:5000/a/b@sha256:0123", port: 65535, path: /v1/mcp,
			command: [serve], args: ["--all", ""], env: [{name: A, value: ""}, {name: _b, secretKeyRef: {name: s, key: k}}],
			resources: {requests: {cpu: 100m, memory: 64Mi}, limits: {cpu: 1, memory: 64Mi}}, runAsUser: 1000, egress: Internet,
			imagePullSecrets: [{name: registry}], replicas: 10}`}},
		{name: "no image", edits: edits{at + "image": absent}, want: []string{at + `image: Required value`}},
		{name: "image with a space", edits: edits{at + "image": `"a b"`},
			want: []string{at + `image: Invalid value: "a b": ` + at + `image in body should match '^[A-Za-z0-9][A-Za-z0-9._:/@-]*$'`}},
		{name: "image that is too long", edits: edits{at + "image": text(513)}, want: []string{at + `image: Too long: may not be more than 512 bytes`}},
		{name: "no port", edits: edits{at + "port": absent}, want: []string{at + `port: Required value`}},
		{name: "port 0", edits: edits{at + "port": "0"}, want: []string{at + `port: Invalid value: 0: ` + at + `port in body should be greater than or equal to 1`}},
		{name: "port beyond the last", edits: edits{at + "port": "65536"},
			want: []string{at + `port: Invalid value: 65536: ` + at + `port in body should be less than or equal to 65535`}},
		{name: "path without a slash", edits: edits{at + "path": "mcp"},
			want: []string{at + `path: Invalid value: "mcp": ` + at + `path in body should match '^/[A-Za-z0-9._~/-]*$'`}},
		{name: "path with a query", edits: edits{at + "path": "/mcp?key=secret"},
			want: []string{at + `path: Invalid value: "/mcp?key=secret": ` + at + `path in body should match '^/[A-Za-z0-9._~/-]*$'`}},
		{name: "no replicas", edits: edits{at + "replicas": "0"},
			want: []string{at + `replicas: Invalid value: 0: ` + at + `replicas in body should be greater than or equal to 1`}},
		{name: "root", edits: edits{at + "runAsUser": "0"},
			want: []string{at + `runAsUser: Invalid value: 0: ` + at + `runAsUser in body should be greater than or equal to 1`}},
		{name: "another egress", edits: edits{at + "egress": "All"},
			want: []string{at + `egress: Unsupported value: "All": supported values: "None", "Internet", "Any"`}},

		{name: "variable twice", edits: edits{at + "env": "[{name: A, value: one}, {name: A, value: two}]"},
			want: []string{at + `env[1]: Duplicate value: {"name":"A"}`}},
		{name: "variable without a value", edits: edits{at + "env": "[{name: A}]"}, want: []string{at + `env[0]` + valueRule}},
		{name: "variable with two values", edits: edits{at + "env": "[{name: A, value: x, secretKeyRef: {name: s, key: k}}]"},
			want: []string{at + `env[0]` + valueRule}},
		{name: "name that begins with a digit", edits: edits{at + "env": "[{name: 1A, value: x}]"},
			want: []string{at + `env[0].name: Invalid value: "1A": ` + at + `env[0].name in body should match '^[A-Za-z_][A-Za-z0-9_]*$'`}},
		{name: "name with an equals sign", edits: edits{at + "env": `[{name: "A=B", value: x}]`},
			want: []string{at + `env[0].name: Invalid value: "A=B": ` + at + `env[0].name in body should match '^[A-Za-z_][A-Za-z0-9_]*$'`}},
		{name: "value with a NUL", edits: edits{at + "env": `[{name: A, value: "a\0b"}]`},
			want: []string{at + `env[0].value: Invalid value: "a\x00b": ` + at + `env[0].value in body should match '^[^\x00]*$'`}},
		{name: "64 variables", edits: edits{at + "env": list(64, "{name: A%d, value: x}")}},
		{name: "65 variables", edits: edits{at + "env": list(65, "{name: A%d, value: x}")},
			want: []string{at + `env: Too many: 65: must have at most 64 items`}},
		{name: "argument with a NUL", edits: edits{at + "args": `["a\0b"]`},
			want: []string{at + `args[0]: Invalid value: "a\x00b": ` + at + `args[0] in body should match '^[^\x00]*$'`}},
		{name: "65 arguments", edits: edits{at + "args": list(65, "x")}, want: []string{at + `args: Too many: 65: must have at most 64 items`}},

		{name: "more memory requested than allowed", edits: edits{at + "resources": "{requests: {memory: 1Gi}, limits: {memory: 1000Mi}}"},
			want: []string{at + `resources: Invalid value: requests.memory must not be more than limits.memory`}},
		{name: "more CPU requested than allowed", edits: edits{at + "resources": "{requests: {cpu: 2}, limits: {cpu: 1500m}}"},
			want: []string{at + `resources: Invalid value: requests.cpu must not be more than limits.cpu`}},
		{name: "no memory", edits: edits{at + "resources": "{limits: {memory: 0}}"},
			want: []string{at + `resources.limits.memory: Invalid value: 0: memory must be more than 0`}},
		{name: "a credential", edits: edits{"spec.credential": "{type: Header, header: X-Key, secretRef: {name: s, key: k}}"}},
	})
}

func TestStdioTransport(t *testing.T) {
	const (
		at         = "spec.transport.stdio."
		credential = "{type: Bearer, secretRef: {name: s, key: k}}"
		bothRule   = at + `credentialEnv: Invalid value: the variable of credentialEnv must not be in env or inheritEnv too`
	)
	judge(t, stdioServer, []verdict{
		{name: "valid"},
		{name: "exact environment (N1)", edits: edits{at + "env": "[{name: A, value: x}]", at + "inheritEnv": "[PATH, HOME]"}},
		{name: "no command", edits: edits{at + "command": absent}, want: []string{at + `command: Required value`}},
		{name: "empty command", edits: edits{at + "command": "[]"},
			want: []string{at + `command: Invalid value: 0: ` + at + `command in body should have at least 1 items`}},
		{name: "no program", edits: edits{at + "command": `["", x]`}, want: []string{at + `command: Invalid value: command must begin with the name of a program`}},
		{name: "16 parts of the command", edits: edits{at + "command": list(16, "x")}},
		{name: "17 parts of the command", edits: edits{at + "command": list(17, "x")}, want: []string{at + `command: Too many: 17: must have at most 16 items`}},
		{name: "shared", edits: edits{at + "sessions": "Shared"}},
		{name: "other sessions", edits: edits{at + "sessions": "Pooled"},
			want: []string{at + `sessions: Unsupported value: "Pooled": supported values: "PerSession", "Shared"`}},
		{name: "inherited variable twice", edits: edits{at + "inheritEnv": "[PATH, PATH]"}, want: []string{at + `inheritEnv[1]: Duplicate value: "PATH"`}},
		{name: "inherited variable that is set too", edits: edits{at + "env": "[{name: PATH, value: /bin}]", at + "inheritEnv": "[HOME, PATH]"},
			want: []string{at + `inheritEnv: Invalid value: a variable of env must not be in inheritEnv too`}},

		{name: "credential for the process", edits: edits{at + "credentialEnv": "TOKEN", "spec.credential": credential}},
		{name: "credential of Grants alone", edits: edits{at + "credentialEnv": "TOKEN"}},
		{name: "credential that goes nowhere", edits: edits{"spec.credential": credential},
			want: []string{`spec.credential: Forbidden: a stdio server has no use for credential unless transport.stdio.credentialEnv names the variable for it`}},
		{name: "credential for a header", edits: edits{at + "credentialEnv": "TOKEN", "spec.credential": "{type: Header, header: X-Key, secretRef: {name: s, key: k}}"},
			want: []string{`spec.credential: Invalid value: a stdio server takes a credential of type Bearer or OAuth2`}},
		{name: "credential for the processes of several namespaces", edits: edits{at + "credentialEnv": "TOKEN", "spec.allowedNamespaces": "{from: All}"},
			want: []string{`spec.allowedNamespaces.from: Forbidden: must be Same where transport.stdio.credentialEnv is set: the processes of one Pod can read each other's credentials, so they belong to one namespace`}},
		{name: "credential for a shared process", edits: edits{at + "credentialEnv": "TOKEN", at + "sessions": "Shared"},
			want: []string{at + `credentialEnv: Forbidden: credentialEnv needs sessions to be PerSession: a shared process has one environment for everybody`}},
		{name: "credential over a variable", edits: edits{at + "credentialEnv": "TOKEN", at + "env": "[{name: TOKEN, value: x}]"}, want: []string{bothRule}},
		{name: "credential over an inherited variable", edits: edits{at + "credentialEnv": "PATH", at + "inheritEnv": "[PATH]"}, want: []string{bothRule}},
	})
}

// The samples of servers that the operator runs are taken, and stay as they are.
func TestServerSamples(t *testing.T) {
	kubectl(t, "apply", "--server-side", "-f", "../../config/samples/platform/namespaces.yaml")
	want := []string{"mcpserver.remit.dev/everything", "mcpserver.remit.dev/memory"}
	if diff := cmp.Diff(want, wantStable(t, "../../config/samples/servers")); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
}
