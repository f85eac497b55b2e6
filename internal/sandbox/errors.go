// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds on what a program is given and on what it gives back, in bytes.
const (
	// MaxArguments bounds the arguments of a program and of each of its calls.
	MaxArguments = 64 << 10
	// MaxToolName bounds the name of a tool that a program calls.
	MaxToolName = 128
	// MaxContent bounds the content of one tool's result that a program is given.
	MaxContent = 1 << 20
	// MaxResult bounds the JSON of what a program returns.
	MaxResult = 128 << 10
	// MaxOutput bounds what a program prints; the rest is dropped.
	MaxOutput = 16 << 10

	// maxDetail and maxBacktrace bound what is said of a failure.
	maxDetail    = 1 << 10
	maxBacktrace = 2 << 10
)

// Kind says why a program gave no result.
type Kind string

// The kinds.
const (
	// Syntax: the source text is no program. Line and Column say where.
	Syntax Kind = "Syntax"
	// Runtime: the program failed. Line and Column say where, if it is known.
	Runtime Kind = "Runtime"
	// StepLimit: the program took more steps than it may.
	StepLimit Kind = "StepLimit"
	// CallLimit: the program called more tools than it may.
	CallLimit Kind = "CallLimit"
	// Deadline: the program took longer than it may.
	Deadline Kind = "Deadline"
	// Memory: the program needed more memory than it may, or its values are
	// nested too deeply.
	Memory Kind = "Memory"
	// ResultTooLarge: what main returned is larger than MaxResult.
	ResultTooLarge Kind = "ResultTooLarge"
	// BadResult: what main returned has no form in JSON.
	BadResult Kind = "BadResult"
	// Canceled: the caller gave up.
	Canceled Kind = "Canceled"
	// Unavailable: no child could be started, or all are taken. The program did
	// not begin.
	Unavailable Kind = "Unavailable"
	// Crashed: the child broke down, or broke the rules.
	Crashed Kind = "Crashed"
)

// ofProgram says whether a child itself can report the kind.
func (k Kind) ofProgram() bool {
	return slices.Contains([]Kind{Syntax, Runtime, StepLimit, CallLimit, Deadline, ResultTooLarge, BadResult}, k)
}

// Error is why there is no result.
type Error struct {
	Kind Kind
	// Line and Column of the program, from 1, or 0 where no place is known.
	Line, Column int
	// Detail says what happened and what to do.
	Detail string
	// Backtrace lists the calls within the program that led there, or is empty.
	Backtrace string

	cause error
}

func (e *Error) Error() string {
	var b strings.Builder
	if e.Line > 0 {
		fmt.Fprintf(&b, "line %d, column %d: ", e.Line, e.Column)
	}
	b.WriteString(e.Detail)
	if e.Backtrace != "" {
		b.WriteString("\n" + e.Backtrace)
	}
	return b.String()
}

// Unwrap gives what the operating system or the context said.
func (e *Error) Unwrap() error { return e.cause }

// shorten gives at most limit bytes of s, as valid UTF-8, with a mark where
// something was left out.
func shorten(s string, limit int) string {
	const mark = "…"
	head := s
	if len(head) > limit {
		head = head[:limit] // so that a long text is not walked through
	}
	head = strings.ToValidUTF8(head, "\uFFFD")
	if len(head) <= limit && len(s) <= limit {
		return head
	}
	end := min(len(head), limit-len(mark))
	for end > 0 && !utf8.RuneStart(head[end]) {
		end--
	}
	return head[:end] + mark
}
