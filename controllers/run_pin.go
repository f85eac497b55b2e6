// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/canonical"
	"remit.dev/remit/internal/engine"
)

// pinVersion gives a new Run its Version: the finalizer first, which keeps the
// Version, then the status that names it.
func pinVersion(ctx context.Context, s *runScope) (bool, error) {
	if s.run.Status.Version != "" {
		return false, nil
	}
	if s.run.Spec.Cancel {
		return true, s.saveCancelled(ctx)
	}
	version, err := s.findVersion(ctx)
	if err != nil {
		return false, err
	}
	if err := s.takeBody(version); err != nil {
		return false, err
	}
	if err := s.supported(version.Name); err != nil {
		return false, err
	}
	if err := s.grantsExist(ctx, s.body); err != nil {
		return false, err
	}
	var asked []engine.ModelCall
	if s.parent == nil { // which was let begin, and keeps the Version
		if asked, err = s.askWhetherToBegin(ctx, version.Name); err != nil {
			return false, err
		}
		if err := s.hold(ctx, version); err != nil {
			return false, err
		}
	}
	now := metav1.NewTime(s.Now().UTC().Truncate(time.Second))
	s.run.Status.Version = version.Name
	s.run.Status.StartedAt = &now
	return true, s.savePinned(ctx, asked)
}

// findVersion reads what spec.specRef or spec.versionRef names today.
func (s *runScope) findVersion(ctx context.Context) (*v1alpha1.Version, error) {
	name := ""
	if reference := s.run.Spec.VersionRef; reference != nil {
		name = reference.Name
	} else {
		spec := &v1alpha1.Spec{}
		key := types.NamespacedName{Namespace: s.run.Namespace, Name: s.run.Spec.SpecRef.Name}
		if err := s.Get(ctx, key, spec); apierrors.IsNotFound(err) {
			return nil, hold(v1alpha1.ReasonWaitingForVersion, "Spec %q does not exist in namespace %q: create it, or create another Run with the right spec.specRef", key.Name, key.Namespace)
		} else if err != nil {
			return nil, err
		}
		if spec.Status.ObservedGeneration < spec.Generation {
			return nil, hold(v1alpha1.ReasonWaitingForVersion, "Spec %q is being published", key.Name)
		}
		if name = spec.Status.Version; name == "" {
			return nil, hold(v1alpha1.ReasonWaitingForVersion, "Spec %q has no Version: %s", key.Name, notReadyBecause(spec.Status.Conditions))
		}
	}
	version := &v1alpha1.Version{}
	if err := s.Get(ctx, types.NamespacedName{Namespace: s.run.Namespace, Name: name}, version); apierrors.IsNotFound(err) {
		return nil, hold(v1alpha1.ReasonWaitingForVersion, "Version %q does not exist in namespace %q: publish it, or create another Run", name, s.run.Namespace)
	} else if err != nil {
		return nil, err
	}
	return version, nil
}

// notReadyBecause quotes the Ready condition of what a Run waits for.
func notReadyBecause(conditions []metav1.Condition) string {
	ready := condition(conditions, v1alpha1.ConditionReady)
	if ready == nil {
		return "it has not been looked at yet"
	}
	return ready.Reason + ": " + ready.Message
}

// hold puts the finalizer on the Version that a Run is about to pin. Runs that
// begin at the same time meet here, so a conflict is settled on what is stored.
func (s *runScope) hold(ctx context.Context, version *v1alpha1.Version) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if !version.DeletionTimestamp.IsZero() {
			return hold(v1alpha1.ReasonWaitingForVersion, "Version %q is being deleted", version.Name)
		}
		held := version.DeepCopy()
		if !controllerutil.AddFinalizer(held, v1alpha1.VersionFinalizer) {
			return nil
		}
		err := s.Patch(ctx, held, client.MergeFromWithOptions(version, client.MergeFromWithOptimisticLock{}))
		if !apierrors.IsConflict(err) {
			return err
		}
		live := &v1alpha1.Version{}
		if readErr := s.Reader.Get(ctx, client.ObjectKeyFromObject(version), live); readErr != nil {
			return readErr
		}
		version = live
		return err
	})
}

// loadBody reads the pinned Version again: it may be another replica's pin.
func loadBody(ctx context.Context, s *runScope) (bool, error) {
	if s.run.Status.StartedAt == nil {
		return false, end(v1alpha1.ReasonLogCorrupt, "status.version is set and status.startedAt is not")
	}
	version := &v1alpha1.Version{}
	key := types.NamespacedName{Namespace: s.run.Namespace, Name: s.run.Status.Version}
	if err := s.Get(ctx, key, version); apierrors.IsNotFound(err) {
		return false, end(v1alpha1.ReasonWaitingForVersion, "Version %q is gone, though the Run pinned it", key.Name)
	} else if err != nil {
		return false, err
	}
	return false, s.takeBody(version)
}

// takeBody reads the agent that the Run executes: that of the Version, or one of its
// subagents.
func (s *runScope) takeBody(version *v1alpha1.Version) error {
	body, err := readBody(version)
	if err != nil {
		return err
	}
	s.body, s.hash = body, version.Spec.Hash
	if s.run.Spec.ParentRef == nil {
		return nil
	}
	at := slices.IndexFunc(body.Subagents, func(a v1alpha1.Subagent) bool { return a.Name == s.run.Spec.Subagent })
	if at < 0 {
		return end(v1alpha1.ReasonUnsupported, "Version %q has no subagent %q", version.Name, s.run.Spec.Subagent)
	}
	s.body, s.within = ofSubagent(body, &body.Subagents[at])
	return nil
}

// readBody decodes a Version's body after it has checked it against its digest,
// so that nothing runs but what was published.
func readBody(version *v1alpha1.Version) (*v1alpha1.AgentSpec, error) {
	content, err := canonical.JSON(version.Spec.Body.Raw)
	if err != nil {
		return nil, end(v1alpha1.ReasonDigestMismatch, "Version %q: spec.body: %v", version.Name, err)
	}
	if digest := canonical.Hash(canonical.VersionDomain, content).String(); digest != string(version.Spec.Hash) {
		return nil, end(v1alpha1.ReasonDigestMismatch, "Version %q: spec.body has the digest %s, and spec.hash is %s",
			version.Name, digest, version.Spec.Hash)
	}
	body := &v1alpha1.AgentSpec{}
	if err := json.Unmarshal(content, body); err != nil {
		return nil, end(v1alpha1.ReasonDigestMismatch, "Version %q: spec.body: %v", version.Name, err)
	}
	return body, nil
}

// supported refuses a Version that holds what this release publishes but does not
// execute, rather than run an agent without some of its parts.
func (s *runScope) supported(version string) error {
	if slices.Contains(s.body.Builtins, v1alpha1.BuiltinWaitWebhook) && s.Options.WebhookURL == "" {
		return end(v1alpha1.ReasonUnsupported, "Version %q waits for webhooks (spec.builtins: %s), and this operator takes none: "+
			"it needs --webhook-url and --webhook-bind-address", version, v1alpha1.BuiltinWaitWebhook)
	}
	var parts []string
	for _, skill := range s.body.Skills {
		parts = append(parts, fmt.Sprintf("skill %s", skill.Name))
	}
	for _, subagent := range s.body.Subagents {
		for _, skill := range subagent.Skills {
			parts = append(parts, fmt.Sprintf("skill %s of subagent %s", skill.Name, subagent.Name))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return end(v1alpha1.ReasonUnsupported, "Version %q holds what this release publishes but does not execute: %s",
		version, strings.Join(parts, ", "))
}
