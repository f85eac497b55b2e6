package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kubefake "sigs.k8s.io/controller-runtime/pkg/client/fake"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/credentials"
	"remit.dev/remit/internal/egress"
)

const (
	tenantCallers = 64
	tenantCalls   = 4
	// callsARotation is how many calls of a tenant a rotation waits for after the one before.
	callsARotation = 8
	// secretOf names the tenant and the rotation.
	secretOf = "%s/%d"
)

// E1–E6, issue 4: two tenants of one URL, 64 callers each, whose Secrets rotate all the while, for each type of
// credential. The server records the credential of every call. None comes under another tenant's, and none under
// one that was rotated out before the call began.
func TestRotatingTenants(t *testing.T) {
	secretRef := v1alpha1.SecretKeyReference{Name: "desk", Key: "key"}
	named := v1alpha1.NamedReference{Name: "desk"}
	tokens := newTokenServer(t)
	for name, credential := range map[string]*v1alpha1.Credential{
		"Bearer": {Type: v1alpha1.CredentialBearer, SecretRef: secretRef},
		"Header": {Type: v1alpha1.CredentialHeader, Header: "X-Api-Key", SecretRef: secretRef},
		"Basic": {Type: v1alpha1.CredentialBasic, Basic: &v1alpha1.BasicCredential{
			SecretRef: named, UsernameKey: "username", PasswordKey: "key"}},
		"OAuth2": {Type: v1alpha1.CredentialOAuth2, OAuth2: &v1alpha1.OAuth2Credential{
			TokenURL: tokens.URL, SecretRef: named, ClientID: "desk", ClientSecretKey: "key"}},
	} {
		t.Run(name, func(t *testing.T) {
			server := newFake(t)
			secrets := kubefake.NewClientBuilder().WithObjects(tenantSecret("red", 0), tenantSecret("blue", 0)).Build()
			resolver := credentials.New(credentials.Options{
				Reader: secrets, Guard: egress.New(egress.Options{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}),
			})
			c := newTestClient(t, Options{})
			var tenants sync.WaitGroup
			for _, tenant := range []string{"red", "blue"} {
				tenants.Go(func() { callWhileRotating(t, c, resolver, secrets, server.target(), tenant, credential) })
			}
			tenants.Wait()
			checkTenants(t, server)
		})
	}
}

func tenantSecret(tenant string, generation int64) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: "desk", Labels: map[string]string{v1alpha1.CredentialLabel: "true"}},
		Data:       map[string][]byte{"username": []byte("user"), "key": fmt.Appendf(nil, secretOf, tenant, generation)},
	}
}

// callWhileRotating makes the calls of one tenant. A call says which generation was stored before it began.
func callWhileRotating(t *testing.T, c *Client, resolver *credentials.Resolver, secrets client.Client, target Target, tenant string, credential *v1alpha1.Credential) {
	var stored atomic.Int64
	made := make(chan struct{}, tenantCallers*tenantCalls)
	var calls sync.WaitGroup
	for range tenantCallers {
		calls.Go(func() {
			for range tenantCalls {
				arguments := fmt.Appendf(nil, `{"tenant":%q,"stored":%d}`, tenant, stored.Load())
				value, err := resolver.Resolve(t.Context(), credentials.Use{Namespace: tenant, Credential: credential, URL: target.URL})
				if err != nil {
					t.Error(err)
				}
				target := target
				target.Namespace, target.Credential = tenant, Credential{value.Header(), value.Reveal()}
				if _, err := c.Call(t.Context(), target, "tool", arguments, CallOptions{}); err != nil {
					t.Error(err)
				}
				made <- struct{}{}
			}
		})
	}
	for left := tenantCallers * tenantCalls; left > 0; left -= callsARotation {
		for range callsARotation {
			<-made
		}
		next := stored.Load() + 1
		if err := secrets.Update(context.WithoutCancel(t.Context()), tenantSecret(tenant, next)); err != nil {
			t.Error(err)
		}
		stored.Store(next)
	}
	calls.Wait()
}

// checkTenants reads the server's record.
func checkTenants(t *testing.T, server *fake) {
	t.Helper()
	owners := map[string]string{}
	generations := map[string]bool{}
	for _, call := range server.requests("tools/call") {
		tenant, generation := authenticated(t, call)
		var params struct {
			Arguments struct {
				Tenant string
				Stored int64
			}
		}
		if err := json.Unmarshal(call.Params, &params); err != nil {
			t.Fatal(err)
		}
		if params.Arguments.Tenant != tenant {
			t.Errorf("a call of %s came under a credential of %s", params.Arguments.Tenant, tenant)
		}
		if generation < params.Arguments.Stored {
			t.Errorf("a call of %s that began after rotation %d came under credential %d", tenant, params.Arguments.Stored, generation)
		}
		who := fmt.Sprintf(secretOf, tenant, generation)
		if before, known := owners[call.session]; known && before != who {
			t.Errorf("session %s served %s and %s", call.session, before, who)
		}
		owners[call.session], generations[who] = who, true
	}
	if calls := server.count("tools/call"); calls != 2*tenantCallers*tenantCalls {
		t.Errorf("%d calls arrived, want %d", calls, 2*tenantCallers*tenantCalls)
	}
	if len(generations) < 8 {
		t.Errorf("only %d credentials were used: nothing rotated", len(generations))
	}
}

// authenticated is whose credential a call has, and of which rotation.
func authenticated(t *testing.T, call request) (tenant string, generation int64) {
	t.Helper()
	secret := call.header.Get("X-Api-Key")
	switch scheme, token, _ := strings.Cut(call.auth, " "); scheme {
	case "Bearer":
		secret = token
	case "Basic":
		pair, err := base64.StdEncoding.DecodeString(token)
		if err != nil {
			t.Fatal(err)
		}
		_, secret, _ = strings.Cut(string(pair), ":")
	}
	tenant, number, _ := strings.Cut(secret, "/")
	generation, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		t.Fatalf("the credential of a call: %v", err)
	}
	return tenant, generation
}

// newTokenServer gives tokens that say which client's secret they were given for.
func newTokenServer(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, encoded, _ := r.BasicAuth()
		secret := strings.ReplaceAll(encoded, "%2F", "/")
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","expires_in":3600}`, secret)
	}))
	t.Cleanup(server.Close)
	return server
}
