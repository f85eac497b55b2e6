// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"remit.dev/remit/api/v1alpha1"
)

// The secrets of this file, none of which may be seen anywhere.
const (
	canaryBearer   = "canary-bearer-7d1f"
	canaryHeader   = "canary-header-51c2"
	canaryPassword = "canary-password-e93b"
	canaryClient   = "canary-client-0aa4"
	canaryAccess   = "canary-access-token-"
)

// tokenEndpoint gives access tokens to the client "desk", each another one.
type tokenEndpoint struct {
	*httptest.Server
	issued atomic.Int64
}

func newTokenEndpoint(t *testing.T) *tokenEndpoint {
	t.Helper()
	e := &tokenEndpoint{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if id, secret, _ := r.BasicAuth(); id != "desk" || secret != canaryClient || r.FormValue("grant_type") != "client_credentials" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token":"%s%d","token_type":"Bearer","expires_in":3600}`, canaryAccess, e.issued.Add(1))
	}))
	t.Cleanup(e.Close)
	return e
}

// credentialCase is one type of credential: what is configured, and what a server gets.
type credentialCase struct {
	data       map[string]string
	credential *v1alpha1.Credential
	// sent says whether a request has the credential.
	sent func(authorization, apiKey string) bool
	// secrets are all forms in which it could be seen, and decoded the one that a server finds in the request.
	secrets []string
	decoded string
	// renewable says that a refused one can be replaced.
	renewable bool
}

func credentialCases(tokenURL string) map[string]credentialCase {
	key := v1alpha1.SecretKeyReference{Name: "key", Key: "key"}
	named := v1alpha1.NamedReference{Name: "key"}
	pair := base64.StdEncoding.EncodeToString([]byte("user:" + canaryPassword))
	return map[string]credentialCase{
		"Bearer": {
			data:       map[string]string{"key": canaryBearer},
			credential: &v1alpha1.Credential{Type: v1alpha1.CredentialBearer, SecretRef: key},
			sent:       func(authorization, _ string) bool { return authorization == "Bearer "+canaryBearer },
			secrets:    []string{canaryBearer},
		},
		"Header": {
			data:       map[string]string{"key": canaryHeader},
			credential: &v1alpha1.Credential{Type: v1alpha1.CredentialHeader, Header: "X-Api-Key", SecretRef: key},
			sent:       func(authorization, apiKey string) bool { return authorization == "" && apiKey == canaryHeader },
			secrets:    []string{canaryHeader},
		},
		"Basic": {
			data:       map[string]string{"username": "user", "password": canaryPassword},
			credential: &v1alpha1.Credential{Type: v1alpha1.CredentialBasic, Basic: &v1alpha1.BasicCredential{SecretRef: named}},
			sent:       func(authorization, _ string) bool { return authorization == "Basic "+pair },
			secrets:    []string{canaryPassword, pair},
			decoded:    canaryPassword,
		},
		"OAuth2": {
			data: map[string]string{"client-secret": canaryClient},
			credential: &v1alpha1.Credential{Type: v1alpha1.CredentialOAuth2, OAuth2: &v1alpha1.OAuth2Credential{
				TokenURL: tokenURL, SecretRef: named, ClientID: "desk", Scopes: []string{"read"}}},
			sent:      func(authorization, _ string) bool { return strings.HasPrefix(authorization, "Bearer "+canaryAccess) },
			secrets:   []string{canaryClient, canaryAccess, base64.StdEncoding.EncodeToString([]byte("desk:" + canaryClient))},
			renewable: true,
		},
	}
}

// E9, issue 4: each type of credential reaches the server at discovery, at a call and at the model, and is seen
// nowhere: neither in objects, events, logs, the API server's audit log nor metrics, though both servers quote it
// in errors and in results.
func TestCredentialTypes(t *testing.T) {
	o, metrics := ownOperatorWithMetrics(t)
	tokens := newTokenEndpoint(t)
	for name, row := range credentialCases(tokens.URL) {
		t.Run(name, func(t *testing.T) {
			n := newTenant(t)
			n.opaque("key", row.data, nil)
			fake := newFakeServer(t, twoTools)
			var called atomic.Int64
			fake.admits = func(r mcpRequest) bool { return r.Method != "tools/call" || called.Add(1) > 1 }
			fake.call = func(call toolCall) string {
				return fmt.Sprintf(`{"content":[{"type":"text","text":"You are %s %s."}]}`, call.credential(), row.decoded)
			}
			asked, endpoint := quotingModel(t, row)
			server := n.catalogued("desk", fake.url, func(s *v1alpha1.MCPServerSpec) { s.Credential = row.credential })
			awaitServer(t, server, v1alpha1.ReasonDiscovered)
			awaitGrant(t, n.granted("desk", func(g *v1alpha1.GrantSpec) { g.Credential = row.credential }), v1alpha1.ReasonGranted)
			model := n.endpointGrant("model", endpoint.url)
			model.Spec.Credential = row.credential
			n.create(admin, model)
			n.agent("desk")

			run := awaitEnd(t, n.start("run"))
			if run.Status.Output != "Good-bye." {
				t.Errorf("the Run did not end as it should\n%s", describe(run))
			}
			for _, request := range fake.seen() {
				if !row.sent(request.Authorization, request.APIKey) {
					t.Errorf("%s came without the credential", request.Method)
				}
			}
			// Of two calls the first is refused once, and only with another credential it is made again.
			want := 1
			if row.renewable {
				want = 2
			}
			if made := len(fake.made()); made != want {
				t.Errorf("%d calls were made, want %d\n%s", made, want, describe(run))
			}
			if asked.Load() == 0 {
				t.Error("the model was not asked with the credential")
			}
			served := metrics.text(t)
			for _, secret := range row.secrets {
				checkHidden(t, n, secret)
				if strings.Contains(served, secret) {
					t.Errorf("the metrics hold %s", secret)
				}
			}
		})
	}
	served := metrics.text(t)
	for _, line := range []string{
		`remit_egress_decisions_total{decision="allowed",reason="allowed"} `, "remit_mcp_sessions_opened_total ",
		`remit_mcp_credential_renewals_total{result="renewed"} 1`, `remit_mcp_credential_renewals_total{result="unchanged"} 3`,
		`remit_oauth2_token_requests_total{result="issued"} 2`,
	} {
		if !strings.Contains(served, "\n"+line) {
			t.Errorf("the metrics lack %s", line)
		}
	}
	o.checkLog(t)
}

// quotingModel calls the tool twice and says good-bye. A key that cannot be renewed it refuses at first. It counts
// the requests that have the credential.
func quotingModel(t *testing.T, row credentialCase) (*atomic.Int64, *endpoint) {
	t.Helper()
	asked := &atomic.Int64{}
	return asked, newEndpoint(t, func(n int, w http.ResponseWriter, r *http.Request) {
		authorization, apiKey := r.Header.Get("Authorization"), r.Header.Get("X-Api-Key")
		if row.sent(authorization, apiKey) {
			asked.Add(1)
		}
		if row.renewable {
			n++
		}
		switch n {
		case 1:
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"error":{"message":"Incorrect API key provided: %s%s %s"}}`, authorization, apiKey, row.decoded)
		case 2, 3:
			completes(w, calls(fmt.Sprintf(`{"try":%d}`, n)))
		default:
			completes(w, says("Good-bye."))
		}
	})
}

// calls is a message that calls the tool find of the Grant desk.
func calls(arguments string) string {
	return fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":"x","type":"function","function":{"name":"desk__find","arguments":%q}}]}`, arguments)
}

// text is everything that the operator serves.
func (m metrics) text(t *testing.T) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, m.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// opaque keeps values that may be sent to servers, to those hosts alone if any are named.
func (n *tenant) opaque(name string, data map[string]string, hosts []string) *corev1.Secret {
	n.Helper()
	secret := &corev1.Secret{ObjectMeta: n.meta(name), StringData: data}
	secret.Labels = map[string]string{v1alpha1.CredentialLabel: "true"}
	if hosts != nil {
		secret.Annotations = map[string]string{v1alpha1.HostsAnnotation: strings.Join(hosts, ", ")}
	}
	n.create(admin, secret)
	return secret
}

// Issue 4: a Secret that names hosts is sent to no other one, and the Grant says which host and what to change.
func TestSecretIsLimitedToHosts(t *testing.T) {
	useOperator(t)
	n := newTenant(t)
	fake := newFakeServer(t, twoTools)
	awaitServer(t, n.catalogued("desk", fake.url), v1alpha1.ReasonDiscovered)
	n.opaque("desk", map[string]string{"key": canaryBearer}, []string{"desk.example"})
	grant := awaitGrant(t, n.granted("desk", func(g *v1alpha1.GrantSpec) { g.Credential = bearer("desk") }), v1alpha1.ReasonCredentialRefused)
	host := strings.TrimSuffix(strings.TrimPrefix(fake.url, "http://"), "/mcp")
	want := fmt.Sprintf("Secret %q in namespace %q may not be sent to %q: its annotation %s permits desk.example; add the host there, or change the URL",
		"desk", n.namespace, host, v1alpha1.HostsAnnotation)
	if got := condition(grant.Status.Conditions, v1alpha1.ConditionReady).Message; got != want {
		t.Errorf("the Grant says %q, want %q", got, want)
	}
	n.scripted(`{"turns": [{"calls": [{"tool": "desk__find"}]}, {"when": "unauthorized", "text": "It may not."}]}`)
	n.agent("desk")
	if run := awaitEnd(t, n.start("run")); run.Status.Output != "It may not." {
		t.Errorf("the call was made\n%s", describe(run))
	}
	for _, request := range fake.seen() {
		if request.Authorization != "" {
			t.Errorf("%s came with %s", request.Method, request.Authorization)
		}
	}
	checkHidden(t, n, canaryBearer)
}

// E11: a credential that the server refuses shows on the Grant, and the call is not repeated without end.
func TestRefusedCredentialShowsOnTheGrant(t *testing.T) {
	useOperator(t)
	n := newTenant(t)
	fake := newFakeServer(t, twoTools)
	fake.admits = func(r mcpRequest) bool { return r.Authorization == "" }
	awaitServer(t, n.catalogued("desk", fake.url), v1alpha1.ReasonDiscovered)
	n.opaque("desk", map[string]string{"key": canaryBearer}, nil)
	grant := awaitGrant(t, n.granted("desk", func(g *v1alpha1.GrantSpec) { g.Credential = bearer("desk") }), v1alpha1.ReasonGranted)
	n.scripted(`{"turns": [{"calls": [{"tool": "desk__find"}]}, {"when": "unauthorized", "text": "It may not."}]}`)
	n.agent("desk")
	if run := awaitEnd(t, n.start("run")); run.Status.Output != "It may not." {
		t.Errorf("the model did not read of the refusal\n%s", describe(run))
	}
	refused := await(t, &v1alpha1.GrantList{}, grant, "the Grant is not authenticated", func(g *v1alpha1.Grant) bool {
		return condition(g.Status.Conditions, v1alpha1.ConditionAuthenticated).Status == metav1.ConditionFalse
	})
	shown := condition(refused.Status.Conditions, v1alpha1.ConditionAuthenticated)
	if shown.Reason != v1alpha1.ReasonUnauthorized || !strings.Contains(shown.Message, "no other was to be had") {
		t.Errorf("Authenticated is %+v", shown)
	}
	refusals := 0
	for _, request := range fake.seen() {
		if request.Method == "initialize" && request.Authorization != "" {
			refusals++
		}
	}
	if refusals != 1 {
		t.Errorf("the credential was shown in %d handshakes, want 1", refusals)
	}
	checkHidden(t, n, canaryBearer)
}

// rotations is how often the Secret of each tenant rotates: once for each Run.
const rotations = 64

// E1 to E6, issue 4: two namespaces, one URL, two credentials, 64 Runs each at one time, and a Secret that rotates
// before each of them. The server records the credential of every call: none is another tenant's, and none was
// rotated out before its Run began.
func TestRotatingTenants(t *testing.T) {
	useOperator(t)
	fake := newFakeServer(t, twoTools)
	// The model sees the input of the Run, and lets the call say it.
	endpoint := newEchoingModel(t)
	tenants := map[string]*tenant{"red": newTenant(t), "blue": newTenant(t)}
	for name, n := range tenants {
		n.opaque("desk", map[string]string{"key": name + "/0"}, nil)
		awaitServer(t, n.catalogued("desk", fake.url), v1alpha1.ReasonDiscovered)
		awaitGrant(t, n.granted("desk", func(g *v1alpha1.GrantSpec) { g.Credential = bearer("desk") }), v1alpha1.ReasonGranted)
		n.openAI("model", endpoint, "")
		awaitPublished(t, n.agent("desk"))
	}
	var rotating sync.WaitGroup
	runs := make(chan *v1alpha1.Run, 2*rotations)
	for name, n := range tenants {
		rotating.Go(func() {
			for i := 1; i <= rotations; i++ {
				secret := &corev1.Secret{ObjectMeta: n.meta("desk"), StringData: map[string]string{"key": fmt.Sprintf("%s/%d", name, i)}}
				secret.Labels = map[string]string{v1alpha1.CredentialLabel: "true"}
				if err := env.users[admin].Update(t.Context(), secret); err != nil {
					t.Error(err)
					return
				}
				run := &v1alpha1.Run{ObjectMeta: n.meta(fmt.Sprintf("run-%d", i)), Spec: v1alpha1.RunSpec{
					SpecRef: &v1alpha1.NamedReference{Name: "agent"}, Input: fmt.Sprintf("%s/%d", name, i)}}
				if err := env.users[author].Create(t.Context(), run); err != nil {
					t.Error(err)
					return
				}
				runs <- run
			}
		})
	}
	rotating.Wait()
	close(runs)
	for run := range runs {
		if ended := awaitEnd(t, run); ended.Status.Output != "Good-bye." {
			t.Errorf("the Run did not complete\n%s", describe(ended))
		}
	}
	checkRotated(t, fake)
}

// newEchoingModel calls the tool twice, with the input of the Run as its argument.
func newEchoingModel(t *testing.T) (url string) {
	t.Helper()
	var e atomic.Pointer[endpoint] // which is there before its first request
	e.Store(newEndpoint(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		asked := e.Load().requests()[n-1].Messages
		if len(asked) >= 6 { // system, user, and twice a call with its result
			completes(w, says("Good-bye."))
			return
		}
		completes(w, calls(fmt.Sprintf(`{"run":%q}`, asked[1].Content)))
	}))
	return e.Load().url
}

// checkRotated compares the credential of each call with the Run that made it.
func checkRotated(t *testing.T, fake *fakeServer) {
	t.Helper()
	generations, sessions := map[string]bool{}, map[string]string{}
	for _, call := range fake.made() {
		var arguments struct{ Run string }
		if err := json.Unmarshal([]byte(call.Arguments), &arguments); err != nil {
			t.Fatal(err)
		}
		ran, begun := rotation(t, arguments.Run)
		sent, stored := rotation(t, strings.TrimPrefix(call.Authorization, "Bearer "))
		if sent != ran || stored < begun {
			t.Errorf("a call of a Run of %s, begun after rotation %d, came under the credential %s", ran, begun, call.Authorization)
		}
		if before, known := sessions[call.Session]; known && before != call.Authorization {
			t.Errorf("session %q served %q and %q", call.Session, before, call.Authorization)
		}
		sessions[call.Session], generations[call.Authorization] = call.Authorization, true
	}
	if made := len(fake.made()); made != 2*2*rotations {
		t.Errorf("%d calls were made, want %d", made, 2*2*rotations)
	}
	if len(generations) < 8 {
		t.Errorf("only %d credentials were used: nothing rotated", len(generations))
	}
}

// rotation reads "tenant/number".
func rotation(t *testing.T, text string) (tenant string, number int) {
	t.Helper()
	tenant, digits, _ := strings.Cut(text, "/")
	number, err := strconv.Atoi(digits)
	if err != nil {
		t.Fatal(err)
	}
	return tenant, number
}
