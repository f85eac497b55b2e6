// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"

	"remit.dev/remit/api/v1alpha1"
)

// OfferWebhooks is a step of a Run up to the moment before its status is written.
func OfferWebhooks(ctx context.Context, r *RunReconciler, run *v1alpha1.Run) error {
	return (&runScope{RunReconciler: r, run: run}).offerWebhooks(ctx)
}

// EndReason is the reason of an error that ends a Run.
func EndReason(err error) string {
	if ended, ok := errors.AsType[*endError](err); ok {
		return ended.reason
	}
	return ""
}
