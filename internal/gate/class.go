// SPDX-License-Identifier: Apache-2.0

// Package gate decides what a tool may do and whether a person must approve a
// call of it. It is pure.
package gate

import (
	"remit.dev/remit/api/v1alpha1"
)

// Hints are a tool's annotations, each in three states. Present says whether
// there was an annotations object at all: none, and an empty one, differ.
type Hints struct {
	Present     bool
	ReadOnly    *bool
	Destructive *bool
	Idempotent  *bool
}

// Believe returns the hints that count under the given trust. On an Untrusted
// server a claim that would loosen the gate is taken as not made, and one that
// tightens it is kept.
func (h Hints) Believe(trust v1alpha1.AnnotationTrust) Hints {
	if trust == v1alpha1.AnnotationsTrusted {
		return h
	}
	if is(h.ReadOnly, true) {
		h.ReadOnly = nil
	}
	if is(h.Destructive, false) {
		h.Destructive = nil
	}
	if is(h.Idempotent, true) {
		h.Idempotent = nil
	}
	return h
}

// Classify gives a tool its class from hints that are already believed. Leaving
// a hint out never makes a tool less than Write, and once there is an
// annotations object, only an explicit hint makes it less than Destructive.
func Classify(h Hints) v1alpha1.ToolClass {
	switch {
	case is(h.Destructive, true):
		return v1alpha1.ClassDestructive
	case !h.Present:
		return v1alpha1.ClassWrite
	case is(h.ReadOnly, true):
		return v1alpha1.ClassReadOnly
	case is(h.Destructive, false):
		return v1alpha1.ClassWrite
	default:
		return v1alpha1.ClassDestructive
	}
}

// Idempotent says whether believed hints allow a call to be made twice: only an
// explicit idempotentHint does, or a readOnlyHint that is not taken back by a
// destructiveHint.
func Idempotent(h Hints) bool {
	return h.Present && (is(h.Idempotent, true) || is(h.ReadOnly, true) && !is(h.Destructive, true))
}

// is compares a tri-state hint with a value; an unset hint equals neither.
func is(hint *bool, value bool) bool {
	return hint != nil && *hint == value
}
