// SPDX-License-Identifier: Apache-2.0

package api

import "testing"

const (
	secretRefRule = `spec.credential: Invalid value: secretRef is required when type is Bearer or Header, and forbidden otherwise`
	headerRule    = `spec.credential: Invalid value: header is required when type is Header, and forbidden otherwise`
	basicRule     = `spec.credential: Invalid value: basic is required when type is Basic, and forbidden otherwise`
	oauth2Rule    = `spec.credential: Invalid value: oauth2 is required when type is OAuth2, and forbidden otherwise`
	clientIDRule  = `spec.credential.oauth2: Invalid value: exactly one of clientID and clientIDKey must be set`

	secretRef = "{name: s, key: k}"
	oauth2    = "{tokenURL: 'https://login.example/token', secretRef: {name: s}, clientID: desk}"
)

// Each type of a credential takes its own fields, and no other's.
func TestCredentialUnion(t *testing.T) {
	judge(t, grant, []verdict{
		{name: "bearer", edits: edits{"spec.credential": "{type: Bearer, secretRef: " + secretRef + "}"}},
		{name: "header", edits: edits{"spec.credential": "{type: Header, header: X-Api-Key, secretRef: " + secretRef + "}"}},
		{name: "basic", edits: edits{"spec.credential": "{type: Basic, basic: {secretRef: {name: s}}}"}},
		{name: "basic with keys", edits: edits{"spec.credential": "{type: Basic, basic: {secretRef: {name: s}, usernameKey: u, passwordKey: p}}"}},
		{name: "OAuth 2", edits: edits{"spec.credential": "{type: OAuth2, oauth2: " + oauth2 + "}"}},

		{name: "another type", edits: edits{"spec.credential": "{type: Digest, secretRef: " + secretRef + "}"},
			want: []string{`spec.credential.type: Unsupported value: "Digest": supported values: "Bearer", "Header", "Basic", "OAuth2"`}},
		{name: "bearer without a Secret", edits: edits{"spec.credential": "{type: Bearer}"}, want: []string{secretRefRule}},
		{name: "bearer with a header", edits: edits{"spec.credential": "{type: Bearer, header: X-Api-Key, secretRef: " + secretRef + "}"}, want: []string{headerRule}},
		{name: "bearer with basic", edits: edits{"spec.credential": "{type: Bearer, secretRef: " + secretRef + ", basic: {secretRef: {name: s}}}"}, want: []string{basicRule}},
		{name: "header without its name", edits: edits{"spec.credential": "{type: Header, secretRef: " + secretRef + "}"}, want: []string{headerRule}},
		{name: "basic without basic", edits: edits{"spec.credential": "{type: Basic}"}, want: []string{basicRule}},
		{name: "basic with the Secret of a bearer", edits: edits{"spec.credential": "{type: Basic, secretRef: " + secretRef + "}"}, want: []string{basicRule, secretRefRule}},
		{name: "OAuth 2 without oauth2", edits: edits{"spec.credential": "{type: OAuth2}"}, want: []string{oauth2Rule}},
		{name: "bearer with oauth2", edits: edits{"spec.credential": "{type: Bearer, secretRef: " + secretRef + ", oauth2: " + oauth2 + "}"}, want: []string{oauth2Rule}},
		{name: "header of the protocol", edits: edits{"spec.credential": "{type: Header, header: Mcp-Session-Id, secretRef: " + secretRef + "}"},
			want: []string{`spec.credential.header: Invalid value: "Mcp-Session-Id": header must not be one that belongs to the protocol`}},
		{name: "header that is none", edits: edits{"spec.credential": "{type: Header, header: 'X Key', secretRef: " + secretRef + "}"},
			want: []string{`spec.credential.header: Invalid value: "X Key": spec.credential.header in body should match '^[A-Za-z][A-Za-z0-9-]*$'`}},
	})
}

func TestOAuth2Credential(t *testing.T) {
	base := edits{"spec.credential": "{type: OAuth2, oauth2: " + oauth2 + "}"}.yaml(t, grant)
	judge(t, base, []verdict{
		{name: "everything", edits: edits{
			"spec.credential.oauth2.scopes":   "['mcp:read', 'https://api.example/.default']",
			"spec.credential.oauth2.audience": "https://api.example", "spec.credential.oauth2.resource": "https://mcp.example/mcp",
			"spec.credential.oauth2.clientAuthentication": "ClientSecretPost", "spec.credential.oauth2.clientSecretKey": "secret",
		}},
		{name: "id from the Secret", edits: edits{"spec.credential.oauth2.clientID": absent, "spec.credential.oauth2.clientIDKey": "id"}},
		{name: "http, which the operator judges", edits: edits{"spec.credential.oauth2.tokenURL": "http://sts.auth.svc/token"}},

		{name: "no id", edits: edits{"spec.credential.oauth2.clientID": absent}, want: []string{clientIDRule}},
		{name: "two ids", edits: edits{"spec.credential.oauth2.clientIDKey": "id"}, want: []string{clientIDRule}},
		{name: "no token URL", edits: edits{"spec.credential.oauth2.tokenURL": absent}, want: []string{`spec.credential.oauth2.tokenURL: Required value`}},
		{name: "no Secret", edits: edits{"spec.credential.oauth2.secretRef": absent}, want: []string{`spec.credential.oauth2.secretRef: Required value`}},
		{name: "token URL of another scheme", edits: edits{"spec.credential.oauth2.tokenURL": "'file:///token'"},
			want: []string{`spec.credential.oauth2.tokenURL: Invalid value: "file:///token": tokenURL must be an http or https URL with a host`}},
		{name: "token URL with a secret", edits: edits{"spec.credential.oauth2.tokenURL": "'https://id:secret@login.example/token'"},
			want: []string{`spec.credential.oauth2.tokenURL: Forbidden: tokenURL must not hold user information: the client's secret belongs in the Secret`}},
		{name: "token URL with a fragment (RFC 6749 3.2)", edits: edits{"spec.credential.oauth2.tokenURL": "'https://login.example/token#x'"},
			want: []string{`spec.credential.oauth2.tokenURL: Invalid value: "https://login.example/token#x": tokenURL must not hold a fragment`}},
		{name: "resource that is none (RFC 8707 2)", edits: edits{"spec.credential.oauth2.resource": "mcp"},
			want: []string{`spec.credential.oauth2.resource: Invalid value: "mcp": resource must be an absolute URL without a fragment`}},
		{name: "two scopes in one", edits: edits{"spec.credential.oauth2.scopes": "['read write']"},
			want: []string{`spec.credential.oauth2.scopes[0]: Invalid value: "read write": spec.credential.oauth2.scopes[0] in body should match '^[!#-\[\]-~]+$'`}},
		{name: "scope twice", edits: edits{"spec.credential.oauth2.scopes": "[a, a]"}, want: []string{`spec.credential.oauth2.scopes[1]: Duplicate value: "a"`}},
		{name: "too many scopes", edits: edits{"spec.credential.oauth2.scopes": repeat(33, "s%d")},
			want: []string{`spec.credential.oauth2.scopes: Too many: 33: must have at most 32 items`}},
		{name: "another way to authenticate", edits: edits{"spec.credential.oauth2.clientAuthentication": "PrivateKeyJWT"},
			want: []string{`spec.credential.oauth2.clientAuthentication: Unsupported value: "PrivateKeyJWT": supported values: "ClientSecretBasic", "ClientSecretPost"`}},
	})
}
