// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/canonical"
)

// CollisionError says that the name of a Version is taken by another content.
type CollisionError struct {
	Version types.NamespacedName
	// Want is the digest of the Spec's content, Have that of what is there.
	Want, Have v1alpha1.Digest
}

func (e *CollisionError) Error() string {
	is := fmt.Sprintf("is %s, and not the content of this Spec, which is %s", e.Have, e.Want)
	if e.Have == e.Want {
		is = fmt.Sprintf("has the hash of this Spec, %s, and another body", e.Want)
	}
	return fmt.Sprintf("Version %q in namespace %q %s: it was not made by the operator; delete it, and the Spec is published",
		e.Version.Name, e.Version.Namespace, is)
}

// ensureVersion makes the Spec an owner of the Version of its content, which it
// creates if it is not there.
func (r *SpecReconciler) ensureVersion(ctx context.Context, s *specScope) error {
	if s.result.Name == "" {
		return nil
	}
	version := &v1alpha1.Version{}
	key := types.NamespacedName{Namespace: s.spec.Namespace, Name: s.result.Name}
	err := r.Get(ctx, key, version)
	if apierrors.IsNotFound(err) {
		if version, err = r.newVersion(s); err != nil {
			return err
		}
		if err = r.Create(ctx, version); !apierrors.IsAlreadyExists(err) {
			return err
		}
		// Another Spec was faster than the cache.
		version = &v1alpha1.Version{}
		err = r.Reader.Get(ctx, key, version)
	}
	if err != nil {
		return err
	}
	if s.problem = r.unusable(version, s); s.problem != nil {
		return nil
	}
	return r.own(ctx, version, s.spec)
}

func (r *SpecReconciler) newVersion(s *specScope) (*v1alpha1.Version, error) {
	version := &v1alpha1.Version{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.spec.Namespace, Name: s.result.Name},
		Spec: v1alpha1.VersionSpec{
			Hash:             s.result.Hash,
			Canonicalization: v1alpha1.CanonicalizationV1,
			Body:             apiextensionsv1.JSON{Raw: s.result.Body},
		},
	}
	return version, controllerutil.SetOwnerReference(s.spec, version, r.Scheme())
}

// unusable says why a Version of the right name cannot be the Spec's. The name
// holds part of the digest only, and anybody may be let create a Version, so all
// of it is compared, and the body too.
func (r *SpecReconciler) unusable(version *v1alpha1.Version, s *specScope) *specProblem {
	body, err := canonical.JSON(version.Spec.Body.Raw)
	if err != nil || version.Spec.Hash != s.result.Hash || !bytes.Equal(body, s.result.Body) {
		collision := &CollisionError{Version: client.ObjectKeyFromObject(version), Want: s.result.Hash, Have: version.Spec.Hash}
		return &specProblem{reason: v1alpha1.ReasonDigestCollision, message: collision.Error(), terminal: collision}
	}
	if !version.DeletionTimestamp.IsZero() {
		return &specProblem{reason: v1alpha1.ReasonVersionTerminating, message: fmt.Sprintf(
			"Version %q, which has the same content, is being deleted; it is published again once the Runs that pin it have ended",
			version.Name)}
	}
	return nil
}

// own adds the Spec to a Version's owners. None of them is its controller: they
// are equals, and the last one that goes takes it along.
func (r *SpecReconciler) own(ctx context.Context, version *v1alpha1.Version, spec *v1alpha1.Spec) error {
	owned := version.DeepCopy()
	if err := controllerutil.SetOwnerReference(spec, owned, r.Scheme()); err != nil {
		return err
	}
	return r.patchOwners(ctx, version, owned)
}

// patchOwners writes the owners if they changed. The list is replaced as a whole,
// so it must be the one that was read.
func (r *SpecReconciler) patchOwners(ctx context.Context, before, after *v1alpha1.Version) error {
	if equality.Semantic.DeepEqual(before.OwnerReferences, after.OwnerReferences) {
		return nil
	}
	return r.Patch(ctx, after, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// remember puts the Version in front of the history. One that was there before,
// as when a change is reverted in Git, moves there.
func remember(_ context.Context, s *specScope) error {
	if !s.published() {
		return nil
	}
	status := &s.spec.Status
	status.Version, status.Hash = s.result.Name, s.result.Hash
	if len(status.History) > 0 && status.History[0].Version == s.result.Name {
		return nil
	}
	history := []v1alpha1.PublishedVersion{{
		Version: s.result.Name, Generation: s.spec.Generation, PublishedAt: metav1.NewTime(s.now),
	}}
	for _, earlier := range status.History {
		if earlier.Version != s.result.Name && len(history) < v1alpha1.HistoryLimit {
			history = append(history, earlier)
		}
	}
	status.History = history
	return nil
}

// recall gives the status back the Version that is current while the content is not
// published: the newest of the history, whatever else somebody wrote there.
func (r *SpecReconciler) recall(ctx context.Context, s *specScope) error {
	if s.published() {
		return nil
	}
	status := &s.spec.Status
	if len(status.History) == 0 {
		status.Version, status.Hash = "", ""
		return nil
	}
	current := &v1alpha1.Version{}
	key := types.NamespacedName{Namespace: s.spec.Namespace, Name: status.History[0].Version}
	if err := r.Get(ctx, key, current); err != nil {
		return client.IgnoreNotFound(err) // without it there is nothing to be right about
	}
	status.Version, status.Hash = current.Name, current.Spec.Hash
	return nil
}

// releaseForgotten gives up the Versions that the history no longer lists. It
// asks which Versions the Spec owns, so what a crash left over is found again.
func (r *SpecReconciler) releaseForgotten(ctx context.Context, s *specScope) error {
	if !s.published() {
		return nil
	}
	var owned v1alpha1.VersionList
	if err := r.List(ctx, &owned, client.InNamespace(s.spec.Namespace),
		client.MatchingFields{VersionOwnerField: string(s.spec.UID)}); err != nil {
		return err
	}
	for i := range owned.Items {
		version := &owned.Items[i]
		listed := slices.ContainsFunc(s.spec.Status.History, func(p v1alpha1.PublishedVersion) bool { return p.Version == version.Name })
		if listed || !version.DeletionTimestamp.IsZero() {
			continue
		}
		if err := r.release(ctx, version, s.spec); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// release deletes a Version whose only owner the Spec is: garbage collection
// takes an object when its owners are gone, not when it has none any more.
func (r *SpecReconciler) release(ctx context.Context, version *v1alpha1.Version, spec *v1alpha1.Spec) error {
	if len(version.OwnerReferences) == 1 {
		return r.Delete(ctx, version, client.Preconditions{UID: &version.UID, ResourceVersion: &version.ResourceVersion})
	}
	shared := version.DeepCopy()
	shared.OwnerReferences = slices.DeleteFunc(shared.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == spec.UID })
	return r.patchOwners(ctx, version, shared)
}
