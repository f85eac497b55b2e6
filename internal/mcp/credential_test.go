package mcp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
)

// E9: however a credential is printed, alone or inside a target, its value does not show.
func TestCredentialIsRedacted(t *testing.T) {
	const canary = "canary-7f3a"
	c := Credential{"Authorization", "Bearer " + canary}
	target := Target{Credential: c}
	var printed []string
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
		printed = append(printed, fmt.Sprintf(verb, c), fmt.Sprintf(verb, &c), fmt.Sprintf(verb, target), fmt.Sprintf(verb, []any{target}))
	}
	data, err := json.Marshal(target)
	if err != nil {
		t.Fatal(err)
	}
	var logged bytes.Buffer
	slog.New(slog.NewTextHandler(&logged, nil)).Info("x", "credential", c, "target", target)
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("x", "credential", c, "target", target)
	for _, text := range append(printed, string(data), logged.String(), c.String(), c.Fingerprint()) {
		if strings.Contains(text, canary) || strings.Contains(text, fmt.Sprintf("%x", canary)) {
			t.Errorf("shows the secret: %s", text)
		}
	}
}

// A server that echoes the credential does not get it into our errors or findings.
func TestServersCannotEchoTheCredential(t *testing.T) {
	const canary = "canary-7f3a"
	for name, die := range map[string]func(http.ResponseWriter, *http.Request, request){
		"401": plainText(401, "bad token "+canary),
		"rpc": rpcEcho(200, -1, "Bearer "+canary+" is bad"),
		"500": plainText(500, canary),
		"type": func(w http.ResponseWriter, _ *http.Request, m request) {
			w.Header().Set("Content-Type", canary)
			fmt.Fprint(w, canary)
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := newFake(t)
			server.on = func(w http.ResponseWriter, r *http.Request, m request) bool {
				if m.Method == "tools/call" {
					die(w, r, m)
				}
				return m.Method == "tools/call"
			}
			target := server.target()
			target.Credential = Credential{"Authorization", "Bearer " + canary}
			_, err := newTestClient(t, Options{}).Call(t.Context(), target, "tool", nil, CallOptions{})
			if err == nil || strings.Contains(err.Error(), canary) {
				t.Errorf("got %v", err)
			}
		})
	}
	server := newFake(t)
	server.tools = `[{"name":"` + canary + ` x","inputSchema":{}}]`
	target := server.target()
	target.Credential = Credential{"X-Key", canary}
	catalogue, err := newTestClient(t, Options{}).Discover(t.Context(), target)
	if err != nil || len(catalogue.Findings) != 1 || strings.Contains(catalogue.Findings[0], canary) {
		t.Errorf("findings %q, error %v", catalogue.Findings, err)
	}
}

// A server that echoes the credential as a result does not get it into the log of a Run, nor into a catalogue.
func TestResultsDoNotHoldTheCredential(t *testing.T) {
	const password = `canary "7f3a" <&>`
	pair := base64.StdEncoding.EncodeToString([]byte("user:" + password))
	for name, row := range map[string]struct {
		credential Credential
		echo       string
	}{
		"the whole header":    {bearer("canary-7f3a"), "Bearer canary-7f3a"},
		"the token":           {bearer("canary-7f3a"), "you sent canary-7f3a!"},
		"a header of its own": {Credential{"X-Key", "canary-7f3a"}, "canary-7f3a"},
		"a pair":              {Credential{"Authorization", "Basic " + pair}, pair},
		"a password":          {Credential{"Authorization", "Basic " + pair}, "the password " + password},
	} {
		t.Run(name, func(t *testing.T) {
			server := newFake(t)
			echo, err := json.Marshal(row.echo)
			if err != nil {
				t.Fatal(err)
			}
			server.tools = fmt.Sprintf(`[{"name":"tool","description":%s,"inputSchema":{"type":"object"}}]`, echo)
			server.on = func(w http.ResponseWriter, _ *http.Request, m request) bool {
				if m.Method == "tools/call" {
					reply(w, m, fmt.Sprintf(`{"content":[{"type":"text","text":%s}],"structuredContent":{"echo":%s}}`, echo, echo))
				}
				return m.Method == "tools/call"
			}
			target := server.target()
			target.Credential = row.credential
			c := newTestClient(t, Options{})
			result, err := c.Call(t.Context(), target, "tool", nil, CallOptions{})
			if err != nil {
				t.Fatal(err)
			}
			catalogue, err := c.Discover(t.Context(), target)
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range []string{result.Content[0].Text, string(result.Structured), catalogue.Tools[0].Description} {
				if strings.Contains(text, "canary") || strings.Contains(text, pair) || !strings.Contains(text, "[redacted]") {
					t.Errorf("the result is %s", text)
				}
			}
		})
	}
}

// A credential that is as short as a word of the protocol leaves results as they are.
func TestShortCredentialsDoNotTakeResultsApart(t *testing.T) {
	server := newFake(t)
	target := server.target()
	target.Credential = Credential{"X-Key", "text"}
	result, err := newTestClient(t, Options{}).Call(t.Context(), target, "tool", nil, CallOptions{})
	if err != nil || len(result.Content) != 1 || result.Content[0].Text != "ok" {
		t.Errorf("got %+v, %v", result, err)
	}
}

// N7, issue 4: whatever redirects, the place that it points to hears nothing, with or without the credential.
func TestRedirectsLeadNowhere(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, method := range []string{"initialize", "notifications/initialized", "tools/list", "tools/call"} {
			t.Run(fmt.Sprintf("%d %s", status, method), func(t *testing.T) {
				elsewhere, server := newFake(t), newFake(t)
				server.on = func(w http.ResponseWriter, r *http.Request, m request) bool {
					if m.Method == method || m.Method == "server/discover" {
						http.Redirect(w, r, elsewhere.URL+"/mcp?to=me", status)
						return true
					}
					return false
				}
				target := server.target()
				target.Credential = bearer("canary-7f3a")
				c := newTestClient(t, Options{})
				_, err := c.Call(t.Context(), target, "tool", nil, CallOptions{Idempotent: true})
				if method == "tools/list" {
					_, err = c.Discover(t.Context(), target)
				}
				if kindOf(err) != Protocol || !strings.Contains(err.Error(), "redirects are not followed") {
					t.Errorf("got %v, want Protocol", err)
				}
				elsewhere.mu.Lock()
				defer elsewhere.mu.Unlock()
				if len(elsewhere.got)+len(elsewhere.deleted) != 0 {
					t.Errorf("%d requests arrived where the redirect leads", len(elsewhere.got))
				}
			})
		}
	}
}

// E2: the fingerprint tells credentials apart and nothing more.
func TestFingerprint(t *testing.T) {
	base := Credential{"Authorization", "Bearer x"}
	if got := (Credential{"authorization", "Bearer x"}).Fingerprint(); got != base.Fingerprint() {
		t.Error("the case of the header's name counts, but HTTP ignores it")
	}
	seen := map[string]Credential{}
	for _, c := range []Credential{{}, base, {"Authorization", "Bearer y"}, {"X-Key", "Bearer x"}, {"Authorization", ""}} {
		if before, ok := seen[c.Fingerprint()]; ok {
			t.Errorf("%v and %v have one fingerprint", before, c)
		}
		seen[c.Fingerprint()] = c
	}
}
