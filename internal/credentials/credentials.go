// SPDX-License-Identifier: Apache-2.0

// Package credentials turns references to Secrets into what authenticates a request.
//
// A Secret is read afresh for every use (requirement E4) and none is kept. What is kept,
// in memory and bounded, are access tokens that a token endpoint gave for a Secret, under
// a key that the Secret's content is part of: a rotated Secret never meets the token of
// the old one.
package credentials

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/egress"
)

// Error says why a credential cannot be used, as a reason of a condition. Its text holds
// no secret.
type Error struct {
	// Reason is CredentialMissing, CredentialRefused, TokenRefused, TokenUnavailable or
	// EgressDenied.
	Reason string
	// Detail names the object, what is wrong with it, and what to do.
	Detail string
	// Temporary says that time may help; else somebody has to change something.
	Temporary bool

	cause error
}

func (e *Error) Error() string { return e.Detail }

// Unwrap gives the error of the network, where there was one.
func (e *Error) Unwrap() error { return e.cause }

// Use is a credential and what it is for.
type Use struct {
	// Namespace is the tenant, and the namespace of the Secret.
	Namespace string
	// Credential may be nil: then nothing authenticates the request.
	Credential *v1alpha1.Credential
	// URL is where the credential will be sent.
	URL string
}

// Options configure a Resolver.
type Options struct {
	// Reader reads Secrets. It must not cache: a rotated Secret counts from the next call
	// on, and the operator never holds all Secrets of a cluster.
	Reader client.Reader
	// Guard is the way to token endpoints.
	Guard *egress.Guard
	// Now is the clock by which access tokens expire; nil means time.Now.
	Now func() time.Time
}

// Resolver resolves credentials. It is safe for concurrent use.
type Resolver struct {
	secrets *secrets
	tokens  *tokens
	guard   *egress.Guard
}

// New makes a Resolver.
func New(options Options) *Resolver {
	if options.Now == nil {
		options.Now = time.Now
	}
	return &Resolver{
		secrets: &secrets{reader: options.Reader}, tokens: newTokens(options.Now), guard: options.Guard,
	}
}

// Resolve gives the credential as it is now. Without one it gives the zero Value. The
// error is an *Error, or that of the API server.
func (r *Resolver) Resolve(ctx context.Context, use Use) (Value, error) {
	return r.resolve(ctx, use, Value{})
}

// Renew resolves once more after a server refused a value: the Secret is read again, and
// an access token that was refused is replaced by a new one. A result that equals refused
// says that nothing better is to be had.
func (r *Resolver) Renew(ctx context.Context, use Use, refused Value) (Value, error) {
	return r.resolve(ctx, use, refused)
}

func (r *Resolver) resolve(ctx context.Context, use Use, refused Value) (Value, error) {
	if use.Credential == nil {
		return Value{}, nil
	}
	held, err := r.secrets.read(ctx, use.Namespace, secretName(use.Credential))
	if err != nil {
		return Value{}, err
	}
	if err := held.mayGoTo(use.URL); err != nil {
		return Value{}, err
	}
	switch use.Credential.Type {
	case v1alpha1.CredentialBasic:
		return held.basic(use.Credential.Basic)
	case v1alpha1.CredentialOAuth2:
		return r.accessToken(ctx, use, held, refused)
	case v1alpha1.CredentialHeader:
		return held.header(use.Credential.Header, use.Credential.SecretRef.Key)
	default:
		return held.bearer(use.Credential.SecretRef.Key)
	}
}

func secretName(credential *v1alpha1.Credential) string {
	switch {
	case credential.Type == v1alpha1.CredentialBasic && credential.Basic != nil:
		return credential.Basic.SecretRef.Name
	case credential.Type == v1alpha1.CredentialOAuth2 && credential.OAuth2 != nil:
		return credential.OAuth2.SecretRef.Name
	default:
		return credential.SecretRef.Name
	}
}

// Stats are totals since the start, and the access tokens held now.
type Stats struct {
	Tokens                       int
	TokenRequests, TokenFailures int64
}

// Stats returns them.
func (r *Resolver) Stats() Stats { return r.tokens.stats() }
