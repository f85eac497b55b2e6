package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

var stopSignals = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}

// stopRequest is the cause of a context that ended because somebody wanted it to.
type stopRequest struct{ why string }

func (e *stopRequest) Error() string { return "stopped: " + e.why }

// stopOnSignal cancels on the first signal that asks the program to end.
func stopOnSignal(cancel context.CancelCauseFunc) {
	// A reader of our output that goes away must not take the components with it.
	signal.Ignore(syscall.SIGPIPE)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, stopSignals...)
	go func() {
		cancel(&stopRequest{why: fmt.Sprintf("received %v", <-signals)})
	}()
}

const parentPoll = 500 * time.Millisecond

// stopWithParent cancels once the process pid has ended.
func stopWithParent(ctx context.Context, pid int, cancel context.CancelCauseFunc) error {
	// On Linux the handle stays with this very process, even if its number is used again.
	parent, err := os.FindProcess(pid)
	if err != nil {
		return fmt.Errorf("--parent-pid %d: %w", pid, err)
	}
	// Losing a direct parent shows at once; a signal would still reach its zombie.
	direct := os.Getppid() == pid
	alive := func() bool {
		if direct {
			return os.Getppid() == pid
		}
		return parent.Signal(syscall.Signal(0)) == nil
	}
	if !alive() {
		return fmt.Errorf("--parent-pid %d: no such process", pid)
	}
	go func() {
		for alive() {
			if pause(ctx, parentPoll) != nil {
				return
			}
		}
		cancel(&stopRequest{why: fmt.Sprintf("process %d ended", pid)})
	}()
	return nil
}
