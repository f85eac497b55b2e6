// SPDX-License-Identifier: Apache-2.0

package httptool

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"remit.dev/remit/internal/engine"
	"remit.dev/remit/internal/httptool/template"
)

// The pauses between attempts (requirement P7).
const (
	firstDelay = 250 * time.Millisecond
	maxDelay   = 2 * time.Second
	// maxWait bounds all pauses of a call together.
	maxWait = 10 * time.Second
)

// call is one call of a tool.
type call struct {
	tool       *Tool
	held       *held
	filled     *template.Request
	key        string
	idempotent bool
	// renewed says that a refused credential has been replaced, which is done once.
	renewed bool
}

// run makes the attempts.
func (c *call) run(ctx context.Context) engine.Outcome {
	attempts := 1
	if c.idempotent {
		attempts = max(c.tool.attempts, 1)
	}
	delay, waited := firstDelay, time.Duration(0)
	for attempt := 1; ; attempt++ {
		verdict := c.attempt(ctx)
		if attempt > 1 && verdict.outcome.Error != "" {
			verdict.outcome.Content = fmt.Sprintf("After %d attempts: %s", attempt, verdict.outcome.Content)
		}
		pause := max(c.jittered(delay), verdict.retryAfter)
		if !verdict.retry || attempt >= attempts || waited+pause > maxWait {
			return verdict.outcome
		}
		if err := c.tool.client.options.Sleep(ctx, pause); err != nil {
			return engine.Outcome{Error: ended(err), Content: "The call was ended before another attempt. " + verdict.outcome.Content}
		}
		delay, waited = min(2*delay, maxDelay), waited+pause
	}
}

// jittered is between half of a delay and the whole.
func (c *call) jittered(delay time.Duration) time.Duration {
	return delay/2 + time.Duration(c.tool.client.options.Jitter()*float64(delay/2))
}

// attempt sends the request, and once more when the credential was refused, another one
// is to be had, and the effect may be had twice (requirements E10, E13).
func (c *call) attempt(ctx context.Context) verdict {
	verdict := judge(c.send(ctx), c.idempotent, c.tool.label())
	if !verdict.refused || c.renewed || c.tool.grant.Spec.Credential == nil {
		return verdict
	}
	c.renewed = true
	credential, err := c.tool.client.options.Credentials.Renew(ctx, c.held.use, c.held.credential)
	if err != nil || credential == c.held.credential || !c.idempotent {
		return verdict
	}
	c.held.hold(credential)
	return judge(c.send(ctx), c.idempotent, c.tool.label())
}

// retryAfter reads the header of that name (RFC 9110 section 10.2.3), seconds or a date. It
// gives at most one second more than all pauses may last: then there is no other attempt.
func retryAfter(value string, now time.Time) time.Duration {
	const never = maxWait + time.Second
	seconds, err := strconv.ParseUint(value, 10, 64)
	if err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(seconds, uint64(never/time.Second))) * time.Second
	}
	if date, err := http.ParseTime(value); err == nil {
		return min(max(date.Sub(now), 0), never)
	}
	return 0
}

// sleep waits on the real clock.
func sleep(ctx context.Context, delay time.Duration) error {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
