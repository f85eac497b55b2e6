// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package sandbox

// confineSystem has nothing that is worth the name: no limit on memory holds on
// these systems, and no filter.
func confineSystem(startMessage) []string {
	return []string{"limits: only Linux has them", "seccomp: only Linux has it"}
}
