// SPDX-License-Identifier: Apache-2.0

// Package publish turns the content of a Spec into what a Version holds:
// defaults are filled in, text is normalised, the publication rules are checked,
// what has several spellings is written in one, and the result is brought into
// canonical form and hashed, in that order. The
// operator and the offline commands call the same function, so they agree on
// every finding and every hash. It is pure.
//
// The rules come after the CRD's own schema, which holds what one object can
// say about itself, and are not repeated when a Run executes a Version.
package publish
