// SPDX-License-Identifier: Apache-2.0

// Package engine decides what a Run does next. The log is the truth: Fold reads
// it into a State, Next looks at the State and says which one thing is required
// now, and Project turns the State into the status that people read. Nothing is
// kept between two steps, so any replica can take the next one. It is pure.
package engine
