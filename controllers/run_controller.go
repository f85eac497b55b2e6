// SPDX-License-Identifier: Apache-2.0

// Package controllers holds one thin reconciler for each kind: it reads, calls a
// pure package, and writes.
package controllers

import (
	"context"
	"errors"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/credentials"
	"remit.dev/remit/internal/egress"
	"remit.dev/remit/internal/engine"
	"remit.dev/remit/internal/httptool"
	"remit.dev/remit/internal/mcp"
	"remit.dev/remit/internal/model"
	"remit.dev/remit/internal/pipeline"
	"remit.dev/remit/internal/sandbox"
	"remit.dev/remit/internal/tools"
)

// RunOptions are the operator's settings for Runs.
type RunOptions struct {
	// Selectors are the approval selectors where a Grant sets none.
	Selectors []v1alpha1.ApprovalSelector
	// ApprovalExpiry is how long a call waits where its Run does not say, and
	// MaxApprovalExpiry the longest that a Run may ask for.
	ApprovalExpiry    time.Duration
	MaxApprovalExpiry time.Duration
	// ModelTimeout bounds one model call.
	ModelTimeout time.Duration
	// DeferAbove is the number of tools of a Run above which those that are not
	// preloaded are deferred.
	DeferAbove int
	// Workers is the number of Runs that take a step at the same time.
	Workers int
	// WebhookURL is the public part of the URLs of webhooks; empty where none are served.
	WebhookURL string
	// Random gives the secret part of those URLs.
	Random io.Reader
}

// RunReconciler executes Runs, one step a reconcile.
type RunReconciler struct {
	client.Client
	// Reader reads past the cache.
	Reader      client.Reader
	Now         func() time.Time
	Ownership   *Ownership
	Catalogue   *Catalogue
	MCP         *mcp.Client
	Guard       *egress.Guard
	Credentials *credentials.Resolver
	Functions   *tools.Functions
	HTTP        *httptool.Client
	Sandbox     *sandbox.Runner
	Failover    model.Failover
	Options     RunOptions

	schemas  *pipeline.Schemas
	policies *policies
	events   events.EventRecorder
	segments *segmentCache
	written  *writtenVersions
	inflight *inflight
}

// +kubebuilder:rbac:groups=remit.dev,resources=runs,verbs=get;list;watch
// +kubebuilder:rbac:groups=remit.dev,resources=runs/status,verbs=update
// +kubebuilder:rbac:groups=remit.dev,resources=runs/finalizers,verbs=update
// +kubebuilder:rbac:groups=remit.dev,resources=specs;mcpservers;grants,verbs=get;list;watch
// +kubebuilder:rbac:groups=remit.dev,resources=versions,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;create
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch

// conflictRetry is when a step is taken again that met an object newer than the
// cache's.
const conflictRetry = 100 * time.Millisecond

// runScope is one Run in one reconcile. Phases fill it in from top to bottom.
type runScope struct {
	*RunReconciler
	// run is the Run as last read or written.
	run *v1alpha1.Run
	// stored is the status that the API server has.
	stored *v1alpha1.RunStatus
	// body is the agent of the pinned Version, and hash the Version's digest.
	body *v1alpha1.AgentSpec
	hash v1alpha1.Digest
	// state is the folded log.
	state *engine.State
	// tools are callable in this step, and models in their failover order.
	tools  *pipeline.ToolSet
	models []model.Candidate
	// doubtful says that a call was refused when the step had been broken off.
	doubtful bool
	// children are the Runs that answer calls of this one.
	children map[v1alpha1.CallID]engine.Child
	// parent is the Run whose subagent this is, and orphaned why there is none that
	// waits for it any more. within are the grants of the parent's agent.
	parent   *v1alpha1.Run
	orphaned string
	within   map[v1alpha1.Slug]*v1alpha1.MCPGrant
	// stepsBefore is the trace of the steps before this one.
	stepsBefore []v1alpha1.TraceEntry
}

// runPhase is one phase. It ends the reconcile by returning done or an error.
type runPhase func(context.Context, *runScope) (done bool, err error)

var runPhases = []runPhase{
	skipFinished,
	awaitOwnWrite,
	own,
	followParent,
	pinVersion,
	loadBody,
	loadLog,
	findChildren,
}

// Reconcile takes one step of a Run.
func (r *RunReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	run := &v1alpha1.Run{}
	if err := r.Get(ctx, request.NamespacedName, run); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !run.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	s := &runScope{RunReconciler: r, run: run, stored: run.Status.DeepCopy(), stepsBefore: run.Status.Log.Trace}
	ctx, release := r.inflight.begin(ctx, run.UID)
	defer release()

	for _, phase := range runPhases {
		if done, err := phase(ctx, s); done || err != nil {
			return s.settle(ctx, err)
		}
	}
	result, err := s.step(ctx)
	if err != nil {
		return s.settle(ctx, err)
	}
	return result, nil
}

// settle maps an error to what happens next, in this one place. A hold waits for
// a watch, or for its own time; an end closes the Run; a lost fence means that
// somebody else is at work; a step that met a newer object or was broken off is
// taken again; everything else is tried again with a growing delay.
func (s *runScope) settle(ctx context.Context, err error) (ctrl.Result, error) {
	var later *deferError
	var hold *holdError
	var end *endError
	var corrupt *engine.CorruptError
	switch {
	case err == nil:
		return ctrl.Result{}, nil
	case errors.As(err, &later):
		return ctrl.Result{RequeueAfter: later.after}, nil
	case errors.As(err, &hold):
		return ctrl.Result{RequeueAfter: hold.after}, s.saveHold(ctx, hold)
	case errors.As(err, &end):
		return ctrl.Result{}, s.saveEnd(ctx, end)
	case errors.As(err, &corrupt):
		return ctrl.Result{}, s.saveEnd(ctx, &endError{reason: v1alpha1.ReasonLogCorrupt, detail: corrupt.Error()})
	case errors.Is(err, errFenced):
		return ctrl.Result{}, nil
	case apierrors.IsConflict(err), s.inflight.broken(ctx):
		// The cache was behind, which takes moments; or what broke the step off may
		// be the very event that it was taking, which does not come again.
		return ctrl.Result{RequeueAfter: conflictRetry}, nil
	default:
		return ctrl.Result{}, err
	}
}

// skipFinished leaves a finished Run alone, but for the generation that its
// status describes.
func skipFinished(ctx context.Context, s *runScope) (bool, error) {
	if !Finished(s.run.Status.Phase) {
		return false, nil
	}
	s.run.Status.ObservedGeneration = s.run.Generation
	return true, s.write(ctx)
}

// awaitOwnWrite waits for the cache to show what this replica wrote last: a step
// on an older log would be refused by the fence, after its model call was paid.
func awaitOwnWrite(_ context.Context, s *runScope) (bool, error) {
	return s.written.newer(s.run), nil
}

// own takes a Run that no living replica holds.
func own(ctx context.Context, s *runScope) (bool, error) {
	free, err := s.Ownership.Free(ctx, s.run.Status.Holder)
	if err != nil {
		return false, err
	}
	if !free {
		return false, &deferError{after: s.Ownership.Duration}
	}
	s.run.Status.Holder = s.Ownership.Identity
	return false, nil
}

// Finished says whether a phase is final.
func Finished(phase v1alpha1.RunPhase) bool {
	switch phase {
	case v1alpha1.RunComplete, v1alpha1.RunFailed, v1alpha1.RunCancelled, v1alpha1.RunAbandoned:
		return true
	default:
		return false
	}
}

// changed says whether the status differs from what the API server has.
func (s *runScope) changed() bool {
	return !sameStatus(s.stored, &s.run.Status)
}

// sameStatus compares two statuses as the API server would.
func sameStatus(a, b *v1alpha1.RunStatus) bool { return equality.Semantic.DeepEqual(a, b) }
