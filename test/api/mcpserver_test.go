// SPDX-License-Identifier: Apache-2.0

package api

import (
	"testing"
)

const mcpServer = `
apiVersion: remit.dev/v1alpha1
kind: MCPServer
metadata: {name: helpdesk}
spec:
  transport: {http: {url: "https://helpdesk.example/mcp"}}
`

const (
	nameRule = `metadata: Invalid value: metadata.name must be a DNS label of at most 40 characters that begins with a letter`

	headerNameRule = `spec.transport.http.headers: Invalid value: a header name is letters, digits and dashes, and none that carries a credential or belongs to the protocol`
	selectorRule   = `spec.allowedNamespaces: Invalid value: selector is required when from is Selector, and forbidden otherwise`
	credentialRule = `spec.credential: Invalid value: header is required when type is Header, and forbidden otherwise`
)

func TestMCPServer(t *testing.T) {
	judge(t, mcpServer, []verdict{
		{name: "valid"},
		{name: "name of 40 characters", edits: edits{"metadata.name": text(40)}},
		{name: "name of 41 characters", edits: edits{"metadata.name": text(41)}, want: []string{nameRule}},
		{name: "name with a dot", edits: edits{"metadata.name": "a.b"}, want: []string{nameRule}},
		{name: "name that begins with a digit (P33)", edits: edits{"metadata.name": "9lives"}, want: []string{nameRule}},

		{name: "no transport", edits: edits{"spec.transport": "{}"},
			want: []string{`spec.transport: Invalid value: 0: spec.transport in body should have at least 1 properties`}},
		{name: "transport is missing", edits: edits{"spec.transport": absent},
			want: []string{`spec.transport: Required value`}},
		{name: "http", edits: edits{"spec.transport.http.url": "http://127.0.0.1:8321/mcp"}},
		{name: "IPv6", edits: edits{"spec.transport.http.url": `"http://[fd00::1]:8321/mcp"`}},
		{name: "another scheme", edits: edits{"spec.transport.http.url": "ftp://helpdesk.example/mcp"},
			want: []string{`spec.transport.http.url: Invalid value: "ftp://helpdesk.example/mcp": url must be an http or https URL with a host`}},
		{name: "no host", edits: edits{"spec.transport.http.url": "http:///mcp"},
			want: []string{`spec.transport.http.url: Invalid value: "http:///mcp": url must be an http or https URL with a host`}},
		{name: "no URL", edits: edits{"spec.transport.http.url": "helpdesk"},
			want: []string{`spec.transport.http.url: Invalid value: "helpdesk": url must be an http or https URL with a host`}},
		{name: "user information in the URL", edits: edits{"spec.transport.http.url": "https://user:secret@helpdesk.example/mcp"},
			want: []string{`spec.transport.http.url: Forbidden: url must not hold user information: a key belongs in credential`}},

		{name: "header", edits: edits{"spec.transport.http.headers": "{X-Team: support}"}},
		{name: "header that carries a credential", edits: edits{"spec.transport.http.headers": "{AUTHORIZATION: x}"}, want: []string{headerNameRule}},
		{name: "header of the protocol", edits: edits{"spec.transport.http.headers": "{Mcp-Session-Id: x}"}, want: []string{headerNameRule}},
		{name: "header with a space", edits: edits{"spec.transport.http.headers": "{X Team: x}"}, want: []string{headerNameRule}},
		{name: "header value that breaks the line", edits: edits{"spec.transport.http.headers": `{X-Team: "a\r\nX-Evil: b"}`},
			want: []string{`spec.transport.http.headers[X-Team]: Forbidden: a header value has no control characters`}},
		{name: "header value that is too long", edits: edits{"spec.transport.http.headers": "{X-Team: " + text(1025) + "}"},
			want: []string{`spec.transport.http.headers.X-Team: Too long: may not be more than 1024 bytes`}},

		{name: "all namespaces", edits: edits{"spec.allowedNamespaces": "{from: All}"}},
		{name: "selected namespaces", edits: edits{"spec.allowedNamespaces": "{from: Selector, selector: {matchLabels: {team: a}}}"}},
		{name: "Selector without a selector", edits: edits{"spec.allowedNamespaces": "{from: Selector}"}, want: []string{selectorRule}},
		{name: "All with a selector", edits: edits{"spec.allowedNamespaces": "{from: All, selector: {}}"}, want: []string{selectorRule}},
		{name: "the default with a selector", edits: edits{"spec.allowedNamespaces": "{selector: {}}"}, want: []string{selectorRule}},
		{name: "another value of from", edits: edits{"spec.allowedNamespaces": "{from: Any}"},
			want: []string{`spec.allowedNamespaces.from: Unsupported value: "Any": supported values: "Same", "All", "Selector"`}},

		{name: "trusted", edits: edits{"spec.annotations": "Trusted"}},
		{name: "another trust", edits: edits{"spec.annotations": "Believed"},
			want: []string{`spec.annotations: Unsupported value: "Believed": supported values: "Trusted", "Untrusted"`}},

		{name: "interval at its least", edits: edits{"spec.refreshInterval": "10s"}},
		{name: "interval at its most", edits: edits{"spec.refreshInterval": "24h"}},
		{name: "interval of several units", edits: edits{"spec.refreshInterval": "1h30m0s500ms"}},
		{name: "interval too short", edits: edits{"spec.refreshInterval": "9s"},
			want: []string{`spec.refreshInterval: Invalid value: "9s": refreshInterval must be between 10s and 24h`}},
		{name: "interval too long", edits: edits{"spec.refreshInterval": "24h1s"},
			want: []string{`spec.refreshInterval: Invalid value: "24h1s": refreshInterval must be between 10s and 24h`}},

		{name: "bearer", edits: edits{"spec.credential": "{type: Bearer, secretRef: {name: s, key: k}}"}},
		{name: "header credential", edits: edits{"spec.credential": "{type: Header, header: X-Key, secretRef: {name: s, key: k}}"}},
		{name: "header credential without header", edits: edits{"spec.credential": "{type: Header, secretRef: {name: s, key: k}}"}, want: []string{credentialRule}},
		{name: "bearer with header", edits: edits{"spec.credential": "{type: Bearer, header: X-Key, secretRef: {name: s, key: k}}"}, want: []string{credentialRule}},
		{name: "another credential", edits: edits{"spec.credential": "{type: Basic, secretRef: {name: s, key: k}}"},
			want: []string{
				`spec.credential: Invalid value: basic is required when type is Basic, and forbidden otherwise`,
				`spec.credential: Invalid value: secretRef is required when type is Bearer or Header, and forbidden otherwise`,
			}},
		{name: "credential without a reference", edits: edits{"spec.credential": "{type: Bearer}"},
			want: []string{`spec.credential: Invalid value: secretRef is required when type is Bearer or Header, and forbidden otherwise`}},
		{name: "key that is none", edits: edits{"spec.credential": `{type: Bearer, secretRef: {name: s, key: "a/b"}}`},
			want: []string{`spec.credential.secretRef.key: Invalid value: "a/b": spec.credential.secretRef.key in body should match '^[-._a-zA-Z0-9]+$'`}},
	})
}
