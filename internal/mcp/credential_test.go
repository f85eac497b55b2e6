package mcp

import (
	"bytes"
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
