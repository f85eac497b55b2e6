// Package bridge serves an MCP server that speaks stdio over streamable HTTP. It passes JSON-RPC messages
// through as the bytes they are: what a tool's definition says, or leaves out, reaches the client unchanged.
// Each client session has a child process of its own, or all share one, whose messages then differ in their
// ids and progress tokens and in nothing else.
//
// A child gets exactly the environment it was given (requirements N1, N4), runs in its own process group,
// and is ended as a group: its standard input is closed, then it is asked to terminate, then it is killed.
//
// The only messages the bridge answers by itself are server/discover, which some stdio servers do not
// survive, and those that name no session or an unknown one.
package bridge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Defaults of Options, and the bounds of one bridge.
const (
	DefaultListen      = "127.0.0.1:0"
	DefaultMaxSessions = 32
	// DefaultMaxSharedSessions is the default for sessions that share a process.
	DefaultMaxSharedSessions = 1024
	DefaultIdleTimeout       = 30 * time.Minute
	DefaultStartTimeout      = 25 * time.Second

	// MaxRequestBytes is the largest message a client may send.
	MaxRequestBytes = 4 << 20
	// MaxMessageBytes is the largest message a child may write.
	MaxMessageBytes = 16 << 20
	// MaxStrayLines is how many lines that are no JSON-RPC messages a child may write to its standard output.
	MaxStrayLines = 100
	// MaxPending bounds the requests of one session that wait for an answer.
	MaxPending = 64
	// MaxSharedPending bounds the requests of all sessions that wait for a shared process.
	MaxSharedPending = 1024
	// MaxStderrLine is the longest line of a child's standard error that is passed on whole, in bytes.
	MaxStderrLine = 8 << 10

	headerTimeout   = 10 * time.Second
	bodyTimeout     = 30 * time.Second
	shutdownTimeout = 10 * time.Second
)

// Options say what to run and where to serve it.
type Options struct {
	// Listen is the address to serve on; /mcp and /healthz. The default is loopback, on a free port.
	Listen string
	// AllowedHosts are names that a Host or Origin header may carry besides those of loopback. On a
	// loopback address every other name is refused, against DNS rebinding. On another address every Host
	// passes while the list is empty, and a request with an Origin, thus from a browser, passes only if listed.
	AllowedHosts []string
	// OnListen, when set, is told the bound address before the first request is served.
	OnListen func(net.Addr)

	// Command is the program and its arguments. The program is looked up in the bridge's own PATH.
	Command []string
	// Env is the child's whole environment, as KEY=VALUE. Nothing is inherited, PATH included.
	Env []string
	// Plain names variables of Env whose values may be shown. Every other value is taken for a secret, and
	// is blacked out in logs and errors.
	Plain []string
	// CredentialEnv names one more variable of the child's, whose value is the bearer token of the request
	// that opens the session. Without one that is refused, and a session can only be used with its own.
	CredentialEnv string
	// Shared gives all sessions one child.
	Shared bool
	// Dir is the child's working directory; empty means the bridge's.
	Dir string
	// Stderr receives the children's standard error, line by line; nil discards it.
	Stderr io.Writer

	// MaxSessions bounds the sessions, and thus children of their own. Beyond it the one idle for longest is
	// ended.
	MaxSessions int
	// IdleTimeout is how long a session may stay without a request.
	IdleTimeout time.Duration
	// StartTimeout bounds a child's answer to initialize.
	StartTimeout time.Duration

	// Logger gets the starts and ends of sessions, and what is wrong with a child.
	Logger *slog.Logger
}

// withDefaults completes the options and refuses those that cannot work.
func (o Options) withDefaults() (Options, error) {
	if len(o.Command) == 0 || o.Command[0] == "" {
		return o, errors.New("bridge: no command; give the program to run and its arguments")
	}
	program, err := exec.LookPath(o.Command[0])
	if err == nil {
		program, err = filepath.Abs(program)
	}
	if err != nil {
		return o, fmt.Errorf("bridge: command %q: %w", o.Command[0], err)
	}
	o.Command = append([]string{program}, o.Command[1:]...)
	if err := checkEnv(o.Env); err != nil {
		return o, err
	}
	if o.Shared && o.CredentialEnv != "" {
		return o, errors.New("bridge: sessions that share a process cannot each have a credential in its environment")
	}
	if o.Listen == "" {
		o.Listen = DefaultListen
	}
	if o.Stderr == nil {
		o.Stderr = io.Discard
	}
	o.Stderr = &lockedWriter{out: o.Stderr}
	switch {
	case o.MaxSessions > 0:
	case o.Shared:
		o.MaxSessions = DefaultMaxSharedSessions
	default:
		o.MaxSessions = DefaultMaxSessions
	}
	if o.IdleTimeout <= 0 {
		o.IdleTimeout = DefaultIdleTimeout
	}
	if o.StartTimeout <= 0 {
		o.StartTimeout = DefaultStartTimeout
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

// checkEnv refuses entries that would not reach the child as written. Its errors do not show values.
func checkEnv(env []string) error {
	seen := map[string]bool{}
	for i, entry := range env {
		key, _, ok := strings.Cut(entry, "=")
		switch {
		case !ok || key == "":
			return fmt.Errorf("bridge: env[%d]: not of the form KEY=VALUE", i)
		case strings.ContainsRune(entry, 0):
			return fmt.Errorf("bridge: env[%d]: %q holds a NUL byte", i, key)
		case seen[key]:
			return fmt.Errorf("bridge: env[%d]: %q is set twice", i, key)
		}
		seen[key] = true
	}
	return nil
}

// Serve runs the bridge until ctx ends, then ends every child and returns nil. Any other end is an error.
func Serve(ctx context.Context, o Options) error {
	o, err := o.withDefaults()
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return fmt.Errorf("bridge: %w", err)
	}
	sessions := newSessions(o)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go reapOrphans(ctx, sessions.groups)
	if o.OnListen != nil {
		o.OnListen(listener.Addr())
	}
	return sessions.serve(ctx, listener)
}

// serve serves the sessions until ctx ends, then ends every child and returns nil.
func (ss *sessions) serve(ctx context.Context, listener net.Listener) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go ss.sweepUntil(ctx)
	server := &http.Server{
		Handler:           newHandler(ss.options, listener.Addr(), ss),
		ReadHeaderTimeout: headerTimeout,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(ss.options.Logger.Handler(), slog.LevelDebug),
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err = <-failed:
		err = fmt.Errorf("bridge: %w", err)
	case <-ctx.Done():
	}
	server.SetKeepAlivesEnabled(false)
	ss.endAll() // streams end with their sessions, so the server can shut down
	shutdown, stop := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer stop()
	if server.Shutdown(shutdown) != nil {
		_ = server.Close()
	}
	return err
}
