// SPDX-License-Identifier: Apache-2.0

package model

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	// defaultBackoff is the wait between the two rounds through the candidates, before
	// jitter.
	defaultBackoff = time.Second
	// maxBackoff bounds that wait, whatever an endpoint asks for.
	maxBackoff = 10 * time.Second
	// rounds is how often the candidates are gone through (P9).
	rounds = 2

	// maxToldAttempts and maxToldDetail bound the message of an Unavailable.
	maxToldAttempts = 8
	maxToldDetail   = 200
)

// Candidate is one entry of a Spec's failover list, ready to be asked.
type Candidate struct {
	// Grant is the slug through which the model is reached.
	Grant string
	// Model and Parameters take the place of those in the request.
	Model      string
	Parameters Parameters
	Provider   Provider
}

// Attempt is one model call.
type Attempt struct {
	Grant string
	Model string
	// Err is why the call did not give the completion; nil for the one that did.
	Err *Error
}

// Unavailable is the error when no candidate gave a useful completion in either round.
type Unavailable struct{ Attempts []Attempt }

// Failover asks candidates in order until one gives a useful completion.
type Failover struct {
	// Sleep waits, or returns ctx's error as soon as it has one. Nil means Sleep.
	Sleep func(ctx context.Context, delay time.Duration) error
	// Jitter gives numbers in [0, 1), such as rand.Float64. Nil means none.
	Jitter func() float64
	// Accept says why a completion cannot be used, in which case the next candidate is asked. Nil means that
	// each can.
	Accept func(Completion) error
	// Backoff is the wait between the rounds, before up to a quarter of jitter. Zero
	// means a second.
	Backoff time.Duration
}

// Sleep waits for delay on the real clock.
func Sleep(ctx context.Context, delay time.Duration) error {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Complete goes through the candidates, and once more after a backoff when none of them
// answered (P9). An error and a degenerate completion (I16) both lead to the next
// candidate. It returns every attempt in order, the last one being the one that gave
// the completion, if any did. The error is an *Unavailable, or ctx's when that ended.
func (f Failover) Complete(ctx context.Context, candidates []Candidate, request Request) (Completion, []Attempt, error) {
	var attempts []Attempt
	for round := range rounds {
		if round > 0 && len(candidates) > 0 {
			if err := f.wait(ctx, attempts); err != nil {
				return Completion{}, attempts, err
			}
		}
		for _, candidate := range candidates {
			completion, failure := f.ask(ctx, candidate, request)
			if ctx.Err() != nil && failure != nil {
				return Completion{}, attempts, ctx.Err()
			}
			attempts = append(attempts, Attempt{Grant: candidate.Grant, Model: candidate.Model, Err: failure})
			if failure == nil {
				return completion, attempts, nil
			}
		}
	}
	return Completion{}, attempts, &Unavailable{Attempts: attempts}
}

func (f Failover) ask(ctx context.Context, c Candidate, request Request) (Completion, *Error) {
	if c.Provider == nil {
		return Completion{}, &Error{Kind: KindMisconfigured, Detail: "there is no provider for it"}
	}
	request.Model, request.Parameters = c.Model, c.Parameters
	completion, err := c.Provider.Complete(ctx, request)
	if err != nil {
		if failure, ok := errors.AsType[*Error](err); ok {
			return Completion{}, failure
		}
		return Completion{}, &Error{Kind: KindUnreachable, Detail: printable(err.Error(), maxDetail)}
	}
	if reason, bad := Degenerate(completion); bad {
		return Completion{}, &Error{Kind: KindDegenerate, Detail: reason}
	}
	if f.Accept != nil {
		if err := f.Accept(completion); err != nil {
			return Completion{}, &Error{Kind: KindTooLarge, Detail: printable(err.Error(), maxDetail)}
		}
	}
	return completion, nil
}

// wait lasts as long as the endpoint that wants it longest asks for, within bounds: the
// round after it is the last.
func (f Failover) wait(ctx context.Context, attempts []Attempt) error {
	delay := f.Backoff
	if delay <= 0 {
		delay = defaultBackoff
	}
	for _, attempt := range attempts {
		delay = max(delay, attempt.Err.RetryAfter)
	}
	if f.Jitter != nil {
		delay += time.Duration(f.Jitter() * float64(delay) / 4)
	}
	sleep := f.Sleep
	if sleep == nil {
		sleep = Sleep
	}
	return sleep(ctx, min(delay, maxBackoff))
}

// Error is one sentence for each attempt that failed in its own way, with what to do
// about it.
func (u *Unavailable) Error() string {
	if len(u.Attempts) == 0 {
		return "No model is available: the Spec lists none that can be asked; add one to spec.models."
	}
	var sentences []string
	for _, attempt := range u.Attempts {
		if sentence := attempt.sentence(); !slices.Contains(sentences, sentence) {
			sentences = append(sentences, sentence)
		}
	}
	if left := len(sentences) - maxToldAttempts; left > 0 {
		sentences = append(sentences[:maxToldAttempts], fmt.Sprintf("%d more failures are not shown.", left))
	}
	return fmt.Sprintf("No model is available after %d attempts. %s", len(u.Attempts), strings.Join(sentences, " "))
}

func (a Attempt) sentence() string {
	return fmt.Sprintf("Grant %q, model %q: %s; %s.",
		printable(a.Grant, MaxName), printable(a.Model, MaxName), a.Err.describe(maxToldDetail), a.Err.Advice())
}
