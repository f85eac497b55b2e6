// SPDX-License-Identifier: Apache-2.0

// Package hosting says what the operator makes of an MCPServer that it runs itself: a
// Deployment, a Service and a NetworkPolicy, each with the name of the MCPServer. It
// also reads from the Deployment and its Pods how far they have come. It is pure.
//
// The Pods keep to the restricted Pod Security Standard, have no service account token
// and can be reached by the operator alone. A stdio server runs behind the bridge: an
// init container copies the operator's own program beside the server's, and that
// starts the server with exactly the environment that the MCPServer says.
package hosting

import (
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"remit.dev/remit/api/v1alpha1"
)

const (
	// BridgePort is where the bridge of a stdio server listens.
	BridgePort = 8080
	// bridgePath is the bridge's MCP endpoint.
	bridgePath = "/mcp"

	// ManagedByLabel is on every object that this package makes, with the value
	// ManagedBy, so that a cache need not hold the others.
	ManagedByLabel = "app.kubernetes.io/managed-by"
	// ManagedBy is the value of ManagedByLabel.
	ManagedBy = "remit"

	nameLabel      = "app.kubernetes.io/name"
	instanceLabel  = "app.kubernetes.io/instance"
	componentLabel = "app.kubernetes.io/component"

	// EnvironmentAnnotation is on the Pods and changes with the secrets of their
	// environment, so that new Pods replace those with the old ones.
	EnvironmentAnnotation = "remit.dev/environment"

	portName = "mcp"

	// progressDeadline is long enough to pull a large image.
	progressDeadline = 5 * 60
	historyLimit     = 2
)

// ErrNoBridge says that a stdio server cannot be run, as no image holds the bridge.
var ErrNoBridge = errors.New("a stdio server needs an image with the bridge: start the operator with --bridge-image")

// Options are what the objects depend on beside the MCPServer.
type Options struct {
	// BridgeImage holds the operator's program as /remit. Only a stdio server needs it.
	BridgeImage string
	// OperatorNamespace is where the Pods are that may connect to the server.
	OperatorNamespace string
	// Environment stands for the secrets of the environment: another value rolls
	// the Pods. It must not give the secrets away.
	Environment string
}

// Objects are what runs one server.
type Objects struct {
	Deployment    *appsv1.Deployment
	Service       *corev1.Service
	NetworkPolicy *networkingv1.NetworkPolicy
}

// Hosted says whether the operator runs the server itself.
func Hosted(server *v1alpha1.MCPServer) bool {
	return server.Spec.Transport.Hosted != nil || server.Spec.Transport.Stdio != nil
}

// URL is the MCP endpoint of a server that the operator runs.
func URL(server *v1alpha1.MCPServer) string {
	port, path := endpoint(server)
	return fmt.Sprintf("http://%s:%d%s", host(server.Namespace, server.Name), port, path)
}

// BridgeAddress is the host and port of a stdio server's bridge.
func BridgeAddress(namespace, name string) string {
	return fmt.Sprintf("%s:%d", host(namespace, name), BridgePort)
}

// host is the name of the Service within the cluster.
func host(namespace, name string) string { return fmt.Sprintf("%s.%s.svc", name, namespace) }

func endpoint(server *v1alpha1.MCPServer) (port int32, path string) {
	hosted := server.Spec.Transport.Hosted
	if hosted == nil {
		return BridgePort, bridgePath
	}
	if hosted.Path == "" {
		return hosted.Port, bridgePath
	}
	return hosted.Port, hosted.Path
}

// Environment is what the MCPServer sets in the environment of a server that is Hosted.
func Environment(server *v1alpha1.MCPServer) []v1alpha1.EnvironmentVariable {
	return workload(server).Env
}

// Selector matches the Pods of a server.
func Selector(server *v1alpha1.MCPServer) map[string]string {
	return map[string]string{nameLabel: "mcp-server", instanceLabel: server.Name}
}

// Build makes the objects of a server that is Hosted. The error is ErrNoBridge.
func Build(server *v1alpha1.MCPServer, options Options) (Objects, error) {
	pod, replicas, err := podTemplate(server, options)
	if err != nil {
		return Objects{}, err
	}
	return Objects{
		Deployment:    deployment(server, pod, replicas),
		Service:       service(server),
		NetworkPolicy: networkPolicy(server, options.OperatorNamespace),
	}, nil
}

func labels(server *v1alpha1.MCPServer) map[string]string {
	all := Selector(server)
	all[componentLabel] = "mcp-server"
	all[ManagedByLabel] = ManagedBy
	return all
}

// objectMeta makes the MCPServer the controller of the object, so that the object goes
// when the MCPServer does.
func objectMeta(server *v1alpha1.MCPServer) metav1.ObjectMeta {
	controller := true
	return metav1.ObjectMeta{
		Name: server.Name, Namespace: server.Namespace, Labels: labels(server),
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "MCPServer",
			Name: server.Name, UID: server.UID, Controller: &controller,
		}},
	}
}

func deployment(server *v1alpha1.MCPServer, pod corev1.PodTemplateSpec, replicas int32) *appsv1.Deployment {
	// A new Pod before the old one goes; but of a process that is shared, and may
	// remember things, there is to be one.
	surge, unavailable := intstr.FromInt32(1), intstr.FromInt32(0)
	if stdio := server.Spec.Transport.Stdio; stdio != nil && stdio.Sessions == v1alpha1.SessionsShared {
		surge, unavailable = unavailable, surge
	}
	deadline, history := int32(progressDeadline), int32(historyLimit)
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "Deployment"},
		ObjectMeta: objectMeta(server),
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: Selector(server)},
			Template: pod,
			Strategy: appsv1.DeploymentStrategy{
				Type:          appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &surge, MaxUnavailable: &unavailable},
			},
			ProgressDeadlineSeconds: &deadline,
			RevisionHistoryLimit:    &history,
		},
	}
}

func service(server *v1alpha1.MCPServer) *corev1.Service {
	port, _ := endpoint(server)
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: corev1.SchemeGroupVersion.String(), Kind: "Service"},
		ObjectMeta: objectMeta(server),
		Spec: corev1.ServiceSpec{
			Type:     corev1.ServiceTypeClusterIP,
			Selector: Selector(server),
			// A session lives in one Pod.
			SessionAffinity: corev1.ServiceAffinityClientIP,
			Ports: []corev1.ServicePort{{
				Name: portName, Protocol: corev1.ProtocolTCP, Port: port, TargetPort: intstr.FromString(portName),
			}},
		},
	}
}
