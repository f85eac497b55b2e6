// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/mcp"
)

// E11: a Grant shows when its server begins to refuse the credential and when it takes it again, with one write
// for each, and none for anything else.
func TestGrantShowsWhetherItIsAuthenticated(t *testing.T) {
	refused := &mcp.Error{Kind: mcp.Unauthorized, Status: http.StatusUnauthorized, Detail: "the server refused the credential"}
	unknown := &mcp.Error{Kind: mcp.OutcomeUnknown, Status: http.StatusUnauthorized, Detail: "the server refused the credential"}
	down := &mcp.Error{Kind: mcp.Unreachable, Detail: "cannot connect"}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	grant := &v1alpha1.Grant{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "desk", Generation: 3}}
	writes := 0
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(grant).WithStatusSubresource(grant).WithInterceptorFuncs(interceptor.Funcs{
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, object client.Object, options ...client.SubResourceUpdateOption) error {
			writes++
			return c.SubResource(sub).Update(ctx, object, options...)
		},
	}).Build()
	s := &runScope{RunReconciler: &RunReconciler{Client: c, Now: func() time.Time { return time.Unix(1_700_000_000, 0) }}}
	for i, step := range []struct {
		err    error
		status metav1.ConditionStatus
		writes int
	}{
		{nil, "", 0},
		{down, "", 0},
		{refused, metav1.ConditionFalse, 1},
		{refused, metav1.ConditionFalse, 1},
		{unknown, metav1.ConditionFalse, 1},
		{down, metav1.ConditionFalse, 1},
		{nil, metav1.ConditionTrue, 2},
		{nil, metav1.ConditionTrue, 2},
		{unknown, metav1.ConditionFalse, 3},
	} {
		now := &v1alpha1.Grant{}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(grant), now); err != nil {
			t.Fatal(err)
		}
		s.showAuthenticated(now)(t.Context(), step.err)
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(grant), now); err != nil {
			t.Fatal(err)
		}
		shown := condition(now.Status.Conditions, v1alpha1.ConditionAuthenticated)
		if (shown == nil) != (step.status == "") || shown != nil && shown.Status != step.status || writes != step.writes {
			t.Errorf("step %d: %+v after %d writes, want %q after %d", i, shown, writes, step.status, step.writes)
		}
	}
	// A Grant that is another one by now is left to the next call.
	s.showAuthenticated(grant)(t.Context(), refused)
	forgetful := &grantScope{grant: grant.DeepCopy()}
	for generation, kept := range map[int64]bool{3: true, 4: false} {
		forgetful.grant.Generation = generation
		forgetful.grant.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionAuthenticated, ObservedGeneration: 3}}
		forgetful.forgetAuthenticated()
		if got := len(forgetful.grant.Status.Conditions) == 1; got != kept {
			t.Errorf("at generation %d the condition is kept: %v", generation, got)
		}
	}
}

// What a Grant's credential would be sent to is what its Secret's hosts are checked against.
func TestDestinations(t *testing.T) {
	server := func(transport v1alpha1.Transport) *v1alpha1.MCPServer {
		return &v1alpha1.MCPServer{ObjectMeta: metav1.ObjectMeta{Namespace: "catalogue", Name: "desk"}, Spec: v1alpha1.MCPServerSpec{Transport: transport}}
	}
	for name, row := range map[string]struct {
		scope *grantScope
		want  []string
	}{
		"http": {&grantScope{grant: &v1alpha1.Grant{}, server: server(v1alpha1.Transport{HTTP: &v1alpha1.HTTPTransport{URL: "https://desk.test/mcp"}})},
			[]string{"https://desk.test/mcp"}},
		"hosted": {&grantScope{grant: &v1alpha1.Grant{}, server: server(v1alpha1.Transport{Hosted: &v1alpha1.HostedTransport{Port: 8080, Path: "/mcp"}})},
			[]string{"http://desk.catalogue.svc:8080/mcp"}},
		"no transport": {&grantScope{grant: &v1alpha1.Grant{}, server: server(v1alpha1.Transport{})}, nil},
		"model": {&grantScope{grant: &v1alpha1.Grant{Spec: v1alpha1.GrantSpec{Model: &v1alpha1.ModelEndpoint{Endpoint: "https://models.test/v1"}}}},
			[]string{"https://models.test/v1"}},
		"hosts": {&grantScope{grant: &v1alpha1.Grant{Spec: v1alpha1.GrantSpec{HTTP: &v1alpha1.HTTPHosts{Hosts: []string{"a.test", "b.test:8443"}}}}},
			[]string{"https://a.test", "https://b.test:8443"}},
		"a server that is not there": {&grantScope{grant: &v1alpha1.Grant{}}, nil},
	} {
		if diff := cmp.Diff(row.want, row.scope.destinations()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A server that runs in the cluster is reached there, and any other only where its MCPServer says so.
func TestEndpoint(t *testing.T) {
	for name, row := range map[string]struct {
		transport v1alpha1.Transport
		want      mcp.Target
	}{
		"public": {v1alpha1.Transport{HTTP: &v1alpha1.HTTPTransport{
			URL: "https://desk.test/mcp", Network: v1alpha1.NetworkPublic, Headers: map[string]v1alpha1.HeaderValue{"X-Region": "eu"}}},
			mcp.Target{URL: "https://desk.test/mcp", Headers: map[string]string{"X-Region": "eu"}}},
		"cluster-internal": {v1alpha1.Transport{HTTP: &v1alpha1.HTTPTransport{URL: "http://desk.svc/mcp", Network: v1alpha1.NetworkClusterInternal}},
			mcp.Target{URL: "http://desk.svc/mcp", Headers: map[string]string{}, ClusterInternal: true}},
		"hosted": {v1alpha1.Transport{Hosted: &v1alpha1.HostedTransport{Port: 8080}},
			mcp.Target{URL: "http://desk.catalogue.svc:8080/mcp", ClusterInternal: true}},
	} {
		got, err := endpoint(&v1alpha1.MCPServer{ObjectMeta: metav1.ObjectMeta{Namespace: "catalogue", Name: "desk"}, Spec: v1alpha1.MCPServerSpec{Transport: row.transport}})
		row.want.Server = "catalogue/desk"
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	_, err := endpoint(&v1alpha1.MCPServer{})
	if err == nil || !strings.Contains(err.Error(), "no transport") {
		t.Errorf("without a transport: %v", err)
	}
}
