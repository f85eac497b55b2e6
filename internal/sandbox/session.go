// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"time"

	"remit.dev/remit/api/v1alpha1"
)

// session is one program in one child, from the parent's side.
type session struct {
	limits          startMessage
	allowUnconfined bool
	child           *process
	tools           CallTool

	missing []string // what the child is not confined in
	began   bool     // the program was sent
	calls   int
}

// errUnconfined is a child that lacks protection and gets no program.
var errUnconfined = errors.New("the child cannot be confined on this system")

// errRules is a child that does what no child does.
var errRules = errors.New("the child broke the rules of its protocol")

// greet tells a new child its limits and waits for it to be confined.
func (s *session) greet() error {
	if err := writeMessage(s.child.in, toChild{Start: &s.limits}, maxFromParent); err != nil {
		return err
	}
	m, err := receive(s.child.out)
	if err != nil {
		return err
	}
	if m.Ready == nil {
		return fmt.Errorf("%w: it does not begin with ready", errRules)
	}
	s.missing = m.Ready.Missing
	return nil
}

// converse takes the child to its last message.
func (s *session) converse(ctx context.Context, p Program) (fromChild, error) {
	if err := s.greet(); err != nil {
		return fromChild{}, err
	}
	if len(s.missing) > 0 && !s.allowUnconfined {
		return fromChild{}, fmt.Errorf("%w: %s", errUnconfined, shorten(strings.Join(s.missing, "; "), maxDetail/2))
	}
	s.began = true
	until, _ := ctx.Deadline()
	left := time.Until(until)
	program := programMessage{Source: p.Source, Arguments: p.Arguments, Timeout: left - min(childMargin, left/10)}
	if err := writeMessage(s.child.in, toChild{Program: &program}, maxFromParent); err != nil {
		return fromChild{}, err
	}
	for {
		m, err := receive(s.child.out)
		if err != nil {
			return fromChild{}, err
		}
		if m.Done != nil || m.Failed != nil {
			return m, nil
		}
		if m.Call == nil || s.calls == s.limits.Calls {
			return fromChild{}, fmt.Errorf("%w: it sends what it may not send now", errRules)
		}
		s.calls++
		if err := s.answer(ctx, m.Call); err != nil {
			return fromChild{}, err
		}
	}
}

// answer makes one call for the program.
func (s *session) answer(ctx context.Context, c *callMessage) error {
	outcome := s.tools(ctx, c.Tool, c.Arguments)
	a := answerMessage{Content: outcome.Content, Error: string(outcome.Error)}
	if len(a.Content) > MaxContent {
		a.Error = string(v1alpha1.ErrorBadResult)
		a.Content = fmt.Sprintf("the call was made, and its result has %d bytes: a program is given %d at most", len(a.Content), MaxContent)
	}
	return writeMessage(s.child.in, toChild{Answer: &a}, maxFromParent)
}

// result reads the last message.
func (s *session) result(m fromChild) (Result, error) {
	if m.Done != nil {
		return Result{Value: m.Done.Value, Output: m.Done.Output, OutputCut: m.Done.Cut, Calls: s.calls}, nil
	}
	f := m.Failed
	return Result{Output: f.Output, OutputCut: f.Cut, Calls: s.calls},
		&Error{Kind: f.Kind, Line: f.Line, Column: f.Column, Detail: f.Detail, Backtrace: f.Backtrace}
}

// failure says why there was no last message.
func (s *session) failure(ctx context.Context, err error) *Error {
	switch {
	case ctx.Err() != nil:
		s.child.kill()
	case ended(err):
		if e := s.child.end(); ctx.Err() == nil {
			return s.early(e.failure(s.limits.Memory))
		}
	default:
		s.child.kill()
		return s.early(&Error{Kind: Crashed, Detail: shorten(err.Error(), maxDetail), cause: err})
	}
	return interrupted(ctx, Deadline, tookTooLong)
}

// early makes an error one of the sandbox where there was no program yet.
func (s *session) early(e *Error) *Error {
	if !s.began {
		e.Kind, e.Detail = Unavailable, "the sandbox cannot run programs: "+e.Detail
	}
	return e
}

// ended says whether a pipe's error is that the child is no more.
func ended(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.EPIPE)
}
