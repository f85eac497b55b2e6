// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/mcp"
)

// authenticatedTimeout bounds the write of the condition, which a call waits for.
const authenticatedTimeout = 10 * time.Second

// showAuthenticated shows on a Grant when its server begins to refuse its credential,
// and when it takes it again (requirement E11). The Run's replica knows this and the one
// that reconciles Grants does not, so this one condition is written from here.
func (s *runScope) showAuthenticated(grant *v1alpha1.Grant) func(context.Context, error) {
	return func(ctx context.Context, err error) {
		shown := condition(grant.Status.Conditions, v1alpha1.ConditionAuthenticated)
		failure, failed := errors.AsType[*mcp.Error](err)
		switch {
		case failed && failure.CredentialRefused():
			if shown == nil || shown.Status != metav1.ConditionFalse {
				s.setAuthenticated(ctx, grant, metav1.ConditionFalse, v1alpha1.ReasonUnauthorized,
					stable(failure.Detail)+": check spec.credential and the Secret that it names")
			}
		case err == nil && shown != nil && shown.Status != metav1.ConditionTrue:
			s.setAuthenticated(ctx, grant, metav1.ConditionTrue, v1alpha1.ReasonGranted, "the server took the credential")
		}
	}
}

// setAuthenticated writes the condition, unless the Grant is another one by now: then
// the next call does.
func (s *runScope) setAuthenticated(ctx context.Context, grant *v1alpha1.Grant, status metav1.ConditionStatus, reason, message string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), authenticatedTimeout)
	defer cancel()
	changed := grant.DeepCopy()
	conditionSet{conditions: &changed.Status.Conditions, generation: changed.Generation, now: s.Now().UTC()}.
		set(v1alpha1.ConditionAuthenticated, status, reason, message)
	if err := s.Status().Update(ctx, changed); err != nil {
		log.FromContext(ctx).V(1).Info("a Grant does not show whether its credential is taken", "grant", grant.Name, "error", err.Error())
	}
}

// forgetAuthenticated drops what was said of a credential that is no longer the Grant's.
func (s *grantScope) forgetAuthenticated() {
	shown := condition(s.grant.Status.Conditions, v1alpha1.ConditionAuthenticated)
	if shown != nil && shown.ObservedGeneration != s.grant.Generation {
		meta.RemoveStatusCondition(&s.grant.Status.Conditions, v1alpha1.ConditionAuthenticated)
	}
}
