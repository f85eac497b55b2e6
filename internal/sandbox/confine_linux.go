// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// reserve is the address space beyond its memory that the Go runtime may set
// aside without using it; it does so in pieces of 64 MiB.
const reserve = 256 << 20

// confineSystem has the kernel hold the limits. The order matters: what reads a
// file comes first, the filter last.
func confineSystem(limits startMessage) (missing []string) {
	// no_new_privs and the filter must be set by one thread. The filter then
	// holds for every other one too, those that exist and those to come.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	// Should the container be short of memory, the child goes first. It is no
	// protection of the child, so it does not matter where it cannot be had.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)

	for _, step := range []struct {
		what string
		take func() error
	}{
		{"memory limit", func() error { return limitMemory(limits.Memory) }},
		{"limits", func() error { return limitResources(limits.CPU) }},
		{"undumpable", func() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }},
		{"seccomp", filterCalls},
	} {
		if err := step.take(); err != nil {
			missing = append(missing, fmt.Sprintf("%s: %v", step.what, err))
		}
	}
	return missing
}

// limitMemory allows memory bytes more than the process has now. What counts is
// private memory that can be written to (RLIMIT_DATA): of address space a Go
// process has far more than it uses. The limit on address space holds too, for
// kernels that apply only that one.
func limitMemory(memory int64) error {
	space, data, err := memoryNow()
	if err != nil {
		return err
	}
	return errors.Join(
		limit(unix.RLIMIT_DATA, data+uint64(memory)),
		limit(unix.RLIMIT_AS, space+uint64(memory)+reserve),
	)
}

// memoryNow reads address space and private writable memory, in bytes, from
// fields 1 and 6 of /proc/self/statm (proc_pid_statm(5)).
func memoryNow() (space, data uint64, err error) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, 0, err
	}
	fields := bytes.Fields(text)
	if len(fields) < 6 {
		return 0, 0, fmt.Errorf("/proc/self/statm has %d fields", len(fields))
	}
	pages := func(field []byte) uint64 {
		n, wrong := strconv.ParseUint(string(field), 10, 63)
		err = errors.Join(err, wrong)
		return n * uint64(os.Getpagesize())
	}
	return pages(fields[0]), pages(fields[5]), err
}

// limitResources leaves the files that are open, and no way to another one.
func limitResources(cpu time.Duration) error {
	seconds := uint64((cpu + time.Second - 1) / time.Second)
	return errors.Join(
		limit(unix.RLIMIT_CPU, seconds), // for a child whose parent is gone
		limit(unix.RLIMIT_NOFILE, 0),
		limit(unix.RLIMIT_FSIZE, 0),
		limit(unix.RLIMIT_CORE, 0),
		limit(unix.RLIMIT_MEMLOCK, 0),
		limit(unix.RLIMIT_MSGQUEUE, 0),
	)
}

// limit sets both values, so that no process can raise it again but root, whom
// the filter keeps from it.
func limit(resource int, value uint64) error {
	if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: value, Max: value}); err != nil {
		return fmt.Errorf("setrlimit %d to %d: %w", resource, value, err)
	}
	return nil
}
