// SPDX-License-Identifier: Apache-2.0

package model

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// replies is a Provider that gives its answers in order, the last one for ever, and
// keeps what it was asked.
type replies struct {
	answers []any // Completion or error
	asked   []Request
}

func (r *replies) Complete(_ context.Context, request Request) (Completion, error) {
	r.asked = append(r.asked, request)
	answer := r.answers[0]
	if len(r.answers) > 1 {
		r.answers = r.answers[1:]
	}
	if err, ok := answer.(error); ok {
		return Completion{}, err
	}
	return answer.(Completion), nil
}

type naps struct{ slept []time.Duration }

func (n *naps) sleep(ctx context.Context, delay time.Duration) error {
	n.slept = append(n.slept, delay)
	return ctx.Err()
}

func TestFailover(t *testing.T) {
	good := Completion{Text: "Hi.", Finish: FinishStop}
	server := &Error{Kind: KindServer, Status: 500, Detail: "boom"}
	slow := &Error{Kind: KindRateLimited, Status: 429, RetryAfter: 3 * time.Second}
	slower := &Error{Kind: KindRateLimited, Status: 429, RetryAfter: time.Hour}
	degenerate := &Error{Kind: KindDegenerate, Detail: "the reply has neither text nor tool calls"}
	for _, tc := range []struct {
		name          string
		first, second []any
		want          []Attempt
		slept         []time.Duration
		unavailable   bool
	}{
		{name: "the first one answers", first: []any{good}, second: []any{good}, want: []Attempt{{"a", "large", nil}}},
		{name: "I16 an error leads to the next", first: []any{server}, second: []any{good}, want: []Attempt{{"a", "large", server}, {"b", "small", nil}}},
		{name: "I16 a degenerate completion leads to the next", first: []any{Completion{Finish: FinishStop}}, second: []any{good}, want: []Attempt{{"a", "large", degenerate}, {"b", "small", nil}}},
		{
			name: "P9 once more after a backoff", first: []any{server, good}, second: []any{server},
			want: []Attempt{{"a", "large", server}, {"b", "small", server}, {"a", "large", nil}}, slept: []time.Duration{time.Second},
		},
		{
			name: "P9 and never a third time", first: []any{server}, second: []any{Completion{}},
			want:  []Attempt{{"a", "large", server}, {"b", "small", degenerate}, {"a", "large", server}, {"b", "small", degenerate}},
			slept: []time.Duration{time.Second}, unavailable: true,
		},
		{
			name: "the endpoint's own wait", first: []any{slow, good}, second: []any{server},
			want: []Attempt{{"a", "large", slow}, {"b", "small", server}, {"a", "large", nil}}, slept: []time.Duration{3 * time.Second},
		},
		{
			name: "but ten seconds at most", first: []any{slow, good}, second: []any{slower},
			want: []Attempt{{"a", "large", slow}, {"b", "small", slower}, {"a", "large", nil}}, slept: []time.Duration{10 * time.Second},
		},
		{
			name: "an error of another type", first: []any{errors.New("od\x00d\n")}, second: []any{good},
			want: []Attempt{{"a", "large", &Error{Kind: KindUnreachable, Detail: "odd"}}, {"b", "small", nil}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			naps := &naps{}
			candidates := []Candidate{
				{Grant: "a", Model: "large", Provider: &replies{answers: tc.first}},
				{Grant: "b", Model: "small", Provider: &replies{answers: tc.second}},
			}
			completion, attempts, err := Failover{Sleep: naps.sleep}.Complete(t.Context(), candidates, Request{})
			if diff := cmp.Diff(tc.want, attempts); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tc.slept, naps.slept); diff != "" {
				t.Error(diff)
			}
			var unavailable *Unavailable
			switch {
			case tc.unavailable:
				if !errors.As(err, &unavailable) {
					t.Fatalf("error = %v, want an *Unavailable", err)
				}
				if diff := cmp.Diff(tc.want, unavailable.Attempts); diff != "" {
					t.Error(diff)
				}
			case err != nil || completion.Text != "Hi.":
				t.Errorf("got %q, %v", completion.Text, err)
			}
		})
	}
}

func TestFailoverAsksWithTheCandidatesModelAndParameters(t *testing.T) {
	seed := int64(7)
	provider := &replies{answers: []any{Completion{Text: "x"}}}
	candidates := []Candidate{{Model: "large", Parameters: Parameters{Seed: &seed}, Provider: provider}}
	request := Request{Model: "other", System: "s", Messages: []Message{{Role: RoleUser, Text: "hi"}}}
	if _, _, err := (Failover{}).Complete(t.Context(), candidates, request); err != nil {
		t.Fatal(err)
	}
	want := []Request{{Model: "large", System: "s", Messages: request.Messages, Parameters: Parameters{Seed: &seed}}}
	if diff := cmp.Diff(want, provider.asked); diff != "" {
		t.Error(diff)
	}
}

func TestFailoverJitter(t *testing.T) {
	server := &replies{answers: []any{&Error{Kind: KindServer}}}
	naps := &naps{}
	failover := Failover{Sleep: naps.sleep, Jitter: func() float64 { return 0.5 }, Backoff: 2 * time.Second}
	_, _, err := failover.Complete(t.Context(), []Candidate{{Provider: server}}, Request{})
	if _, ok := errors.AsType[*Unavailable](err); !ok {
		t.Fatal(err)
	}
	// A half of a quarter of two seconds on top.
	if diff := cmp.Diff([]time.Duration{2250 * time.Millisecond}, naps.slept); diff != "" {
		t.Error(diff)
	}
}

func TestFailoverStopsWithItsContext(t *testing.T) {
	t.Run("in a call", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		next := &replies{answers: []any{Completion{Text: "x"}}}
		stopping := providerFunc(func() (Completion, error) { cancel(); return Completion{}, context.Canceled })
		_, attempts, err := (Failover{}).Complete(ctx, []Candidate{{Provider: stopping}, {Provider: next}}, Request{})
		if !errors.Is(err, context.Canceled) || len(attempts) != 0 || len(next.asked) != 0 {
			t.Errorf("error = %v after %d attempts, and the next one was asked %d times", err, len(attempts), len(next.asked))
		}
	})
	t.Run("in the backoff", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		server := &replies{answers: []any{&Error{Kind: KindServer}}}
		failover := Failover{Sleep: func(ctx context.Context, _ time.Duration) error { cancel(); return Sleep(ctx, time.Hour) }}
		_, _, err := failover.Complete(ctx, []Candidate{{Provider: server}}, Request{})
		if !errors.Is(err, context.Canceled) || len(server.asked) != 1 {
			t.Errorf("error = %v after %d calls, want context.Canceled after one", err, len(server.asked))
		}
	})
	t.Run("but keeps a completion that came", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		late := providerFunc(func() (Completion, error) { cancel(); return Completion{Text: "x"}, nil })
		if completion, _, err := (Failover{}).Complete(ctx, []Candidate{{Provider: late}}, Request{}); err != nil || completion.Text != "x" {
			t.Errorf("got %q, %v", completion.Text, err)
		}
	})
}

type providerFunc func() (Completion, error)

func (f providerFunc) Complete(context.Context, Request) (Completion, error) { return f() }

func TestUnavailableSaysWhatToDo(t *testing.T) {
	naps := &naps{}
	candidates := []Candidate{
		{Grant: "openai", Model: "large", Provider: &replies{answers: []any{&Error{Kind: KindUnauthorized, Status: 401, Detail: "Incorrect API key."}}}},
		{Grant: "local", Model: "small", Provider: Unusable("the Grant names no endpoint")},
		{Grant: "none", Model: "small"},
	}
	_, _, err := Failover{Sleep: naps.sleep}.Complete(t.Context(), candidates, Request{})
	want := `No model is available after 6 attempts. ` +
		`Grant "openai", model "large": the endpoint does not accept the credential (HTTP 401): Incorrect API key; check the Secret that the Grant's credential names. ` +
		`Grant "local", model "small": the model cannot be used: the Grant names no endpoint; correct the Grant or the Spec. ` +
		`Grant "none", model "small": the model cannot be used: there is no provider for it; correct the Grant or the Spec.`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	_, _, err = Failover{Sleep: naps.sleep}.Complete(t.Context(), nil, Request{})
	if want := "No model is available: the Spec lists none that can be asked; add one to spec.models."; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if len(naps.slept) != 1 {
		t.Errorf("slept %v, want once: without candidates there is nothing to wait for", naps.slept)
	}
}

func TestUnavailableIsBounded(t *testing.T) {
	var attempts []Attempt
	for i := range 40 {
		attempts = append(attempts, Attempt{Grant: fmt.Sprint("grant-", i), Model: "m", Err: &Error{Kind: KindServer, Status: 500, Detail: strings.Repeat("x", 10_000)}})
	}
	got := (&Unavailable{Attempts: attempts}).Error()
	if len(got) > 4096 || !strings.HasSuffix(got, "32 more failures are not shown.") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}

func TestEveryKindHasItsWords(t *testing.T) {
	kinds := append([]Kind{KindDegenerate, KindNoTurn, KindMisconfigured}, scriptable...)
	if len(kinds) != len(wording) {
		t.Errorf("%d kinds are tested, %d have words", len(kinds), len(wording))
	}
	for _, kind := range kinds {
		if words := wording[kind]; words.happened == "" || words.advice == "" {
			t.Errorf("%s has no words", kind)
		}
	}
}
