// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/controllers"
	"remit.dev/remit/internal/hosting"
	"remit.dev/remit/internal/mcp"
	"remit.dev/remit/internal/mcp/bridge"
	"remit.dev/remit/internal/mcp/mcptest"
)

// logText is a log as text.
type logText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// newLocalHost runs stdio servers in the test's own process.
func newLocalHost(t *testing.T, environment map[string]string) (*host, *mcp.Client, *logText) {
	t.Helper()
	h := newHost(t)
	log := &logText{}
	local := bridge.NewLocal(slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	mcpClient := mcp.NewClient(mcp.Options{TransportFor: func(target mcp.Target) http.RoundTripper {
		if !target.Bridged {
			t.Errorf("asked past the bridge: %s", target.URL)
		}
		return local.Transport
	}})
	t.Cleanup(func() {
		mcpClient.Close()
		local.Close()
	})
	h.reconciler.Catalogue = controllers.NewCatalogue(mcpClient)
	h.reconciler.Hosting.Local = local
	h.reconciler.Hosting.LookupEnv = func(name string) (string, bool) {
		value, ok := environment[name]
		return value, ok
	}
	return h, mcpClient, log
}

// everything is a real stdio server that tells its environment.
func everything(t *testing.T) *v1alpha1.StdioTransport {
	stdio := &v1alpha1.StdioTransport{Workload: v1alpha1.Workload{Image: "not-used"}}
	for _, argument := range mcptest.NPM(t, mcptest.Everything, "stdio") {
		stdio.Command = append(stdio.Command, v1alpha1.Argument(argument))
	}
	return stdio
}

func environmentOf(t *testing.T, client *mcp.Client, server *v1alpha1.MCPServer) map[string]string {
	t.Helper()
	where := mcp.Target{
		Namespace: server.Namespace, Server: server.Namespace + "/" + server.Name, URL: hosting.URL(server),
		ClusterInternal: true, Bridged: true,
	}
	result, err := client.Call(t.Context(), where, "get-env", nil, mcp.CallOptions{Idempotent: true})
	if err != nil || len(result.Content) != 1 {
		t.Fatalf("get-env: %+v, %v", result, err)
	}
	var environment map[string]string
	if err := json.Unmarshal([]byte(result.Content[0].Text), &environment); err != nil {
		t.Fatal(err)
	}
	delete(environment, "__CF_USER_TEXT_ENCODING") // macOS itself adds it (N3)
	return environment
}

// N1, N4: a stdio server that the operator starts itself has the environment that the MCPServer says, with
// its secrets, and nothing of the operator's; nothing is deployed, and nothing shows the secret.
func TestLocalStdio(t *testing.T) {
	t.Setenv("LEAK", "of the operator")
	h, client, log := newLocalHost(t, map[string]string{"LANG": "C", "OTHER": "not asked for"})
	h.create(secretFor())
	stdio := everything(t)
	stdio.Env = hostedTransport().Hosted.Env
	stdio.InheritEnv = []v1alpha1.EnvironmentName{"LANG", "HOME"}
	server := h.server(v1alpha1.Transport{Stdio: stdio})
	h.wantReady(server, v1alpha1.ReasonDiscovered, "offers 13 tools")
	want := map[string]string{"GREETING": "hello", "EMPTY": "", "TOKEN": hostingCanary, "LANG": "C"}
	if got := environmentOf(t, client, server); !maps.Equal(got, want) {
		t.Errorf("the environment is %v, want %v", got, want)
	}
	if made := h.objectsOf("desk"); len(made) > 0 {
		t.Errorf("made: %v", made)
	}
	before := mark(t)
	h.reconcile(server)
	if writes := operatorWrites(t, before, h.namespace); len(writes) > 0 {
		t.Errorf("a reconcile without a change wrote: %v", writes)
	}

	// A rotated secret reaches the server, and one that may not be used any more stops it.
	secret := secretFor()
	secret.Namespace = h.namespace
	h.update(secret, func() { secret.Data["token"] = []byte("rotated-" + hostingCanary) })
	h.wantReady(server, v1alpha1.ReasonDiscovered, "")
	if got := environmentOf(t, client, server)["TOKEN"]; got != "rotated-"+hostingCanary {
		t.Errorf("TOKEN is %q after the rotation", got)
	}
	h.update(secret, func() { secret.Labels = nil })
	h.wantReady(server, v1alpha1.ReasonCredentialRefused, "is not labelled")
	status, err := json.Marshal(server)
	if err != nil {
		t.Fatal(err)
	}
	for where, text := range map[string]string{"the log": log.String(), "the MCPServer": string(status)} {
		if strings.Contains(text, hostingCanary) {
			t.Errorf("%s shows the secret: %s", where, text)
		}
	}
}

// The process ends with the MCPServer, and with a change of it.
func TestLocalStdioEnds(t *testing.T) {
	h, _, log := newLocalHost(t, nil)
	stdio := everything(t)
	server := h.server(v1alpha1.Transport{Stdio: stdio})
	h.wantReady(server, v1alpha1.ReasonDiscovered, "")
	ends := func() int { return strings.Count(log.String(), "server process ended") }
	awaitEnds := func(want int) {
		t.Helper()
		await(t, func(context.Context) error {
			if got := ends(); got < want {
				return fmt.Errorf("%d processes ended, want %d", got, want)
			}
			return nil
		})
	}
	if n := ends(); n != 0 {
		t.Errorf("%d processes ended before a change", n)
	}
	h.update(server, func() {
		server.Spec.Transport.Stdio.Env = []v1alpha1.EnvironmentVariable{{Name: "A", Value: new("1")}}
	})
	h.wantReady(server, v1alpha1.ReasonDiscovered, "")
	awaitEnds(1)
	if err := admin.Delete(t.Context(), server); err != nil {
		t.Fatal(err)
	}
	h.reconcile(server)
	awaitEnds(2)
}

// What is wrong with a command is told on the MCPServer, with what the process said.
func TestLocalStdioFails(t *testing.T) {
	h, _, _ := newLocalHost(t, nil)
	server := h.server(stdioTransport())
	h.update(server, func() { server.Spec.Transport.Stdio.Command = []v1alpha1.Argument{"no-such-program-here"} })
	h.wantReady(server, v1alpha1.ReasonDeployFailed, `"no-such-program-here"`)

	script := filepath.Join(t.TempDir(), "broken")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho 'the key is missing' >&2\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	h.update(server, func() { server.Spec.Transport.Stdio.Command = []v1alpha1.Argument{v1alpha1.Argument(script)} })
	h.wantReady(server, v1alpha1.ReasonUnreachable, `the server process ended: exit status 3; the last line of its standard error is "the key is missing"`)
}
