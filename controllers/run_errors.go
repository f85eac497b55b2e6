// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"errors"
	"fmt"
	"time"
)

// holdError says that a Run cannot go on until something else changes. It becomes
// a condition, and the watch on that something goes on with the Run.
type holdError struct {
	reason string
	detail string
	// after is set where no watch can tell.
	after time.Duration
}

func (e *holdError) Error() string { return e.detail }

func hold(reason, format string, args ...any) error {
	return &holdError{reason: reason, detail: fmt.Sprintf(format, args...)}
}

// deferError says that the Run is another replica's for now.
type deferError struct{ after time.Duration }

func (e *deferError) Error() string { return "another replica holds the Run" }

// endError says that a Run can never go on.
type endError struct {
	reason string
	detail string
}

func (e *endError) Error() string { return e.detail }

func end(reason, format string, args ...any) error {
	return &endError{reason: reason, detail: fmt.Sprintf(format, args...)}
}

// errFenced says that the Run was changed by another replica since it was read,
// so what this one did since then does not count.
var errFenced = errors.New("another replica has gone on with the Run")
