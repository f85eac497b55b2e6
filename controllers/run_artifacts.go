// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"bytes"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/canonical"
	"remit.dev/remit/internal/pipeline"
)

const artifactDomain canonical.Domain = "remit.dev/artifact/v1"

// keepArtifact stores content of a result in an immutable ConfigMap that goes with
// the Run. Its name is a digest, so keeping the same twice gives one ConfigMap, and
// it tells nothing of where or whose it is.
func (s *runScope) keepArtifact(ctx context.Context, blob pipeline.Blob) (string, error) {
	whole := canonical.Hash(artifactDomain, fmt.Appendf(nil, "%s\n%s\n%s", s.run.UID, blob.MediaType, blob.Data)).String()
	immutable := true
	stored := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: "artifact-" + whole[len("sha256:"):][:20], Namespace: s.run.Namespace,
			Labels:          map[string]string{v1alpha1.ArtifactLabel: "true"},
			Annotations:     map[string]string{v1alpha1.MediaTypeAnnotation: blob.MediaType},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(s.run, v1alpha1.GroupVersion.WithKind("Run"))},
		},
		Immutable:  &immutable,
		BinaryData: map[string][]byte{v1alpha1.ArtifactKey: blob.Data},
	}
	there, err := s.createOnce(ctx, stored)
	if err != nil {
		return "", fmt.Errorf("it could not be kept: %w", err)
	}
	if there != nil && (!metav1.IsControlledBy(there, s.run) || !bytes.Equal(there.BinaryData[v1alpha1.ArtifactKey], blob.Data)) {
		return "", fmt.Errorf("ConfigMap %q is in its way", stored.Name)
	}
	return stored.Name, nil
}
