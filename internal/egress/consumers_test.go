// SPDX-License-Identifier: Apache-2.0

package egress_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/credentials"
	"remit.dev/remit/internal/egress"
	"remit.dev/remit/internal/mcp"
	"remit.dev/remit/internal/model"
)

// N5, N7, issue 4: whoever makes requests for a tenant, none of the hostile hosts gets one,
// and the refusal names the tenant.
func TestNoConsumerGoesAroundTheGuard(t *testing.T) {
	for name, consume := range map[string]func(*testing.T, *egress.Guard, string) error{
		"MCP": callTool, "model": complete, "token": askForToken,
	} {
		t.Run(name, func(t *testing.T) {
			var requests, denials atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
			defer server.Close()
			guard := egress.New(egress.Options{Resolver: egress.HostileNames(), Observe: func(decision egress.Decision) {
				if decision.Allowed || decision.Tenant != "team" {
					t.Errorf("decision %+v, want a refusal to the tenant team", decision)
				}
				denials.Add(1)
			}})
			defer guard.CloseIdleConnections()
			tried := int64(0)
			for _, host := range egress.HostileHosts {
				if strings.Contains(host, "@") { // refused earlier, by the form of the URL
					continue
				}
				tried++
				if err := consume(t, guard, "http://"+host+":"+port(t, server)+"/mcp"); err == nil {
					t.Errorf("%s: no error", host)
				}
			}
			if requests.Load() != 0 || denials.Load() < tried {
				t.Errorf("%d requests arrived, and %d of %d hosts were refused by the guard", requests.Load(), denials.Load(), tried)
			}
		})
	}
}

func callTool(t *testing.T, guard *egress.Guard, to string) error {
	client := mcp.NewClient(mcp.Options{TransportFor: func(target mcp.Target) http.RoundTripper {
		return guard.Transport(egress.For(target.Namespace, target.URL, false))
	}})
	defer client.Close()
	_, err := client.Call(t.Context(), mcp.Target{Namespace: "team", Server: "team/desk", URL: to}, "tool", json.RawMessage("{}"), mcp.CallOptions{})
	if _, denied := errors.AsType[*egress.Denied](err); err != nil && !denied {
		t.Errorf("%s: error = %v, want a *Denied", to, err)
	}
	return err
}

func complete(t *testing.T, guard *egress.Guard, to string) error {
	provider, err := model.NewOpenAI(model.OpenAIOptions{BaseURL: to, Transport: guard.Transport(egress.For("team", to, false))})
	if err != nil {
		t.Fatal(err)
	}
	_, err = provider.Complete(t.Context(), model.Request{Model: "small", Messages: []model.Message{{Role: model.RoleUser, Text: "Hello."}}})
	return err
}

func askForToken(t *testing.T, guard *egress.Guard, to string) error {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "client", Labels: map[string]string{v1alpha1.CredentialLabel: "true"}},
		Data:       map[string][]byte{"client-secret": []byte("canary")},
	}
	resolver := credentials.New(credentials.Options{Reader: fake.NewClientBuilder().WithObjects(secret).Build(), Guard: guard})
	_, err := resolver.Resolve(context.WithoutCancel(t.Context()), credentials.Use{Namespace: "team", URL: "https://mcp.test", Credential: &v1alpha1.Credential{
		Type: v1alpha1.CredentialOAuth2, OAuth2: &v1alpha1.OAuth2Credential{
			TokenURL: to, SecretRef: v1alpha1.NamedReference{Name: "client"}, ClientID: "desk", ClientSecretKey: "client-secret"}}})
	if _, denied := errors.AsType[*egress.Denied](err); err != nil && !denied {
		t.Errorf("%s: error = %v, want a *Denied", to, err)
	}
	return err
}

func port(t *testing.T, server *httptest.Server) string {
	t.Helper()
	parsed, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return parsed.Port()
}
