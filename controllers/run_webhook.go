// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/webhook"
)

// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;create

// offerWebhooks gives each pending webhook its URL, before the status that shows it. The
// URL stands in a Secret of the Run and nowhere else.
func (s *runScope) offerWebhooks(ctx context.Context) error {
	pending := s.run.Status.Pending
	for i := range pending {
		if pending[i].Kind != v1alpha1.PendingWebhook || pending[i].Webhook != nil {
			continue
		}
		token, err := s.offerWebhook(ctx, pending[i].ID)
		if err != nil {
			return err
		}
		pending[i].Webhook = &v1alpha1.PendingWebhookStatus{
			SecretRef:   v1alpha1.NamedReference{Name: webhookSecretName(s.run.Name, token)},
			TokenDigest: webhook.Digest(token),
		}
	}
	return nil
}

// offerWebhook creates the Secret of a call and gives its token. Its name is as random as
// the token, so that nobody can put another one in its place beforehand. One of a step that
// broke off before its status was written goes with the Run.
func (s *runScope) offerWebhook(ctx context.Context, call v1alpha1.CallID) (string, error) {
	if s.Options.WebhookURL == "" {
		return "", end(v1alpha1.ReasonUnsupported,
			"call %s waits for a webhook, and this operator serves none: set --webhook-bind-address and --webhook-url", call)
	}
	token, err := webhook.NewToken(s.Options.Random)
	if err != nil {
		return "", err
	}
	secret := s.webhookSecret(call, token)
	err = s.Create(ctx, secret)
	switch {
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
		// To try again would be to pay again for the model call that led here. What else the
		// API server says may quote the Secret.
		return "", end(v1alpha1.ReasonUnsupported,
			"call %s waits for a webhook, and the API server refuses Secret %q, which is to hold its URL (%s): look for a quota on Secrets, or for a policy of the namespace",
			call, secret.Name, apierrors.ReasonForError(err))
	default:
		return token, err
	}
}

// webhookSecret goes with its Run, and holds nobody up who deletes that.
func (s *runScope) webhookSecret(call v1alpha1.CallID, token string) *corev1.Secret {
	yes, no := true, false
	url := webhook.URL(s.Options.WebhookURL, s.run.Namespace, s.run.Name, call, token)
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: webhookSecretName(s.run.Name, token), Namespace: s.run.Namespace,
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: v1alpha1.GroupVersion.String(), Kind: "Run", Name: s.run.Name, UID: s.run.UID,
				BlockOwnerDeletion: &no,
			}},
		},
		Immutable: &yes,
		Type:      v1alpha1.WebhookSecretType,
		Data:      map[string][]byte{v1alpha1.WebhookURLKey: []byte(url)},
	}
}

// webhookSecretName follows from the token, and fits: the names of Runs are bounded by
// their schema, and have no more than 63 characters.
func webhookSecretName(run, token string) string {
	digest := strings.TrimPrefix(string(webhook.Digest(token)), "sha256:")
	return run + "-webhook-" + digest[:16]
}

// webhookToken gives the token in a Secret if it was made for a call of this very Run.
func webhookToken(secret *corev1.Secret, run *v1alpha1.Run, call v1alpha1.CallID) (string, bool) {
	owned := slices.ContainsFunc(secret.OwnerReferences, func(owner metav1.OwnerReference) bool { return owner.UID == run.UID })
	if !owned || secret.Type != v1alpha1.WebhookSecretType {
		return "", false
	}
	return webhook.TokenIn(string(secret.Data[v1alpha1.WebhookURLKey]), run.Namespace, run.Name, call)
}
