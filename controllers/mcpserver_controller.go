// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/credentials"
	"remit.dev/remit/internal/mcp"
)

const (
	// discoveryTimeout bounds one discovery.
	discoveryTimeout = time.Minute
	// minRetry and maxRetry bound the delay between failed discoveries.
	minRetry = 2 * time.Second
	maxRetry = 2 * time.Minute
	// discoveryWorkers is the number of servers that are asked at the same time.
	discoveryWorkers = 8
)

// MCPServerReconciler keeps the catalogue: it asks each server what it offers and
// shows it, with every hint as it came.
type MCPServerReconciler struct {
	client.Client
	Now         func() time.Time
	Catalogue   *Catalogue
	Credentials credentials.Resolver
}

// +kubebuilder:rbac:groups=remit.dev,resources=mcpservers,verbs=get;list;watch
// +kubebuilder:rbac:groups=remit.dev,resources=mcpservers/status,verbs=update

// serverScope is one MCPServer in one reconcile.
type serverScope struct {
	server *v1alpha1.MCPServer
	stored *v1alpha1.MCPServerStatus
	now    time.Time

	// catalogue is set when the discovery succeeded, and failure when it did not.
	catalogue *mcp.Catalogue
	failure   error
}

// Reconcile asks the server and writes its status once, if it changed.
func (r *MCPServerReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	server := &v1alpha1.MCPServer{}
	if err := r.Get(ctx, request.NamespacedName, server); err != nil {
		r.Catalogue.Forget(request.String())
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !server.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	s := &serverScope{server: server, stored: server.Status.DeepCopy()}
	r.discover(ctx, s)
	if ctx.Err() != nil {
		return ctrl.Result{}, nil
	}
	s.now = r.Now().UTC().Truncate(time.Second)
	s.project()
	if !equality.Semantic.DeepEqual(s.stored, &server.Status) {
		if err := r.Status().Update(ctx, server); err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
	}
	return ctrl.Result{RequeueAfter: s.next()}, nil
}

// discover asks the server with its own credential.
func (r *MCPServerReconciler) discover(ctx context.Context, s *serverScope) {
	ctx, cancel := context.WithTimeout(ctx, discoveryTimeout)
	defer cancel()
	credential, err := r.Credentials.Resolve(ctx, s.server.Namespace, s.server.Spec.Credential)
	if err != nil {
		s.failure = err
		return
	}
	where, err := target(s.server, s.server.Namespace, credential)
	if err != nil {
		s.failure = err
		return
	}
	catalogue, err := r.Catalogue.Refresh(ctx, where)
	if err != nil {
		s.failure = err
		return
	}
	s.catalogue = &catalogue
}

// next is when to ask again. After failures the delay grows with the time since
// the first of them, so nothing has to be remembered.
func (s *serverScope) next() time.Duration {
	interval := s.server.Spec.RefreshInterval.Duration
	if s.failure == nil {
		return interval
	}
	failing := time.Duration(0)
	if ready := condition(s.server.Status.Conditions, v1alpha1.ConditionReady); ready != nil {
		failing = s.now.Sub(ready.LastTransitionTime.Time)
	}
	return min(max(failing/2, minRetry), maxRetry, interval)
}

// SetupWithManager reconciles a server when its spec changes and when its time has
// come; its own status does not set it off.
func (r *MCPServerReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("mcpserver").
		For(&v1alpha1.MCPServer{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WithOptions(workers(discoveryWorkers)).
		Complete(r)
}
