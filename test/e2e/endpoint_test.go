// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"remit.dev/remit/api/v1alpha1"
)

// endpoint speaks OpenAI's chat completions, and keeps what it was asked.
type endpoint struct {
	url string

	mu    sync.Mutex
	asked []chatRequest
}

// chatRequest is one request, as far as tests look at it.
type chatRequest struct {
	Path          string `json:"-"`
	Authorization string `json:"-"`

	Model    string        `json:"model"`
	Messages []chatMessage `json:"messages"`
	Tools    []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`
}

type chatMessage struct {
	Role       string     `json:"role"`
	Content    string     `json:"content"`
	ToolCalls  []chatCall `json:"tool_calls"`
	ToolCallID string     `json:"tool_call_id"`
}

type chatCall struct {
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// newEndpoint gives each request, counted from 1, to a function.
func newEndpoint(t *testing.T, answer func(n int, w http.ResponseWriter, r *http.Request)) *endpoint {
	t.Helper()
	e := &endpoint{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked := chatRequest{Path: r.URL.Path, Authorization: r.Header.Get("Authorization")}
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Errorf("the request is no JSON: %v", err)
		}
		e.mu.Lock()
		e.asked = append(e.asked, asked)
		n := len(e.asked)
		e.mu.Unlock()
		answer(n, w, r)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	e.url = server.URL + "/v1"
	return e
}

// requests are the requests so far.
func (e *endpoint) requests() []chatRequest {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.asked)
}

// completes answers with the message of a completion, as JSON.
func completes(w http.ResponseWriter, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.Write([]byte(`{"id":"c1","object":"chat.completion","created":1,"model":"small","choices":[{"index":0,"finish_reason":"stop",` +
		`"message":` + message + `}],"usage":{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18}}`))
}

// says is a message of text alone.
func says(text string) string {
	message, err := json.Marshal(map[string]string{"role": "assistant", "content": text})
	if err != nil {
		panic(err) // two strings always marshal
	}
	return string(message)
}

// openAI grants an endpoint under a slug. A key is put into a Secret that may be sent to servers.
func (n *tenant) openAI(slug, url, key string) {
	n.Helper()
	grant := n.endpointGrant(slug, url)
	if key != "" {
		n.secret(slug, key)
		grant.Spec.Credential = bearer(slug)
	}
	n.create(admin, grant)
}

func (n *tenant) endpointGrant(slug, url string) *v1alpha1.Grant {
	return &v1alpha1.Grant{ObjectMeta: n.meta(slug), Spec: v1alpha1.GrantSpec{
		Model: &v1alpha1.ModelEndpoint{Provider: v1alpha1.ProviderOpenAI, Endpoint: url}}}
}

// secret keeps a value that may be sent to servers.
func (n *tenant) secret(name, value string) {
	n.Helper()
	secret := &corev1.Secret{ObjectMeta: n.meta(name), StringData: map[string]string{"key": value}}
	secret.Labels = map[string]string{v1alpha1.CredentialLabel: "true"}
	n.create(admin, secret)
}

// bearer is the credential that sends what the Secret of that name keeps.
func bearer(secret string) *v1alpha1.Credential {
	return &v1alpha1.Credential{
		Type: v1alpha1.CredentialBearer, SecretRef: v1alpha1.SecretKeyReference{Name: secret, Key: "key"}}
}
