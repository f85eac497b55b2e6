// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
)

const (
	// RunVersionField is the field index of Runs by the Version that they pin,
	// empty for those that have none yet. The API server selects by it too.
	RunVersionField = "status.version"
	// VersionOwnerField is the field index of Versions by the uid of each owner.
	VersionOwnerField = "metadata.ownerReferences.uid"
)

// IndexRunByVersion adds the index RunVersionField.
func IndexRunByVersion(ctx context.Context, indexer client.FieldIndexer) error {
	return indexer.IndexField(ctx, &v1alpha1.Run{}, RunVersionField, func(object client.Object) []string {
		return []string{object.(*v1alpha1.Run).Status.Version}
	})
}

// IndexVersionByOwner adds the index VersionOwnerField.
func IndexVersionByOwner(ctx context.Context, indexer client.FieldIndexer) error {
	return indexer.IndexField(ctx, &v1alpha1.Version{}, VersionOwnerField, func(object client.Object) []string {
		var uids []string
		for _, owner := range object.GetOwnerReferences() {
			uids = append(uids, string(owner.UID))
		}
		return uids
	})
}
