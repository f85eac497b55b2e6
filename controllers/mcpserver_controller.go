// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
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
	// eventSource is who Events say that they come from.
	eventSource = "remit.dev/mcpserver"
)

// MCPServerReconciler keeps the catalogue: it runs the servers that are not run
// elsewhere, asks each server what it offers and shows it, with every hint as it came.
type MCPServerReconciler struct {
	client.Client
	// Reader reads past the cache.
	Reader      client.Reader
	Hosting     Hosting
	Now         func() time.Time
	Catalogue   *Catalogue
	Credentials *credentials.Resolver

	// events and listeners are SetupWithManager's.
	events    events.EventRecorder
	listeners *listeners
}

// +kubebuilder:rbac:groups=remit.dev,resources=mcpservers,verbs=get;list;watch
// +kubebuilder:rbac:groups=remit.dev,resources=mcpservers/status,verbs=update
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// serverScope is one MCPServer in one reconcile.
type serverScope struct {
	server *v1alpha1.MCPServer
	stored *v1alpha1.MCPServerStatus
	now    time.Time
	// unusable says why no call of a tool can be judged, or nothing.
	unusable func(*mcp.Tool) string

	// catalogue and target are set when the discovery succeeded, and failure when it
	// did not.
	catalogue *mcp.Catalogue
	target    mcp.Target
	failure   error
	// changes are the tools that differ from those that were known.
	changes []v1alpha1.CatalogueChange
}

// Reconcile asks the server and writes its status once, if it changed.
func (r *MCPServerReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	server := &v1alpha1.MCPServer{}
	if err := r.Get(ctx, request.NamespacedName, server); err != nil {
		if apierrors.IsNotFound(err) {
			r.Catalogue.Forget(request.String())
			r.stopLocally(request.Namespace, request.Name)
			r.listeners.drop(request.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !server.DeletionTimestamp.IsZero() {
		r.stopLocally(server.Namespace, server.Name)
		r.listeners.drop(request.NamespacedName)
		return ctrl.Result{}, nil
	}
	s := &serverScope{server: server, stored: server.Status.DeepCopy(), unusable: r.Catalogue.unusable}
	if s.failure = r.host(ctx, server); s.failure == nil {
		r.discover(ctx, s)
	} else if !isProblem(s.failure) {
		return ctrl.Result{}, s.failure
	}
	if ctx.Err() != nil {
		return ctrl.Result{}, nil
	}
	s.now = r.Now().UTC().Truncate(time.Second)
	s.project()
	if !equality.Semantic.DeepEqual(s.stored, &server.Status) {
		if err := r.Status().Update(ctx, server); err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
		r.announce(s)
	}
	r.hear(ctx, s)
	return ctrl.Result{RequeueAfter: s.next()}, nil
}

// discover asks the server with its own credential.
func (r *MCPServerReconciler) discover(ctx context.Context, s *serverScope) {
	ctx, cancel := context.WithTimeout(ctx, discoveryTimeout)
	defer cancel()
	where, err := target(ctx, r.Credentials, s.server, s.server.Namespace, s.server.Spec.Credential)
	if err != nil {
		s.failure = err
		return
	}
	catalogue, err := r.Catalogue.Refresh(ctx, where)
	if err != nil {
		s.failure = err
		return
	}
	s.catalogue, s.target = &catalogue, where
}

// hear listens to a server that says when its lists change, and to none that is
// another one by now.
func (r *MCPServerReconciler) hear(ctx context.Context, s *serverScope) {
	server := client.ObjectKeyFromObject(s.server)
	switch {
	case s.catalogue != nil && s.catalogue.ListChanged:
		if !r.listeners.keep(server, s.target) {
			log.FromContext(ctx).V(1).Info("too many MCPServers are listened to; this one is asked at its interval", "limit", maxListeners)
		}
	case s.catalogue != nil, s.stored.ObservedGeneration != s.server.Generation:
		r.listeners.drop(server)
	}
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

// SetupWithManager reconciles a server when its spec changes, when what runs it changes,
// when it says that its lists have changed, when a Run finds it unavailable and when its
// time has come; what else is in its status does not set it off.
func (r *MCPServerReconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.events = mgr.GetEventRecorder(eventSource)
	r.listeners = newListeners(r.Catalogue.client.Listen, r.Now)
	if err := mgr.Add(r.listeners); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("mcpserver").
		For(&v1alpha1.MCPServer{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, foundUnavailable))).
		WatchesRawSource(r.listeners.source()).
		Owns(&appsv1.Deployment{}).
		Owns(&corev1.Service{}).
		Owns(&networkingv1.NetworkPolicy{}).
		WithOptions(workers(discoveryWorkers)).
		Complete(r)
}
