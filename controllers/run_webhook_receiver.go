// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"crypto/subtle"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/engine"
	"remit.dev/remit/internal/webhook"
)

// WebhookReceiver writes the request to a pending webhook into the status of its Run, from
// where the Run goes on. It touches nothing else of the status.
type WebhookReceiver struct {
	Client client.Client
	// Reader reads past the cache.
	Reader client.Reader
	Now    func() time.Time
}

// receiveBackoff is for writes that others come before: each of them ends the wait of this
// call, or changes something else of the Run.
var receiveBackoff = wait.Backoff{Duration: 10 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 8}

// Receive implements [webhook.Receiver]. The resourceVersion of the write is the fence: of
// two requests, and of a request and a decision, the second finds what the first has done.
func (r *WebhookReceiver) Receive(ctx context.Context, delivery webhook.Delivery) error {
	return retry.OnError(receiveBackoff, apierrors.IsConflict, func() error { return r.receive(ctx, delivery) })
}

func (r *WebhookReceiver) receive(ctx context.Context, delivery webhook.Delivery) error {
	run := &v1alpha1.Run{}
	err := r.Reader.Get(ctx, types.NamespacedName{Namespace: delivery.Namespace, Name: delivery.Run}, run)
	if apierrors.IsNotFound(err) {
		return webhook.ErrUnknown
	}
	if err != nil {
		return fmt.Errorf("read the Run: %w", err)
	}
	at := slices.IndexFunc(run.Status.Pending, func(p v1alpha1.PendingCall) bool { return p.ID == delivery.Call })
	if at < 0 {
		return r.settled(ctx, run, delivery)
	}
	pending := &run.Status.Pending[at]
	if pending.Kind != v1alpha1.PendingWebhook || pending.Webhook == nil ||
		!equal(string(pending.Webhook.TokenDigest), string(webhook.Digest(delivery.Token))) {
		return webhook.ErrUnknown
	}
	if r.closed(run, pending) {
		return webhook.ErrGone
	}
	if err := r.offered(ctx, run, delivery); err != nil {
		return err
	}
	if !engine.AnswerFits(delivery.Body, run.Status.Pending) {
		return webhook.ErrTooLarge
	}
	now := metav1.NewTime(r.Now().UTC().Truncate(time.Second))
	pending.Webhook.ReceivedAt, pending.Webhook.Body = &now, delivery.Body
	return writeBody(r.Client.Status().Update(ctx, run))
}

// writeBody is the error of a write. What an API server refuses it may quote, and the body
// is nobody else's business.
func writeBody(err error) error {
	switch reason := apierrors.ReasonForError(err); {
	case err == nil, apierrors.IsConflict(err):
		return err
	case apierrors.IsNotFound(err):
		return webhook.ErrUnknown
	case reason != metav1.StatusReasonUnknown:
		return fmt.Errorf("write the status of the Run: %s", reason)
	default:
		return fmt.Errorf("write the status of the Run: %w", err)
	}
}

// closed says that a pending webhook takes no request any more: it has had one, it has
// expired, a person decided, or the Run is about to end.
func (r *WebhookReceiver) closed(run *v1alpha1.Run, pending *v1alpha1.PendingCall) bool {
	_, decided := run.Spec.Decisions[string(pending.ID)]
	return decided || pending.Webhook.ReceivedAt != nil || !r.Now().Before(pending.ExpiresAt.Time) ||
		run.Spec.Cancel || !run.DeletionTimestamp.IsZero()
}

// settled answers for a call that is not pending any more, or never was. The status does not
// show its token any more, so what that was is read from the Secret, where it still is.
func (r *WebhookReceiver) settled(ctx context.Context, run *v1alpha1.Run, delivery webhook.Delivery) error {
	if err := r.offered(ctx, run, delivery); err != nil {
		return err
	}
	return webhook.ErrGone
}

// offered looks for the Secret that holds the URL: whoever deletes it takes the URL back.
func (r *WebhookReceiver) offered(ctx context.Context, run *v1alpha1.Run, delivery webhook.Delivery) error {
	secret := &corev1.Secret{}
	err := r.Reader.Get(ctx, types.NamespacedName{Namespace: run.Namespace, Name: webhookSecretName(run.Name, delivery.Token)}, secret)
	if apierrors.IsNotFound(err) {
		return webhook.ErrUnknown
	}
	if err != nil {
		return fmt.Errorf("read the Secret of the webhook: %w", err)
	}
	if token, ok := webhookToken(secret, run, delivery.Call); !ok || !equal(token, delivery.Token) {
		return webhook.ErrUnknown
	}
	return nil
}

// equal compares in a time that tells nothing of where two texts differ.
func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
