// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/credentials"
	"remit.dev/remit/internal/egress"
	"remit.dev/remit/internal/model"
)

// modelEndpoint completes for one value of the Authorization header and refuses every other, which it
// echoes.
func modelEndpoint(t *testing.T, accepts func(authorization string) bool) (url string, asked *atomic.Int64) {
	t.Helper()
	asked = &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "application/json")
		if !accepts(r.Header.Get("Authorization")) {
			_, password, _ := r.BasicAuth()
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"error":{"message":"bad key %s %s"}}`, r.Header.Get("Authorization"), password)
			return
		}
		io.WriteString(w, `{"id":"c1","object":"chat.completion","created":1,"model":"small","choices":[{"index":0,"finish_reason":"stop",`+
			`"message":{"role":"assistant","content":"Hello."}}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1", asked
}

// E10, E11: an endpoint that refuses a credential is asked once more with another one, if there is one,
// and no more than that; its error does not show the secret.
func TestModelCredentialIsRenewed(t *testing.T) {
	const canary = "canary-4f1d"
	var issued atomic.Int64
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token":"token-%d","token_type":"Bearer","expires_in":3600}`, issued.Add(1))
	}))
	defer tokens.Close()
	key := v1alpha1.SecretKeyReference{Name: "key", Key: "password"}
	named := v1alpha1.NamedReference{Name: "key"}
	oauth2 := &v1alpha1.Credential{Type: v1alpha1.CredentialOAuth2, OAuth2: &v1alpha1.OAuth2Credential{
		TokenURL: tokens.URL, SecretRef: named, ClientID: "desk", ClientSecretKey: "password"}}
	for name, row := range map[string]struct {
		credential *v1alpha1.Credential
		accepts    string
		asked      int64
		ok         bool
	}{
		"none":                    {nil, "", 1, true},
		"bearer":                  {&v1alpha1.Credential{Type: v1alpha1.CredentialBearer, SecretRef: key}, "Bearer " + canary, 1, true},
		"bearer, refused":         {&v1alpha1.Credential{Type: v1alpha1.CredentialBearer, SecretRef: key}, "another", 1, false},
		"header":                  {&v1alpha1.Credential{Type: v1alpha1.CredentialHeader, Header: "Authorization", SecretRef: key}, canary, 1, true},
		"basic":                   {&v1alpha1.Credential{Type: v1alpha1.CredentialBasic, Basic: &v1alpha1.BasicCredential{SecretRef: named, UsernameKey: "username", PasswordKey: "password"}}, "Basic dXNlcjpjYW5hcnktNGYxZA==", 1, true},
		"basic, refused":          {&v1alpha1.Credential{Type: v1alpha1.CredentialBasic, Basic: &v1alpha1.BasicCredential{SecretRef: named, UsernameKey: "username", PasswordKey: "password"}}, "another", 1, false},
		"OAuth 2":                 {oauth2, "Bearer token-1", 1, true},
		"OAuth 2, refused once":   {oauth2, "Bearer token-2", 2, true},
		"OAuth 2, always refused": {oauth2, "another", 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			issued.Store(0)
			url, asked := modelEndpoint(t, func(authorization string) bool { return authorization == row.accepts })
			secret := &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "key", Labels: map[string]string{v1alpha1.CredentialLabel: "true"}},
				Data:       map[string][]byte{"username": []byte("user"), "password": []byte(canary)},
			}
			guard := egress.New(egress.Options{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
			s := &runScope{RunReconciler: &RunReconciler{
				Guard: guard, Options: RunOptions{ModelTimeout: time.Minute},
				Credentials: credentials.New(credentials.Options{Reader: fake.NewClientBuilder().WithObjects(secret).Build(), Guard: guard}),
			}}
			provider, err := s.openAIProvider(t.Context(), &v1alpha1.Grant{
				ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "model"},
				Spec:       v1alpha1.GrantSpec{Model: &v1alpha1.ModelEndpoint{Endpoint: url}, Credential: row.credential},
			})
			if err != nil {
				t.Fatal(err)
			}
			_, err = provider.Complete(t.Context(), model.Request{Model: "small", Messages: []model.Message{{Role: model.RoleUser, Text: "Hello."}}})
			if (err == nil) != row.ok || asked.Load() != row.asked {
				t.Errorf("%v after %d requests, want %d", err, asked.Load(), row.asked)
			}
			if err != nil && (strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "token-") || strings.Contains(err.Error(), "dXNl")) {
				t.Errorf("the error holds the secret: %v", err)
			}
		})
	}
}
