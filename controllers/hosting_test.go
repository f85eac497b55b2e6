// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/hosting"
)

// A hosted server from nothing to its catalogue, and then no write any more.
func TestHostedServer(t *testing.T) {
	h := newHost(t)
	h.create(secretFor())
	server := h.server(hostedTransport())
	h.wantReady(server, v1alpha1.ReasonDeploying, "waits for the Deployment: Replicas: 0/2")
	if kinds := slices.Sorted(maps.Keys(h.objectsOf("desk"))); !slices.Equal(kinds, []string{"Deployment", "NetworkPolicy", "Service"}) {
		t.Fatalf("there are %v", kinds)
	}
	if len(h.asked()) > 0 {
		t.Errorf("asked before it was ready: %v", h.asked())
	}
	for _, object := range h.objectsOf("desk") {
		text, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), hostingCanary) {
			t.Errorf("the secret is in the %T: %s", object, text)
		}
	}

	h.rollOut(server)
	h.wantReady(server, v1alpha1.ReasonDiscovered, "offers 1 tools")
	if diff := cmp.Diff([]string{"http://desk." + h.namespace + ".svc:9000/api/mcp"}, h.asked()); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}

	before := mark(t)
	if result := h.reconcile(server); result.RequeueAfter != server.Spec.RefreshInterval.Duration {
		t.Errorf("looked at again after %s, want %s", result.RequeueAfter, server.Spec.RefreshInterval.Duration)
	}
	if writes := operatorWrites(t, before, h.namespace); len(writes) > 0 {
		t.Errorf("a reconcile without a change wrote: %v", writes)
	}
}

// While nothing moves nothing is written either.
func TestDeployingWritesNothing(t *testing.T) {
	h := newHost(t)
	for _, transport := range []v1alpha1.Transport{hostedTransport(), stdioTransport()} {
		server := &v1alpha1.MCPServer{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "desk-"}, Spec: v1alpha1.MCPServerSpec{Transport: transport},
		}
		if transport.Hosted != nil {
			h.create(secretFor())
		}
		h.create(server)
		h.wantReady(server, v1alpha1.ReasonDeploying, "Replicas: 0/")
		before := mark(t)
		h.reconcile(server)
		if writes := operatorWrites(t, before, h.namespace); len(writes) > 0 {
			t.Errorf("wrote: %v", writes)
		}
	}
}

// What others change of what the operator says is put back; what they add stays.
func TestDriftIsPutBack(t *testing.T) {
	h := newHost(t)
	server := h.server(stdioTransport())
	h.wantReady(server, v1alpha1.ReasonDeploying, "")
	deployment := h.deployment(server)
	h.update(deployment, func() {
		deployment.Annotations = map[string]string{"example.com/note": "kept"}
		deployment.Spec.Template.Spec.Containers[0].Image = "registry.example/evil:1"
		deployment.Spec.Template.Spec.AutomountServiceAccountToken = new(true)
	})
	policy := h.objectsOf("desk")["NetworkPolicy"].(*networkingv1.NetworkPolicy)
	h.update(policy, func() { policy.Spec.Ingress = []networkingv1.NetworkPolicyIngressRule{{}} })

	h.wantReady(server, v1alpha1.ReasonDeploying, "")
	deployment = h.deployment(server)
	spec := deployment.Spec.Template.Spec
	if spec.Containers[0].Image != "registry.example/desk:1" || *spec.AutomountServiceAccountToken || deployment.Annotations["example.com/note"] != "kept" {
		t.Errorf("the Deployment is %+v", deployment)
	}
	policy = h.objectsOf("desk")["NetworkPolicy"].(*networkingv1.NetworkPolicy)
	if len(policy.Spec.Ingress) != 1 || len(policy.Spec.Ingress[0].From) != 1 {
		t.Errorf("the NetworkPolicy lets in %+v", policy.Spec.Ingress)
	}
	before := mark(t)
	h.reconcile(server)
	if writes := operatorWrites(t, before, h.namespace); len(writes) > 0 {
		t.Errorf("put back, and written again: %v", writes)
	}
}

// A change of the MCPServer reaches the objects, and what it drops goes.
func TestHostedServerChanges(t *testing.T) {
	h := newHost(t)
	h.create(secretFor())
	server := h.server(hostedTransport())
	h.wantReady(server, v1alpha1.ReasonDeploying, "")
	uid := h.deployment(server).UID
	h.update(server, func() {
		server.Spec.Transport = stdioTransport()
	})
	h.wantReady(server, v1alpha1.ReasonDeploying, "")
	deployment := h.deployment(server)
	spec := deployment.Spec.Template.Spec
	if deployment.UID != uid || *deployment.Spec.Replicas != 1 || len(spec.InitContainers) != 1 || spec.InitContainers[0].Image != bridgeImage ||
		len(spec.ImagePullSecrets) > 0 || spec.SecurityContext.RunAsUser != nil || len(spec.Containers[0].Ports) != 1 {
		t.Errorf("the Deployment is %+v", deployment.Spec)
	}
	if ports := h.objectsOf("desk")["Service"].(*corev1.Service).Spec.Ports; len(ports) != 1 || ports[0].Port != hosting.BridgePort {
		t.Errorf("the Service has the ports %+v", ports)
	}

	h.update(server, func() {
		server.Spec.Transport = v1alpha1.Transport{HTTP: &v1alpha1.HTTPTransport{URL: "https://desk.example/mcp"}}
	})
	h.wantReady(server, v1alpha1.ReasonDiscovered, "")
	if left := h.objectsOf("desk"); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

// An object that somebody else made is left as it is, and nothing else is made.
func TestNameIsTaken(t *testing.T) {
	pods := map[string]string{"app": "theirs"}
	for kind, theirs := range map[string]client.Object{
		"Service":       &corev1.Service{Spec: corev1.ServiceSpec{Selector: pods, Ports: []corev1.ServicePort{{Port: 80}}}},
		"NetworkPolicy": &networkingv1.NetworkPolicy{Spec: networkingv1.NetworkPolicySpec{PodSelector: metav1.LabelSelector{MatchLabels: pods}}},
		"Deployment": &appsv1.Deployment{Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: pods},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: pods},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
			},
		}},
	} {
		t.Run(kind, func(t *testing.T) {
			h := newHost(t)
			theirs.SetName("desk")
			h.create(theirs)
			version := theirs.GetResourceVersion()
			server := h.server(stdioTransport())
			h.wantReady(server, v1alpha1.ReasonNameTaken,
				fmt.Sprintf("%s %q in namespace %q does not belong to this MCPServer and is left alone", kind, "desk", h.namespace))
			if !meta.IsStatusConditionTrue(server.Status.Conditions, v1alpha1.ConditionStalled) {
				t.Errorf("not stalled: %+v", server.Status.Conditions)
			}
			left := h.objectsOf("desk")
			if len(left) != 1 || left[kind].GetResourceVersion() != version {
				t.Errorf("there are %v, and %s is at version %s, was %s", left, kind, left[kind].GetResourceVersion(), version)
			}

			// Nor is it deleted when the MCPServer has no use for the name any more.
			h.update(server, func() {
				server.Spec.Transport = v1alpha1.Transport{HTTP: &v1alpha1.HTTPTransport{URL: "https://desk.example/mcp"}}
			})
			h.wantReady(server, v1alpha1.ReasonDiscovered, "")
			if left := h.objectsOf("desk"); len(left) != 1 || left[kind].GetResourceVersion() != version {
				t.Errorf("there are %v", left)
			}
			if err := admin.Delete(t.Context(), theirs); err != nil {
				t.Fatal(err)
			}
			h.update(server, func() { server.Spec.Transport = stdioTransport() })
			h.wantReady(server, v1alpha1.ReasonDeploying, "")
		})
	}
}

// A secret is used by reference and only if it opts in; a new value rolls the Pods, and one that may not be
// used any more stops them.
func TestSecretsOfTheEnvironment(t *testing.T) {
	h := newHost(t)
	server := h.server(hostedTransport())
	h.wantReady(server, v1alpha1.ReasonCredentialMissing, `Secret "desk" in namespace "`+h.namespace+`" does not exist`)
	secret := secretFor()
	secret.Labels = nil
	h.create(secret)
	h.wantReady(server, v1alpha1.ReasonCredentialRefused, "is not labelled remit.dev/credential=true")
	if made := h.objectsOf("desk"); len(made) > 0 {
		t.Errorf("made: %v", made)
	}

	h.update(secret, func() { secret.Labels = map[string]string{v1alpha1.CredentialLabel: "true"} })
	h.wantReady(server, v1alpha1.ReasonDeploying, "")
	environment := func() string { return h.deployment(server).Spec.Template.Annotations[hosting.EnvironmentAnnotation] }
	first := environment()
	h.update(secret, func() { secret.Annotations = map[string]string{"example.com/note": "nothing to do with the value"} })
	h.reconcile(server)
	if first == "" || environment() != first {
		t.Errorf("the Pods are rolled from %q to %q though no secret changed", first, environment())
	}
	h.update(secret, func() { secret.Data["token"] = []byte("another") })
	h.reconcile(server)
	if environment() == first {
		t.Error("the Pods are not rolled by a new secret")
	}

	h.update(secret, func() { delete(secret.Data, "token") })
	h.wantReady(server, v1alpha1.ReasonCredentialMissing, `has no key "token"`)
	if left := h.objectsOf("desk"); len(left) != 3 {
		t.Errorf("a key that may come back stops what runs: %v", left)
	}
	h.update(secret, func() {
		secret.Data = map[string][]byte{"token": []byte(hostingCanary)}
		secret.Annotations = map[string]string{v1alpha1.HostsAnnotation: "desk.example"}
	})
	h.wantReady(server, v1alpha1.ReasonCredentialRefused, "is limited to hosts by its annotation remit.dev/hosts")
	if left := h.objectsOf("desk"); len(left) > 0 {
		t.Errorf("what may not be used still runs: %v", left)
	}
}

func TestNoBridgeImage(t *testing.T) {
	h := newHost(t)
	h.reconciler.Hosting.BridgeImage = ""
	server := h.server(stdioTransport())
	h.wantReady(server, v1alpha1.ReasonBridgeImageMissing, "--bridge-image")
	if made := h.objectsOf("desk"); len(made) > 0 {
		t.Errorf("made: %v", made)
	}
}

// What keeps a Pod from starting is on the MCPServer.
func TestTroubleOfThePods(t *testing.T) {
	h := newHost(t)
	server := h.server(stdioTransport())
	h.wantReady(server, v1alpha1.ReasonDeploying, "")
	template := h.deployment(server).Spec.Template
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "desk-1", Labels: template.Labels}, Spec: template.Spec}
	h.create(pod)
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "server", Image: "i", State: corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: "CreateContainerConfigError", Message: "container has runAsNonRoot and image will run as root"}}}}
	if err := admin.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	h.wantReady(server, v1alpha1.ReasonDeployFailed, "container server: CreateContainerConfigError: container has runAsNonRoot and image will run as root")
}

// With the cache that the operator has, what happens to the objects sets the reconciler off, and one of
// the same name that is not in the cache is seen nevertheless.
func TestHostedObjectsAreWatched(t *testing.T) {
	h := newHost(t)
	restConfig := rest.CopyConfig(env.Config)
	restConfig.QPS = -1
	only := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{hosting.ManagedByLabel: hosting.ManagedBy})}
	mgr, err := ctrl.NewManager(restConfig, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)},
		Cache: cache.Options{
			DefaultNamespaces: map[string]cache.Config{h.namespace: {}},
			ByObject: map[client.Object]cache.ByObject{
				&appsv1.Deployment{}: only, &corev1.Service{}: only, &networkingv1.NetworkPolicy{}: only,
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.reconcilerWith(mgr.GetClient(), mgr.GetAPIReader()).SetupWithManager(mgr); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})

	taken := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "desk"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	h.create(taken)
	server := h.server(stdioTransport())
	awaitReason := func(reason string) {
		t.Helper()
		await(t, func(context.Context) error {
			h.read(server)
			if ready := meta.FindStatusCondition(server.Status.Conditions, v1alpha1.ConditionReady); ready == nil || ready.Reason != reason {
				return fmt.Errorf("Ready is %+v, want %s", ready, reason)
			}
			return nil
		})
	}
	awaitReason(v1alpha1.ReasonNameTaken)
	if err := admin.Delete(t.Context(), taken); err != nil {
		t.Fatal(err)
	}
	awaitReason(v1alpha1.ReasonDeploying)
	h.rollOut(server)
	awaitReason(v1alpha1.ReasonDiscovered)

	if err := admin.Delete(t.Context(), h.objectsOf("desk")["NetworkPolicy"]); err != nil {
		t.Fatal(err)
	}
	await(t, func(context.Context) error {
		if h.objectsOf("desk")["NetworkPolicy"] == nil {
			return errors.New("the NetworkPolicy is not there again")
		}
		return nil
	})
}
