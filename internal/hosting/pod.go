// SPDX-License-Identifier: Apache-2.0

package hosting

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"remit.dev/remit/api/v1alpha1"
)

const (
	// ServerContainer is the name of the container that holds the server.
	ServerContainer = "server"
	bridgeContainer = "bridge"

	bridgeDir     = "/remit-bridge"
	bridgeProgram = bridgeDir + "/remit"
	// operatorProgram is where the operator's image has it.
	operatorProgram = "/remit"
	// variablePrefix keeps a secret that is meant for the server from meaning something
	// to the bridge.
	variablePrefix = "REMIT_ENV_"

	// startupSeconds is how long a server may take to listen.
	probePeriod    = 5
	startupSeconds = 120
)

// The sizes of a Pod's volumes, and its resources where the MCPServer does not say.
var (
	scratchSize = resource.MustParse("256Mi")
	bridgeSize  = resource.MustParse("256Mi")

	defaultCPURequest    = resource.MustParse("50m")
	defaultMemoryRequest = resource.MustParse("128Mi")
	defaultMemoryLimit   = resource.MustParse("512Mi")
)

// podTemplate is the Pod of a server, and how many of it there are.
func podTemplate(server *v1alpha1.MCPServer, options Options) (corev1.PodTemplateSpec, int32, error) {
	transport := server.Spec.Transport
	var spec corev1.PodSpec
	replicas := int32(1)
	if hosted := transport.Hosted; hosted != nil {
		spec = podSpec(&hosted.Workload, hostedContainer(hosted))
		if hosted.Replicas != nil {
			replicas = *hosted.Replicas
		}
	} else {
		if options.BridgeImage == "" {
			return corev1.PodTemplateSpec{}, 0, ErrNoBridge
		}
		spec = podSpec(&transport.Stdio.Workload, bridgedContainer(server))
		addBridge(&spec, options.BridgeImage)
	}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels(server)}, Spec: spec}
	if options.Environment != "" {
		template.Annotations = map[string]string{EnvironmentAnnotation: options.Environment}
	}
	return template, replicas, nil
}

// podSpec is a Pod of one container, which only lacks what is special to its kind.
func podSpec(workload *v1alpha1.Workload, container corev1.Container) corev1.PodSpec {
	no, yes := false, true
	container.Name = ServerContainer
	container.Image = workload.Image
	container.Resources = resources(workload.Resources)
	container.SecurityContext = restricted()
	container.VolumeMounts = []corev1.VolumeMount{{Name: "tmp", MountPath: "/tmp"}}
	spec := corev1.PodSpec{
		Containers:                   []corev1.Container{container},
		Volumes:                      []corev1.Volume{emptyDir("tmp", scratchSize)},
		AutomountServiceAccountToken: &no,
		EnableServiceLinks:           &no,
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot:   &yes,
			RunAsUser:      workload.RunAsUser,
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
	}
	for _, secret := range workload.ImagePullSecrets {
		spec.ImagePullSecrets = append(spec.ImagePullSecrets, corev1.LocalObjectReference{Name: secret.Name})
	}
	return spec
}

func restricted() *corev1.SecurityContext {
	no, yes := false, true
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: &no,
		ReadOnlyRootFilesystem:   &yes,
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

func emptyDir(name string, size resource.Quantity) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
		EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &size},
	}}
}

// hostedContainer is a server that listens by itself. All that is known of it is its
// port, so the probes connect and say nothing.
func hostedContainer(hosted *v1alpha1.HostedTransport) corev1.Container {
	container := corev1.Container{
		Command: literals(hosted.Command),
		Args:    literals(hosted.Args),
		Ports:   []corev1.ContainerPort{{Name: portName, ContainerPort: hosted.Port, Protocol: corev1.ProtocolTCP}},
	}
	for i := range hosted.Env {
		container.Env = append(container.Env, variable("", &hosted.Env[i]))
	}
	probes(&container, corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString(portName)}})
	return container
}

// bridgedContainer is a server that the bridge starts, with the variables that the
// bridge is told and no others. A secret has another name in the container, so that it
// means nothing to the bridge, and is in no argument.
func bridgedContainer(server *v1alpha1.MCPServer) corev1.Container {
	stdio := server.Spec.Transport.Stdio
	sessions := stdio.Sessions
	if sessions == "" {
		sessions = v1alpha1.SessionsPerSession
	}
	container := corev1.Container{
		Command: []string{bridgeProgram},
		Args:    []string{"bridge", "--listen", ":8080", "--allow-host", host(server.Namespace, server.Name), "--sessions", string(sessions)},
		Ports:   []corev1.ContainerPort{{Name: portName, ContainerPort: BridgePort, Protocol: corev1.ProtocolTCP}},
	}
	for i := range stdio.Env {
		name, set := string(stdio.Env[i].Name), variable(variablePrefix, &stdio.Env[i])
		if set.ValueFrom == nil {
			container.Args = append(container.Args, "--env", name+"="+set.Value)
			continue
		}
		container.Env = append(container.Env, set)
		container.Args = append(container.Args, "--env-from", name+"="+set.Name)
	}
	for _, name := range stdio.InheritEnv {
		container.Args = append(container.Args, "--inherit-env", string(name))
	}
	if stdio.CredentialEnv != "" {
		container.Args = append(container.Args, "--credential-env", string(stdio.CredentialEnv))
	}
	container.Args = append(container.Args, "--")
	container.Args = append(container.Args, literals(stdio.Command)...)
	container.Args = append(container.Args, literals(stdio.Args)...)
	probes(&container, corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
		Path: "/healthz", Port: intstr.FromString(portName), Scheme: corev1.URISchemeHTTP,
	}})
	return container
}

// addBridge puts the operator's program beside the server's, which knows nothing of it.
func addBridge(spec *corev1.PodSpec, image string) {
	spec.Volumes = append(spec.Volumes, emptyDir(bridgeContainer, bridgeSize))
	mount := corev1.VolumeMount{Name: bridgeContainer, MountPath: bridgeDir}
	spec.InitContainers = []corev1.Container{{
		Name:            bridgeContainer,
		Image:           image,
		Command:         []string{operatorProgram, "bridge", "--install", bridgeProgram},
		Resources:       spec.Containers[0].Resources,
		SecurityContext: restricted(),
		VolumeMounts:    []corev1.VolumeMount{mount},
	}}
	mount.ReadOnly = true
	spec.Containers[0].VolumeMounts = append(spec.Containers[0].VolumeMounts, mount)
}

func probes(container *corev1.Container, handler corev1.ProbeHandler) {
	probe := func(failures int32) *corev1.Probe {
		return &corev1.Probe{ProbeHandler: handler, PeriodSeconds: probePeriod, TimeoutSeconds: probePeriod, FailureThreshold: failures}
	}
	container.StartupProbe = probe(startupSeconds / probePeriod)
	container.ReadinessProbe = probe(2)
	container.LivenessProbe = probe(6)
}

// variable is a variable of the container. A secret is named and never copied.
func variable(prefix string, from *v1alpha1.EnvironmentVariable) corev1.EnvVar {
	to := corev1.EnvVar{Name: prefix + string(from.Name)}
	switch {
	case from.SecretKeyRef != nil:
		to.ValueFrom = &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: from.SecretKeyRef.Name}, Key: from.SecretKeyRef.Key,
		}}
	case from.Value != nil:
		to.Value = literal(*from.Value)
	}
	return to
}

// literal keeps the kubelet from expanding $(NAME): a doubled dollar sign stands for one.
func literal(text string) string { return strings.ReplaceAll(text, "$", "$$") }

func literals(arguments []v1alpha1.Argument) []string {
	var texts []string
	for _, argument := range arguments {
		texts = append(texts, literal(string(argument)))
	}
	return texts
}

// resources completes what the MCPServer says. A default that would contradict it
// gives way.
func resources(said v1alpha1.Resources) corev1.ResourceRequirements {
	least := func(request, limit resource.Quantity) resource.Quantity {
		if limit.Cmp(request) < 0 {
			return limit
		}
		return request
	}
	limits := corev1.ResourceList{corev1.ResourceMemory: defaultMemoryLimit.DeepCopy()}
	requests := corev1.ResourceList{corev1.ResourceCPU: defaultCPURequest.DeepCopy()}
	switch {
	case said.Limits.Memory != nil:
		limits[corev1.ResourceMemory] = *said.Limits.Memory
	case said.Requests.Memory != nil && said.Requests.Memory.Cmp(defaultMemoryLimit) > 0:
		limits[corev1.ResourceMemory] = *said.Requests.Memory
	}
	requests[corev1.ResourceMemory] = least(defaultMemoryRequest.DeepCopy(), limits[corev1.ResourceMemory])
	if said.Requests.Memory != nil {
		requests[corev1.ResourceMemory] = *said.Requests.Memory
	}
	if said.Limits.CPU != nil {
		limits[corev1.ResourceCPU] = *said.Limits.CPU
		requests[corev1.ResourceCPU] = least(defaultCPURequest.DeepCopy(), *said.Limits.CPU)
	}
	if said.Requests.CPU != nil {
		requests[corev1.ResourceCPU] = *said.Requests.CPU
	}
	return corev1.ResourceRequirements{Requests: requests, Limits: limits}
}
