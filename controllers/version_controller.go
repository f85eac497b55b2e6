// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/publish"
)

// VersionReconciler checks that each Version is what its digest says, and keeps
// it while an unfinished Run pins it.
type VersionReconciler struct {
	client.Client
	// Reader reads past the cache.
	Reader client.Reader
	Now    func() time.Time
}

// +kubebuilder:rbac:groups=remit.dev,resources=versions,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=remit.dev,resources=versions/status,verbs=update
// +kubebuilder:rbac:groups=remit.dev,resources=runs,verbs=get;list;watch

// Reconcile verifies a Version, writes its status once, if it changed, and then
// its finalizer, if that has to change.
func (r *VersionReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	version := &v1alpha1.Version{}
	if err := r.Get(ctx, request.NamespacedName, version); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	stored := version.Status.DeepCopy()
	if version.DeletionTimestamp.IsZero() { // deleting counts as a generation, and is no other content
		r.verify(version)
	}
	if !equality.Semantic.DeepEqual(stored, &version.Status) {
		if err := r.Status().Update(ctx, version); err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
	}
	return ctrl.Result{}, client.IgnoreNotFound(r.keepOrRelease(ctx, version))
}

// verify sets the status. A Version cannot be changed, but one can be created
// with any content by whoever is let.
func (r *VersionReconciler) verify(version *v1alpha1.Version) {
	status := &version.Status
	status.ObservedGeneration = version.Generation
	c := conditionSet{conditions: &status.Conditions, generation: version.Generation, now: r.Now().UTC().Truncate(time.Second)}
	digest, err := publish.Digest(version.Spec.Body.Raw)
	switch {
	case err != nil:
		c.notReady(v1alpha1.ReasonDigestMismatch, fmt.Sprintf("spec.body has no digest, and no Run executes it: %v", err), true)
	case digest != version.Spec.Hash:
		c.notReady(v1alpha1.ReasonDigestMismatch, fmt.Sprintf(
			"spec.body has the digest %s and spec.hash is %s, so no Run executes it: delete it, and its Specs are published again",
			digest, version.Spec.Hash), true)
	default:
		c.ready(v1alpha1.ReasonVerified, "spec.body has the digest spec.hash")
	}
}

// SetupWithManager reconciles a Version when it changes, and when a Run pins it
// or ends.
func (r *VersionReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("version").
		For(&v1alpha1.Version{}).
		Watches(&v1alpha1.Run{}, handler.EnqueueRequestsFromMapFunc(r.versionsOf), builder.WithPredicates(pinChanged)).
		Complete(r)
}
