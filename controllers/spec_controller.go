// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/publish"
)

// SpecReconciler publishes Specs: each is made into a Version, which it owns
// together with the other Specs of the same content.
type SpecReconciler struct {
	client.Client
	// Reader reads past the cache.
	Reader    client.Reader
	Now       func() time.Time
	Functions publish.Functions
}

// +kubebuilder:rbac:groups=remit.dev,resources=specs,verbs=get;list;watch
// +kubebuilder:rbac:groups=remit.dev,resources=specs/status,verbs=update
// +kubebuilder:rbac:groups=remit.dev,resources=versions,verbs=get;list;watch;create;patch;delete

// specScope is one Spec in one reconcile. Phases fill it in from top to bottom.
type specScope struct {
	spec *v1alpha1.Spec
	// stored is the status that the API server has.
	stored *v1alpha1.SpecStatus
	now    time.Time

	// result is what the Spec is as a Version, and empty if there are findings.
	result   publish.Result
	findings []v1alpha1.Finding
	// problem is why the Spec is not that Version, or nil.
	problem *specProblem
}

// specProblem is why a Spec without findings is not published.
type specProblem struct {
	reason  string
	message string
	// terminal says that nothing but somebody's help changes it.
	terminal error
}

// published says that the Spec is the Version that it should be.
func (s *specScope) published() bool { return s.result.Name != "" && s.problem == nil }

// specPhase is one phase. An error ends the reconcile, which is tried again.
type specPhase func(context.Context, *specScope) error

// Reconcile publishes a Spec and writes its status once, if it changed.
func (r *SpecReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	spec := &v1alpha1.Spec{}
	if err := r.Get(ctx, request.NamespacedName, spec); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !spec.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil // its Versions are left to garbage collection
	}
	s := &specScope{spec: spec, stored: spec.Status.DeepCopy(), now: r.Now().UTC().Truncate(time.Second)}
	for _, phase := range []specPhase{r.publish, r.ensureVersion, remember, r.recall, r.releaseForgotten} {
		if err := phase(ctx, s); err != nil {
			return ctrl.Result{}, err
		}
	}
	s.project()
	if !equality.Semantic.DeepEqual(s.stored, &spec.Status) {
		if err := r.Status().Update(ctx, spec); err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
	}
	if s.problem != nil && s.problem.terminal != nil {
		return ctrl.Result{}, reconcile.TerminalError(s.problem.terminal)
	}
	return ctrl.Result{}, nil
}

func (r *SpecReconciler) publish(_ context.Context, s *specScope) error {
	s.result, s.findings = publish.Publish(s.spec.Spec, r.Functions)
	return nil
}

// SetupWithManager reconciles a Spec when its content or its status changes, and
// when one of its Versions is deleted or changes hands.
func (r *SpecReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("spec").
		For(&v1alpha1.Spec{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, statusChanged))).
		Owns(&v1alpha1.Version{}, builder.MatchEveryOwner, builder.WithPredicates(ownershipChanged)).
		Watches(&v1alpha1.Version{}, handler.EnqueueRequestsFromMapFunc(r.waitingForDeletion), builder.WithPredicates(deleted)).
		WithOptions(workers(specWorkers)).
		Complete(r)
}

// specWorkers is small: publishing is short and takes a processor.
const specWorkers = 4

// statusChanged lets through what the operator wrote itself too, which then has
// nothing to do: a status that somebody else wrote, or a backup brought back, looks
// no different.
var statusChanged = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1alpha1.Spec)
		after, isSpec := e.ObjectNew.(*v1alpha1.Spec)
		return ok && isSpec && !equality.Semantic.DeepEqual(before.Status, after.Status)
	},
}

// ownershipChanged leaves out the pins of Runs and the status.
var ownershipChanged = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		return !equality.Semantic.DeepEqual(e.ObjectOld.GetOwnerReferences(), e.ObjectNew.GetOwnerReferences())
	},
}

var deleted = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false },
	UpdateFunc: func(event.UpdateEvent) bool { return false },
}

// waitingForDeletion lists the Specs whose Version could not be created because
// one of its name was there.
func (r *SpecReconciler) waitingForDeletion(ctx context.Context, version client.Object) []reconcile.Request {
	var specs v1alpha1.SpecList
	if err := r.List(ctx, &specs, client.InNamespace(version.GetNamespace())); err != nil {
		log.FromContext(ctx).Error(err, "the Specs that wait were not listed", "version", version.GetName())
		return nil
	}
	var requests []reconcile.Request
	for i := range specs.Items {
		ready := condition(specs.Items[i].Status.Conditions, v1alpha1.ConditionReady)
		if ready != nil && (ready.Reason == v1alpha1.ReasonDigestCollision || ready.Reason == v1alpha1.ReasonVersionTerminating) {
			requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{
				Namespace: specs.Items[i].Namespace, Name: specs.Items[i].Name}})
		}
	}
	return requests
}
