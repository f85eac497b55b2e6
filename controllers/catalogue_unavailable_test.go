// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/mcp"
)

// P39: a call that loses its session twice shows on the MCPServer, once, and no other failure of a call does.
func TestCallShowsThatTheServerIsUnavailable(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	server := &v1alpha1.MCPServer{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "desk"}}
	discovered(server, time.Unix(1000, 0), "a 1")
	writes := 0
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(server).WithStatusSubresource(server).WithInterceptorFuncs(interceptor.Funcs{
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, object client.Object, options ...client.SubResourceUpdateOption) error {
			writes++
			return c.SubResource(sub).Update(ctx, object, options...)
		},
	}).Build()
	s := &runScope{RunReconciler: &RunReconciler{Client: c, Now: func() time.Time { return time.Unix(2000, 0) }}}
	lost := &mcp.Error{Kind: mcp.SessionLost, Server: "ns/desk", Detail: "lost again"}
	for i, step := range []struct {
		err    error
		status metav1.ConditionStatus
		writes int
	}{
		{nil, metav1.ConditionTrue, 0},
		{&mcp.Error{Kind: mcp.Unreachable}, metav1.ConditionTrue, 0},
		{&mcp.Error{Kind: mcp.OutcomeUnknown}, metav1.ConditionTrue, 0},
		{lost, metav1.ConditionFalse, 1},
		{lost, metav1.ConditionFalse, 1},
		{nil, metav1.ConditionFalse, 1}, // the discovery that follows says whether it is available again
	} {
		now := &v1alpha1.MCPServer{}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(server), now); err != nil {
			t.Fatal(err)
		}
		s.report(&v1alpha1.Grant{}, now)(t.Context(), step.err)
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(server), now); err != nil {
			t.Fatal(err)
		}
		ready := condition(now.Status.Conditions, v1alpha1.ConditionReady)
		if ready.Status != step.status || unavailable(now) != (step.status == metav1.ConditionFalse) || writes != step.writes || len(now.Status.Tools) != 1 {
			t.Errorf("step %d: %+v after %d writes, want %s after %d", i, ready, writes, step.status, step.writes)
		}
	}
	s.report(&v1alpha1.Grant{}, server)(t.Context(), lost) // it is another one by now, and is left alone
	if writes != 2 {
		t.Errorf("%d writes", writes)
	}
}
