// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
)

// secrets reads Secrets past every cache.
type secrets struct {
	reader  client.Reader
	lookups lookups[types.NamespacedName, *corev1.Secret]
}

// read gives a Secret that opted in to being a credential, as it was at some moment after
// the call began.
func (s *secrets) read(ctx context.Context, namespace, name string) (*secret, error) {
	key := types.NamespacedName{Namespace: namespace, Name: name}
	stored, err := s.lookups.do(ctx, key, func(ctx context.Context) (*corev1.Secret, error) {
		stored := &corev1.Secret{}
		return stored, s.reader.Get(ctx, key, stored)
	})
	held := &secret{namespace: namespace, name: name, stored: stored}
	switch {
	case apierrors.IsNotFound(err):
		return nil, held.missing("%s does not exist: create it with the label %s=true", held, v1alpha1.CredentialLabel)
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", held, err)
	case stored.Labels[v1alpha1.CredentialLabel] != "true":
		return nil, held.refused("%s is not labelled %s=true: label it if it may be sent to servers", held, v1alpha1.CredentialLabel)
	}
	return held, nil
}

// secret is one Secret of one lookup, which callers share and do not change.
type secret struct {
	namespace, name string
	stored          *corev1.Secret
}

// String names the Secret.
func (s *secret) String() string {
	return fmt.Sprintf("Secret %q in namespace %q", s.name, s.namespace)
}

func (s *secret) key(key string) (string, error) {
	content, ok := s.stored.Data[key]
	if !ok {
		return "", s.missing("%s has no key %q", s, key)
	}
	if len(content) > MaxValue {
		return "", s.refused("key %q of %s has more than %d bytes", key, s, MaxValue)
	}
	return string(content), nil
}

func (s *secret) missing(format string, args ...any) error {
	return &Error{Reason: v1alpha1.ReasonCredentialMissing, Detail: fmt.Sprintf(format, args...)}
}

func (s *secret) refused(format string, args ...any) error {
	return &Error{Reason: v1alpha1.ReasonCredentialRefused, Detail: fmt.Sprintf(format, args...)}
}
