// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// LeaseDuration is how long after its last renewal a replica counts as alive.
const LeaseDuration = 15 * time.Second

// Ownership holds this replica's Lease and looks at those of others. It only keeps
// replicas out of each other's way: that two of them never go on with one Run is
// the work of the resourceVersion on each status write.
//
// The identity outlives a restart, so a replica goes on with its Runs at once.
type Ownership struct {
	Client client.Client
	// Reader reads past the cache.
	Reader   client.Reader
	Identity string
	// Namespace of the Leases.
	Namespace string
	Duration  time.Duration
	Now       func() time.Time
}

// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,namespace=remit-system,verbs=get;create;update

// Start renews the Lease until ctx ends.
func (o *Ownership) Start(ctx context.Context) error {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if err := o.renew(ctx); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "the Lease of this replica was not renewed", "lease", o.leaseName(o.Identity))
		}
	}, o.Duration/3)
	return nil
}

// NeedLeaderElection says that every replica holds a Lease of its own.
func (o *Ownership) NeedLeaderElection() bool { return false }

// Free says whether this replica may go on with a Run of that holder: its own, one
// that nobody holds, or one whose holder's Lease has lapsed.
func (o *Ownership) Free(ctx context.Context, holder string) (bool, error) {
	if holder == "" || holder == o.Identity {
		return true, nil
	}
	lease := &coordinationv1.Lease{}
	err := o.Reader.Get(ctx, types.NamespacedName{Namespace: o.Namespace, Name: o.leaseName(holder)}, lease)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the Lease of %q: %w", holder, err)
	}
	if lease.Spec.RenewTime == nil || lease.Spec.LeaseDurationSeconds == nil {
		return true, nil
	}
	lapses := lease.Spec.RenewTime.Add(time.Duration(*lease.Spec.LeaseDurationSeconds) * time.Second)
	return !o.Now().Before(lapses), nil
}

func (o *Ownership) renew(ctx context.Context) error {
	now := metav1.NewMicroTime(o.Now())
	seconds := int32(o.Duration / time.Second)
	lease := &coordinationv1.Lease{}
	err := o.Reader.Get(ctx, types.NamespacedName{Namespace: o.Namespace, Name: o.leaseName(o.Identity)}, lease)
	if apierrors.IsNotFound(err) {
		lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.leaseName(o.Identity)}}
		lease.Spec = coordinationv1.LeaseSpec{
			HolderIdentity: &o.Identity, LeaseDurationSeconds: &seconds, AcquireTime: &now, RenewTime: &now}
		return o.Client.Create(ctx, lease)
	}
	if err != nil {
		return err
	}
	lease.Spec.HolderIdentity = &o.Identity
	lease.Spec.LeaseDurationSeconds = &seconds
	lease.Spec.RenewTime = &now
	return o.Client.Update(ctx, lease)
}

func (o *Ownership) leaseName(identity string) string { return "remit-run-" + identity }
