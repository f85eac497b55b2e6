// SPDX-License-Identifier: Apache-2.0

package api

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// The component for webhooks fits the Deployment that it changes: requests to its Service get to the port
// on which the operator listens, with the certificate that is mounted.
func TestWebhooksComponent(t *testing.T) {
	dir := t.TempDir()
	config, err := filepath.Abs("../../config")
	if err != nil {
		t.Fatal(err)
	}
	// Kustomize takes relative paths alone.
	if config, err = filepath.Rel(dir, config); err != nil {
		t.Fatal(err)
	}
	text := "resources: [" + config + "/manager]\ncomponents: [" + config + "/manager/webhooks]\n"
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var deployment appsv1.Deployment
	var service corev1.Service
	for document := range strings.SplitSeq(kubectl(t, "kustomize", dir), "\n---\n") {
		var err error
		switch {
		case strings.Contains(document, "\nkind: Deployment\n"):
			err = yaml.UnmarshalStrict([]byte(document), &deployment)
		case strings.Contains(document, "\nkind: Service\n"):
			err = yaml.UnmarshalStrict([]byte(document), &service)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	container := deployment.Spec.Template.Spec.Containers[0]
	for _, arg := range []string{"--leader-elect", "--webhook-bind-address=:8443", "--webhook-cert-dir=" + container.VolumeMounts[0].MountPath} {
		if !slices.Contains(container.Args, arg) {
			t.Errorf("the operator is not started with %s: %q", arg, container.Args)
		}
	}
	target := service.Spec.Ports[0].TargetPort.String()
	if !slices.ContainsFunc(container.Ports, func(p corev1.ContainerPort) bool { return p.Name == target && p.ContainerPort == 8443 }) {
		t.Errorf("the Service sends to %q, and the ports are %v", target, container.Ports)
	}
	for key, value := range service.Spec.Selector {
		if deployment.Spec.Template.Labels[key] != value {
			t.Errorf("the Service selects %s=%s, and the Pods have %v", key, value, deployment.Spec.Template.Labels)
		}
	}
	if volume := deployment.Spec.Template.Spec.Volumes[0]; volume.Secret == nil || volume.Name != container.VolumeMounts[0].Name {
		t.Errorf("the certificate is not mounted: %v", volume)
	}
}
