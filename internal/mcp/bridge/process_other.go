//go:build !unix

package bridge

import (
	"context"
	"os"
	"syscall"
	"time"
)

// Without process groups only the child itself can be ended.

func ownGroup() *syscall.SysProcAttr { return nil }

func terminateGroup(int) {}

func killGroup(leader int) {
	if p, err := os.FindProcess(leader); err == nil {
		_ = p.Kill()
	}
}

func reapGroup(int, time.Duration) {}

func reapOrphans(context.Context, func() map[int]bool) {}
