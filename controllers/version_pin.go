// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"remit.dev/remit/api/v1alpha1"
)

// keepOrRelease holds the finalizer of a Version to this: it is there while an
// unfinished Run pins the Version.
//
// A Run adds it before it pins, so between the two it holds a Version that no
// Run's status names. It is therefore removed only if no unfinished Run without
// a Version could be about to pin this one either; both are asked of the API
// server, after the Version was read from it, and the Version must not have
// changed since. Should a Run that was created after the question have counted on
// the finalizer, it gets it back here: its pin is an event.
func (r *VersionReconciler) keepOrRelease(ctx context.Context, version *v1alpha1.Version) error {
	held := controllerutil.ContainsFinalizer(version, v1alpha1.VersionFinalizer)
	use, err := useOf(ctx, r.Client, version)
	if err != nil {
		return err
	}
	switch {
	case held && use == unused:
		return r.removeFinalizer(ctx, version)
	case !held && use == pinned && version.DeletionTimestamp.IsZero():
		return r.addFinalizer(ctx, version)
	default:
		return nil
	}
}

func (r *VersionReconciler) removeFinalizer(ctx context.Context, version *v1alpha1.Version) error {
	live, err := r.live(ctx, version)
	if err != nil {
		return err
	}
	if use, err := useOf(ctx, r.Reader, live); err != nil || use != unused {
		return err
	}
	released := live.DeepCopy()
	if !controllerutil.RemoveFinalizer(released, v1alpha1.VersionFinalizer) {
		return nil
	}
	return r.Patch(ctx, released, client.MergeFromWithOptions(live, client.MergeFromWithOptimisticLock{}))
}

// addFinalizer reads past the cache, which may not show yet that the Run itself
// has added it.
func (r *VersionReconciler) addFinalizer(ctx context.Context, version *v1alpha1.Version) error {
	live, err := r.live(ctx, version)
	if err != nil || !live.DeletionTimestamp.IsZero() {
		return err
	}
	kept := live.DeepCopy()
	if !controllerutil.AddFinalizer(kept, v1alpha1.VersionFinalizer) {
		return nil
	}
	return r.Patch(ctx, kept, client.MergeFromWithOptions(live, client.MergeFromWithOptimisticLock{}))
}

func (r *VersionReconciler) live(ctx context.Context, version *v1alpha1.Version) (*v1alpha1.Version, error) {
	live := &v1alpha1.Version{}
	return live, r.Reader.Get(ctx, client.ObjectKeyFromObject(version), live)
}

// versionUse is what unfinished Runs make of a Version.
type versionUse int

const (
	unused versionUse = iota
	// mayBePinned: a Run that has no Version yet may come to pin this one.
	mayBePinned
	// pinned: a Run's status names it.
	pinned
)

// useOf asks for the Runs of the namespace that name the Version, and those that
// name none yet. The cache answers by its index, the API server by the CRD's
// selectable field, so neither sends the others.
func useOf(ctx context.Context, reader client.Reader, version *v1alpha1.Version) (versionUse, error) {
	for _, question := range []struct {
		version string
		counts  func(*v1alpha1.Run) bool
		use     versionUse
	}{
		{version.Name, func(*v1alpha1.Run) bool { return true }, pinned},
		{"", func(run *v1alpha1.Run) bool { return mayPin(run, version) }, mayBePinned},
	} {
		if question.use == mayBePinned && !version.DeletionTimestamp.IsZero() {
			break // no Run comes to pin it, and those that wait wait for it to go
		}
		var runs v1alpha1.RunList
		if err := reader.List(ctx, &runs, client.InNamespace(version.Namespace),
			client.MatchingFields{RunVersionField: question.version}); err != nil {
			return unused, err
		}
		for i := range runs.Items {
			if run := &runs.Items[i]; !Finished(run.Status.Phase) && question.counts(run) {
				return question.use, nil
			}
		}
	}
	return unused, nil
}

// mayPin says whether a Run that has no Version yet may come to pin this one: by
// name, or as the Version of a Spec that owns it.
func mayPin(run *v1alpha1.Run, version *v1alpha1.Version) bool {
	if reference := run.Spec.VersionRef; reference != nil {
		return reference.Name == version.Name
	}
	return run.Spec.SpecRef != nil && ownedBySpec(version, run.Spec.SpecRef.Name)
}

func ownedBySpec(version *v1alpha1.Version, spec string) bool {
	for _, owner := range version.OwnerReferences {
		if owner.Kind == specKind && owner.Name == spec {
			return true
		}
	}
	return false
}

const specKind = "Spec"

// pinChanged lets through what may change the use of a Version. Runs that are
// there when the operator starts are looked at for each Version.
var pinChanged = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*v1alpha1.Run), e.ObjectNew.(*v1alpha1.Run)
		return before.Status.Version != after.Status.Version || Finished(before.Status.Phase) != Finished(after.Status.Phase)
	},
}

// versionsOf lists the Versions whose use a Run may have changed.
func (r *VersionReconciler) versionsOf(ctx context.Context, object client.Object) []reconcile.Request {
	run := object.(*v1alpha1.Run)
	var names []string
	switch {
	case run.Status.Version != "":
		names = append(names, run.Status.Version)
	case run.Spec.VersionRef != nil:
		names = append(names, run.Spec.VersionRef.Name)
	default:
		names = r.heldVersions(ctx, run)
	}
	requests := make([]reconcile.Request, 0, len(names))
	for _, name := range names {
		requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: run.Namespace, Name: name}})
	}
	return requests
}

// heldVersions are those that a Run which was to execute a Spec may have held.
func (r *VersionReconciler) heldVersions(ctx context.Context, run *v1alpha1.Run) []string {
	var versions v1alpha1.VersionList
	if err := r.List(ctx, &versions, client.InNamespace(run.Namespace)); err != nil {
		log.FromContext(ctx).Error(err, "the Versions of a Run were not listed", "run", run.Name)
		return nil
	}
	var names []string
	for i := range versions.Items {
		version := &versions.Items[i]
		if slices.Contains(version.Finalizers, v1alpha1.VersionFinalizer) && mayPin(run, version) {
			names = append(names, version.Name)
		}
	}
	return names
}
