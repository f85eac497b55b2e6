// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/credentials"
	"remit.dev/remit/internal/hosting"
	"remit.dev/remit/internal/mcp/bridge"
)

// Hosting is how the operator runs servers itself.
type Hosting struct {
	// BridgeImage holds the operator's program; without it no stdio server is deployed.
	BridgeImage string
	// OperatorNamespace is where the operator's Pods are.
	OperatorNamespace string
	// Local, when set, starts stdio servers in this process instead of deploying them.
	Local *bridge.Local
	// LookupEnv stands for the environment of the image where Local has none.
	LookupEnv func(string) (string, bool)
}

// hostingProblem says why a server that the operator runs cannot be asked yet.
type hostingProblem struct {
	reason  string
	message string
	// stalled says that somebody has to change something.
	stalled bool
}

func (p *hostingProblem) Error() string { return p.message }

// isProblem says that a condition shows the error; any other is tried again soon.
func isProblem(err error) bool {
	if _, ok := errors.AsType[*hostingProblem](err); ok {
		return true
	}
	_, ok := errors.AsType[*credentials.Error](err)
	return ok
}

// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=list
// +kubebuilder:rbac:groups="",resources=pods,verbs=get,namespace=remit-system

// host sees to it that the server runs as its transport says, and that nothing is left
// of what another transport needed. Nil says that the server can be asked.
func (r *MCPServerReconciler) host(ctx context.Context, server *v1alpha1.MCPServer) error {
	transport := server.Spec.Transport
	if r.Hosting.Local != nil && transport.Stdio != nil {
		if err := r.unhost(ctx, server); err != nil {
			return err
		}
		return r.startLocally(ctx, server)
	}
	r.stopLocally(server.Namespace, server.Name)
	if !hosting.Hosted(server) {
		return r.unhost(ctx, server)
	}
	return r.deploy(ctx, server)
}

// deploy applies what runs the server, if it is not there as it should be, and says what
// keeps the server from being ready.
func (r *MCPServerReconciler) deploy(ctx context.Context, server *v1alpha1.MCPServer) error {
	variables, err := r.secretVariables(ctx, server)
	if err != nil {
		return r.withhold(ctx, server, err)
	}
	objects, err := hosting.Build(server, hosting.Options{
		BridgeImage: r.Hosting.BridgeImage, OperatorNamespace: r.Hosting.OperatorNamespace, Environment: fingerprint(variables),
	})
	if errors.Is(err, hosting.ErrNoBridge) {
		return &hostingProblem{v1alpha1.ReasonBridgeImageMissing, err.Error(), true}
	}
	if err != nil {
		return err
	}
	// The policy is there before the first Pod is.
	all := []*hostedObject{hostedPolicy(objects.NetworkPolicy), hostedService(objects.Service), hostedDeployment(objects.Deployment)}
	for _, object := range all { // none is written while one of the names is taken
		if err := r.readHosted(ctx, server, object); err != nil {
			return err
		}
	}
	for _, object := range all {
		if err := r.applyHosted(ctx, object); err != nil {
			return refusedApply(object, err)
		}
	}
	return r.rollout(ctx, server, all[len(all)-1].live.(*appsv1.Deployment))
}

// withhold deletes what runs with a secret that may not be used any more. One that is
// missing may be on its way back, and what runs goes on.
func (r *MCPServerReconciler) withhold(ctx context.Context, server *v1alpha1.MCPServer, cause error) error {
	if problem, ok := errors.AsType[*credentials.Error](cause); ok && problem.Reason == v1alpha1.ReasonCredentialRefused {
		if err := r.unhost(ctx, server); err != nil {
			return err
		}
	}
	return cause
}

// refusedApply turns what the API server will not take into a problem of the MCPServer's;
// everything else is tried again.
func refusedApply(object *hostedObject, err error) error {
	if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) {
		return &hostingProblem{v1alpha1.ReasonDeployFailed, fmt.Sprintf("%s: %v", object, err), true}
	}
	return fmt.Errorf("apply %s: %w", object, err)
}

// rollout says how far the Deployment is from being done.
func (r *MCPServerReconciler) rollout(ctx context.Context, server *v1alpha1.MCPServer, deployment *appsv1.Deployment) error {
	rollout, err := hosting.RolloutOf(deployment)
	if err != nil || rollout.Done {
		return err
	}
	var pods corev1.PodList
	if err := r.Reader.List(ctx, &pods, client.InNamespace(server.Namespace), client.MatchingLabels(hosting.Selector(server))); err != nil {
		return fmt.Errorf("list the Pods of MCPServer %s/%s: %w", server.Namespace, server.Name, err)
	}
	problem := &hostingProblem{v1alpha1.ReasonDeploying, "waits for the Deployment: " + rollout.Message, rollout.Failed}
	if trouble, failed := hosting.Trouble(pods.Items); trouble != "" {
		problem.message, problem.stalled = trouble, problem.stalled || failed
	}
	if problem.stalled {
		problem.reason = v1alpha1.ReasonDeployFailed
	}
	return problem
}

// secretVariables reads the secrets of the server's environment, in its order.
func (r *MCPServerReconciler) secretVariables(ctx context.Context, server *v1alpha1.MCPServer) ([]credentials.Variable, error) {
	var references []v1alpha1.SecretKeyReference
	for _, variable := range hosting.Environment(server) {
		if variable.SecretKeyRef != nil {
			references = append(references, *variable.SecretKeyRef)
		}
	}
	return r.Credentials.Variables(ctx, server.Namespace, references)
}

// fingerprint stands for all secrets; empty without any.
func fingerprint(variables []credentials.Variable) string {
	if len(variables) == 0 {
		return ""
	}
	sum := sha256.New()
	for _, variable := range variables {
		_, _ = io.WriteString(sum, variable.Fingerprint()+"\n") // a hash takes everything
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}
