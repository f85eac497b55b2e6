// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// stopBound is how long a process may take to stop when it is asked to.
const stopBound = 30 * time.Second

// process is a program that runs beside the tests, with its output in a file.
type process struct {
	name    string
	log     string
	command *exec.Cmd
	ended   chan struct{}
	err     error
}

// program says what to start.
type program struct {
	name string
	args []string
	// environment is added to that of the tests.
	environment []string
	// out takes the standard output; nil puts it into the log, where standard error always goes.
	out io.Writer
}

// start runs a program. Its log is appended to one of the same name in the directory.
func (p program) start(dir string) (*process, error) {
	log := filepath.Join(dir, p.name+".log")
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	command := exec.Command(p.args[0], p.args[1:]...)
	command.Env = append(os.Environ(), p.environment...)
	command.Stdout, command.Stderr = file, file
	if p.out != nil {
		command.Stdout = p.out
	}
	command.SysProcAttr = endWithParent()
	if err := command.Start(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	started := &process{name: p.name, log: log, command: command, ended: make(chan struct{})}
	go func() {
		started.err = errors.Join(command.Wait(), file.Close())
		close(started.ended)
	}()
	return started, nil
}

// stop asks the process to end and waits for it.
func (p *process) stop() error {
	if p.hasEnded() {
		return nil
	}
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop %s: %w", p.name, err)
	}
	select {
	case <-p.ended:
		return nil
	case <-time.After(stopBound):
		return errors.Join(fmt.Errorf("%s did not stop within %s\n%s", p.name, stopBound, p.tail()), p.kill())
	}
}

// kill ends the process as a crash would.
func (p *process) kill() error {
	if err := p.command.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill %s: %w", p.name, err)
	}
	<-p.ended
	return nil
}

func (p *process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// tail is the end of the log.
func (p *process) tail() []byte {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return []byte(err.Error())
	}
	const size = 4000
	return bytes.TrimSpace(text[max(len(text)-size, 0):])
}

// waitForFile waits until there is a file that the process makes whole, and reads it.
func (p *process) waitForFile(t *testing.T, path string) string {
	t.Helper()
	var text []byte
	eventually(t, p.name+" writes "+filepath.Base(path), func() bool {
		if p.hasEnded() {
			t.Fatalf("%s ended: %v\n%s", p.name, p.err, p.tail())
		}
		var err error
		text, err = os.ReadFile(path)
		return err == nil
	})
	return string(text)
}
