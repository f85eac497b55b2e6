// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// stopTimeout is how long a process may take to stop before it is killed.
const stopTimeout = 20 * time.Second

// process is a program that runs beside the demo, in a process group of its own,
// so that Ctrl-C reaches only the demo, which then stops all in order.
type process struct {
	name    string
	command *exec.Cmd
	log     string
	ended   chan struct{}
	err     error
}

// start runs a program with its output in a file, or its standard output in out.
func start(name, dir string, environment []string, out io.Writer, command ...string) (*process, error) {
	log := filepath.Join(dir, name+".log")
	file, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	p := &process{name: name, log: log, command: exec.Command(command[0], command[1:]...), ended: make(chan struct{})}
	p.command.Env = append(os.Environ(), environment...)
	p.command.Stdout, p.command.Stderr = file, file
	if out != nil {
		p.command.Stdout = out
	}
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.command.Start(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	go func() {
		p.err = errors.Join(p.command.Wait(), file.Close())
		close(p.ended)
	}()
	return p, nil
}

// stop ends the program and waits for it.
func (p *process) stop() error {
	select {
	case <-p.ended:
		return nil
	default:
	}
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop %s: %w", p.name, err)
	}
	select {
	case <-p.ended:
		return nil
	case <-time.After(stopTimeout):
		return errors.Join(
			fmt.Errorf("%s did not stop within %s and was killed", p.name, stopTimeout),
			syscall.Kill(-p.command.Process.Pid, syscall.SIGKILL))
	}
}

// failed describes a program that ended by itself, with the end of its log.
func (p *process) failed() error {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return fmt.Errorf("%s ended: %w", p.name, errors.Join(p.err, err))
	}
	const tail = 2000
	text = text[max(len(text)-tail, 0):]
	return fmt.Errorf("%s ended: %w\n%s", p.name, p.err, bytes.TrimSpace(text))
}

// waitForFile waits until a program has written a file.
func (p *process) waitForFile(ctx context.Context, path string, timeout time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if text, err := os.ReadFile(path); err == nil {
			return string(text), nil
		}
		select {
		case <-p.ended:
			return "", p.failed()
		case <-ctx.Done():
			return "", fmt.Errorf("%s was not ready within %s: %w", p.name, timeout, ctx.Err())
		case <-tick.C:
		}
	}
}
