// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/pipeline"
)

// SetupWithManager watches Runs, and what a Run that is held may wait for. Every
// replica takes steps, so the controller needs no leader.
func (r *RunReconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.schemas = pipeline.NewSchemas()
	r.policies = newPolicies()
	r.events = mgr.GetEventRecorder(runEventSource)
	r.segments = newSegmentCache()
	r.written = newWrittenVersions()
	r.inflight = newInflight()
	everyReplica := false
	return ctrl.NewControllerManagedBy(mgr).
		Named("run").
		For(&v1alpha1.Run{}).
		Watches(&v1alpha1.Run{}, r.breakOffHandler()).
		Watches(&v1alpha1.Run{}, r.relativesHandler()).
		Watches(&v1alpha1.Spec{}, handler.EnqueueRequestsFromMapFunc(r.heldInNamespace)).
		Watches(&v1alpha1.Version{}, handler.EnqueueRequestsFromMapFunc(r.heldInNamespace)).
		Watches(&v1alpha1.Grant{}, handler.EnqueueRequestsFromMapFunc(r.heldInNamespace)).
		Watches(&v1alpha1.MCPServer{}, handler.EnqueueRequestsFromMapFunc(r.heldAnywhere)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: max(r.Options.Workers, 1),
			NeedLeaderElection:      &everyReplica,
		}).
		Complete(r)
}

// breakOffHandler interrupts the step of a Run that is cancelled or deleted. It
// enqueues nothing: the controller's own watch does.
func (r *RunReconciler) breakOffHandler() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	return handler.Funcs{
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, _ queue) {
			before, after := e.ObjectOld.(*v1alpha1.Run), e.ObjectNew.(*v1alpha1.Run)
			if after.Spec.Cancel && !before.Spec.Cancel {
				r.inflight.breakOff(after.UID)
			}
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, _ queue) {
			r.inflight.breakOff(e.Object.GetUID())
		},
	}
}

func (r *RunReconciler) heldInNamespace(ctx context.Context, object client.Object) []reconcile.Request {
	return r.held(ctx, client.InNamespace(object.GetNamespace()))
}

func (r *RunReconciler) heldAnywhere(ctx context.Context, _ client.Object) []reconcile.Request {
	return r.held(ctx)
}

// held lists the Runs that wait for something else to change.
func (r *RunReconciler) held(ctx context.Context, options ...client.ListOption) []reconcile.Request {
	var runs v1alpha1.RunList
	if err := r.List(ctx, &runs, append(options, client.MatchingFields{RunHeldField: "true"})...); err != nil {
		log.FromContext(ctx).Error(err, "the Runs that wait were not listed")
		return nil
	}
	requests := make([]reconcile.Request, 0, len(runs.Items))
	for i := range runs.Items {
		requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{
			Namespace: runs.Items[i].Namespace, Name: runs.Items[i].Name}})
	}
	return requests
}
