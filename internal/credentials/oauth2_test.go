// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/egress"
)

// endpoint is a token endpoint that keeps what it was asked.
type endpoint struct {
	*httptest.Server
	// on answers a request; the default gives the next token.
	on func(http.ResponseWriter, *http.Request)

	mu    sync.Mutex
	asked []tokenRequest
}

type tokenRequest struct {
	Method, Authorization, ContentType string
	Form                               url.Values
}

func newEndpoint(t *testing.T) *endpoint {
	t.Helper()
	e := &endpoint{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		form, _ := url.ParseQuery(string(body))
		e.mu.Lock()
		e.asked = append(e.asked, tokenRequest{r.Method, r.Header.Get("Authorization"), r.Header.Get("Content-Type"), form})
		n := len(e.asked)
		e.mu.Unlock()
		if e.on != nil {
			e.on(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token":"token-%d","token_type":"bearer","expires_in":3600}`, n)
	}))
	t.Cleanup(e.Close)
	return e
}

func (e *endpoint) requests() []tokenRequest {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]tokenRequest{}, e.asked...)
}

// oauth2Credential is a client as the API server gives it, defaults included.
func oauth2Credential(tokenURL string, changes ...func(*v1alpha1.OAuth2Credential)) *v1alpha1.Credential {
	client := &v1alpha1.OAuth2Credential{
		TokenURL: tokenURL, SecretRef: v1alpha1.NamedReference{Name: "client"}, ClientID: "desk",
		ClientSecretKey: "client-secret", ClientAuthentication: v1alpha1.ClientSecretBasic,
	}
	for _, change := range changes {
		change(client)
	}
	return &v1alpha1.Credential{Type: v1alpha1.CredentialOAuth2, OAuth2: client}
}

func clientSecret(data ...string) *corev1.Secret {
	made := map[string]string{"client-secret": canary + "\n"}
	for i := 0; i < len(data); i += 2 {
		made[data[i]] = data[i+1]
	}
	return makeSecret("client", made)
}

func use(credential *v1alpha1.Credential) Use {
	return Use{Namespace: "team", Credential: credential, URL: "https://mcp.test/mcp"}
}

// RFC 6749 sections 2.3.1 and 4.4.2, RFC 8707 section 2: what goes over the wire.
func TestTokenRequest(t *testing.T) {
	form := func(more ...string) url.Values {
		values := url.Values{"grant_type": {"client_credentials"}}
		for i := 0; i < len(more); i += 2 {
			values.Set(more[i], more[i+1])
		}
		return values
	}
	for name, row := range map[string]struct {
		secret        *corev1.Secret
		change        func(*v1alpha1.OAuth2Credential)
		authorization string
		form          url.Values
	}{
		"plain": {clientSecret(), func(*v1alpha1.OAuth2Credential) {}, pair("desk", canary), form()},
		"with everything": {clientSecret(), func(c *v1alpha1.OAuth2Credential) {
			c.Scopes, c.Audience, c.Resource = []string{"write", "read"}, "https://api.test", "https://mcp.test/mcp"
		}, pair("desk", canary), form("scope", "read write", "audience", "https://api.test", "resource", "https://mcp.test/mcp")},
		"in the body": {clientSecret(), func(c *v1alpha1.OAuth2Credential) {
			c.ClientAuthentication = v1alpha1.ClientSecretPost
		}, "", form("client_id", "desk", "client_secret", canary)},
		"id from the Secret": {clientSecret("id", "desk-2\n"), func(c *v1alpha1.OAuth2Credential) {
			c.ClientID, c.ClientIDKey = "", "id"
		}, pair("desk-2", canary), form()},
		// Both are form-encoded before they are joined.
		"with reserved characters": {clientSecret("client-secret", "p:a+s %£"), func(c *v1alpha1.OAuth2Credential) {
			c.ClientID = "a:b c"
		}, pair("a%3Ab+c", "p%3Aa%2Bs+%25%C2%A3"), form()},
	} {
		t.Run(name, func(t *testing.T) {
			server := newEndpoint(t)
			value, err := newResolver(row.secret).Resolve(t.Context(), use(oauth2Credential(server.URL+"/token", row.change)))
			if err != nil || value.Header() != "Authorization" || value.Reveal() != "Bearer token-1" {
				t.Fatalf("got %q: %q, %v", value.Header(), value.Reveal(), err)
			}
			want := []tokenRequest{{"POST", row.authorization, "application/x-www-form-urlencoded", row.form}}
			if diff := cmp.Diff(want, server.requests()); diff != "" {
				t.Errorf("the requests (-want +got):\n%s", diff)
			}
		})
	}
}

// One token serves many calls; a rotated Secret, another scope, or another tenant has its own.
func TestWhatShares(t *testing.T) {
	server := newEndpoint(t)
	reader := fake.NewClientBuilder().WithObjects(clientSecret(), func() client.Object {
		other := clientSecret()
		other.Namespace = "other"
		return other
	}()).Build()
	resolver := newResolver()
	resolver.secrets.reader = reader
	plain := use(oauth2Credential(server.URL))
	scoped := use(oauth2Credential(server.URL, func(c *v1alpha1.OAuth2Credential) { c.Scopes = []string{"read"} }))
	elsewhere := plain
	elsewhere.URL = "https://other.test"
	tenant := plain
	tenant.Namespace = "other"
	ask := func(what string, use Use, want string) {
		t.Helper()
		if value, err := resolver.Resolve(t.Context(), use); err != nil || value.Reveal() != "Bearer "+want {
			t.Errorf("%s: %q, %v, want %s", what, value.Reveal(), err, want)
		}
	}
	ask("the first call", plain, "token-1")
	ask("the second call", plain, "token-1")
	ask("another server", elsewhere, "token-1")
	ask("another scope", scoped, "token-2")
	ask("another tenant", tenant, "token-3")

	rotated := clientSecret("client-secret", "rotated")
	if err := reader.Update(t.Context(), rotated); err != nil {
		t.Fatal(err)
	}
	ask("after the rotation", plain, "token-4")
	ask("and again", plain, "token-4")
	if _, err := resolver.Resolve(t.Context(), Use{Namespace: "gone", Credential: plain.Credential}); err == nil {
		t.Error("a tenant without the Secret gets a token")
	}
}

// E10: a refused token is replaced, unless it had just replaced another.
func TestRenew(t *testing.T) {
	server := newEndpoint(t)
	resolver := newResolver(clientSecret())
	plain := use(oauth2Credential(server.URL))
	first, err := resolver.Resolve(t.Context(), plain)
	if err != nil {
		t.Fatal(err)
	}
	second, err := resolver.Renew(t.Context(), plain, first)
	if err != nil || second == first || second.Reveal() != "Bearer token-2" {
		t.Errorf("renewed: %q, %v", second.Reveal(), err)
	}
	if third, err := resolver.Renew(t.Context(), plain, second); err != nil || third != second {
		t.Errorf("renewed at once: %q, %v, want the same", third.Reveal(), err)
	}
	if now, err := resolver.Resolve(t.Context(), plain); err != nil || now != second {
		t.Errorf("resolved afterwards: %q, %v", now.Reveal(), err)
	}
	static := newResolver(makeSecret("good", map[string]string{"token": canary}))
	value, err := static.Renew(t.Context(), use(bearer("good", "token")), bearerValue(canary))
	if err != nil || value != bearerValue(canary) {
		t.Errorf("a Secret that did not change: %v", err)
	}
}

// Every way in which an endpoint can fail has a reason that says whether time may help, and
// none shows the client's secret, however the endpoint echoes it.
func TestTokenFailures(t *testing.T) {
	answer := func(status int, contentType, body string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(status)
			io.WriteString(w, body)
		}
	}
	echo := base64.StdEncoding.EncodeToString([]byte("desk:" + canary))
	for name, row := range map[string]struct {
		on     func(http.ResponseWriter, *http.Request)
		reason string
		says   string
	}{
		"invalid client": {answer(401, "application/json", `{"error":"invalid_client","error_description":"no client `+canary+`, `+echo+`"}`),
			v1alpha1.ReasonTokenRefused, "gives no token (HTTP 401): invalid_client: no client [redacted], [redacted]: check tokenURL"},
		"invalid scope":  {answer(400, "application/json", `{"error":"invalid_scope"}`), v1alpha1.ReasonTokenRefused, "(HTTP 400): invalid_scope"},
		"error with 200": {answer(200, "application/json", `{"error":"invalid_client"}`), v1alpha1.ReasonTokenRefused, "invalid_client"},
		"a page":         {answer(404, "text/html", "<html>"+canary), v1alpha1.ReasonTokenRefused, "(HTTP 404): check"},
		"a long description": {answer(400, "application/json", `{"error":"x","error_description":"`+strings.Repeat("é\\n", 4000)+`"}`),
			v1alpha1.ReasonTokenRefused, "é é"},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://elsewhere.test/?s="+canary, http.StatusTemporaryRedirect)
		}, v1alpha1.ReasonTokenRefused, `redirects to host "elsewhere.test", and redirects are not followed`},
		"a redirect to nowhere": {answer(302, "text/plain", ""), v1alpha1.ReasonTokenRefused, "redirects to another place"},
		"out of order":          {answer(503, "text/plain", canary), v1alpha1.ReasonTokenUnavailable, "(HTTP 503)"},
		"busy":                  {answer(429, "application/json", `{"error":"slow_down"}`), v1alpha1.ReasonTokenUnavailable, "(HTTP 429): slow_down"},
		"garbage":               {answer(200, "application/json", `{"access_token":`+canary), v1alpha1.ReasonTokenUnavailable, "something that is no token"},
		"no token":              {answer(200, "application/json", `{"token_type":"bearer"}`), v1alpha1.ReasonTokenUnavailable, "something that is no token"},
		"another type": {answer(200, "application/json", `{"access_token":"x","token_type":"mac"}`),
			v1alpha1.ReasonTokenUnavailable, `a token of type "mac"`},
		"a token with a line break": {answer(200, "application/json", `{"access_token":"a\nb","token_type":"bearer"}`),
			v1alpha1.ReasonTokenUnavailable, "no HTTP header can carry"},
		"a token that is too long": {answer(200, "application/json", `{"access_token":"`+strings.Repeat("a", MaxValue+1)+`"}`),
			v1alpha1.ReasonTokenUnavailable, "no HTTP header can carry"},
		"no answer": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			v1alpha1.ReasonTokenUnavailable, "cannot be reached: EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			server := newEndpoint(t)
			server.on = row.on
			_, err := newResolver(clientSecret()).Resolve(t.Context(), use(oauth2Credential(server.URL)))
			wantError(t, err, row.reason)
			if text := err.Error(); !strings.Contains(text, row.says) || strings.Contains(text, echo) || len(text) > 1024 {
				t.Errorf("got %s, want it to say %s", text, row.says)
			}
			var failure *Error
			if errors.As(err, &failure); failure.Temporary != (row.reason == v1alpha1.ReasonTokenUnavailable) {
				t.Errorf("Temporary is %v", failure.Temporary)
			}
			if n := len(server.requests()); n != 1 {
				t.Errorf("%d requests, want 1: a secret is not shown in two ways", n)
			}
		})
	}
}

// What is missing from the Secret, or not permitted by it, is said before a byte leaves.
func TestTokenIsNotAskedFor(t *testing.T) {
	withHosts := func(hosts string) *corev1.Secret {
		limited := clientSecret()
		limited.Annotations = map[string]string{v1alpha1.HostsAnnotation: hosts}
		return limited
	}
	server := newEndpoint(t)
	host := strings.TrimPrefix(server.URL, "http://")
	fromKey := func(c *v1alpha1.OAuth2Credential) { c.ClientID, c.ClientIDKey = "", "id" }
	for name, row := range map[string]struct {
		secret *corev1.Secret
		change func(*v1alpha1.OAuth2Credential)
		reason string
	}{
		"no secret":                   {makeSecret("client", nil), nil, v1alpha1.ReasonCredentialMissing},
		"an empty secret":             {clientSecret("client-secret", "\n"), nil, v1alpha1.ReasonCredentialMissing},
		"no id":                       {clientSecret(), fromKey, v1alpha1.ReasonCredentialMissing},
		"an empty id":                 {clientSecret("id", ""), fromKey, v1alpha1.ReasonCredentialMissing},
		"a host without the endpoint": {withHosts("mcp.test"), nil, v1alpha1.ReasonCredentialRefused},
		"a host without the server":   {withHosts(host), nil, v1alpha1.ReasonCredentialRefused},
		"both hosts, and it is asked": {withHosts("mcp.test," + host), nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			before := len(server.requests())
			credential := oauth2Credential(server.URL)
			if row.change != nil {
				row.change(credential.OAuth2)
			}
			_, err := newResolver(row.secret).Resolve(t.Context(), use(credential))
			asked := len(server.requests()) - before
			if row.reason == "" {
				if err != nil || asked != 1 {
					t.Errorf("%v after %d requests", err, asked)
				}
				return
			}
			wantError(t, err, row.reason)
			if asked != 0 {
				t.Errorf("%d requests were made", asked)
			}
		})
	}
}

// N7: token requests go through the guard, and a secret crosses a public network under TLS
// alone.
func TestTokenRequestsAreGuarded(t *testing.T) {
	for tokenURL, says := range map[string]string{
		"https://169.254.169.254/token": "metadata",
		"https://[::1]/token":           "loopback",
		"http://8.8.8.8/token":          "a secret would travel there without TLS; use https",
	} {
		_, err := newResolver(clientSecret()).Resolve(t.Context(), use(oauth2Credential(tokenURL)))
		wantError(t, err, v1alpha1.ReasonEgressDenied)
		var denied *egress.Denied
		if !errors.As(err, &denied) || denied.Tenant != "team" || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v, want it to say %q", tokenURL, err, says)
		}
	}
}

// Issue 4: a redirect is not followed, and the place that it leads to hears nothing.
func TestTokenRedirectsLeadNowhere(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		var arrived atomic.Int64
		elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived.Add(1) }))
		defer elsewhere.Close()
		server := newEndpoint(t)
		server.on = func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, status) }
		_, err := newResolver(clientSecret()).Resolve(t.Context(), use(oauth2Credential(server.URL)))
		wantError(t, err, v1alpha1.ReasonTokenRefused)
		if arrived.Load() != 0 {
			t.Errorf("%d: %d requests arrived", status, arrived.Load())
		}
	}
}

// The same failure reads the same each time, so that a condition is not written for each.
func TestUnreachableTokenEndpointReadsTheSame(t *testing.T) {
	server := newEndpoint(t)
	server.Close()
	resolver := newResolver(clientSecret())
	_, first := resolver.Resolve(t.Context(), use(oauth2Credential(server.URL)))
	_, second := resolver.Resolve(t.Context(), use(oauth2Credential(server.URL)))
	wantError(t, first, v1alpha1.ReasonTokenUnavailable)
	if first.Error() != second.Error() || !strings.Contains(first.Error(), "connection refused") {
		t.Errorf("first  %v\nsecond %v", first, second)
	}
}
