package bridge

import (
	"fmt"
	"io"
	"log/slog"
	"sync"
)

const (
	maxTailLines = 20  // lines of a process's standard error that are kept
	maxTailLine  = 512 // bytes of each
)

// process is one server process, and what it said that was no message.
type process struct {
	child   *child
	log     *slog.Logger
	secrets *redactor
	stderr  *tail
	ready   chan struct{} // closed once child is set
	route   func(message)

	mu    sync.Mutex
	stray int    // lines that were no messages
	first string // the first of them, quoted
}

// startProcess starts the server with an environment, and gives its messages to route, one after the other.
func startProcess(o Options, env []string, log *slog.Logger, route func(message)) (*process, error) {
	p := &process{log: log, secrets: newRedactor(env, o.Plain), ready: make(chan struct{}), route: route}
	p.stderr = &tail{out: o.Stderr, secrets: p.secrets}
	o.Env, o.Stderr = env, p.stderr
	child, err := startChild(o, p.receive)
	if err != nil {
		return nil, err
	}
	p.child = child
	close(p.ready)
	return p, nil
}

// receive takes one line of standard output. An error ends the process.
func (p *process) receive(line []byte) error {
	<-p.ready
	m, err := parseMessage(line)
	if err != nil {
		return p.strayLine(line)
	}
	m.raw = oneLine(m.raw)
	p.route(m)
	return nil
}

// strayLine notes a line that is no message: a banner, a log line. A few do no harm.
func (p *process) strayLine(line []byte) error {
	p.mu.Lock()
	p.stray++
	n := p.stray
	quoted := quoteLine(line, p.secrets)
	if n == 1 {
		p.first = quoted
	}
	p.mu.Unlock()
	if n == 1 {
		p.log.Warn("the server writes to its standard output what is not JSON-RPC; it should log to standard error", "line", quoted)
	}
	if n > MaxStrayLines {
		return fmt.Errorf("more than %d lines on standard output are not JSON-RPC", MaxStrayLines)
	}
	return nil
}

// diagnosis explains the process's failure to a client, by its first stray line, or by the last thing it
// said on standard error.
func (p *process) diagnosis(what string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stray > 0 {
		return what + fmt.Sprintf("; its standard output is not all JSON-RPC, the first such line is %s: an MCP server must log to standard error", p.first)
	}
	if lines := p.stderr.last(); len(lines) > 0 {
		return what + "; the last line of its standard error is " + quoteLine([]byte(lines[len(lines)-1]), p.secrets)
	}
	return what
}

// logEnd says how the process ended, and what it last said where nobody had asked it to.
func (p *process) logEnd() {
	if p.child.asked {
		p.log.Info("server process ended", "pid", p.child.pid, "reason", p.child.reason.Error())
		return
	}
	p.log.Warn("server process ended by itself", "pid", p.child.pid, "reason", p.child.reason.Error(), "stderr", p.stderr.last())
}

// tail passes lines of standard error on, without secrets, and keeps the last of them.
type tail struct {
	out     io.Writer
	secrets *redactor

	mu    sync.Mutex
	lines []string
}

// Write takes one line.
func (t *tail) Write(line []byte) (int, error) {
	text := t.secrets.redact(string(line))
	t.mu.Lock()
	t.lines = append(t.lines, printable(text, maxTailLine))
	if over := len(t.lines) - maxTailLines; over > 0 {
		t.lines = append(t.lines[:0], t.lines[over:]...)
	}
	t.mu.Unlock()
	if _, err := io.WriteString(t.out, text); err != nil {
		return 0, err
	}
	return len(line), nil
}

// last are the lines that are kept.
func (t *tail) last() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.lines...)
}
