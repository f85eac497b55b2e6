package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"
)

// Options configure a Client. The zero value of every field but HTTPTransport is a working default.
type Options struct {
	// HTTPTransport is the guarded way out; without one every request fails. It must not follow redirects
	// (a RoundTripper does not) and should keep several idle connections a host.
	HTTPTransport http.RoundTripper
	// TransportFor, when set, takes the place of HTTPTransport: it gives the way out of each target, so that
	// the connections of one tenant are never another's.
	TransportFor func(Target) http.RoundTripper
	// Version is what the client calls itself in the handshake.
	Version string
	// ProtocolVersion pins the MCP revision. Empty: the newest that both sides speak.
	ProtocolVersion string
	// MaxSessions bounds the pool.
	MaxSessions int
	// MaxCallBytes bounds the answer to one tools/call.
	MaxCallBytes int64
	// IdleTimeout is how long a session stays pooled without use, to within the sweep of Start.
	IdleTimeout time.Duration
	// ConnectTimeout bounds a handshake, CallTimeout a call or a discovery, recovery included; a deadline
	// of the caller's context that is earlier wins.
	ConnectTimeout time.Duration
	CallTimeout    time.Duration
	// Now is the clock of the idle timeout.
	Now func() time.Time
	// Logger gets one line for every session that had to be replaced.
	Logger *slog.Logger

	closeTimeout time.Duration // shorter in tests
}

func (o Options) withDefaults() Options {
	if o.HTTPTransport == nil {
		o.HTTPTransport = noTransport{}
	}
	if o.TransportFor == nil {
		shared := o.HTTPTransport
		o.TransportFor = func(Target) http.RoundTripper { return shared }
	}
	if o.MaxSessions <= 0 {
		o.MaxSessions = DefaultMaxSessions
	}
	if o.MaxCallBytes <= 0 {
		o.MaxCallBytes = DefaultMaxCallBytes
	}
	if o.IdleTimeout <= 0 {
		o.IdleTimeout = DefaultIdleTimeout
	}
	if o.ConnectTimeout <= 0 {
		o.ConnectTimeout = DefaultConnectTimeout
	}
	if o.CallTimeout <= 0 {
		o.CallTimeout = DefaultCallTimeout
	}
	if o.closeTimeout <= 0 {
		o.closeTimeout = closeTimeout
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// noTransport refuses everything: an unguarded default would be a hole in the egress rules.
type noTransport struct{}

func (noTransport) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("no HTTP transport is configured")
}

// Client reaches MCP servers through a pool of sessions. It is safe for concurrent use.
type Client struct {
	opts  Options
	pool  *pool
	stats counters
}

// counters back Stats.
type counters struct {
	opened, evicted, recovered         atomic.Int64
	renewed, unchanged, renewalsFailed atomic.Int64
}

// Stats are totals since the start, and the sessions pooled now.
type Stats struct {
	// Sessions in the pool, those being opened included.
	Sessions int
	// Opened counts handshakes begun; Evicted, sessions that left the pool; Recovered, requests that were
	// sent once more on a new session.
	Opened, Evicted, Recovered int64
	// Renewed counts credentials that were refused and of which a new one was had; Unchanged, those of which
	// there was no other; RenewalsFailed, those that could not be resolved again.
	Renewed, Unchanged, RenewalsFailed int64
}

// NewClient returns a Client. Close it, or run Start.
func NewClient(o Options) *Client {
	o = o.withDefaults()
	c := &Client{opts: o}
	c.pool = newPool(o, &c.stats, newDialer(o).open)
	return c
}

// Start evicts idle sessions until ctx ends, then closes the client. It fits a controller manager's
// Runnable.
func (c *Client) Start(ctx context.Context) error {
	ticker := time.NewTicker(max(c.opts.IdleTimeout/4, time.Second))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			c.Close()
			return nil
		case <-ticker.C:
			c.pool.sweep()
		}
	}
}

// Close ends every session, with a DELETE where the server keeps one, and returns within a few seconds.
// Calls in flight fail, and later ones with kind Closed.
func (c *Client) Close() { c.pool.close() }

// Stats returns the counters.
func (c *Client) Stats() Stats {
	return Stats{
		Sessions: c.pool.size(), Opened: c.stats.opened.Load(),
		Evicted: c.stats.evicted.Load(), Recovered: c.stats.recovered.Load(),
		Renewed: c.stats.renewed.Load(), Unchanged: c.stats.unchanged.Load(), RenewalsFailed: c.stats.renewalsFailed.Load(),
	}
}

// CallOptions say what is known of the tool that is called.
type CallOptions struct {
	// Idempotent permits one repetition where the first attempt may have taken effect (P15 says when a
	// tool counts as idempotent).
	Idempotent bool
}

// Call calls a tool with a JSON object of arguments; nil means {}. A result with IsError is a result. Every
// error is an *Error.
//
// The request is sent a second time, on a new session, only when the server did not know the session, so
// that the first one cannot have taken effect, or when the tool is idempotent. Otherwise a request that may
// have taken effect ends as OutcomeUnknown (requirements E7, E12, N17).
func (c *Client) Call(ctx context.Context, t Target, tool string, args json.RawMessage, o CallOptions) (Result, error) {
	args = bytes.TrimSpace(args)
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	if err := t.validate(); err != nil {
		return Result{}, err
	}
	if problem := checkCall(tool, args); problem != "" {
		return Result{}, &Error{Kind: Invalid, Server: t.Server, Detail: problem}
	}
	ctx, cancel := context.WithTimeout(ctx, c.opts.CallTimeout)
	defer cancel()
	var result Result
	err := c.withSession(ctx, t, o.Idempotent, func(s *session) *failure {
		o := s.callTool(ctx, tool, args, c.opts.MaxCallBytes)
		if o.rpc != nil && o.rpc.Code == codeHeaderMismatch {
			// Refused unread: the server wants arguments repeated in headers, which the SDK does for the
			// tools it has seen listed on the session.
			if f := readTools(ctx, s, t.Credential); f != nil {
				return f
			}
			o = s.callTool(ctx, tool, args, c.opts.MaxCallBytes)
		}
		if f := judge(o, ctx.Err(), t.Credential); f != nil {
			return f
		}
		var problem error
		if result, problem = decodeResult(o.result); problem != nil {
			return unusableResult(o, problem, t.Credential)
		}
		return nil
	})
	if t.Report != nil {
		t.Report(ctx, err)
	}
	if err != nil {
		return Result{}, err
	}
	return result, nil
}

func checkCall(tool string, args json.RawMessage) string {
	switch {
	case tool == "" || len(tool) > MaxToolName:
		return "the tool's name must have 1 to 128 bytes"
	case args[0] != '{' || !json.Valid(args):
		return "the arguments are not a JSON object"
	}
	return ""
}

// Discover lists what the server offers. Listing has no effect, so it is repeated once where a call of an
// idempotent tool would be. Every error is an *Error.
func (c *Client) Discover(ctx context.Context, t Target) (Catalogue, error) {
	if err := t.validate(); err != nil {
		return Catalogue{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.opts.CallTimeout)
	defer cancel()
	var catalogue Catalogue
	err := c.withSession(ctx, t, true, func(s *session) (f *failure) {
		catalogue, f = readCatalogue(ctx, s, t.Credential)
		return f
	})
	if err != nil {
		return Catalogue{}, err
	}
	return catalogue, nil
}

// withSession runs op on a pooled session. What the judgement on a failure permits is done at most once
// each: a new session takes the place of one that is lost (requirement E7), another credential that of one
// that was refused (E10).
func (c *Client) withSession(ctx context.Context, t Target, idempotent bool, op func(*session) *failure) error {
	var replaced, renewed bool
	for {
		f := c.attempt(ctx, t, op)
		switch {
		case f == nil:
			return nil
		case f.kind == Unauthorized && !renewed:
			renewed = true
			credential, ok := c.renew(ctx, t, f)
			if ok && !f.repeatable(idempotent) {
				f.detail += "; calls from now on are made with another one"
				ok = false
			}
			if !ok {
				return f.toError(t, idempotent)
			}
			t.Credential = credential
		case f.kind == Unauthorized:
			f.detail += ", which had just been renewed" + checkSecret
			return f.toError(t, idempotent)
		case f.repeatable(idempotent) && !replaced:
			replaced = true
			c.stats.recovered.Add(1)
			c.opts.Logger.InfoContext(ctx, "replacing an MCP session", "namespace", t.Namespace, "server", t.Server, "reason", f.detail)
		default:
			if f.kind == SessionLost {
				f.detail = "lost again right after it was initialised anew: " + f.detail
			}
			return f.toError(t, idempotent)
		}
	}
}

const checkSecret = "; check the Secret that the credential refers to"

// renew resolves the credential once more after it was refused. Where that brings no other one, the failure
// says why.
func (c *Client) renew(ctx context.Context, t Target, f *failure) (Credential, bool) {
	if !f.renew || t.Renew == nil {
		f.detail += checkSecret
		return Credential{}, false
	}
	credential, err := t.Renew(ctx)
	switch {
	case err != nil:
		c.stats.renewalsFailed.Add(1)
		f.detail += "; it could not be renewed: " + quote(err.Error(), t.Credential)
	case credential.Fingerprint() == t.Credential.Fingerprint():
		c.stats.unchanged.Add(1)
		f.detail += ", and no other was to be had: it was renewed moments ago, or the Secret still holds the same" + checkSecret
	default:
		c.stats.renewed.Add(1)
		c.opts.Logger.InfoContext(ctx, "renewed a credential that an MCP server refused",
			"namespace", t.Namespace, "server", t.Server, "status", f.status)
		return credential, true
	}
	return Credential{}, false
}

// attempt runs op once. The failure is op's own, or why there was no session to run it on.
func (c *Client) attempt(ctx context.Context, t Target, op func(*session) *failure) *failure {
	e, f := c.pool.acquire(ctx, t)
	if f != nil {
		return f
	}
	defer c.pool.release(e)
	if f = op(e.session); f != nil && f.evict {
		if f.kind == SessionLost {
			e.session.transport.gone.Store(true)
		}
		c.pool.evict(e)
	}
	return f
}
