// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
)

// RunHeldField is the field index of Runs that wait for something else to change.
const RunHeldField = "held"

// IndexHeldRuns adds the index RunHeldField.
func IndexHeldRuns(ctx context.Context, indexer client.FieldIndexer) error {
	return indexer.IndexField(ctx, &v1alpha1.Run{}, RunHeldField, func(object client.Object) []string {
		condition := meta.FindStatusCondition(object.(*v1alpha1.Run).Status.Conditions, v1alpha1.ConditionReconciling)
		if condition == nil {
			return nil
		}
		switch condition.Reason {
		case v1alpha1.ReasonWaitingForVersion, v1alpha1.ReasonWaitingForGrant, v1alpha1.ReasonWaitingForServer:
			return []string{"true"}
		default:
			return nil
		}
	})
}
