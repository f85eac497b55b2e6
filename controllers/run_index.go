// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
)

const (
	// RunHeldField is the field index of Runs that wait for something else to change.
	RunHeldField = "held"
	// RunParentField is the field index of Runs by the uid of their parent.
	RunParentField = "spec.parentRef.uid"
)

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

// IndexRunByParent adds the index RunParentField.
func IndexRunByParent(ctx context.Context, indexer client.FieldIndexer) error {
	return indexer.IndexField(ctx, &v1alpha1.Run{}, RunParentField, parentUID)
}

func parentUID(object client.Object) []string {
	if parent := object.(*v1alpha1.Run).Spec.ParentRef; parent != nil {
		return []string{parent.UID}
	}
	return nil
}
