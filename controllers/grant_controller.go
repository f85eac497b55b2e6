// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/credentials"
	"remit.dev/remit/internal/narrowing"
	"remit.dev/remit/internal/policy"
)

const (
	// grantRetry and grantRefresh are when a Grant looks again at what cannot be
	// watched: Secrets, ConfigMaps and the labels of namespaces. Runs read them
	// afresh at each step, so only what the status shows waits for it.
	grantRetry   = 10 * time.Second
	grantRefresh = 10 * time.Minute
)

// GrantReconciler shows what each Grant gives today.
type GrantReconciler struct {
	client.Client
	// Reader reads past the cache.
	Reader      client.Reader
	Now         func() time.Time
	Credentials *credentials.Resolver
	// Selectors are the approval selectors where a Grant sets none.
	Selectors []v1alpha1.ApprovalSelector
}

// +kubebuilder:rbac:groups=remit.dev,resources=grants,verbs=get;list;watch
// +kubebuilder:rbac:groups=remit.dev,resources=grants/status,verbs=update

// grantScope is one Grant in one reconcile.
type grantScope struct {
	grant  *v1alpha1.Grant
	stored *v1alpha1.GrantStatus
	now    time.Time

	// server is the granted MCPServer, or nil.
	server *v1alpha1.MCPServer
	// problem is why the Grant gives nothing, or nil.
	problem *grantProblem
}

// grantProblem is why a Grant is not Ready.
type grantProblem struct {
	reason  string
	message string
	stalled bool
}

// Reconcile looks at what the Grant names and writes its status once, if it
// changed.
func (r *GrantReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	grant := &v1alpha1.Grant{}
	if err := r.Get(ctx, request.NamespacedName, grant); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !grant.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	s := &grantScope{grant: grant, stored: grant.Status.DeepCopy(), now: r.Now().UTC().Truncate(time.Second)}
	for _, look := range []func(context.Context, *grantScope) error{r.lookAtPolicy, r.lookAtServer, r.lookAtScript, r.lookAtCredential} {
		if err := look(ctx, s); err != nil {
			return ctrl.Result{}, err
		}
	}
	s.project(r.Selectors)
	if !equality.Semantic.DeepEqual(s.stored, &grant.Status) {
		if err := r.Status().Update(ctx, grant); err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
	}
	if s.problem != nil {
		return ctrl.Result{RequeueAfter: grantRetry}, nil
	}
	return ctrl.Result{RequeueAfter: grantRefresh}, nil
}

func (r *GrantReconciler) lookAtServer(ctx context.Context, s *grantScope) error {
	if s.grant.Spec.MCPServer == nil {
		return nil
	}
	server, err := grantedServer(ctx, r.Client, s.grant)
	if err != nil {
		return err
	}
	key := narrowing.ServerKey(s.grant)
	switch {
	case s.problem != nil: // what is permitted is shown all the same
		if server != nil && server.Status.DiscoveredAt != nil {
			s.server = server
		}
	case server == nil:
		s.problem = &grantProblem{v1alpha1.ReasonServerNotFound, fmt.Sprintf(
			"no MCPServer %q in namespace %q is open to namespace %q: check spec.mcpServer, and the server's allowedNamespaces",
			key.Name, key.Namespace, s.grant.Namespace), false}
	case server.Status.DiscoveredAt == nil:
		s.problem = &grantProblem{v1alpha1.ReasonServerNotReady, fmt.Sprintf(
			"MCPServer %q in namespace %q has not been discovered yet: see its conditions", key.Name, key.Namespace), false}
	default:
		s.server = server
	}
	return nil
}

// lookAtPolicy shows an error in a rule at once, not at the first call.
func (r *GrantReconciler) lookAtPolicy(_ context.Context, s *grantScope) error {
	if _, err := policy.Compile(s.grant.Spec.Policy); err != nil {
		s.problem = &grantProblem{v1alpha1.ReasonPolicyInvalid,
			err.Error() + "; every call is denied until it is corrected", true}
	}
	if _, err := policy.CompileRuns(s.grant.Spec.RunPolicy); s.problem == nil && err != nil {
		s.problem = &grantProblem{v1alpha1.ReasonPolicyInvalid,
			err.Error() + "; every Run that needs this Grant is denied until it is corrected", true}
	}
	if endpoint := s.grant.Spec.DecisionEndpoint; s.problem == nil && endpoint != nil && endpoint.CABundle != "" &&
		!x509.NewCertPool().AppendCertsFromPEM([]byte(endpoint.CABundle)) {
		s.problem = &grantProblem{v1alpha1.ReasonPolicyInvalid,
			"spec.decisionEndpoint.caBundle holds no certificate in PEM; every call is denied until it is corrected", true}
	}
	return nil
}

func (r *GrantReconciler) lookAtScript(ctx context.Context, s *grantScope) error {
	if s.grant.Spec.Model == nil || s.grant.Spec.Model.Provider != v1alpha1.ProviderScripted {
		return nil
	}
	_, err := readScript(ctx, r.Reader, s.grant)
	if problem, ok := errors.AsType[*scriptError](err); ok {
		s.problem = &grantProblem{problem.reason, problem.detail, problem.reason == v1alpha1.ReasonScriptInvalid}
		return nil
	}
	return err
}

func (r *GrantReconciler) lookAtCredential(ctx context.Context, s *grantScope) error {
	s.forgetAuthenticated()
	if s.problem != nil {
		return nil
	}
	for _, to := range s.destinations() {
		_, err := r.Credentials.Resolve(ctx, credentials.Use{Namespace: s.grant.Namespace, Credential: s.grant.Spec.Credential, URL: to})
		if problem, ok := errors.AsType[*credentials.Error](err); ok {
			s.problem = &grantProblem{problem.Reason, problem.Detail, !problem.Temporary && problem.Reason != v1alpha1.ReasonCredentialMissing}
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// destinations are the URLs that the Grant's credential would be sent to.
func (s *grantScope) destinations() []string {
	spec := &s.grant.Spec
	switch {
	case s.server != nil:
		where, err := endpoint(s.server)
		if err != nil { // the MCPServer shows it
			return nil
		}
		return []string{where.URL}
	case spec.Model != nil:
		return []string{spec.Model.Endpoint}
	case spec.HTTP != nil:
		urls := make([]string, 0, len(spec.HTTP.Hosts))
		for _, host := range spec.HTTP.Hosts {
			urls = append(urls, "https://"+host)
		}
		return urls
	default:
		return nil
	}
}

// GrantServerField is the field index of Grants by the MCPServer that they name,
// as "namespace/name".
const GrantServerField = "mcpServer"

// IndexGrantByServer adds the index GrantServerField.
func IndexGrantByServer(ctx context.Context, indexer client.FieldIndexer) error {
	return indexer.IndexField(ctx, &v1alpha1.Grant{}, GrantServerField, func(object client.Object) []string {
		grant := object.(*v1alpha1.Grant)
		if grant.Spec.MCPServer == nil {
			return nil
		}
		return []string{narrowing.ServerKey(grant).String()}
	})
}

// SetupWithManager reconciles a Grant when its spec or its server changes.
func (r *GrantReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("grant").
		For(&v1alpha1.Grant{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.MCPServer{}, handler.EnqueueRequestsFromMapFunc(r.grantsOf)).
		Complete(r)
}

func (r *GrantReconciler) grantsOf(ctx context.Context, server client.Object) []reconcile.Request {
	var grants v1alpha1.GrantList
	key := client.ObjectKeyFromObject(server)
	if err := r.List(ctx, &grants, client.MatchingFields{GrantServerField: key.String()}); err != nil {
		log.FromContext(ctx).Error(err, "the Grants of an MCPServer were not listed", "server", key)
		return nil
	}
	requests := make([]reconcile.Request, 0, len(grants.Items))
	for i := range grants.Items {
		requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{
			Namespace: grants.Items[i].Namespace, Name: grants.Items[i].Name}})
	}
	return requests
}
