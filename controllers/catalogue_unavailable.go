// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/mcp"
)

// unavailableTimeout bounds the write of the condition, which a call waits for.
const unavailableTimeout = 10 * time.Second

// report shows on the Grant and on the MCPServer what a call found out about them.
func (s *runScope) report(grant *v1alpha1.Grant, server *v1alpha1.MCPServer) func(context.Context, error) {
	authenticated := s.showAuthenticated(grant)
	return func(ctx context.Context, err error) {
		authenticated(ctx, err)
		s.showUnavailable(ctx, server, err)
	}
}

// showUnavailable shows on the MCPServer that it lost a session again right after that
// was initialised anew (decision P39). The replica that reconciles the MCPServer, which
// need not be the Run's, sees that and asks the server itself.
func (s *runScope) showUnavailable(ctx context.Context, server *v1alpha1.MCPServer, err error) {
	failure, ok := errors.AsType[*mcp.Error](err)
	if !ok || failure.Kind != mcp.SessionLost || unavailable(server) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unavailableTimeout)
	defer cancel()
	changed := server.DeepCopy()
	shown := explain(err)
	c := conditionSet{conditions: &changed.Status.Conditions, generation: changed.Generation, now: s.Now().UTC()}
	c.notReady(shown.reason, shown.message, shown.stalled)
	if err := s.Status().Update(ctx, changed); err != nil { // it is another one by now, and shows what that is
		log.FromContext(ctx).V(1).Info("an MCPServer does not show that it is unavailable",
			"server", failure.Server, "error", err.Error())
	}
}

// unavailable says whether the MCPServer shows that it is.
func unavailable(server *v1alpha1.MCPServer) bool {
	ready := condition(server.Status.Conditions, v1alpha1.ConditionReady)
	return ready != nil && ready.Status == metav1.ConditionFalse && ready.Reason == v1alpha1.ReasonServerUnavailable
}

// foundUnavailable is when an MCPServer begins to show that it is unavailable.
var foundUnavailable = predicate.Funcs{
	CreateFunc:  func(event.CreateEvent) bool { return false },
	DeleteFunc:  func(event.DeleteEvent) bool { return false },
	GenericFunc: func(event.GenericEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, isServer := e.ObjectOld.(*v1alpha1.MCPServer)
		after, stillIs := e.ObjectNew.(*v1alpha1.MCPServer)
		return isServer && stillIs && !unavailable(before) && unavailable(after)
	},
}
