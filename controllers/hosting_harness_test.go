// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/controllers"
	"remit.dev/remit/internal/credentials"
	"remit.dev/remit/internal/mcp"
)

const bridgeImage = "registry.example/remit:1"

// host is a namespace with servers that the operator runs, a reconciler that the test drives by hand,
// and what is asked of the servers.
type host struct {
	*testing.T
	namespace  string
	reconciler *controllers.MCPServerReconciler

	mu   sync.Mutex
	urls []string
}

// newHost reconciles as the operator does, without a cache.
func newHost(t *testing.T) *host {
	t.Helper()
	h := &host{T: t, namespace: env.Namespace(t)}
	config := rest.CopyConfig(env.Config)
	config.QPS, config.UserAgent = -1, operatorAgent
	operator, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	h.reconciler = h.reconcilerWith(operator, operator)
	return h
}

func (h *host) reconcilerWith(cached client.Client, reader client.Reader) *controllers.MCPServerReconciler {
	server := httptest.NewServer(http.HandlerFunc(oneTool))
	h.Cleanup(server.Close)
	mcpClient := mcp.NewClient(mcp.Options{TransportFor: func(target mcp.Target) http.RoundTripper {
		h.mu.Lock()
		h.urls = append(h.urls, target.URL)
		h.mu.Unlock()
		return redirected{strings.TrimPrefix(server.URL, "http://")}
	}})
	h.Cleanup(mcpClient.Close)
	return &controllers.MCPServerReconciler{
		Client: cached, Reader: reader, Now: time.Now,
		Catalogue:   controllers.NewCatalogue(mcpClient),
		Credentials: credentials.New(credentials.Options{Reader: reader}),
		Hosting:     controllers.Hosting{BridgeImage: bridgeImage, OperatorNamespace: "remit-system"},
	}
}

// redirected sends every request to one address.
type redirected struct{ address string }

func (r redirected) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.URL.Scheme, request.URL.Host = "http", r.address
	return http.DefaultTransport.RoundTrip(request)
}

// oneTool is an MCP server with one tool and no sessions.
func oneTool(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if json.Unmarshal(body, &m) != nil || len(m.ID) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	answer := `"error":{"code":-32601,"message":"Method not found"}`
	switch m.Method {
	case "initialize":
		answer = `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"desk","version":"1"}}`
	case "tools/list":
		answer = `"result":{"tools":[{"name":"find","inputSchema":{"type":"object"}}]}`
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, answer)
}

// asked are the URLs of the servers that were asked, each once.
func (h *host) asked() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	seen := map[string]bool{}
	var urls []string
	for _, url := range h.urls {
		if !seen[url] {
			urls = append(urls, url)
		}
		seen[url] = true
	}
	return urls
}

func (h *host) create(objects ...client.Object) {
	h.Helper()
	for _, object := range objects {
		object.SetNamespace(h.namespace)
		if err := admin.Create(h.Context(), object); err != nil {
			h.Fatal(err)
		}
	}
}

// server creates an MCPServer.
func (h *host) server(transport v1alpha1.Transport) *v1alpha1.MCPServer {
	h.Helper()
	server := &v1alpha1.MCPServer{
		ObjectMeta: metav1.ObjectMeta{Name: "desk"}, Spec: v1alpha1.MCPServerSpec{Transport: transport},
	}
	h.create(server)
	return server
}

func (h *host) reconcile(server *v1alpha1.MCPServer) ctrl.Result {
	h.Helper()
	result, err := h.reconciler.Reconcile(h.Context(), requestFor(server))
	if err != nil {
		h.Fatal(err)
	}
	return result
}

// wantReady reconciles and compares the reason and the message of Ready.
func (h *host) wantReady(server *v1alpha1.MCPServer, reason, message string) {
	h.Helper()
	h.reconcile(server)
	h.read(server)
	ready := meta.FindStatusCondition(server.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil || ready.Reason != reason || !strings.Contains(ready.Message, message) {
		h.Fatalf("Ready is %+v, want %s: %s", ready, reason, message)
	}
}

func (h *host) read(object client.Object) {
	h.Helper()
	if err := admin.Get(h.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		h.Fatal(err)
	}
}

func (h *host) update(object client.Object, change func()) {
	h.Helper()
	h.read(object)
	change()
	if err := admin.Update(h.Context(), object); err != nil {
		h.Fatal(err)
	}
}

func (h *host) deployment(server *v1alpha1.MCPServer) *appsv1.Deployment {
	h.Helper()
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: server.Name, Namespace: server.Namespace}}
	h.read(deployment)
	return deployment
}

// objectsOf are the objects that run a server, of the kinds that there are now.
func (h *host) objectsOf(name string) map[string]client.Object {
	h.Helper()
	found := map[string]client.Object{}
	for kind, object := range map[string]client.Object{
		"Deployment": &appsv1.Deployment{}, "Service": &corev1.Service{}, "NetworkPolicy": &networkingv1.NetworkPolicy{},
	} {
		err := admin.Get(h.Context(), client.ObjectKey{Namespace: h.namespace, Name: name}, object)
		if client.IgnoreNotFound(err) != nil {
			h.Fatal(err)
		}
		if err == nil && object.GetDeletionTimestamp().IsZero() {
			found[kind] = object
		}
	}
	return found
}

// rollOut does what the controller of Deployments and a kubelet do.
func (h *host) rollOut(server *v1alpha1.MCPServer) {
	h.Helper()
	deployment := h.deployment(server)
	replicas := *deployment.Spec.Replicas
	deployment.Status = appsv1.DeploymentStatus{
		ObservedGeneration: deployment.Generation, Replicas: replicas, UpdatedReplicas: replicas, ReadyReplicas: replicas, AvailableReplicas: replicas,
		Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"},
			{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, Reason: "MinimumReplicasAvailable"},
		},
	}
	if err := admin.Status().Update(h.Context(), deployment); err != nil {
		h.Fatal(err)
	}
}

func hostedTransport() v1alpha1.Transport {
	return v1alpha1.Transport{Hosted: &v1alpha1.HostedTransport{
		Workload: v1alpha1.Workload{
			Image: "registry.example/desk:1",
			Args:  []v1alpha1.Argument{"--root", "$(HOME)", ""},
			Env: []v1alpha1.EnvironmentVariable{
				{Name: "GREETING", Value: new("hello")}, {Name: "EMPTY", Value: new("")},
				{Name: "TOKEN", SecretKeyRef: &v1alpha1.SecretKeyReference{Name: "desk", Key: "token"}},
			},
			ImagePullSecrets: []v1alpha1.NamedReference{{Name: "registry"}},
			Egress:           v1alpha1.EgressInternet, RunAsUser: new(int64(1000)),
		},
		Port: 9000, Path: "/api/mcp", Replicas: new(int32(2)),
	}}
}

func stdioTransport() v1alpha1.Transport {
	return v1alpha1.Transport{Stdio: &v1alpha1.StdioTransport{
		Workload: v1alpha1.Workload{Image: "registry.example/desk:1"}, Command: []v1alpha1.Argument{"node", "index.js"},
	}}
}

const hostingCanary = "canary-51c0"

// secretFor is the Secret that hostedTransport names.
func secretFor() *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "desk", Labels: map[string]string{v1alpha1.CredentialLabel: "true"}},
		StringData: map[string]string{"token": hostingCanary},
	}
}
