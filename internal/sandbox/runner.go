// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sync/semaphore"

	"remit.dev/remit/internal/engine"
)

// Defaults of Options, and bounds that are the same for everybody.
const (
	// DefaultChildren is how many programs of each of the two sorts run at once.
	DefaultChildren = 4
	// DefaultMemory is what one program may take, in bytes, besides what the
	// child takes before it.
	DefaultMemory = 64 << 20
	// MinMemory is the least that the Go runtime can work with.
	MinMemory = 16 << 20
	// MaxSteps bounds the steps of one program's interpreter.
	MaxSteps = 100_000_000
	// MaxCalls bounds the calls of tools that one program makes.
	MaxCalls = 64
	// MaxDuration bounds the time of one program, whatever the context says.
	MaxDuration = 10 * time.Minute

	// childMargin is how much earlier than the parent the child ends a program
	// that takes too long, to say where it was.
	childMargin = 100 * time.Millisecond
)

// Options of a Runner.
type Options struct {
	// Command starts a process that calls Serve with its standard input and
	// output: the path of the operator's own binary, and the arguments.
	Command []string
	// Children is how many programs that call tools, and how many that call
	// none, run at the same time; 0 means DefaultChildren.
	Children int
	// Memory that one program may take, in bytes; 0 means DefaultMemory.
	Memory int64
	// AllowUnconfined runs programs where the system cannot confine a child. It
	// is for developers' machines.
	AllowUnconfined bool
}

// Program is one program to run.
type Program struct {
	// Source text, as package language has it.
	Source string
	// Arguments for main, by name: a JSON object, or empty for none.
	Arguments json.RawMessage
}

// CallTool makes one call of a tool for a program. It is called once at a time,
// with arguments that are a JSON object of at most MaxArguments. The context ends
// with the program's time.
type CallTool func(ctx context.Context, tool string, arguments json.RawMessage) engine.Outcome

// Result is what came of a program.
type Result struct {
	// Value is what main returned, as JSON of at most MaxResult.
	Value json.RawMessage
	// Output is what the program printed, at most MaxOutput. It is there for
	// a program that failed too, unless its child did not live to say it.
	Output string
	// OutputCut says that the program printed more.
	OutputCut bool
	// Calls is how many tools the program called, before it failed too.
	Calls int
}

// Runner runs programs, each in a child of its own. It is safe for concurrent use.
type Runner struct {
	options Options
	// A program that calls tools waits for code tools, so the two sorts do not
	// take each other's places.
	callers, others *semaphore.Weighted
}

// NewRunner makes a Runner. It starts nothing.
func NewRunner(options Options) (*Runner, error) {
	if len(options.Command) == 0 {
		return nil, errors.New("the sandbox has no command to start its children with")
	}
	if options.Children == 0 {
		options.Children = DefaultChildren
	}
	if options.Memory == 0 {
		options.Memory = DefaultMemory
	}
	if options.Children < 0 || options.Memory < MinMemory {
		return nil, fmt.Errorf("the sandbox needs 1 child or more, each with %d bytes or more: %d children with %d bytes are asked for",
			MinMemory, options.Children, options.Memory)
	}
	children := int64(options.Children)
	return &Runner{options, semaphore.NewWeighted(children), semaphore.NewWeighted(children)}, nil
}

// Probe starts a child and gives what it is not confined in, nothing where all is
// well. It is for the operator's start.
func (r *Runner) Probe(ctx context.Context) (missing []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, MaxDuration)
	defer cancel()
	runtime.LockOSThread() // see launch
	defer runtime.UnlockOSThread()
	child, err := launch(ctx, r.options.Command)
	if err != nil {
		return nil, err
	}
	defer child.kill()
	s := session{limits: r.limits(ctx, false), child: child}
	if err := s.greet(); err != nil {
		return nil, s.failure(ctx, err)
	}
	return s.missing, nil
}

// Run runs one program and waits for its end. With a nil tools the program can
// call none. The error is an *Error.
func (r *Runner) Run(ctx context.Context, p Program, tools CallTool) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, MaxDuration)
	defer cancel()
	if len(p.Arguments) == 0 {
		p.Arguments = json.RawMessage("{}")
	}
	if len(p.Arguments) > MaxArguments {
		return Result{}, &Error{Kind: Runtime, Detail: fmt.Sprintf(
			"the arguments have %d bytes, more than %d: pass less", len(p.Arguments), MaxArguments)}
	}
	places := r.others
	if tools != nil {
		places = r.callers
	}
	if err := places.Acquire(ctx, 1); err != nil {
		return Result{}, interrupted(ctx, Unavailable, fmt.Sprintf("all %d places of the sandbox were taken: try again later", r.options.Children))
	}
	defer places.Release(1)

	runtime.LockOSThread() // see launch
	defer runtime.UnlockOSThread()
	child, err := launch(ctx, r.options.Command)
	if err != nil && ctx.Err() != nil {
		return Result{}, interrupted(ctx, Deadline, tookTooLong)
	}
	if err != nil {
		return Result{}, &Error{Kind: Unavailable, Detail: fmt.Sprintf("the sandbox cannot be started: %v", err), cause: err}
	}
	defer child.kill()
	s := session{limits: r.limits(ctx, tools != nil), allowUnconfined: r.options.AllowUnconfined, child: child, tools: tools}
	last, err := s.converse(ctx, p)
	if err != nil {
		return Result{Calls: s.calls}, s.failure(ctx, err)
	}
	return s.result(last)
}

// limits are those of a child that has the time of ctx, which has a deadline.
func (r *Runner) limits(ctx context.Context, calls bool) startMessage {
	until, _ := ctx.Deadline()
	limits := startMessage{Memory: r.options.Memory, Steps: MaxSteps, CPU: time.Until(until) + time.Second}
	if calls {
		limits.Calls = MaxCalls
	}
	return limits
}

const tookTooLong = "the program took longer than it may: let it do less, or split the work"

// interrupted is the error of what ctx ended.
func interrupted(ctx context.Context, kind Kind, detail string) *Error {
	cause := ctx.Err()
	if errors.Is(cause, context.Canceled) {
		kind, detail = Canceled, "the call was given up"
	}
	return &Error{Kind: kind, Detail: detail, cause: cause}
}
