// SPDX-License-Identifier: Apache-2.0

package hosting

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

// Rollout is how far a server has come.
type Rollout struct {
	// Done says that every Pod is as the MCPServer says, and ready.
	Done bool
	// Failed says that it will not get there unless somebody changes something.
	Failed bool
	// Message says what is missing.
	Message string
}

// RolloutOf reads a Deployment. While it is not done, its Pods say more, see Trouble.
func RolloutOf(deployment *appsv1.Deployment) (Rollout, error) {
	for _, condition := range deployment.Status.Conditions {
		// Pods that cannot even be made, for a quota or an admission policy.
		if condition.Type == appsv1.DeploymentReplicaFailure && condition.Status == corev1.ConditionTrue {
			return Rollout{Failed: true, Message: condition.Message}, nil
		}
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(deployment)
	if err != nil {
		return Rollout{}, err
	}
	object := &unstructured.Unstructured{Object: content}
	object.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	result, err := status.Compute(object)
	if err != nil {
		return Rollout{}, err
	}
	return Rollout{
		Done:    result.Status == status.CurrentStatus && deployment.Status.ObservedGeneration == deployment.Generation,
		Failed:  result.Status == status.FailedStatus,
		Message: result.Message,
	}, nil
}

// What a container waits for that no time will bring.
var hopeless = []string{
	"CrashLoopBackOff", "CreateContainerConfigError", "CreateContainerError", "ErrImageNeverPull", "ErrImagePull",
	"ImageInspectError", "ImagePullBackOff", "InvalidImageName", "RunContainerError",
}

// Trouble says what keeps the newest of the Pods from starting, empty when nothing is
// known to, and whether somebody has to change something. What the server printed is
// not in it, as that may hold a secret.
func Trouble(pods []corev1.Pod) (message string, failed bool) {
	if len(pods) == 0 {
		return "", false
	}
	newest := slices.MaxFunc(pods, func(a, b corev1.Pod) int {
		if c := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	for _, container := range slices.Concat(newest.Status.InitContainerStatuses, newest.Status.ContainerStatuses) {
		if waiting := container.State.Waiting; waiting != nil && slices.Contains(hopeless, waiting.Reason) {
			return containerTrouble(container), true
		}
	}
	for _, condition := range newest.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Reason == corev1.PodReasonUnschedulable {
			return "the Pod cannot be scheduled: " + condition.Message, false // a node may come
		}
	}
	return "", false
}

func containerTrouble(container corev1.ContainerStatus) string {
	waiting := container.State.Waiting
	if last := container.LastTerminationState.Terminated; last != nil && waiting.Reason == "CrashLoopBackOff" {
		return fmt.Sprintf("container %s ended with exit code %d (%s) again and again: see what it said with kubectl logs -c %s",
			container.Name, last.ExitCode, last.Reason, container.Name)
	}
	return fmt.Sprintf("container %s: %s: %s", container.Name, waiting.Reason, steady(waiting.Message))
}

// backOff is the part of a message that grows at each attempt.
var backOff = regexp.MustCompile(`(?i)back-off [0-9hms.]+ `)

// steady makes a message the same at each attempt.
func steady(message string) string { return backOff.ReplaceAllString(message, "back-off ") }
