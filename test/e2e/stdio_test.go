// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
)

// overStdio is the transport of a program that the operator starts itself.
func overStdio(command []string, changes ...func(*v1alpha1.StdioTransport)) func(*v1alpha1.MCPServerSpec) {
	stdio := &v1alpha1.StdioTransport{Workload: v1alpha1.Workload{Image: "not-used"}}
	for _, argument := range command {
		stdio.Command = append(stdio.Command, v1alpha1.Argument(argument))
	}
	for _, change := range changes {
		change(stdio)
	}
	return func(spec *v1alpha1.MCPServerSpec) { spec.Transport = v1alpha1.Transport{Stdio: stdio} }
}

// environmentIn is what the tool get-env of server-everything told a Run.
func environmentIn(t *testing.T, run *v1alpha1.Run) map[string]string {
	t.Helper()
	checkEnded(t, run, v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
	var environment map[string]string
	for _, record := range run.Status.Log.Records {
		if record.Result != nil {
			if err := json.Unmarshal([]byte(record.Result.Content), &environment); err != nil {
				t.Fatalf("%v: %+v", err, record.Result)
			}
		}
	}
	delete(environment, "__CF_USER_TEXT_ENCODING") // macOS itself adds it (N3)
	return environment
}

const getEnv = `{"turns": [{"calls": [{"tool": "npm__get-env"}]}, {"text": "I see."}]}`

// Without a kubelet the operator starts the servers of npm itself: each is discovered, a Run works with
// one, and another has exactly its environment, with a secret that shows nowhere (N1, N3, N4, N18). When
// the operator is killed the processes are gone, after a restart they are there again, and when it stops
// they go.
func TestLocalStdio(t *testing.T) {
	everything, memory, filesystem := npmServer(t, "server-everything"), npmServer(t, "server-memory"), npmServer(t, "server-filesystem")
	n := newTenant(t)
	dir := t.TempDir()
	note := filepath.Join(dir, "note.txt")
	if err := os.WriteFile(note, []byte("remember the milk"), 0o600); err != nil {
		t.Fatal(err)
	}
	const canary = "canary-of-the-environment"
	n.secret("npm", canary)
	greeting, file := "hello", filepath.Join(dir, "memory.json")
	servers := []struct {
		server *v1alpha1.MCPServer
		check  func(*testing.T, *v1alpha1.MCPServer)
	}{
		{n.catalogued("npm", "", overStdio(append(everything, "stdio"), func(s *v1alpha1.StdioTransport) {
			s.Env = []v1alpha1.EnvironmentVariable{
				{Name: "GREETING", Value: &greeting}, {Name: "TOKEN", SecretKeyRef: &v1alpha1.SecretKeyReference{Name: "npm", Key: "key"}}}
		})), checkEverything},
		{n.catalogued("memory", "", overStdio(memory, func(s *v1alpha1.StdioTransport) {
			s.Sessions = v1alpha1.SessionsShared
			s.Env = []v1alpha1.EnvironmentVariable{{Name: "MEMORY_FILE_PATH", Value: &file}}
		})), checkMemory},
		{n.catalogued("files", "", overStdio(append(filesystem, dir))), checkFilesystem},
	}
	o := ownOperator(t, "--local-stdio")
	for _, s := range servers {
		s.check(t, awaitServer(t, s.server, v1alpha1.ReasonDiscovered))
		if deployed := objectsOf(t, n.namespace, s.server.Name); len(deployed) > 0 {
			t.Errorf("%s is deployed: %v", s.server.Name, deployed)
		}
	}

	n.granted("npm")
	n.granted("files")
	n.scripted(fmt.Sprintf(`{"turns": [
		{"calls": [{"tool": "npm__get-env"}]},
		{"calls": [{"tool": "files__read_text_file", "arguments": {"path": %q}}]},
		{"when": "remember the milk", "text": "The milk."}]}`, note))
	n.agent("npm", "files")
	run := awaitEnd(t, n.start("run"))
	checkEnded(t, run, v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
	if run.Status.Output != "The milk." {
		t.Errorf("the Run ended as\n%s", describe(run))
	}
	var results []string
	for _, record := range run.Status.Log.Records {
		if record.Result != nil {
			results = append(results, record.Result.Content)
		}
	}
	var environment map[string]string
	if err := json.Unmarshal([]byte(results[0]), &environment); err != nil {
		t.Fatalf("%v: %q", err, results)
	}
	delete(environment, "__CF_USER_TEXT_ENCODING") // macOS itself adds it (N3)
	if diff := cmp.Diff(map[string]string{"GREETING": greeting, "TOKEN": canary}, environment); diff != "" {
		t.Errorf("the process's environment (-want +got):\n%s", diff)
	}

	server := &v1alpha1.MCPServer{}
	if err := env.users[admin].Get(t.Context(), client.ObjectKeyFromObject(servers[0].server), server); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(describe(server), canary) {
		t.Errorf("the MCPServer shows the secret:\n%s", describe(server))
	}
	for end, stop := range map[string]func(){"crash": func() { o.crash(t) }, "stop": func() { o.finish(t) }} {
		stop()
		eventually(t, "the processes are gone after a "+end, func() bool { return len(processesWith(t, dir)) == 0 })
		if log, err := os.ReadFile(o.log); err != nil || strings.Contains(string(log), canary) {
			t.Errorf("the operator's log shows the secret (%v)", err)
		}
		o.restart(t)
		started := fmt.Sprintf("run-%s", end)
		checkEnded(t, awaitEnd(t, n.start(started)), v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
	}
}

// Two tenants have one stdio server each, whose process has the credential of the tenant's own Grant
// (N1, E1). They cannot share one: processes of one Pod can read each other.
func TestLocalStdioKeepsTenantsApart(t *testing.T) {
	everything := append(npmServer(t, "server-everything"), "stdio")
	ownOperator(t, "--local-stdio")
	for _, token := range []string{"token-of-the-first", "token-of-the-second"} {
		n := newTenant(t)
		n.secret("npm", token)
		server := n.catalogued("npm", "", overStdio(everything, func(s *v1alpha1.StdioTransport) { s.CredentialEnv = "API_KEY" }),
			func(spec *v1alpha1.MCPServerSpec) { spec.Credential = bearer("npm") })
		awaitServer(t, server, v1alpha1.ReasonDiscovered)
		n.granted("npm", func(spec *v1alpha1.GrantSpec) { spec.Credential = bearer("npm") })
		n.scripted(getEnv)
		n.agent("npm")
		got := environmentIn(t, awaitEnd(t, n.start("run")))
		// The Run's own credential is blacked out in what a server says, and only that.
		if want := map[string]string{"API_KEY": "[redacted]"}; !maps.Equal(got, want) {
			t.Errorf("the environment is %v, want %v", got, want)
		}
	}
}

// The operator's own rights are enough to run a server, and what it made goes with the MCPServer. There is
// no kubelet, so the server never gets ready.
func TestHostedServer(t *testing.T) {
	useOperator(t)
	n := newTenant(t)
	hosted := func(spec *v1alpha1.MCPServerSpec) {
		spec.Transport = v1alpha1.Transport{Hosted: &v1alpha1.HostedTransport{Workload: v1alpha1.Workload{Image: "registry.example/desk:1"}, Port: 9000}}
	}
	server := awaitServer(t, n.catalogued("desk", "", hosted), v1alpha1.ReasonDeploying)
	if made := objectsOf(t, n.namespace, "desk"); len(made) != 3 {
		t.Errorf("made: %v", made)
	}
	// Without an image of the bridge no stdio server is started, here or anywhere.
	awaitServer(t, n.catalogued("local", "", overStdio([]string{"node", "index.js"})), v1alpha1.ReasonBridgeImageMissing)
	if made := objectsOf(t, n.namespace, "local"); len(made) > 0 {
		t.Errorf("made: %v", made)
	}

	if err := env.users[admin].Delete(t.Context(), server); err != nil {
		t.Fatal(err)
	}
	eventually(t, "what ran the server is deleted", func() bool { return len(objectsOf(t, n.namespace, "desk")) == 0 })
}

// objectsOf are the kinds of the objects that run a server.
func objectsOf(t *testing.T, namespace, name string) []string {
	t.Helper()
	var kinds []string
	for kind, object := range map[string]client.Object{
		"Deployment": &appsv1.Deployment{}, "Service": &corev1.Service{}, "NetworkPolicy": &networkingv1.NetworkPolicy{},
	} {
		err := env.users[admin].Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, object)
		if err == nil {
			kinds = append(kinds, kind)
		} else if !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
	}
	return kinds
}
