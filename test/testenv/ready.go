// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"errors"
	"fmt"
	"strings"
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
	// The operator with an admin's rights: nothing but the validating policies is in the way.
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
	author, err := e.probeClient("testenv-author", Authors)
	if err != nil {
		return err
	}
	for policy, try := range forbiddenWrites(operator, author, run) {
		if err := poll(ctx, "the policy "+policy, func() error { return refused(policy, try(ctx)) }); err != nil {
			return err
		}
	}
	return admin.Delete(ctx, run)
}

// forbiddenWrites are writes of which each is refused by the policy under whose name it stands, as
// each policy is taken up by itself.
func forbiddenWrites(operator, author client.Client, run *v1alpha1.Run) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"remit-run-decisions": func(ctx context.Context) error {
			return operator.Patch(ctx, run.DeepCopy(), decide(run), client.DryRunAll)
		},
		"remit-run-cancel": func(ctx context.Context) error {
			patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"cancel":true}}`))
			return author.Patch(ctx, run.DeepCopy(), patch, client.DryRunAll)
		},
		"remit-operator-runs": func(ctx context.Context) error {
			return operator.Create(ctx, &v1alpha1.Run{
				ObjectMeta: metav1.ObjectMeta{Name: "operators", Namespace: run.Namespace},
				Spec:       v1alpha1.RunSpec{SpecRef: &v1alpha1.NamedReference{Name: "none"}},
			}, client.DryRunAll)
		},
		"remit-operator-secrets": func(ctx context.Context) error {
			return operator.Create(ctx, &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Name: "operators", Namespace: run.Namespace},
			}, client.DryRunAll)
		},
	}
}

// probeClient is a client of a user with an admin's rights, unless there are groups.
func (e *Env) probeClient(user string, groups ...string) (client.Client, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	if len(groups) == 0 {
		groups = []string{"system:masters"}
	}
	return client.New(e.As(user, groups...), client.Options{Scheme: scheme})
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

// refused turns a refusal by a policy into success, and everything else into an error.
func refused(policy string, err error) error {
	switch {
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "'"+policy+"'"):
		return nil
	case err != nil:
		return err
	default:
		return errors.New("what it forbids was accepted")
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
