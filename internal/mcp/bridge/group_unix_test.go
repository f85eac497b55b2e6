//go:build unix

package bridge

import "syscall"

func groupOf(pid int) int {
	group, err := syscall.Getpgid(pid)
	if err != nil {
		return 0
	}
	return group
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }
