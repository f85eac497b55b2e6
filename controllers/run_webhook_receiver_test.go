// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/controllers"
	"remit.dev/remit/internal/webhook"
)

// hook is a Run with one call that waits for a webhook, beside one that waits for a person.
type hook struct {
	*testing.T
	run   *v1alpha1.Run
	token string
}

func newHook(t *testing.T, pending ...v1alpha1.PendingCall) *hook {
	t.Helper()
	if pending == nil {
		pending = []v1alpha1.PendingCall{pendingCall(v1alpha1.PendingTool, toolCall), pendingCall(v1alpha1.PendingWebhook, hookCall)}
	}
	h := &hook{T: t, token: tokenOf(t, 1), run: waitingRun(t, env.Namespace(t), "run", pending...)}
	for i := range h.run.Status.Pending {
		one := &v1alpha1.Run{ObjectMeta: h.run.ObjectMeta}
		one.Status.Pending = h.run.Status.Pending[i : i+1]
		random := byte(1)
		if one.Status.Pending[0].ID != hookCall {
			random += byte(i + 1)
		}
		if err := controllers.OfferWebhooks(t.Context(), offering(admin, random), one); err != nil {
			t.Fatal(err)
		}
	}
	writeStatus(t, h.run)
	return h
}

func (h *hook) delivery(body string) webhook.Delivery {
	return webhook.Delivery{Namespace: h.run.Namespace, Run: h.run.Name, Call: hookCall, Token: h.token, Body: body}
}

// receive delivers at a time.
func (h *hook) receive(now time.Time, delivery webhook.Delivery) error {
	return receiverAt(admin, now).Receive(h.Context(), delivery)
}

func receiverAt(c client.Client, now time.Time) *controllers.WebhookReceiver {
	return &controllers.WebhookReceiver{Client: c, Reader: c, Now: func() time.Time { return now }}
}

func (h *hook) live() *v1alpha1.Run {
	h.Helper()
	run := &v1alpha1.Run{}
	if err := admin.Get(h.Context(), client.ObjectKeyFromObject(h.run), run); err != nil {
		h.Fatal(err)
	}
	return run
}

// checkBody compares what the status shows of the body.
func (h *hook) checkBody(want string) {
	h.Helper()
	pending := h.live().Status.Pending
	if got := pending[len(pending)-1].Webhook; got.Body != want || (got.ReceivedAt != nil) != (want != "") {
		h.Errorf("the status shows %v, want the body %q", got, want)
	}
}

// H2: a request is written beside the call that waits for it, and nothing else is changed.
func TestWebhookIsReceived(t *testing.T) {
	h := newHook(t)
	want := h.live()
	if err := h.receive(early, h.delivery("{\n\t\"paid\": true\n}")); err != nil {
		t.Fatal(err)
	}
	received := metav1.NewTime(early)
	want.Status.Pending[1].Webhook.ReceivedAt = &received
	want.Status.Pending[1].Webhook.Body = "{\n\t\"paid\": true\n}"
	got := h.live()
	got.ResourceVersion, got.ManagedFields = want.ResourceVersion, want.ManagedFields
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the Run (-want +got):\n%s", diff)
	}
	if err := h.receive(early, h.delivery("again")); !errors.Is(err, webhook.ErrGone) {
		t.Errorf("a second time: %v", err)
	}
	h.checkBody("{\n\t\"paid\": true\n}")
}

// That a request without a body came is to be seen, too.
func TestEmptyWebhookIsReceived(t *testing.T) {
	h := newHook(t)
	if err := h.receive(early, h.delivery("")); err != nil {
		t.Fatal(err)
	}
	if got := h.live().Status.Pending[1].Webhook.ReceivedAt; got == nil || !got.Time.Equal(early) {
		t.Errorf("receivedAt is %v", got)
	}
	if err := h.receive(early, h.delivery("")); !errors.Is(err, webhook.ErrGone) {
		t.Errorf("a second time: %v", err)
	}
}

// Whatever of the URL is wrong, the answer is one and the same, and nothing is written.
func TestUnknownWebhook(t *testing.T) {
	h := newHook(t)
	for name, change := range map[string]func(*webhook.Delivery){
		"another namespace":           func(d *webhook.Delivery) { d.Namespace = "kube-system" },
		"another Run":                 func(d *webhook.Delivery) { d.Run = "walk" },
		"a call that there never was": func(d *webhook.Delivery) { d.Call = "call-bbbbbbbbbbbbbbbb" },
		"a call of a tool":            func(d *webhook.Delivery) { d.Call = toolCall },
		"another token":               func(d *webhook.Delivery) { d.Token = tokenOf(t, 2) },
		"no token":                    func(d *webhook.Delivery) { d.Token = "" },
		"the digest of the token":     func(d *webhook.Delivery) { d.Token = string(webhook.Digest(h.token)) },
	} {
		delivery := h.delivery("body")
		change(&delivery)
		if err := h.receive(early, delivery); !errors.Is(err, webhook.ErrUnknown) {
			t.Errorf("%s: %v", name, err)
		}
		// When it expires, too: who does not know the token is not told of the call.
		if err := h.receive(hookExpiry, delivery); !errors.Is(err, webhook.ErrUnknown) {
			t.Errorf("%s, expired: %v", name, err)
		}
	}
	h.checkBody("")
}

// P23, P41: at the very instant of expiry it has expired.
func TestWebhookExpires(t *testing.T) {
	h := newHook(t)
	for _, now := range []time.Time{hookExpiry, hookExpiry.Add(time.Hour)} {
		if err := h.receive(now, h.delivery("late")); !errors.Is(err, webhook.ErrGone) {
			t.Errorf("at %s: %v", now, err)
		}
	}
	h.checkBody("")
	if err := h.receive(hookExpiry.Add(-time.Nanosecond), h.delivery("in time")); err != nil {
		t.Error(err)
	}
	h.checkBody("in time")
}

// A webhook is closed when the Run has ended, or is about to, or somebody has decided.
func TestWebhookIsClosed(t *testing.T) {
	approved := true
	for name, change := range map[string]func(*hook){
		"the Run has ended": func(h *hook) {
			h.run.Status.Phase, h.run.Status.Pending = v1alpha1.RunAbandoned, nil
			writeStatus(h.T, h.run)
		},
		"the call was answered, and the Run goes on": func(h *hook) {
			h.run.Status.Phase, h.run.Status.Pending = v1alpha1.RunRunning, nil
			writeStatus(h.T, h.run)
		},
		"the Run is cancelled": func(h *hook) {
			update(h.T, h.run, func(r *v1alpha1.Run) { r.Spec.Cancel = true })
		},
		"the Run is being deleted": func(h *hook) {
			update(h.T, h.run, func(r *v1alpha1.Run) { controllerutil.AddFinalizer(r, "remit.dev/test") })
			if err := admin.Delete(h.Context(), h.run); err != nil {
				h.Fatal(err)
			}
		},
		"a person answered": func(h *hook) {
			update(h.T, h.run, func(r *v1alpha1.Run) {
				r.Spec.Decisions = map[string]v1alpha1.Decision{
					string(hookCall): {Approved: &approved, Answer: "it came by mail"}, string(toolCall): {Approved: &approved}}
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHook(t)
			change(h)
			before := h.live().ResourceVersion
			if err := h.receive(early, h.delivery("late")); !errors.Is(err, webhook.ErrGone) {
				t.Errorf("with the token: %v", err)
			}
			wrong := h.delivery("late")
			wrong.Token = tokenOf(t, 2)
			if err := h.receive(early, wrong); !errors.Is(err, webhook.ErrUnknown) {
				t.Errorf("with another token: %v", err)
			}
			if after := h.live().ResourceVersion; after != before {
				t.Error("the Run was written")
			}
		})
	}
}

// Whoever deletes the Secret takes the URL back.
func TestWebhookWithoutItsSecret(t *testing.T) {
	h := newHook(t)
	if err := admin.Delete(t.Context(), hookSecret(t, h.run)); err != nil {
		t.Fatal(err)
	}
	if err := h.receive(early, h.delivery("body")); !errors.Is(err, webhook.ErrUnknown) {
		t.Errorf("%v", err)
	}
	h.checkBody("")
}

// A URL is good for one request, however many come at once.
func TestWebhookIsReceivedOnce(t *testing.T) {
	h := newHook(t)
	const requests = 50
	errs := make([]error, requests)
	start := make(chan struct{})
	var group sync.WaitGroup
	for i := range requests {
		group.Go(func() {
			<-start
			errs[i] = h.receive(early, h.delivery(fmt.Sprintf("request %d", i)))
		})
	}
	close(start)
	group.Wait()
	taken := -1
	for i, err := range errs {
		switch {
		case err == nil && taken < 0:
			taken = i
		case err == nil:
			t.Errorf("requests %d and %d were taken", taken, i)
		case !errors.Is(err, webhook.ErrGone):
			t.Errorf("request %d: %v", i, err)
		}
	}
	h.checkBody(fmt.Sprintf("request %d", taken))
}

// afterRead is a client after whose first reads of a Run something happens.
func afterRead(t *testing.T, times int, happens func(int)) client.Client {
	read := 0
	return intercepted(t, interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
		err := c.Get(ctx, key, object, options...)
		if _, ok := object.(*v1alpha1.Run); ok && err == nil && read < times {
			read++
			happens(read)
		}
		return err
	}})
}

// Between the read and the write somebody changes the Run: what has nothing to do with the call is
// no hindrance, and a decision comes first.
func TestWebhookMeetsOthers(t *testing.T) {
	h := newHook(t)
	c := afterRead(t, 3, func(n int) {
		update(t, h.run, func(r *v1alpha1.Run) { r.Labels = map[string]string{"n": fmt.Sprint(n)} })
	})
	if err := receiverAt(c, early).Receive(t.Context(), h.delivery("body")); err != nil {
		t.Error(err)
	}
	h.checkBody("body")

	h = newHook(t)
	approved := true
	c = afterRead(t, 1, func(int) {
		update(t, h.run, func(r *v1alpha1.Run) {
			r.Spec.Decisions = map[string]v1alpha1.Decision{
				string(hookCall): {Approved: &approved, Answer: "it came by mail"}, string(toolCall): {Approved: &approved}}
		})
	})
	if err := receiverAt(c, early).Receive(t.Context(), h.delivery("body")); !errors.Is(err, webhook.ErrGone) {
		t.Errorf("after a decision: %v", err)
	}
	h.checkBody("")
}

// Without end nobody tries: the sender is asked to come again.
func TestWebhookMeetsTooManyOthers(t *testing.T) {
	h := newHook(t)
	c := afterRead(t, 1000, func(n int) {
		update(t, h.run, func(r *v1alpha1.Run) { r.Labels = map[string]string{"n": fmt.Sprint(n)} })
	})
	err := receiverAt(c, early).Receive(t.Context(), h.delivery("body"))
	if !apierrors.IsConflict(err) {
		t.Errorf("%v", err)
	}
	h.checkBody("")
}

// An API server that is away, or that refuses, is no reason to say that the webhook is closed, and
// what it says is not repeated where it may quote the body.
func TestWebhookIsNotWritten(t *testing.T) {
	h := newHook(t)
	away := errors.New("connection refused")
	reading := intercepted(t, interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
		return away
	}})
	if err := receiverAt(reading, early).Receive(t.Context(), h.delivery("canary")); !errors.Is(err, away) {
		t.Errorf("%v", err)
	}
	for name, refusal := range map[string]error{
		"away": away,
		"invalid": &apierrors.StatusError{ErrStatus: metav1.Status{
			Reason: metav1.StatusReasonInvalid, Message: "body: Invalid value: canary"}},
	} {
		writing := intercepted(t, interceptor.Funcs{SubResourceUpdate: func(context.Context, client.Client, string, client.Object, ...client.SubResourceUpdateOption) error {
			return refusal
		}})
		err := receiverAt(writing, early).Receive(t.Context(), h.delivery("canary"))
		if err == nil || errors.Is(err, webhook.ErrGone) || errors.Is(err, webhook.ErrUnknown) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", name, err)
		}
	}
	h.checkBody("")
}

// Bodies are bounded as they are stored, where a bracket takes six bytes, and share the status.
func TestBodiesAreBounded(t *testing.T) {
	var five []v1alpha1.PendingCall
	for i := range 4 {
		five = append(five, pendingCall(v1alpha1.PendingWebhook, v1alpha1.CallID(fmt.Sprintf("call-%016x", i))))
	}
	five = append(five, pendingCall(v1alpha1.PendingWebhook, hookCall))
	for name, test := range map[string]struct {
		pending []v1alpha1.PendingCall
		most    string
		more    string
	}{
		"alone":    {nil, strings.Repeat("a", 16384), strings.Repeat("a", 16385)},
		"brackets": {nil, strings.Repeat("<", 2730), strings.Repeat("<", 2731)},
		"of five":  {five, strings.Repeat("a", 65536/5), strings.Repeat("a", 65536/5+1)},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHook(t, test.pending...)
			wrong := h.delivery(test.more)
			wrong.Token = tokenOf(t, 3)
			if err := h.receive(early, wrong); !errors.Is(err, webhook.ErrUnknown) {
				t.Errorf("with another token: %v", err)
			}
			if err := h.receive(early, h.delivery(test.more)); !errors.Is(err, webhook.ErrTooLarge) {
				t.Errorf("%d bytes: %v", len(test.more), err)
			}
			if err := h.receive(early, h.delivery(test.most)); err != nil {
				t.Errorf("%d bytes: %v", len(test.most), err)
			}
			h.checkBody(test.most)
		})
	}
}
