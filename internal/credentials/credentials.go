// SPDX-License-Identifier: Apache-2.0

// Package credentials reads secrets by reference, afresh for every use, and keeps
// none of them.
package credentials

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
)

// MaxValue bounds a secret, in bytes.
const MaxValue = 16 << 10

// Value is a resolved credential: one header of a request. It prints as redacted.
type Value struct {
	header string
	value  string
}

// Header is the name of the header, empty when there is no credential.
func (v Value) Header() string { return v.header }

// Reveal is the content of the header. It goes into a request and nowhere else.
func (v Value) Reveal() string { return v.value }

// String hides the secret from every format verb that asks for a string.
func (v Value) String() string { return "[redacted]" }

// GoString hides the secret from %#v.
func (v Value) GoString() string { return v.String() }

// MarshalText hides the secret from encoders and loggers.
func (v Value) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// Error says why a credential cannot be used, as a reason of a condition.
type Error struct {
	// Reason is CredentialMissing or CredentialRefused.
	Reason string
	Detail string
}

func (e *Error) Error() string { return e.Detail }

// Resolver reads Secrets. Its reader must not cache: a rotated secret counts from
// the next call on, and the operator never holds all Secrets of a cluster.
type Resolver struct{ Reader client.Reader }

// Resolve reads the Secret of a credential in the given namespace. A nil credential
// gives the zero Value.
func (r Resolver) Resolve(ctx context.Context, namespace string, credential *v1alpha1.Credential) (Value, error) {
	if credential == nil {
		return Value{}, nil
	}
	reference := credential.SecretRef
	var secret corev1.Secret
	err := r.Reader.Get(ctx, types.NamespacedName{Namespace: namespace, Name: reference.Name}, &secret)
	if apierrors.IsNotFound(err) {
		return Value{}, missing("Secret %q does not exist in namespace %q: create it with the key %q and the label %s=true",
			reference.Name, namespace, reference.Key, v1alpha1.CredentialLabel)
	}
	if err != nil {
		return Value{}, fmt.Errorf("read Secret %q in namespace %q: %w", reference.Name, namespace, err)
	}
	if secret.Labels[v1alpha1.CredentialLabel] != "true" {
		return Value{}, refused("Secret %q in namespace %q is not labelled %s=true: label it if it may be sent to servers",
			reference.Name, namespace, v1alpha1.CredentialLabel)
	}
	content, ok := secret.Data[reference.Key]
	if !ok {
		return Value{}, missing("Secret %q in namespace %q has no key %q", reference.Name, namespace, reference.Key)
	}
	return value(credential, reference.Name, string(content))
}

func value(credential *v1alpha1.Credential, name, content string) (Value, error) {
	text := strings.TrimSpace(content)
	switch {
	case text == "":
		return Value{}, missing("key %q of Secret %q is empty", credential.SecretRef.Key, name)
	case len(text) > MaxValue:
		return Value{}, refused("key %q of Secret %q has more than %d bytes", credential.SecretRef.Key, name, MaxValue)
	case strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }):
		return Value{}, refused("key %q of Secret %q holds characters that no HTTP header can carry", credential.SecretRef.Key, name)
	}
	if credential.Type == v1alpha1.CredentialHeader {
		return Value{header: http.CanonicalHeaderKey(credential.Header), value: text}, nil
	}
	return Value{header: "Authorization", value: "Bearer " + text}, nil
}

func missing(format string, args ...any) error {
	return &Error{Reason: v1alpha1.ReasonCredentialMissing, Detail: fmt.Sprintf(format, args...)}
}

func refused(format string, args ...any) error {
	return &Error{Reason: v1alpha1.ReasonCredentialRefused, Detail: fmt.Sprintf(format, args...)}
}
