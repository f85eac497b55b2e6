// SPDX-License-Identifier: Apache-2.0

package api

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// applied parses what kubectl apply prints into the words for each object.
func applied(out string) map[string]string {
	words := map[string]string{}
	for line := range strings.Lines(out) {
		object, word, _ := strings.Cut(strings.TrimSpace(line), " ")
		words[object] = word
	}
	return words
}

// wantStable applies a kustomization twice, on either side: the second time nothing changes, and
// there is no difference left. It returns the objects.
func wantStable(t *testing.T, dir string, flags ...string) []string {
	t.Helper()
	with := func(args ...string) []string { return slices.Concat(args, []string{"-k", dir}, flags) }
	wantNoDiff := func(args ...string) {
		t.Helper()
		if out, err := env.Kubectl(t.Context(), with(args...)...); err != nil || out != "" {
			t.Errorf("%s %s: %v\n%s", args, dir, err, out)
		}
	}
	kubectl(t, with("apply", "--server-side", "--force-conflicts")...)
	wantNoDiff("diff", "--server-side")

	kubectl(t, with("apply")...)
	var objects []string
	for object, word := range applied(kubectl(t, with("apply")...)) {
		objects = append(objects, object)
		if word != "unchanged" {
			t.Errorf("%s: %s is %s the second time", dir, object, word)
		}
	}
	wantNoDiff("diff")
	slices.Sort(objects)
	return objects
}

func TestSamples(t *testing.T) {
	platform := []string{
		"configmap/helpdesk-script",
		"grant.remit.dev/desk",
		"grant.remit.dev/local-model",
		"grant.remit.dev/scripted-model",
		"mcpserver.remit.dev/helpdesk",
		"namespace/catalogue",
		"namespace/helpdesk",
		"secret/local-model",
	}
	agent := []string{"run.remit.dev/broken-teapot", "spec.remit.dev/helpdesk"}
	people := []string{
		"clusterrolebinding.rbac.authorization.k8s.io/remit-demo-approvers",
		"clusterrolebinding.rbac.authorization.k8s.io/remit-demo-authors",
	}
	all := slices.Sorted(slices.Values(slices.Concat(platform, agent)))
	if diff := cmp.Diff(all, wantStable(t, "../../config/samples")); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
	all = slices.Sorted(slices.Values(slices.Concat(people, platform)))
	if diff := cmp.Diff(all, wantStable(t, "../../config/demo")); diff != "" {
		t.Errorf("demo (-want +got):\n%s", diff)
	}
	kubectl(t, "delete", "-k", "../../config/samples/agent")
	if diff := cmp.Diff(agent, wantStable(t, "../../config/samples/agent", "--as=author", "--as-group=remit:authors")); diff != "" {
		t.Errorf("agent, by its author (-want +got):\n%s", diff)
	}
	creator := kubectl(t, "get", "run", "broken-teapot", "-n", "helpdesk", "-o", "jsonpath={.spec.createdBy}")
	if creator != "author" {
		t.Errorf("the Run was created by %q", creator)
	}
}

func TestDefault(t *testing.T) {
	wantStable(t, "../../config/default")

	operator := &appsv1.Deployment{}
	if err := admin.Get(t.Context(), client.ObjectKey{Namespace: "remit-system", Name: "remit-operator"}, operator); err != nil {
		t.Fatal(err)
	}
	// The namespace refuses a pod that does not keep to the restricted profile.
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "operator", Namespace: "remit-system"},
		Spec:       operator.Spec.Template.Spec,
	}
	if err := admin.Create(t.Context(), pod.DeepCopy(), client.DryRunAll); err != nil {
		t.Errorf("the operator's pod: %v", err)
	}
	pod.Spec.Containers[0].SecurityContext = nil
	if err := admin.Create(t.Context(), pod, client.DryRunAll); err == nil {
		t.Error("the namespace lets in a pod without a security context")
	}
}
