// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"errors"
	"fmt"
	"os"

	"github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/sys/unix"
)

// allowed are the system calls that a Go program needs to compute, to collect
// garbage, to wait, to read and write what is open, and to end. Whatever is not
// here fails with EPERM, and new system calls of new kernels with it.
var allowed = []string{
	// memory
	"brk", "madvise", "mincore", "munmap",
	// threads and waiting
	"clock_nanosleep", "epoll_ctl", "epoll_pwait", "epoll_wait", "exit", "exit_group", "futex", "gettid",
	"nanosleep", "restart_syscall", "rseq", "sched_getaffinity", "sched_yield", "set_robust_list",
	// signals within the process
	"getpid", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack",
	// time and randomness
	"clock_gettime", "getrandom", "gettimeofday", "time",
	// the two pipes and the standard error
	"close", "read", "write",
}

// conditional are system calls that are allowed with some arguments only.
func conditional() []seccomp.NameWithConditions {
	only := func(name string, argument uint32, operation seccomp.Operation, value uint64) seccomp.NameWithConditions {
		return seccomp.NameWithConditions{Name: name, Conditions: seccomp.ArgumentConditions{
			{Argument: argument, Operation: operation, Value: value},
		}}
	}
	return []seccomp.NameWithConditions{
		only("clone", 0, seccomp.BitsSet, unix.CLONE_THREAD), // threads, and no processes
		only("mmap", 2, seccomp.BitsNotSet, unix.PROT_EXEC),  // no new machine code
		only("mprotect", 2, seccomp.BitsNotSet, unix.PROT_EXEC),
		only("tgkill", 0, seccomp.Equal, uint64(os.Getpid())), // how the runtime interrupts its threads
	}
}

// filterCalls leaves the process only what is allowed, in all of its threads.
func filterCalls() error {
	architecture, err := arch.GetInfo("")
	if err != nil {
		return err
	}
	group := seccomp.SyscallGroup{Action: seccomp.ActionAllow, NamesWithCondtions: conditional()}
	for _, name := range allowed {
		if _, exists := architecture.SyscallNames[name]; exists { // some are older than some architectures
			group.Names = append(group.Names, name)
		}
	}
	err = seccomp.LoadFilter(seccomp.Filter{
		NoNewPrivs: true,
		Flag:       seccomp.FilterFlagTSync,
		Policy: seccomp.Policy{DefaultAction: seccomp.ActionErrno, Syscalls: []seccomp.SyscallGroup{
			// The C library of a binary that has one falls back to clone.
			{Action: seccomp.ActionErrno | seccomp.Action(unix.ENOSYS), Names: []string{"clone3"}},
			group,
		}},
	})
	if err != nil {
		return err
	}
	return probe()
}

// probe makes sure that the filter holds: where one thread cannot be brought
// under it, the kernel puts none under it, and LoadFilter does not say so.
func probe() error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		_ = unix.Close(fd)
		return errors.New("the filter does not hold: a socket can be opened")
	}
	if !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("the filter does not hold: a socket is refused by something else: %w", err)
	}
	return nil
}
