//go:build unix && !linux

package bridge

import (
	"context"
	"syscall"
)

// ownGroup makes the child the leader of a process group. Its standard input ends with the bridge.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// reapOrphans has nothing to do where the bridge is never process 1.
func reapOrphans(context.Context, func() map[int]bool) {}
