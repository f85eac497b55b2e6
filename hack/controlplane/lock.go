package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// Locks are POSIX record locks: the kernel drops them with their process, however it ends, and
// tells the holder's process id, which unlike a number in a file can never be stale. It also drops
// them when their process closes any other handle of the file, so the holder opens it once.

const lockPoll = 200 * time.Millisecond

var errLocked = errors.New("locked by another process")

// tryLock takes the lock of the file at path and writes the process id into it for people to read,
// or returns errLocked. The file stays, since removing it would let two processes hold locks on
// two files of one name.
func tryLock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	want := syscall.Flock_t{Type: syscall.F_WRLCK}
	if err := syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &want); err != nil {
		f.Close()
		if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
			return nil, errLocked
		}
		return nil, &os.PathError{Op: "lock", Path: path, Err: err}
	}
	if err := writePID(f); err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}

func writePID(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := fmt.Fprintln(f, os.Getpid())
	return err
}

// lockWait takes the lock, and calls waiting once if it has to wait.
func lockWait(ctx context.Context, path string, waiting func()) (unlock func(), err error) {
	for first := true; ; first = false {
		unlock, err := tryLock(path)
		if !errors.Is(err, errLocked) {
			return unlock, err
		}
		if first {
			waiting()
		}
		if err := pause(ctx, lockPoll); err != nil {
			return nil, err
		}
	}
}

// lockHolder returns the process id of the other process that holds the lock, or 0.
func lockHolder(path string) (int, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	probe := syscall.Flock_t{Type: syscall.F_WRLCK}
	if err := syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &probe); err != nil {
		return 0, &os.PathError{Op: "lock", Path: path, Err: err}
	}
	if probe.Type == syscall.F_UNLCK {
		return 0, nil
	}
	return int(probe.Pid), nil
}

// pause waits for d or returns why ctx ended before.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
