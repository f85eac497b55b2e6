// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Command is exec.CommandContext for a program in a namespace of its own. The program is user 0 there, which
// is the test's own user everywhere else.
func Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "/proc/self/exe", append([]string{name}, args...)...)
	c.Env = environment()
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	return c
}

// Available says why no namespace can be made, or nothing.
func Available(ctx context.Context) error {
	output, err := Command(ctx, "").CombinedOutput()
	if err != nil {
		return fmt.Errorf("this system lets the test make no network namespace: %w %s", err, strings.TrimSpace(string(output)))
	}
	return nil
}

// enter brings the loopback interface up and becomes the program, if there is one.
func enter() {
	if err := loopback(); err != nil {
		fail("the loopback interface stays down", err)
	}
	if os.Args[1] == "" {
		os.Exit(0)
	}
	path, err := exec.LookPath(os.Args[1])
	if err != nil {
		fail("the program is not found", err)
	}
	fail(path+" cannot be run", syscall.Exec(path, os.Args[1:], own()))
}

func loopback() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request)
}

func fail(what string, err error) {
	fmt.Fprintln(os.Stderr, "network namespace:", what, err)
	os.Exit(1)
}
