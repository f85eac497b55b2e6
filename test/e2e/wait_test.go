// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"remit.dev/remit/api/v1alpha1"
)

const (
	// patience bounds every wait for something that must come.
	patience = 2 * time.Minute
	// pollInterval is how often a condition is looked at that cannot be watched.
	pollInterval = 20 * time.Millisecond
)

// eventually waits for a condition that cannot be watched.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline:
			t.Fatalf("did not come true within %s: %s", patience, what)
		case <-t.Context().Done():
			t.Fatalf("the test ended before it came true: %s", what)
		case <-tick.C:
		}
	}
}

// await watches one object until a condition holds and gives it as it was then.
func await[T client.Object](t *testing.T, list client.ObjectList, object T, what string, holds func(T) bool) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	last := object
	for {
		found, err := watchUntil(ctx, list, object, func(seen T) bool { last = seen; return holds(seen) })
		if found {
			return last
		}
		if ctx.Err() != nil {
			t.Fatalf("did not come true within %s: %s (last error: %v)\n%s", patience, what, err, describe(last))
		}
	}
}

// watchUntil watches until the condition holds or the watch ends, which an API server may do at any
// time.
func watchUntil[T client.Object](ctx context.Context, list client.ObjectList, object T, holds func(T) bool) (bool, error) {
	watch, err := env.users[admin].Watch(ctx, list,
		client.InNamespace(object.GetNamespace()), client.MatchingFields{"metadata.name": object.GetName()})
	if err != nil {
		return false, err
	}
	defer watch.Stop()
	for event := range watch.ResultChan() {
		switch seen := event.Object.(type) {
		case T:
			if holds(seen) {
				return true, nil
			}
		case *metav1.Status:
			return false, fmt.Errorf("watch: %s", seen.Message)
		}
	}
	return false, ctx.Err()
}

// describe is an object as somebody who looks for a fault wants to see it.
func describe(object client.Object) string {
	object = object.DeepCopyObject().(client.Object)
	object.SetManagedFields(nil)
	text, err := yaml.Marshal(object)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func awaitRun(t *testing.T, run *v1alpha1.Run, what string, holds func(*v1alpha1.Run) bool) *v1alpha1.Run {
	t.Helper()
	return await(t, &v1alpha1.RunList{}, run, fmt.Sprintf("Run %s/%s: %s", run.Namespace, run.Name, what), holds)
}

// awaitEnd waits until a Run has ended, in whichever way.
func awaitEnd(t *testing.T, run *v1alpha1.Run) *v1alpha1.Run {
	t.Helper()
	return awaitRun(t, run, "ends", func(r *v1alpha1.Run) bool { return r.Status.CompletedAt != nil })
}

// awaitSuspended waits until a Run waits for people.
func awaitSuspended(t *testing.T, run *v1alpha1.Run) *v1alpha1.Run {
	t.Helper()
	suspended := awaitRun(t, run, "is suspended", func(r *v1alpha1.Run) bool {
		return r.Status.Phase == v1alpha1.RunSuspended || r.Status.CompletedAt != nil
	})
	if suspended.Status.CompletedAt != nil {
		t.Fatalf("the Run ended instead of waiting for a decision\n%s", describe(suspended))
	}
	return suspended
}

// condition is a condition, or an empty one where there is none.
func condition(conditions []metav1.Condition, kind string) metav1.Condition {
	if found := meta.FindStatusCondition(conditions, kind); found != nil {
		return *found
	}
	return metav1.Condition{}
}

func awaitServer(t *testing.T, server *v1alpha1.MCPServer, reason string) *v1alpha1.MCPServer {
	t.Helper()
	return await(t, &v1alpha1.MCPServerList{}, server, fmt.Sprintf("MCPServer %s/%s is %s", server.Namespace, server.Name, reason),
		func(s *v1alpha1.MCPServer) bool {
			return s.Status.ObservedGeneration == s.Generation && condition(s.Status.Conditions, v1alpha1.ConditionReady).Reason == reason
		})
}

func awaitGrant(t *testing.T, grant *v1alpha1.Grant, reason string) *v1alpha1.Grant {
	t.Helper()
	return await(t, &v1alpha1.GrantList{}, grant, fmt.Sprintf("Grant %s/%s is %s", grant.Namespace, grant.Name, reason),
		func(g *v1alpha1.Grant) bool {
			return g.Status.ObservedGeneration == g.Generation && condition(g.Status.Conditions, v1alpha1.ConditionReady).Reason == reason
		})
}

// awaitPublished waits until a Spec and its Version are Ready.
func awaitPublished(t *testing.T, spec *v1alpha1.Spec) *v1alpha1.Version {
	t.Helper()
	published := await(t, &v1alpha1.SpecList{}, spec, fmt.Sprintf("Spec %s/%s is published", spec.Namespace, spec.Name),
		func(s *v1alpha1.Spec) bool {
			return s.Status.ObservedGeneration == s.Generation && s.Status.Version != ""
		})
	version := &v1alpha1.Version{ObjectMeta: metav1.ObjectMeta{Namespace: spec.Namespace, Name: published.Status.Version}}
	return await(t, &v1alpha1.VersionList{}, version, "Version "+version.Name+" is verified", func(v *v1alpha1.Version) bool {
		return condition(v.Status.Conditions, v1alpha1.ConditionReady).Status == metav1.ConditionTrue
	})
}
