// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
)

const (
	policyPoll  = 100 * time.Millisecond
	policyBound = time.Minute
)

// waitForPolicies tries on a Run of its own whether the kinds are served and the policies in
// force: an API server says so nowhere, and takes up a policy some time after it was created.
func (e *Env) waitForPolicies(ctx context.Context) error {
	admin, err := e.probeClient("testenv-admin")
	if err != nil {
		return err
	}
	// The operator with an admin's rights: nothing but the validating policy is in the way.
	operator, err := e.probeClient(Operator)
	if err != nil {
		return err
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "testenv"}}
	if err := admin.Create(ctx, ns); err != nil {
		return err
	}
	var run *v1alpha1.Run
	if err := poll(ctx, "the mutating policy", func() error {
		run = &v1alpha1.Run{
			ObjectMeta: metav1.ObjectMeta{Name: "probe", Namespace: ns.Name},
			Spec:       v1alpha1.RunSpec{SpecRef: &v1alpha1.NamedReference{Name: "none"}},
		}
		if err := admin.Create(ctx, run, client.DryRunAll); err != nil {
			return err
		}
		if run.Spec.CreatedBy == "" {
			return errors.New("createdBy is not stamped")
		}
		return nil
	}); err != nil {
		return err
	}
	run.ResourceVersion, run.UID = "", ""
	if err := admin.Create(ctx, run); err != nil {
		return err
	}
	if err := suspend(ctx, admin, run); err != nil {
		return err
	}
	if err := poll(ctx, "the validating policy", func() error {
		return refused(operator.Patch(ctx, run.DeepCopy(), decide(run), client.DryRunAll))
	}); err != nil {
		return err
	}
	return admin.Delete(ctx, run)
}

func (e *Env) probeClient(user string) (client.Client, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	return client.New(e.As(user, "system:masters"), client.Options{Scheme: scheme})
}

func suspend(ctx context.Context, c client.Client, run *v1alpha1.Run) error {
	now := metav1.Now()
	digest := v1alpha1.Digest(fmt.Sprintf("sha256:%064x", 0))
	run.Status.Pending = []v1alpha1.PendingCall{{
		ID: "call-0000000000000000", Kind: v1alpha1.PendingTool, Tool: "probe", Class: v1alpha1.ClassWrite,
		Arguments: "{}", ArgumentsDigest: digest, DefinitionDigest: digest, Reason: "probe",
		RequestedAt: now, ExpiresAt: now,
	}}
	return c.Status().Update(ctx, run)
}

func decide(run *v1alpha1.Run) client.Patch {
	return client.RawPatch(types.MergePatchType,
		fmt.Appendf(nil, `{"spec":{"decisions":{%q:{"approved":true}}}}`, run.Status.Pending[0].ID))
}

// refused turns a refusal into success and success into an error.
func refused(err error) error {
	switch {
	case apierrors.IsForbidden(err):
		return nil
	case err != nil:
		return err
	default:
		return errors.New("the operator's own decision was accepted")
	}
}

// poll calls try until it returns nil, and returns its last error when that takes too long.
func poll(ctx context.Context, what string, try func() error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, policyPoll, policyBound, true, func(context.Context) (bool, error) {
		last = try()
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait for %s: %w: %w", what, err, last)
	}
	return nil
}
