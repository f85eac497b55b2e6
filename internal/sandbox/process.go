// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

const (
	// maxStderr bounds what is kept of the child's standard error. The reason
	// why a Go process ends comes first.
	maxStderr = 4 << 10
	// drainGrace bounds the wait for the pipes of a child that is dead.
	drainGrace = time.Second
)

// process is one child, for one goroutine. Its end must be awaited, by kill or end.
type process struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     io.ReadCloser
	stderr  head
}

// launch starts the child in a session of its own. When ctx is done it is killed,
// with everything that it started. On Linux it also dies with the thread that
// calls this, so that one has to outlive it.
func launch(ctx context.Context, command []string) (*process, error) {
	p := &process{command: exec.CommandContext(ctx, command[0], command[1:]...), stderr: head{limit: maxStderr}}
	p.command.Env = []string{} // nil would pass on everything
	p.command.Dir = string(os.PathSeparator)
	p.command.Stderr = &p.stderr
	p.command.SysProcAttr = ownSession()
	p.command.Cancel = func() error { return killSession(p.command.Process) }
	p.command.WaitDelay = drainGrace
	var err error
	if p.in, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	if p.out, err = p.command.StdoutPipe(); err != nil {
		_ = p.in.Close()
		return nil, err
	}
	keepFiles()
	if err := p.command.Start(); err != nil {
		return nil, err // Start has closed the pipes
	}
	return p, nil
}

// kill ends the child, if it has not ended, and waits for that.
func (p *process) kill() {
	if p.command.ProcessState == nil {
		_ = killSession(p.command.Process)
	}
	p.end()
}

// end waits for a child that has said its last, and says how it ended. One that
// goes on regardless is killed when ctx is done.
func (p *process) end() ending {
	if p.command.ProcessState == nil {
		_ = p.in.Close()
		_ = p.command.Wait() // the state says more
	}
	return ending{state: p.command.ProcessState, stderr: p.stderr.String()}
}

// ending is how a child ended.
type ending struct {
	state  *os.ProcessState
	stderr string
}

// outOfMemory and tooDeep are what the Go runtime says when it gives up.
var (
	outOfMemory = []string{"out of memory", "cannot allocate", "failed to create new OS thread"}
	tooDeep     = []string{"stack overflow", "stack exceeds"}
)

// failure says why a child that sent no result ended.
func (e ending) failure(memory int64) *Error {
	switch {
	case containsAny(e.stderr, outOfMemory):
		return &Error{Kind: Memory, Detail: fmt.Sprintf(
			"the program needs more than the %d MiB of memory that it may have: let it hold less at a time", memory>>20)}
	case containsAny(e.stderr, tooDeep):
		return &Error{Kind: Memory, Detail: "the values of the program are nested too deeply: nest them less"}
	}
	why := e.state.String()
	if line, _, _ := strings.Cut(e.stderr, "\n"); line != "" {
		why += ": " + shorten(line, maxDetail/2)
	} else if why == "signal: killed" {
		why += ": the operator's container may be short of memory, and its children go first"
	}
	return &Error{Kind: Crashed, Detail: "the sandbox broke down: " + why}
}

func containsAny(s string, parts []string) bool {
	for _, part := range parts {
		if strings.Contains(s, part) {
			return true
		}
	}
	return false
}

// head keeps the beginning of what is written to it.
type head struct {
	kept  strings.Builder
	limit int
}

func (h *head) Write(text []byte) (int, error) {
	h.kept.Write(text[:min(len(text), h.limit-h.kept.Len())])
	return len(text), nil
}

func (h *head) String() string { return h.kept.String() }
