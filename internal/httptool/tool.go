// SPDX-License-Identifier: Apache-2.0

package httptool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/credentials"
	"remit.dev/remit/internal/egress"
	"remit.dev/remit/internal/engine"
	"remit.dev/remit/internal/httptool/template"
	"remit.dev/remit/internal/pipeline"
)

// Options configure a Client.
type Options struct {
	// Guard is the way out.
	Guard *egress.Guard
	// Credentials resolves the credential and the secrets of Grants.
	Credentials *credentials.Resolver
	// Now is the clock by which a server's dates are read; nil means time.Now.
	Now func() time.Time
	// Sleep waits, or returns ctx's error as soon as it has one. Nil means the real clock.
	Sleep func(ctx context.Context, delay time.Duration) error
	// Jitter gives numbers in [0, 1), such as rand.Float64. Nil means none.
	Jitter func() float64
}

// Client makes the calls of all HTTP tools. It is safe for concurrent use.
type Client struct{ options Options }

// NewClient makes a Client.
func NewClient(options Options) *Client {
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Sleep == nil {
		options.Sleep = sleep
	}
	if options.Jitter == nil {
		options.Jitter = func() float64 { return 1 }
	}
	return &Client{options}
}

// Tool is one HTTP tool of a Spec under one Grant.
type Tool struct {
	client   *Client
	template *template.Template
	grant    *v1alpha1.Grant
	attempts int
	timeout  time.Duration
}

var (
	_ pipeline.Executor = (*Tool)(nil)
	_ pipeline.Preparer = (*Tool)(nil)
)

// Tool gives the tool of a Spec that is an HTTP tool. It keeps the Grant, which must not
// change. The error is template.Problems: such a tool cannot be published.
func (c *Client) Tool(tool *v1alpha1.Tool, grant *v1alpha1.Grant) (*Tool, error) {
	if tool.HTTP == nil {
		return nil, fmt.Errorf("tool %q is no HTTP tool", tool.Name)
	}
	parsed, problems := template.Parse(tool.HTTP)
	if len(problems) > 0 {
		return nil, fmt.Errorf("tool %q: %w", tool.Name, problems)
	}
	return &Tool{client: c, template: parsed, grant: grant, attempts: int(tool.Attempts), timeout: tool.Timeout.Duration}, nil
}

// Timeout bounds a whole call: each attempt, once more for a renewed credential, and the
// pauses between. Zero means that the tool sets no bound.
func (t *Tool) Timeout() time.Duration {
	if t.timeout <= 0 {
		return 0
	}
	return time.Duration(max(t.attempts, 1)+1)*t.timeout + maxWait
}

// NotGranted is why a Grant does not permit a tool.
type NotGranted struct {
	Grant  string
	Detail string
}

// Error names the Grant and says what to do.
func (e *NotGranted) Error() string { return fmt.Sprintf("Grant %q %s", e.Grant, e.Detail) }

// Granted says whether the Grant permits what the tool needs, with a *NotGranted if not.
// Every call checks the same.
func (t *Tool) Granted() error {
	hosts, origin := t.grant.Spec.HTTP, t.template.Origin
	switch {
	case hosts == nil:
		return t.notGranted("grants no http hosts: name another Grant in the tool")
	case !slices.ContainsFunc(hosts.Hosts, func(entry string) bool { return permits(entry, origin) }):
		return t.notGranted("does not permit the host %q: ask the platform team to add it to spec.http.hosts", origin.Authority())
	case len(hosts.Methods) > 0 && !slices.Contains(hosts.Methods, v1alpha1.HTTPMethod(t.template.Method)):
		return t.notGranted("does not permit the method %s: ask the platform team to add it to spec.http.methods", t.template.Method)
	}
	for _, name := range t.template.Secrets {
		if t.secretRef(name) == nil {
			return t.notGranted("has no secret %q: ask the platform team to add it to spec.http.secrets, or correct {secret:%s}", name, name)
		}
	}
	return nil
}

func (t *Tool) notGranted(format string, args ...any) error {
	return &NotGranted{Grant: t.grant.Name, Detail: fmt.Sprintf(format, args...)}
}

// permits compares exactly; an entry without a port means the scheme's own.
func permits(entry string, origin template.Origin) bool {
	return entry == origin.Authority() || entry == origin.Host+":"+strconv.Itoa(int(origin.Port))
}

func (t *Tool) secretRef(name string) *v1alpha1.SecretKeyReference {
	for i, secret := range t.grant.Spec.HTTP.Secrets {
		if string(secret.Name) == name {
			return &t.grant.Spec.HTTP.Secrets[i].SecretRef
		}
	}
	return nil
}

// Prepare checks the Grant and resolves the credential and the secrets, afresh for each
// call. What it returns makes one call after the other.
func (t *Tool) Prepare(ctx context.Context) (pipeline.Executor, *engine.Failure) {
	if err := t.Granted(); err != nil {
		return nil, notMade(v1alpha1.ErrorToolUnavailable, err.Error())
	}
	held, err := t.resolve(ctx)
	switch {
	case err == nil:
		return &prepared{t, held}, nil
	case ctx.Err() != nil:
		return nil, notMade(ended(ctx.Err()), "there was no time left")
	}
	kind := v1alpha1.ErrorServerUnavailable
	if _, ok := errors.AsType[*credentials.Error](err); ok {
		kind = v1alpha1.ErrorUnauthorized
	}
	return nil, notMade(kind, err.Error())
}

// Execute prepares and makes a call.
func (t *Tool) Execute(ctx context.Context, invocation pipeline.Invocation) pipeline.Answer {
	executor, failure := t.Prepare(ctx)
	if failure != nil {
		return pipeline.Failure(failure.Kind, failure.Message)
	}
	return executor.Execute(ctx, invocation)
}

// prepared makes calls with secrets that were resolved.
type prepared struct {
	tool *Tool
	held *held
}

// Execute makes one call, in as many attempts as the tool has where the invocation is
// idempotent, and in one where it is not.
func (p *prepared) Execute(ctx context.Context, invocation pipeline.Invocation) pipeline.Answer {
	filled, err := p.tool.template.Fill(invocation.Arguments, p.held.secrets)
	if err != nil {
		kind := v1alpha1.ErrorInvalidArguments
		if unfilled, ok := errors.AsType[*template.Error](err); ok && unfilled.Secret != "" {
			kind = v1alpha1.ErrorUnauthorized
		}
		failure := notMade(kind, err.Error())
		return pipeline.Failure(failure.Kind, failure.Message)
	}
	name := p.held.credential.Header()
	if _, set := filled.Headers[name]; set { // a server could take the one or the other
		failure := notMade(v1alpha1.ErrorUnauthorized, fmt.Sprintf(
			"the tool sets the header %s, which the credential of Grant %q sets too: remove one of them", name, p.tool.grant.Name))
		return pipeline.Failure(failure.Kind, failure.Message)
	}
	c := &call{tool: p.tool, held: p.held, filled: filled, key: invocation.IdempotencyKey, idempotent: invocation.Idempotent}
	return pipeline.Answer{Outcome: c.run(ctx)}
}

// notMade is the failure of a call of which nothing was sent.
func notMade(kind v1alpha1.ErrorKind, why string) *engine.Failure {
	return &engine.Failure{Kind: kind, Message: "The call was not made: " + why}
}

// ended is the kind of a call that its context ended.
func ended(cause error) v1alpha1.ErrorKind {
	if errors.Is(cause, context.Canceled) {
		return v1alpha1.ErrorCancelled
	}
	return v1alpha1.ErrorTimeout
}

// label names the server in messages. A path may hold arguments, and a query secrets.
func (t *Tool) label() string { return t.template.Method + " " + t.template.Origin.String() }
