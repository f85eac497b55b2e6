//go:build unix

package bridge

import (
	"errors"
	"syscall"
	"time"
)

func terminateGroup(leader int) { _ = syscall.Kill(-leader, syscall.SIGTERM) }

func killGroup(leader int) { _ = syscall.Kill(-leader, syscall.SIGKILL) }

// reapGroup collects what is left of a killed group after its leader, as far as it became ours.
func reapGroup(leader int, limit time.Duration) {
	deadline := time.After(limit)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		pid, err := syscall.Wait4(-leader, nil, syscall.WNOHANG, nil)
		switch {
		case errors.Is(err, syscall.EINTR), err == nil && pid > 0:
			continue
		case err != nil: // ECHILD: none left
			return
		}
		select {
		case <-deadline:
			return
		case <-tick.C:
		}
	}
}
