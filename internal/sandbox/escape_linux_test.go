// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/elastic/go-seccomp-bpf/arch"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func init() {
	children["escape"] = escape
	children["escape-as-nobody"] = func() error { return asNobody("escape") }
	children["sandbox-as-nobody"] = func() error { return asNobody("sandbox") }
}

const nobody = 65534

// asNobody gives root's rights up and becomes another child of this binary.
func asNobody(child string) error {
	if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(nobody), syscall.Setuid(nobody)); err != nil {
		return err
	}
	return syscall.Exec("/proc/self/exe", []string{"sandbox.test", child}, os.Environ())
}

// report is what a child could do once it was confined.
type report struct {
	Missing []string
	UID     int
	Env     []string
	Dir     string
	Leader  bool
	// Errors of the attempts, by their names.
	Errors map[string]string
}

// escape confines its process as a child does and then tries what a child that
// is not the program's prisoner but its accomplice might try.
func escape() error {
	dir, _ := os.Getwd()
	r := report{
		UID: os.Getuid(), Env: os.Environ(), Dir: dir, Leader: unix.Getpgrp() == os.Getpid(), Errors: map[string]string{},
	}
	parent := os.Getppid()
	r.Missing = confine(startMessage{Memory: DefaultMemory, CPU: time.Minute})
	for name, attempt := range attempts(parent) {
		err := attempt()
		var number syscall.Errno
		switch {
		case err == nil:
			r.Errors[name] = "done"
		case errors.As(err, &number):
			r.Errors[name] = unix.ErrnoName(number)
		default:
			r.Errors[name] = err.Error()
		}
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

// attempts are ways out, each with what it is to give once all are shut.
func attempts(parent int) map[string]func() error {
	open := func(path string) func() error {
		return func() error {
			_, err := os.ReadFile(path)
			return err
		}
	}
	call := func(number uintptr, arguments ...uintptr) func() error {
		return func() error {
			var a [6]uintptr
			copy(a[:], arguments)
			if _, _, errno := syscall.RawSyscall6(number, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
				return errno
			}
			return nil
		}
	}
	pid := uintptr(parent)
	return map[string]func() error{
		"a file":                        open("/etc/passwd"),
		"the binary":                    open("/proc/self/exe"),
		"the environment of the parent": open(fmt.Sprintf("/proc/%d/environ", parent)),
		"the memory of the parent":      open(fmt.Sprintf("/proc/%d/mem", parent)),
		"its own environment":           open("/proc/self/environ"),
		"its own limits":                open("/proc/self/limits"),
		"the service account's token":   open("/var/run/secrets/kubernetes.io/serviceaccount/token"),
		"a new file": func() error {
			return os.WriteFile("/tmp/escaped", []byte("x"), 0o600)
		},
		"a directory":           func() error { _, err := os.ReadDir("/"); return err },
		"a removal":             func() error { return os.Remove("/tmp/escaped") },
		"a change of directory": func() error { return os.Chdir("/etc") },
		"a file's attributes":   func() error { _, err := os.Stat("/etc/passwd"); return err },
		"a link":                func() error { return os.Symlink("/etc/passwd", "/tmp/escaped") },

		"TCP": func() error { _, err := net.Dial("tcp", "127.0.0.1:443"); return err },
		"UDP": func() error { _, err := net.Dial("udp", "127.0.0.1:53"); return err },
		"a Unix socket": func() error {
			_, err := net.Dial("unix", "/var/run/docker.sock")
			return err
		},
		"a listener":     func() error { _, err := net.Listen("tcp", "127.0.0.1:0"); return err },
		"a netlink":      call(unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW, 0),
		"a socket pair":  func() error { _, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0); return err },
		"a pipe":         func() error { _, _, err := os.Pipe(); return err },
		"io_uring":       call(unix.SYS_IO_URING_SETUP, 1, 0),
		"memory as file": func() error { _, err := unix.MemfdCreate("x", 0); return err },

		"a command":    func() error { return exec.Command("/proc/self/exe", "sandbox").Run() },
		"exec":         func() error { return unix.Exec("/proc/self/exe", []string{"x"}, nil) },
		"fork":         call(unix.SYS_CLONE, uintptr(unix.SIGCHLD)),
		"clone3":       call(unix.SYS_CLONE3, 0, 0),
		"a namespace":  func() error { return unix.Unshare(unix.CLONE_NEWUSER) },
		"a mount":      func() error { return unix.Mount("none", "/tmp", "tmpfs", 0, "") },
		"another root": func() error { return unix.Chroot("/tmp") },

		"a signal to the parent":   func() error { return unix.Kill(parent, 0) },
		"a signal to everybody":    func() error { return unix.Kill(-1, 0) },
		"a thread of the parent":   func() error { return unix.Tgkill(parent, parent, 0) },
		"ptrace of the parent":     call(unix.SYS_PTRACE, unix.PTRACE_ATTACH, pid),
		"reading of the parent":    call(unix.SYS_PROCESS_VM_READV, pid, 0, 0, 0, 0, 0),
		"a handle of the parent":   func() error { _, err := unix.PidfdOpen(parent, 0); return err },
		"the parent's limits":      func() error { return unix.Prlimit(parent, unix.RLIMIT_CORE, nil, &unix.Rlimit{}) },
		"shared memory":            call(unix.SYS_SHMGET, unix.IPC_PRIVATE, 4096, 0o600),
		"a key":                    call(unix.SYS_KEYCTL, unix.KEYCTL_GET_KEYRING_ID, ^uintptr(2), 1),
		"a BPF program":            call(unix.SYS_BPF, 0, 0, 0),
		"a performance counter":    call(unix.SYS_PERF_EVENT_OPEN, 0, 0, 0, 0, 0),
		"a handler of page faults": call(unix.SYS_USERFAULTFD, 0),

		"a higher limit": func() error { return unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 64, Max: 64}) },
		"a higher memory limit": func() error {
			return unix.Prlimit(0, unix.RLIMIT_DATA, &unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}, nil)
		},
		"another user":          call(unix.SYS_SETUID, 0),
		"another filter":        call(unix.SYS_SECCOMP, 1, 0, 0),
		"dumpable again":        func() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0) },
		"life after the parent": func() error { return unix.Prctl(unix.PR_SET_PDEATHSIG, 0, 0, 0, 0) },
		"new machine code": func() error {
			_, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON)
			return err
		},
		"made machine code": func() error {
			page, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
			if err != nil {
				return err
			}
			return unix.Mprotect(page, unix.PROT_READ|unix.PROT_EXEC)
		},
	}
}

// Issue 5: files, the network, the environment and the /proc of the operator are
// out of reach even for a child whose interpreter is broken, root's or not.
func TestEscapes(t *testing.T) {
	t.Setenv("CANARY", "secret")
	runs := map[string]int{"escape": os.Getuid()}
	if os.Getuid() == 0 {
		runs["escape-as-nobody"] = nobody
	}
	for child, uid := range runs {
		t.Run(child, func(t *testing.T) {
			p, err := launch(t.Context(), []string{executable(t), child})
			if err != nil {
				t.Fatal(err)
			}
			defer p.kill()
			var got report
			if err := json.NewDecoder(p.out).Decode(&got); err != nil {
				t.Fatalf("%v: %s", err, p.end().stderr)
			}
			want := report{UID: uid, Env: []string{}, Dir: "/", Leader: true, Errors: map[string]string{}}
			for name := range attempts(0) {
				want.Errors[name] = "EPERM"
			}
			want.Errors["clone3"] = "ENOSYS"
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("what a child can do (-want +got):\n%s", diff)
			}
		})
	}
}

// A child holds its pipes and nothing that the operator itself was started with.
func TestFilesOfChild(t *testing.T) {
	inherited, err := os.Open("/etc/passwd")
	if err != nil {
		t.Fatal(err)
	}
	defer inherited.Close()
	if _, err := unix.FcntlInt(inherited.Fd(), unix.F_SETFD, 0); err != nil { // as if it had been there at the start
		t.Fatal(err)
	}
	p, err := launch(t.Context(), []string{executable(t), "sandbox"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.kill()
	s := session{limits: startMessage{Memory: DefaultMemory, CPU: time.Minute}, child: p}
	if err := s.greet(); err != nil {
		t.Fatal(err)
	}
	dir := fmt.Sprintf("/proc/%d/fd", p.command.Process.Pid)
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Skip("only root sees the files of a child")
	}
	for _, file := range files {
		target, err := os.Readlink(dir + "/" + file.Name())
		if err != nil {
			t.Fatal(err)
		}
		ofRuntime := strings.HasPrefix(target, "anon_inode:") || strings.HasPrefix(target, "/sys/fs/cgroup/")
		if !strings.HasPrefix(target, "pipe:") && !ofRuntime {
			t.Errorf("file %s is open: %s", file.Name(), target)
		}
	}
}

// The operator's image runs as a user without rights; the rest of the tests may run as root.
func TestRunAsNobody(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("the other tests run without rights already")
	}
	runner := newTestRunner(t, "sandbox-as-nobody", nil)
	if missing, err := runner.Probe(t.Context()); err != nil || len(missing) > 0 {
		t.Errorf("missing %v, error %v", missing, err)
	}
	result, err := runner.Run(t.Context(), Program{Source: "def main(): return 'x'"}, nil)
	if err != nil || string(result.Value) != `"x"` {
		t.Errorf("%s, %v", result.Value, err)
	}
	if !underRace {
		_, err = runner.Run(t.Context(), Program{Source: "def main(): return len('x' * 1000000000)"}, nil)
		checkKind(t, err, Memory, "more than the 64 MiB")
	}
}

// The filter can be made for both architectures: a name that one of them does not
// know would leave its children without a filter.
func TestNamesOfCalls(t *testing.T) {
	for _, architecture := range []*arch.Info{arch.X86_64, arch.AARCH64} {
		names := []string{"clone3", "socket", "futex", "epoll_pwait", "exit_group"}
		for _, one := range conditional() {
			names = append(names, one.Name)
		}
		for _, name := range names {
			if _, exists := architecture.SyscallNames[name]; !exists {
				t.Errorf("%s has no %s", architecture.Name, name)
			}
		}
	}
	for _, name := range allowed {
		if _, exists := arch.X86_64.SyscallNames[name]; !exists {
			t.Errorf("there is no %s", name)
		}
	}
}
