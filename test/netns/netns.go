// SPDX-License-Identifier: Apache-2.0

// Package netns runs programs of tests in a network namespace of their own, with a loopback interface and
// nothing else, so that a program that binds every interface is reached by nobody but the test. No
// privilege is needed where the system lets a user make namespaces. A test's TestMain calls Main first.
package netns

import (
	"os"
	"slices"
)

// step tells a process that was started by Command what it has become.
const step = "REMIT_TEST_NETNS"

// inside is the value of step in the process that is to become the program.
const inside = "inside"

// Main turns a process that Command started into the program that it is to run, and returns in every other.
func Main() {
	if os.Getenv(step) == inside {
		enter()
	}
}

// environment is that of the process, told to run the program.
func environment() []string { return append(os.Environ(), step+"="+inside) }

// own is the environment of the program: what it was given, without the step.
func own() []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool { return variable == step+"="+inside })
}
