// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit.dev/remit/internal/gate"
)

// The endpoint is asked as an Open Policy Agent is, and only a clear answer allows.
func TestEndpoint(t *testing.T) {
	none := func(detail string) gate.Decision {
		return gate.Denied("the decision endpoint gave no decision: " + detail)
	}
	for name, test := range map[string]struct {
		status int
		answer string
		want   gate.Decision
	}{
		"true":                  {200, `{"result":true}`, gate.Allowed()},
		"false":                 {200, `{"result":false}`, gate.Denied("the decision endpoint gave no reason")},
		"allow":                 {200, `{"result":{"allow":true},"decision_id":"1"}`, gate.Allowed()},
		"not allow":             {200, `{"result":{"allow":false,"reason":"no budget"}}`, gate.Denied("no budget")},
		"ask":                   {200, `{"result":{"decision":"ask","reason":"large"}}`, gate.Asked("large")},
		"deny":                  {200, `{"result":{"decision":"deny","reason":"a\nb"}}`, gate.Denied("a b")},
		"no such rule":          {200, `{}`, none("its answer has no result, so there is no such rule")},
		"null":                  {200, `{"result":null}`, none("its answer has no result, so there is no such rule")},
		"a word":                {200, `{"result":"allow"}`, none("its result is neither a bool nor an object with a decision")},
		"another decision":      {200, `{"result":{"decision":"ALLOW"}}`, none(`its decision "ALLOW" is none of allow, deny and ask`)},
		"an empty object":       {200, `{"result":{}}`, none("its result needs one of decision and allow")},
		"both":                  {200, `{"result":{"allow":true,"decision":"deny"}}`, none("its result needs one of decision and allow")},
		"no JSON":               {200, `allow`, none("its answer is not JSON with a result")},
		"a failure":             {500, `{"result":true}`, none("it answered HTTP 500")},
		"a redirect":            {302, `{"result":true}`, none("it answered HTTP 302")},
		"an answer without end": {200, `{"result":true,"more":"` + strings.Repeat("x", maxAnswer) + `"}`, none(fmt.Sprintf("its answer has more than %d bytes", maxAnswer))},
	} {
		t.Run(name, func(t *testing.T) {
			var asked struct{ Input Question }
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || r.Method != http.MethodPost || r.Header.Get("Authorization") != "Bearer key" {
					t.Errorf("%s %v, %v", r.Method, r.Header, err)
				}
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(test.status)
				fmt.Fprint(w, test.answer)
			}))
			defer server.Close()
			client := server.Client()
			client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
			endpoint := &Endpoint{URL: server.URL + "/v1/data/remit", Client: client, Timeout: 10 * time.Second,
				Header: http.Header{"Authorization": {"Bearer key"}}}
			if diff := cmp.Diff(test.want, endpoint.Decide(t.Context(), refund("5"))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(*refund("5"), asked.Input); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
}

// Down means denied, and the reason does not repeat a URL that may hold a token.
func TestEndpointThatIsDown(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	url := server.URL
	server.Close()
	endpoint := &Endpoint{URL: url + "/v1/data?token=canary", Client: http.DefaultClient, Timeout: 10 * time.Second}
	got := endpoint.Decide(t.Context(), refund("5"))
	if got.Verdict != gate.Deny || !strings.Contains(got.Reason, "connection refused") || strings.Contains(got.Reason, "canary") {
		t.Errorf("got %+v", got)
	}
	silent := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then does the server see that the client is gone
		<-r.Context().Done()
	}))
	defer silent.Close()
	endpoint = &Endpoint{URL: silent.URL, Client: silent.Client(), Timeout: 50 * time.Millisecond}
	if got := endpoint.Decide(t.Context(), refund("5")); got.Verdict != gate.Deny || !strings.Contains(got.Reason, "deadline exceeded") {
		t.Errorf("got %+v", got)
	}
}
