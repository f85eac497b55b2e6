// SPDX-License-Identifier: Apache-2.0

package hosting

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// rolled is the Deployment of a stdio server with the status that the controller of Deployments gives it
// when all is well.
func rolled(t *testing.T, change func(*appsv1.DeploymentStatus)) *appsv1.Deployment {
	t.Helper()
	d := build(t, stdioServer()).Deployment
	d.Generation = 2
	d.Status = appsv1.DeploymentStatus{
		ObservedGeneration: 2, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1,
		Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"},
			{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, Reason: "MinimumReplicasAvailable"},
		},
	}
	change(&d.Status)
	return d
}

func TestRollout(t *testing.T) {
	for name, row := range map[string]struct {
		change func(*appsv1.DeploymentStatus)
		want   Rollout
	}{
		"done": {func(*appsv1.DeploymentStatus) {}, Rollout{Done: true, Message: "Deployment is available. Replicas: 1"}},
		"not seen by its controller": {func(s *appsv1.DeploymentStatus) { *s = appsv1.DeploymentStatus{} },
			Rollout{Message: "Replicas: 0/1"}},
		"an older generation is done": {func(s *appsv1.DeploymentStatus) { s.ObservedGeneration = 1 },
			Rollout{Message: "Deployment generation is 2, but latest observed generation is 1"}},
		"not ready": {func(s *appsv1.DeploymentStatus) { s.ReadyReplicas, s.AvailableReplicas = 0, 0 },
			Rollout{Message: "Available: 0/1"}},
		"the old Pod is still there": {func(s *appsv1.DeploymentStatus) { s.Replicas = 2 },
			Rollout{Message: "Pending termination: 1"}},
		"too late": {func(s *appsv1.DeploymentStatus) { s.Conditions[0].Reason = "ProgressDeadlineExceeded" },
			Rollout{Failed: true, Message: "Progress deadline exceeded"}},
		"Pods are refused": {func(s *appsv1.DeploymentStatus) {
			s.Conditions = append(s.Conditions, appsv1.DeploymentCondition{
				Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: `pods "desk" is forbidden: exceeded quota`})
		}, Rollout{Failed: true, Message: `pods "desk" is forbidden: exceeded quota`}},
	} {
		got, err := RolloutOf(rolled(t, row.change))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestTrouble(t *testing.T) {
	pod := func(age time.Duration, init, server corev1.ContainerStatus, conditions ...corev1.PodCondition) corev1.Pod {
		return corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(time.Unix(1e9, 0).Add(-age))},
			Status: corev1.PodStatus{
				Conditions:            conditions,
				InitContainerStatuses: []corev1.ContainerStatus{init}, ContainerStatuses: []corev1.ContainerStatus{server},
			},
		}
	}
	waiting := func(name, reason, message string) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}
	}
	fine := corev1.ContainerStatus{Name: "x", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	crashed := waiting("server", "CrashLoopBackOff", "back-off 5m0s restarting failed container=server pod=desk-1_catalogue(u)")
	crashed.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 3, Reason: "Error", Message: "canary"}
	for name, row := range map[string]struct {
		pods   []corev1.Pod
		want   string
		failed bool
	}{
		"no Pod":   {nil, "", false},
		"all well": {[]corev1.Pod{pod(0, fine, fine)}, "", false},
		"still starting": {[]corev1.Pod{pod(0, waiting("bridge", "PodInitializing", ""), waiting("server", "ContainerCreating", ""))},
			"", false},
		"no node": {[]corev1.Pod{pod(0, fine, fine, corev1.PodCondition{Type: corev1.PodScheduled, Reason: "Unschedulable", Message: "0/3 nodes are available"})},
			"the Pod cannot be scheduled: 0/3 nodes are available", false},
		"the image runs as root": {[]corev1.Pod{pod(0, fine, waiting("server", "CreateContainerConfigError", "container has runAsNonRoot and image will run as root"))},
			"container server: CreateContainerConfigError: container has runAsNonRoot and image will run as root", true},
		"no bridge image": {[]corev1.Pod{pod(0, waiting("bridge", "ImagePullBackOff", `Back-off pulling image "remit:1"`), fine)},
			`container bridge: ImagePullBackOff: Back-off pulling image "remit:1"`, true},
		"crashed, without what it said": {[]corev1.Pod{pod(0, fine, crashed)},
			"container server ended with exit code 3 (Error) again and again: see what it said with kubectl logs -c server", true},
		"crashed, and the kubelet forgot how": {[]corev1.Pod{pod(0, fine, waiting("server", "CrashLoopBackOff", "back-off 1m20s restarting failed container"))},
			"container server: CrashLoopBackOff: back-off restarting failed container", true},
		"only an older Pod is in trouble": {[]corev1.Pod{pod(time.Hour, fine, crashed), pod(0, fine, fine)}, "", false},
	} {
		if got, failed := Trouble(row.pods); got != row.want || failed != row.failed {
			t.Errorf("%s: got %q, %v\nwant %q, %v", name, got, failed, row.want, row.failed)
		}
	}
}
