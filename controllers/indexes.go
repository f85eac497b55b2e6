// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Indexes are the field indexes that the controllers need.
var Indexes = []func(context.Context, client.FieldIndexer) error{
	IndexHeldRuns,
	IndexGrantByServer,
	IndexRunByVersion,
	IndexRunByParent,
	IndexVersionByOwner,
}
