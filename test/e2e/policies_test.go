// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
)

// awaitPolicies waits until both admission policies are in force, which an API server says nowhere.
// It tries them on a Run of its own that an admin has made to look suspended.
func (c *controlPlane) awaitPolicies(ctx context.Context) error {
	run := &v1alpha1.Run{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "probe"},
		Spec:       v1alpha1.RunSpec{SpecRef: &v1alpha1.NamedReference{Name: "none"}},
	}
	if err := poll(ctx, "the policy that stamps", func() error {
		tried := run.DeepCopy()
		if err := c.users[author].Create(ctx, tried, client.DryRunAll); err != nil {
			return err
		}
		if tried.Spec.CreatedBy != author {
			return fmt.Errorf("spec.createdBy is %q", tried.Spec.CreatedBy)
		}
		return nil
	}); err != nil {
		return err
	}
	if err := c.users[author].Create(ctx, run); err != nil {
		return err
	}
	run.Status.Pending = []v1alpha1.PendingCall{probeCall()}
	if err := c.users[admin].Status().Update(ctx, run); err != nil {
		return err
	}
	if err := poll(ctx, "the policy that refuses", func() error {
		approval := client.RawPatch(types.MergePatchType,
			fmt.Appendf(nil, `{"spec":{"decisions":{%q:{"approved":true}}}}`, probeCall().ID))
		if err := c.users[author].Patch(ctx, run.DeepCopy(), approval, client.DryRunAll); !apierrors.IsForbidden(err) {
			return fmt.Errorf("the author's decision was not forbidden: %w", err)
		}
		return nil
	}); err != nil {
		return err
	}
	return c.users[admin].Delete(ctx, run)
}

func probeCall() v1alpha1.PendingCall {
	digest := v1alpha1.Digest("sha256:" + strings.Repeat("0", 64))
	now := metav1.Now()
	return v1alpha1.PendingCall{
		ID: "call-0000000000000000", Kind: v1alpha1.PendingTool, Tool: "probe", Class: v1alpha1.ClassWrite, Arguments: "{}",
		ArgumentsDigest: digest, DefinitionDigest: digest, Reason: "probe", RequestedAt: now, ExpiresAt: now,
	}
}

// poll tries until there is no error, and gives the last one when that takes too long.
func poll(ctx context.Context, what string, try func() error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, pollInterval, time.Minute, true, func(context.Context) (bool, error) {
		last = try()
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%s is not in force: %w", what, errors.Join(err, last))
	}
	return nil
}
