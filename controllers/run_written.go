// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	lru "github.com/hashicorp/golang-lru/v2"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"remit.dev/remit/api/v1alpha1"
)

const writtenCacheSize = 4096

// writtenVersions remembers the resourceVersion that this replica wrote last for a
// Run. Forgetting one costs a wasted step at worst; the fence is the API server's.
type writtenVersions struct {
	cache *lru.Cache[types.UID, string]
}

func newWrittenVersions() *writtenVersions {
	cache, err := lru.New[types.UID, string](writtenCacheSize)
	if err != nil {
		panic(err) // the size is a positive constant
	}
	return &writtenVersions{cache: cache}
}

func (w *writtenVersions) note(run *v1alpha1.Run) {
	w.cache.Add(run.UID, run.ResourceVersion)
}

// newer says whether this replica has written a newer Run than the given one.
func (w *writtenVersions) newer(run *v1alpha1.Run) bool {
	written, ok := w.cache.Get(run.UID)
	if !ok {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(run.ResourceVersion, written)
	return err == nil && order < 0
}
