// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"

	lru "github.com/hashicorp/golang-lru/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/engine"
)

const (
	// segmentCacheSize bounds the segments that are kept in memory, each of at
	// most one MiB.
	segmentCacheSize = 32
)

// segmentCache keeps sealed segments by their digest: they never change.
type segmentCache struct {
	*lru.Cache[v1alpha1.Digest, []v1alpha1.Record]
}

func newSegmentCache() *segmentCache {
	cache, err := lru.New[v1alpha1.Digest, []v1alpha1.Record](segmentCacheSize)
	if err != nil {
		panic(err) // the size is a positive constant
	}
	return &segmentCache{cache}
}

// loadLog reads the sealed segments and folds the whole log.
func loadLog(ctx context.Context, s *runScope) (bool, error) {
	var sealed []v1alpha1.Record
	for _, segment := range s.run.Status.Log.Sealed {
		records, err := s.openSegment(ctx, segment)
		if err != nil {
			return false, err
		}
		sealed = append(sealed, records...)
	}
	state, err := engine.Fold(string(s.run.UID), sealed, s.run.Status.Log.Records)
	if err != nil {
		return false, err
	}
	s.state = state
	return false, state.CheckDecisions(s.run.Spec.Decisions)
}

func (s *runScope) openSegment(ctx context.Context, segment v1alpha1.SealedSegment) ([]v1alpha1.Record, error) {
	if records, ok := s.segments.Get(segment.Digest); ok {
		return records, nil
	}
	stored := &corev1.ConfigMap{}
	err := s.Reader.Get(ctx, types.NamespacedName{Namespace: s.run.Namespace, Name: segment.ConfigMap}, stored)
	if apierrors.IsNotFound(err) {
		return nil, end(v1alpha1.ReasonLogCorrupt, "ConfigMap %q, which holds a part of the log, is gone", segment.ConfigMap)
	}
	if err != nil {
		return nil, err
	}
	records, err := engine.Open([]byte(stored.Data[engine.SegmentKey]), segment)
	if err != nil {
		return nil, end(v1alpha1.ReasonLogCorrupt, "%v", err)
	}
	s.segments.Add(segment.Digest, records)
	return records, nil
}

// seal moves the older part of a large log into immutable ConfigMaps, each created
// before the status that refers to it. A log that has ended does not grow any more
// and is left as it is, so a Run can always be ended.
func (s *runScope) seal(ctx context.Context) error {
	for !s.state.Ended() {
		segment, err := s.state.Seal(engine.SealAbove)
		if segment == nil || err != nil {
			return err
		}
		if len(s.run.Status.Log.Sealed) == engine.MaxSegments {
			return end(v1alpha1.ReasonLogTooLarge, "the log has %d sealed segments, which is the limit", engine.MaxSegments)
		}
		name, err := s.storeSegment(ctx, segment)
		if err != nil {
			return err
		}
		s.run.Status.Log.Sealed = append(s.run.Status.Log.Sealed, v1alpha1.SealedSegment{
			ConfigMap: name, Digest: segment.Digest, Records: segment.Records})
		s.state.Sealed(segment)
	}
	return nil
}

// storeSegment creates the ConfigMap. One that is there already must be left over
// from a step that broke off, and hold the same.
func (s *runScope) storeSegment(ctx context.Context, segment *engine.Segment) (string, error) {
	immutable := true
	stored := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: segmentName(s.run.Name, segment.Digest), Namespace: s.run.Namespace,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(s.run, v1alpha1.GroupVersion.WithKind("Run"))},
		},
		Immutable: &immutable,
		Data:      map[string]string{engine.SegmentKey: string(segment.Content)},
	}
	there, err := s.createOnce(ctx, stored)
	if err != nil {
		return "", err
	}
	if there != nil && there.Data[engine.SegmentKey] != string(segment.Content) {
		return "", end(v1alpha1.ReasonLogCorrupt, "ConfigMap %q is in the way of a part of the log, and holds something else", stored.Name)
	}
	return stored.Name, nil
}

// createOnce creates a ConfigMap, or gives the one that is there already.
func (s *runScope) createOnce(ctx context.Context, stored *corev1.ConfigMap) (there *corev1.ConfigMap, err error) {
	if err := s.Create(ctx, stored); !apierrors.IsAlreadyExists(err) {
		return nil, err
	}
	there = &corev1.ConfigMap{}
	return there, s.Reader.Get(ctx, client.ObjectKeyFromObject(stored), there)
}

// segmentName ends in the digest, so writing a segment twice gives one ConfigMap.
func segmentName(run string, digest v1alpha1.Digest) string {
	return fmt.Sprintf("%s-log-%s", run, digest[len("sha256:"):][:20])
}
