// SPDX-License-Identifier: Apache-2.0

//go:build race

package sandbox

// underRace: the race detector needs memory of its own for each byte of a
// program's, and speaks in words of its own when it gets none.
const underRace = true
