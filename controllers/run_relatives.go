// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"remit.dev/remit/api/v1alpha1"
)

// relativesHandler wakes a parent when a child of it comes to another phase, and the
// children when their parent lists others or ends, which breaks their steps off.
func (r *RunReconciler) relativesHandler() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	return handler.Funcs{
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			before, after := e.ObjectOld.(*v1alpha1.Run), e.ObjectNew.(*v1alpha1.Run)
			if before.Status.Phase != after.Status.Phase || ended(before) != ended(after) {
				wakeParent(after, q.Add)
			}
			switch {
			case ended(after) && !ended(before):
				r.wakeChildren(ctx, after, q.Add, true)
			case !slices.Equal(before.Status.Children, after.Status.Children):
				r.wakeChildren(ctx, after, q.Add, false)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) {
			run := e.Object.(*v1alpha1.Run)
			wakeParent(run, q.Add)
			r.wakeChildren(ctx, run, q.Add, true)
		},
	}
}

func wakeParent(run *v1alpha1.Run, add func(reconcile.Request)) {
	if parent := run.Spec.ParentRef; parent != nil {
		add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: run.Namespace, Name: parent.Name}})
	}
}

func (r *RunReconciler) wakeChildren(ctx context.Context, run *v1alpha1.Run, add func(reconcile.Request), breakOff bool) {
	children := &v1alpha1.RunList{}
	err := r.List(ctx, children, client.InNamespace(run.Namespace), client.MatchingFields{RunParentField: string(run.UID)},
		client.UnsafeDisableDeepCopy)
	if err != nil {
		log.FromContext(ctx).Error(err, "the Runs of the subagents were not listed", "run", client.ObjectKeyFromObject(run))
		return
	}
	for i := range children.Items {
		if breakOff {
			r.inflight.breakOff(children.Items[i].UID)
		}
		add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&children.Items[i])})
	}
}
