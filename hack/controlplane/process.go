package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// tailBytes bounds how much of a log is read back, tailLines how much of it is shown.
const (
	tailBytes = 64 << 10
	tailLines = 20
)

// spawner runs functions on one operating system thread that lives as long as this program.
// Linux sends a child its parent death signal when the thread that forked it ends, not the process.
var spawner = sync.OnceValue(func() chan<- func() {
	jobs := make(chan func())
	go func() {
		runtime.LockOSThread()
		for job := range jobs {
			job()
		}
	}()
	return jobs
})

// spawn calls start, usually the Start of an exec.Cmd, on the spawner's thread.
func spawn(start func() error) error {
	done := make(chan error)
	spawner() <- func() { done <- start() }
	return <-done
}

// component is one program of the control plane and how it is started.
type component struct {
	name string
	path string
	args []string
	log  string
	// grace is how long it may take to end by itself after SIGTERM.
	grace time.Duration
}

// process is a started component.
type process struct {
	component
	cmd *exec.Cmd
	// exited is closed when the process has ended; err is its result from then on.
	exited chan struct{}
	err    error
}

// start starts c in a process group of its own, so that a Ctrl-C in the terminal reaches only the
// runner, which then stops the components in order. The log begins anew.
func (c component) start() (*process, error) {
	log, err := os.OpenFile(c.log, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(c.path, c.args...)
	cmd.Env = componentEnv()
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = childAttr()
	if err := spawn(cmd.Start); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.name, err)
	}
	p := &process{component: c, cmd: cmd, exited: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.exited)
	}()
	return p, nil
}

// componentEnv keeps what a program needs from its environment. Everything else goes: etcd, for
// one, refuses to start when an ETCD_ variable of the user's contradicts a flag.
func componentEnv() []string {
	env := []string{"KUBERC=off"}
	for _, name := range []string{"PATH", "HOME", "TMPDIR"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// stop asks p to end and kills its process group when the grace is over or hurry closes.
func (p *process) stop(hurry <-chan struct{}) {
	select {
	case <-p.exited:
		return
	default:
	}
	_ = signalGroup(p.cmd.Process, syscall.SIGTERM)
	timer := time.NewTimer(p.grace)
	defer timer.Stop()
	select {
	case <-p.exited:
		return
	case <-hurry:
	case <-timer.C:
	}
	_ = signalGroup(p.cmd.Process, syscall.SIGKILL)
	<-p.exited
}

// failure describes an exit that nobody asked for.
func (p *process) failure() *componentError {
	return &componentError{name: p.name, cause: p.err, log: p.log, tail: tail(p.log)}
}

// signalGroup signals the process group that the process leads.
func signalGroup(p *os.Process, sig syscall.Signal) error {
	err := syscall.Kill(-p.Pid, sig)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// componentError is a component that ended while it was needed.
type componentError struct {
	name  string
	cause error
	log   string
	tail  string
}

func (e *componentError) Error() string {
	cause := "exit status 0"
	if e.cause != nil {
		cause = e.cause.Error()
	}
	return fmt.Sprintf("%s ended: %s; the end of %s:\n%s", e.name, cause, e.log, e.tail)
}

func (e *componentError) Unwrap() error { return e.cause }

// tail returns the last lines of a log, or why they cannot be read.
func tail(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > tailBytes {
		_, _ = f.Seek(-tailBytes, io.SeekEnd)
	}
	data, err := io.ReadAll(io.LimitReader(f, tailBytes))
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimRight(data, "\n"), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-tailLines):], []byte("\n")))
}
