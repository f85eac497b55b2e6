// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/controllers"
	"remit.dev/remit/internal/webhook"
)

const (
	hookBase = "https://hooks.example.com"
	hookCall = v1alpha1.CallID("call-0123456789abcdef")
	toolCall = v1alpha1.CallID("call-aaaaaaaaaaaaaaaa")
)

// hookExpiry is when the calls of these tests expire, and early a time before it.
var (
	hookExpiry = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	early      = hookExpiry.Add(-time.Hour)
)

// pendingCall waits as the engine shows it.
func pendingCall(kind v1alpha1.PendingKind, id v1alpha1.CallID) v1alpha1.PendingCall {
	digest := v1alpha1.Digest(fmt.Sprintf("sha256:%064x", 0))
	return v1alpha1.PendingCall{
		ID: id, Kind: kind, Tool: "wait_webhook", Class: v1alpha1.ClassReadOnly, Arguments: "{}", ArgumentsDigest: digest,
		DefinitionDigest: digest, Reason: "it waits", RequestedAt: metav1.NewTime(early), ExpiresAt: metav1.NewTime(hookExpiry),
	}
}

// waitingRun is a Run that waits for calls, none of which has a webhook yet.
func waitingRun(t *testing.T, namespace, name string, pending ...v1alpha1.PendingCall) *v1alpha1.Run {
	t.Helper()
	run := makeRun(namespace, name, ofSpec("agent"))
	create(t, run)
	run.Status.Phase = v1alpha1.RunSuspended
	run.Status.Pending = pending
	return run
}

func writeStatus(t *testing.T, run *v1alpha1.Run) {
	t.Helper()
	if err := admin.Status().Update(t.Context(), run); err != nil {
		t.Fatal(err)
	}
}

// secretBytes are the random bytes of a test.
func secretBytes(b byte) *bytes.Reader { return bytes.NewReader(bytes.Repeat([]byte{b}, 32)) }

// offering is a reconciler that offers webhooks, whose next token is made of a byte.
func offering(c client.Client, b byte) *controllers.RunReconciler {
	return &controllers.RunReconciler{Client: c, Reader: c, Options: controllers.RunOptions{WebhookURL: hookBase, Random: secretBytes(b)}}
}

func tokenOf(t *testing.T, b byte) string {
	t.Helper()
	token, err := webhook.NewToken(secretBytes(b))
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// hookSecretName is that of the Secret whose URL has the token made of a byte.
func hookSecretName(t *testing.T, run string, b byte) string {
	t.Helper()
	return run + "-webhook-" + strings.TrimPrefix(string(webhook.Digest(tokenOf(t, b))), "sha256:")[:16]
}

func hookSecret(t *testing.T, run *v1alpha1.Run) *corev1.Secret {
	t.Helper()
	secret := &corev1.Secret{}
	if err := admin.Get(t.Context(), client.ObjectKey{Namespace: run.Namespace, Name: hookSecretName(t, run.Name, 1)}, secret); err != nil {
		t.Fatal(err)
	}
	return secret
}

// H2: the URL of a webhook is in a Secret that goes with the Run, and its token nowhere else.
func TestWebhookIsOffered(t *testing.T) {
	run := waitingRun(t, env.Namespace(t), "run", pendingCall(v1alpha1.PendingTool, toolCall), pendingCall(v1alpha1.PendingWebhook, hookCall))
	if err := controllers.OfferWebhooks(t.Context(), offering(admin, 1), run); err != nil {
		t.Fatal(err)
	}
	token := tokenOf(t, 1)
	want := []*v1alpha1.PendingWebhookStatus{nil, {
		SecretRef: v1alpha1.NamedReference{Name: hookSecretName(t, "run", 1)}, TokenDigest: webhook.Digest(token)}}
	got := []*v1alpha1.PendingWebhookStatus{run.Status.Pending[0].Webhook, run.Status.Pending[1].Webhook}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("status.pending[*].webhook (-want +got):\n%s", diff)
	}

	yes, no := true, false
	wantSecret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: hookSecretName(t, "run", 1), Namespace: run.Namespace, OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "remit.dev/v1alpha1", Kind: "Run", Name: "run", UID: run.UID, BlockOwnerDeletion: &no}}},
		Immutable: &yes,
		Type:      "remit.dev/webhook",
		Data:      map[string][]byte{"url": []byte(hookBase + "/webhooks/" + run.Namespace + "/run/call-0123456789abcdef/" + token)},
	}
	ignore := cmpopts.IgnoreFields(metav1.ObjectMeta{}, "UID", "ResourceVersion", "CreationTimestamp", "ManagedFields")
	if diff := cmp.Diff(wantSecret, hookSecret(t, run), ignore); diff != "" {
		t.Errorf("the Secret (-want +got):\n%s", diff)
	}

	writeStatus(t, run)
	text, err := json.Marshal(run)
	if err != nil || strings.Contains(string(text), token) {
		t.Errorf("the Run shows the token: %s, %v", text, err)
	}

	// What is offered stays as it is: no more randomness is drawn.
	if err := controllers.OfferWebhooks(t.Context(), &controllers.RunReconciler{}, run); err != nil {
		t.Errorf("a second time: %v", err)
	}
}

// A step that broke off before its status was written is taken again, and makes another URL: nobody knows
// the first one yet.
func TestWebhookIsOfferedAgain(t *testing.T) {
	run := waitingRun(t, env.Namespace(t), "run", pendingCall(v1alpha1.PendingWebhook, hookCall))
	if err := controllers.OfferWebhooks(t.Context(), offering(admin, 1), run.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	if err := controllers.OfferWebhooks(t.Context(), offering(admin, 2), run); err != nil {
		t.Fatal(err)
	}
	want := &v1alpha1.PendingWebhookStatus{SecretRef: v1alpha1.NamedReference{Name: hookSecretName(t, "run", 2)}, TokenDigest: webhook.Digest(tokenOf(t, 2))}
	if diff := cmp.Diff(want, run.Status.Pending[0].Webhook); diff != "" {
		t.Errorf("the webhook (-want +got):\n%s", diff)
	}
}

// A Secret that is there already is never used, whatever is in it: whoever made it would have chosen the URL.
func TestWebhookSecretIsNotAdopted(t *testing.T) {
	run := waitingRun(t, env.Namespace(t), "run", pendingCall(v1alpha1.PendingWebhook, hookCall))
	if err := controllers.OfferWebhooks(t.Context(), offering(admin, 1), run.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	err := controllers.OfferWebhooks(t.Context(), offering(admin, 1), run)
	if !apierrors.IsAlreadyExists(err) || controllers.EndReason(err) != "" || run.Status.Pending[0].Webhook != nil {
		t.Errorf("got %v and %+v, want an error that is tried again", err, run.Status.Pending[0].Webhook)
	}
}

// What keeps a webhook from being offered ends the Run if it will not pass by itself, and tells
// nobody the URL.
func TestWebhookIsNotOffered(t *testing.T) {
	token := tokenOf(t, 1)
	failing := func(err error) client.Client {
		return intercepted(t, interceptor.Funcs{Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return err
		}})
	}
	secrets := schema.GroupResource{Resource: "secrets"}
	quotes := errors.New("the URL is " + token)
	for name, test := range map[string]struct {
		reconciler *controllers.RunReconciler
		reason     string
	}{
		"no webhooks are served": {&controllers.RunReconciler{Client: admin, Reader: admin}, v1alpha1.ReasonUnsupported},
		"a quota":                {offering(failing(apierrors.NewForbidden(secrets, "run", quotes)), 1), v1alpha1.ReasonUnsupported},
		"a policy": {offering(failing(&apierrors.StatusError{ErrStatus: metav1.Status{
			Reason: metav1.StatusReasonInvalid, Message: quotes.Error()}}), 1), v1alpha1.ReasonUnsupported},
		"the API server is away": {offering(failing(apierrors.NewServiceUnavailable("away")), 1), ""},
		"no randomness": {&controllers.RunReconciler{Client: admin, Reader: admin, Options: controllers.RunOptions{
			WebhookURL: hookBase, Random: bytes.NewReader(nil)}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			run := makeRun("team-a", "run", ofSpec("agent"))
			run.Status.Pending = []v1alpha1.PendingCall{pendingCall(v1alpha1.PendingWebhook, hookCall)}
			err := controllers.OfferWebhooks(t.Context(), test.reconciler, run)
			if err == nil || controllers.EndReason(err) != test.reason || strings.Contains(err.Error(), token) {
				t.Errorf("%q: %v", controllers.EndReason(err), err)
			}
			if run.Status.Pending[0].Webhook != nil {
				t.Errorf("it is offered: %v", run.Status.Pending[0].Webhook)
			}
		})
	}
}

// intercepted is an administrator some of whose calls are changed.
func intercepted(t *testing.T, funcs interceptor.Funcs) client.Client {
	t.Helper()
	c, err := client.NewWithWatch(env.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return interceptor.NewClient(c, funcs)
}
