// SPDX-License-Identifier: Apache-2.0

// Package sandbox runs programs of agents and models, each in a process of its
// own. The process is the operator's binary, started anew for every program with
// an empty environment; before it is given the program it takes everything away
// from itself that it does not need (see confine). The two processes speak over
// two pipes (see protocol.go). The parent believes nothing that the child says
// without checking it, and kills the child when its time is up.
//
// What holds on each system:
//
//   - Linux on amd64 and arm64: limits on memory, CPU time and files, and a
//     seccomp filter that leaves what the Go runtime needs to compute and to use
//     the two pipes. A child that cannot set all of this up is given no program.
//   - Elsewhere: a soft limit on memory, and nothing of the kernel's. Starlark
//     itself has no way to files, the network or the environment, but a program
//     can take the machine's memory. Options.AllowUnconfined must permit it.
package sandbox
