// SPDX-License-Identifier: Apache-2.0

package hosting

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	psapi "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"remit.dev/remit/api/v1alpha1"
)

var options = Options{BridgeImage: "registry.example/remit:1", OperatorNamespace: "remit-system"}

func quantity(text string) *resource.Quantity { return new(resource.MustParse(text)) }

func secret(name, key string) *v1alpha1.SecretKeyReference {
	return &v1alpha1.SecretKeyReference{Name: name, Key: key}
}

// server is an MCPServer with one transport.
func server(transport v1alpha1.Transport) *v1alpha1.MCPServer {
	return &v1alpha1.MCPServer{
		ObjectMeta: metav1.ObjectMeta{Name: "desk", Namespace: "catalogue", UID: "uid-of-desk"},
		Spec:       v1alpha1.MCPServerSpec{Transport: transport},
	}
}

func hostedServer(change ...func(*v1alpha1.HostedTransport)) *v1alpha1.MCPServer {
	hosted := &v1alpha1.HostedTransport{Workload: v1alpha1.Workload{Image: "registry.example/desk:1"}, Port: 9000, Path: "/api/mcp"}
	for _, c := range change {
		c(hosted)
	}
	return server(v1alpha1.Transport{Hosted: hosted})
}

func stdioServer(change ...func(*v1alpha1.StdioTransport)) *v1alpha1.MCPServer {
	stdio := &v1alpha1.StdioTransport{
		Workload: v1alpha1.Workload{Image: "registry.example/desk:1"},
		Command:  []v1alpha1.Argument{"node", "index.js"}, Sessions: v1alpha1.SessionsPerSession,
	}
	for _, c := range change {
		c(stdio)
	}
	return server(v1alpha1.Transport{Stdio: stdio})
}

// full uses every field of a workload.
var full = v1alpha1.Workload{
	Image: "registry.example/desk:1",
	Args:  []v1alpha1.Argument{"--root", "$(HOME)", ""},
	Env: []v1alpha1.EnvironmentVariable{
		{Name: "GREETING", Value: new("pay $5 $(NOW)")},
		{Name: "EMPTY", Value: new("")},
		{Name: "TOKEN", SecretKeyRef: secret("desk", "token")},
	},
	RunAsUser:        new(int64(1000)),
	ImagePullSecrets: []v1alpha1.NamedReference{{Name: "registry"}},
	Egress:           v1alpha1.EgressAny,
}

func build(t *testing.T, of *v1alpha1.MCPServer) Objects {
	t.Helper()
	objects, err := Build(of, options)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func TestURL(t *testing.T) {
	for want, of := range map[string]*v1alpha1.MCPServer{
		"http://desk.catalogue.svc:9000/api/mcp": hostedServer(),
		"http://desk.catalogue.svc:9000/mcp":     hostedServer(func(h *v1alpha1.HostedTransport) { h.Path = "" }),
		"http://desk.catalogue.svc:8080/mcp":     stdioServer(),
	} {
		if got := URL(of); got != want || !Hosted(of) {
			t.Errorf("got %s, hosted %v; want %s", got, Hosted(of), want)
		}
	}
	if Hosted(server(v1alpha1.Transport{HTTP: &v1alpha1.HTTPTransport{URL: "https://desk.example"}})) {
		t.Error("an http server is hosted")
	}
}

// Every Pod passes the restricted Pod Security Standard, as its own evaluator judges it, and gets
// nothing of the cluster.
func TestRestricted(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, of := range map[string]*v1alpha1.MCPServer{
		"hosted":      hostedServer(),
		"hosted full": hostedServer(func(h *v1alpha1.HostedTransport) { h.Workload = full }),
		"stdio":       stdioServer(),
		"stdio full":  stdioServer(func(s *v1alpha1.StdioTransport) { s.Workload = full }),
	} {
		template := build(t, of).Deployment.Spec.Template
		restricted := psapi.LevelVersion{Level: psapi.LevelRestricted, Version: psapi.LatestVersion()}
		for _, result := range evaluator.EvaluatePod(restricted, &template.ObjectMeta, &template.Spec) {
			if !result.Allowed {
				t.Errorf("%s: %s: %s", name, result.ForbiddenReason, result.ForbiddenDetail)
			}
		}
		spec := template.Spec
		if *spec.AutomountServiceAccountToken || *spec.EnableServiceLinks || spec.ServiceAccountName != "" {
			t.Errorf("%s: the Pod gets something of the cluster: %+v", name, spec)
		}
		for _, container := range append(spec.InitContainers, spec.Containers...) {
			if !*container.SecurityContext.ReadOnlyRootFilesystem {
				t.Errorf("%s: container %s may write to its root file system", name, container.Name)
			}
			if container.Resources.Limits.Memory().IsZero() || container.Resources.Requests.Cpu().IsZero() {
				t.Errorf("%s: container %s has no bounds: %+v", name, container.Name, container.Resources)
			}
		}
		for _, volume := range spec.Volumes {
			if volume.EmptyDir == nil || volume.EmptyDir.SizeLimit.IsZero() {
				t.Errorf("%s: volume %s has no bound", name, volume.Name)
			}
		}
	}
}

// A hosted server is what its image is, with what the MCPServer says; dollar signs are doubled, which
// is how the kubelet is kept from expanding them.
func TestHostedContainer(t *testing.T) {
	of := hostedServer(func(h *v1alpha1.HostedTransport) {
		h.Workload = full
		h.Command = []v1alpha1.Argument{"serve", "$PORT"}
		h.Replicas = new(int32(3))
	})
	objects := build(t, of)
	if n := *objects.Deployment.Spec.Replicas; n != 3 {
		t.Errorf("%d replicas", n)
	}
	spec := objects.Deployment.Spec.Template.Spec
	got := spec.Containers[0]
	got.Resources, got.SecurityContext = corev1.ResourceRequirements{}, nil
	connect := func(failures int32) *corev1.Probe {
		return &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString("mcp")}},
			PeriodSeconds: 5, TimeoutSeconds: 5, FailureThreshold: failures,
		}
	}
	want := corev1.Container{
		Name: "server", Image: "registry.example/desk:1",
		Command: []string{"serve", "$$PORT"}, Args: []string{"--root", "$$(HOME)", ""},
		Env: []corev1.EnvVar{
			{Name: "GREETING", Value: "pay $$5 $$(NOW)"},
			{Name: "EMPTY"},
			{Name: "TOKEN", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: "desk"}, Key: "token"}}},
		},
		Ports:        []corev1.ContainerPort{{Name: "mcp", ContainerPort: 9000, Protocol: "TCP"}},
		VolumeMounts: []corev1.VolumeMount{{Name: "tmp", MountPath: "/tmp"}},
		StartupProbe: connect(24), ReadinessProbe: connect(2), LivenessProbe: connect(6),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(spec.InitContainers) > 0 || len(spec.Volumes) != 1 {
		t.Errorf("something of the bridge is in the Pod: %+v", spec)
	}
	if *spec.SecurityContext.RunAsUser != 1000 || spec.ImagePullSecrets[0].Name != "registry" {
		t.Errorf("the Pod: %+v", spec)
	}
}

// N1: the bridge passes on the variables that it is told; a secret has a name that means nothing to the
// bridge itself, and is in no argument.
func TestStdioContainer(t *testing.T) {
	of := stdioServer(func(s *v1alpha1.StdioTransport) {
		s.Workload = full
		s.InheritEnv = []v1alpha1.EnvironmentName{"PATH", "HOME"}
		s.CredentialEnv = "API_KEY"
	})
	spec := build(t, of).Deployment.Spec.Template.Spec
	got := spec.Containers[0]
	if diff := cmp.Diff([]string{"/remit-bridge/remit"}, got.Command); diff != "" {
		t.Errorf("the command (-want +got):\n%s", diff)
	}
	want := []string{
		"bridge", "--listen", ":8080", "--allow-host", "desk.catalogue.svc", "--sessions", "PerSession",
		"--env", "GREETING=pay $$5 $$(NOW)", "--env", "EMPTY=", "--env-from", "TOKEN=REMIT_ENV_TOKEN",
		"--inherit-env", "PATH", "--inherit-env", "HOME", "--credential-env", "API_KEY",
		"--", "node", "index.js", "--root", "$$(HOME)", "",
	}
	if diff := cmp.Diff(want, got.Args); diff != "" {
		t.Errorf("the arguments (-want +got):\n%s", diff)
	}
	variables := []corev1.EnvVar{
		{Name: "REMIT_ENV_TOKEN", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: "desk"}, Key: "token"}}},
	}
	if diff := cmp.Diff(variables, got.Env); diff != "" {
		t.Errorf("the environment (-want +got):\n%s", diff)
	}
	if health := got.ReadinessProbe.HTTPGet; health == nil || health.Path != "/healthz" {
		t.Errorf("the readiness probe: %+v", got.ReadinessProbe)
	}

	install := spec.InitContainers[0]
	if install.Image != options.BridgeImage || !cmp.Equal(install.Command, []string{"/remit", "bridge", "--install", "/remit-bridge/remit"}) {
		t.Errorf("the init container: %+v", install)
	}
	mounts := []corev1.VolumeMount{{Name: "bridge", MountPath: "/remit-bridge"}}
	if diff := cmp.Diff(mounts, install.VolumeMounts); diff != "" {
		t.Errorf("the init container's mounts (-want +got):\n%s", diff)
	}
	mounts = []corev1.VolumeMount{{Name: "tmp", MountPath: "/tmp"}, {Name: "bridge", MountPath: "/remit-bridge", ReadOnly: true}}
	if diff := cmp.Diff(mounts, got.VolumeMounts); diff != "" {
		t.Errorf("the server's mounts (-want +got):\n%s", diff)
	}
}

func TestStdioNeedsABridge(t *testing.T) {
	if _, err := Build(stdioServer(), Options{}); !errors.Is(err, ErrNoBridge) {
		t.Errorf("stdio: %v", err)
	}
	if _, err := Build(hostedServer(), Options{}); err != nil {
		t.Errorf("hosted: %v", err)
	}
}

// Of a shared process there are never two by intent; else a new Pod is there before the old one goes.
func TestStrategy(t *testing.T) {
	shared := stdioServer(func(s *v1alpha1.StdioTransport) { s.Sessions = v1alpha1.SessionsShared })
	for name, row := range map[string]struct {
		of                 *v1alpha1.MCPServer
		surge, unavailable int32
	}{
		"hosted":      {hostedServer(), 1, 0},
		"per session": {stdioServer(), 1, 0},
		"shared":      {shared, 0, 1},
	} {
		strategy := build(t, row.of).Deployment.Spec.Strategy
		want := appsv1.DeploymentStrategy{Type: "RollingUpdate", RollingUpdate: &appsv1.RollingUpdateDeployment{
			MaxSurge: new(intstr.FromInt32(row.surge)), MaxUnavailable: new(intstr.FromInt32(row.unavailable))}}
		if diff := cmp.Diff(want, strategy); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Each object belongs to the MCPServer, and the selectors find the Pods.
func TestMetadata(t *testing.T) {
	for _, of := range []*v1alpha1.MCPServer{hostedServer(), stdioServer()} {
		o := build(t, of)
		for _, object := range []metav1.Object{o.Deployment, o.Service, o.NetworkPolicy} {
			if object.GetName() != "desk" || object.GetNamespace() != "catalogue" || !metav1.IsControlledBy(object, of) {
				t.Errorf("%T: %+v", object, object)
			}
			if object.GetLabels()["app.kubernetes.io/managed-by"] != "remit" {
				t.Errorf("%T: labels %v", object, object.GetLabels())
			}
		}
		pod := o.Deployment.Spec.Template.Labels
		for name, selector := range map[string]map[string]string{
			"Deployment": o.Deployment.Spec.Selector.MatchLabels, "Service": o.Service.Spec.Selector,
			"NetworkPolicy": o.NetworkPolicy.Spec.PodSelector.MatchLabels,
		} {
			if len(selector) == 0 || selector["app.kubernetes.io/instance"] != "desk" {
				t.Errorf("%s selects %v", name, selector)
			}
			for key, value := range selector {
				if pod[key] != value {
					t.Errorf("%s selects %s=%s, and the Pods have %v", name, key, value, pod)
				}
			}
		}
	}
}

// Another secret makes other Pods, and nothing else does.
func TestEnvironmentAnnotation(t *testing.T) {
	template := func(environment string) string {
		objects, err := Build(stdioServer(), Options{BridgeImage: "i", Environment: environment})
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(objects.Deployment.Spec.Template)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	first, again, other := template("a"), template("a"), template("b")
	if first != again || first == other {
		t.Errorf("the Pods do not follow the environment: %s, %s, %s", first, again, other)
	}
}

func TestResources(t *testing.T) {
	type amounts = v1alpha1.ResourceAmounts
	for name, row := range map[string]struct {
		said v1alpha1.Resources
		want string // requests cpu, memory; limits cpu, memory
	}{
		"nothing":                       {v1alpha1.Resources{}, "50m 128Mi; 0 512Mi"},
		"a small limit":                 {v1alpha1.Resources{Limits: amounts{CPU: quantity("10m"), Memory: quantity("64Mi")}}, "10m 64Mi; 10m 64Mi"},
		"a large limit":                 {v1alpha1.Resources{Limits: amounts{CPU: quantity("2"), Memory: quantity("4Gi")}}, "50m 128Mi; 2 4Gi"},
		"a request beyond the default":  {v1alpha1.Resources{Requests: amounts{Memory: quantity("1Gi")}}, "50m 1Gi; 0 1Gi"},
		"a request within the default":  {v1alpha1.Resources{Requests: amounts{CPU: quantity("1"), Memory: quantity("64Mi")}}, "1 64Mi; 0 512Mi"},
		"a request and a limit, both 1": {v1alpha1.Resources{Requests: amounts{CPU: quantity("1")}, Limits: amounts{CPU: quantity("1")}}, "1 128Mi; 1 512Mi"},
	} {
		got := resources(row.said)
		text := fmt.Sprintf("%s %s; %s %s", got.Requests.Cpu(), got.Requests.Memory(), got.Limits.Cpu(), got.Limits.Memory())
		if text != row.want {
			t.Errorf("%s: got %s, want %s", name, text, row.want)
		}
	}
}

// Whatever an MCPServer says that the API takes, no request is over its limit.
func TestResourcesFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amount := func(label string) *resource.Quantity {
			return rapid.Ptr(rapid.Map(rapid.Int64Range(1, 1<<32), func(n int64) resource.Quantity {
				return *resource.NewQuantity(n, resource.BinarySI)
			}), true).Draw(t, label)
		}
		said := v1alpha1.Resources{
			Requests: v1alpha1.ResourceAmounts{CPU: amount("request of CPU"), Memory: amount("request of memory")},
			Limits:   v1alpha1.ResourceAmounts{CPU: amount("limit of CPU"), Memory: amount("limit of memory")},
		}
		over := func(request, limit *resource.Quantity) bool {
			return request != nil && limit != nil && request.Cmp(*limit) > 0
		}
		if over(said.Requests.CPU, said.Limits.CPU) || over(said.Requests.Memory, said.Limits.Memory) {
			t.Skip("the API refuses it")
		}
		got := resources(said)
		for name, limit := range got.Limits {
			if request := got.Requests[name]; request.Cmp(limit) > 0 {
				t.Errorf("%s: %s requested, %s at most", name, &request, &limit)
			}
		}
	})
}

// The operator's Pods have the labels by which the servers let them in, and its image has the program
// where the init container looks for it.
func TestOperatorsManifests(t *testing.T) {
	data, err := os.ReadFile("../../config/manager/deployment.yaml")
	if err != nil {
		t.Fatal(err)
	}
	operator := &appsv1.Deployment{}
	if err := yaml.UnmarshalStrict(data, operator); err != nil {
		t.Fatal(err)
	}
	for key, value := range operatorLabels {
		if got := operator.Spec.Template.Labels[key]; got != value {
			t.Errorf("the operator's Pods have %s=%q, want %q", key, got, value)
		}
	}
	image, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(image), "ENTRYPOINT [\""+operatorProgram+"\"]") {
		t.Errorf("the operator's image does not have its program at %s", operatorProgram)
	}
}
