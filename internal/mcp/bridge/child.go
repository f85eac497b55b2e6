package bridge

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

const (
	stopGrace    = 2 * time.Second // between closing standard input, SIGTERM and SIGKILL
	drainGrace   = time.Second     // for what a dead child's pipes still hold
	pendingLines = 16              // messages on their way to a child
)

// child is one running server process.
type child struct {
	pid    int
	stdin  *os.File
	input  chan []byte
	exited chan struct{} // closed when the process group is gone
	reason error         // why it ended; set before exited is closed, as is asked
	asked  bool          // it was asked to end, and did nothing wrong

	stopOnce sync.Once
	stopping chan struct{}
}

// startChild starts the command. It calls each for every line of standard output, one after the other; an
// error from it ends the child.
func startChild(o Options, each func([]byte) error) (*child, error) {
	pipes, err := newPipes()
	if err != nil {
		return nil, err
	}
	c := &child{
		stdin: pipes.stdin.w, input: make(chan []byte, pendingLines),
		exited: make(chan struct{}), stopping: make(chan struct{}),
	}
	cmd := exec.Command(o.Command[0], o.Command[1:]...)       //nolint:noctx // stop ends it, gently first and as a group
	cmd.Env = append(make([]string, 0, len(o.Env)), o.Env...) // nil would inherit everything (N1)
	cmd.Dir = o.Dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = pipes.stdin.r, pipes.stdout.w, pipes.stderr.w
	cmd.SysProcAttr = ownGroup()

	started := make(chan error, 1)
	go func() {
		// On Linux the parent-death signal comes when the starting thread ends, so it has to last as
		// long as the child does.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		pipes.closeChildEnds()
		if err != nil {
			pipes.closeOurEnds()
			started <- fmt.Errorf("cannot start the server process: %w", err)
			return
		}
		c.pid = cmd.Process.Pid
		started <- nil
		c.run(cmd, pipes, o.Stderr, each)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return c, nil
}

// run serves the child's pipes until it ends.
func (c *child) run(cmd *exec.Cmd, pipes *pipes, stderr io.Writer, each func([]byte) error) {
	var readers sync.WaitGroup
	var broken error
	readers.Go(func() {
		if broken = readLines(pipes.stdout.r, MaxMessageBytes, each); broken != nil {
			c.stop()
		}
	})
	readers.Go(func() { forwardStderr(pipes.stderr.r, stderr) })
	go c.feed()

	status := cmd.Wait()
	asked := c.isStopping()
	c.stop()
	killGroup(c.pid) // what it started and left behind
	drained := make(chan struct{})
	go func() {
		readers.Wait()
		close(drained)
	}()
	select {
	case <-drained:
	case <-time.After(drainGrace): // a daemon that left the group holds the pipes
	}
	pipes.closeOurEnds()
	<-drained
	reapGroup(c.pid, drainGrace)
	c.reason, c.asked = exitReason(status, broken), asked && broken == nil
	close(c.exited)
}

func exitReason(status, broken error) error {
	switch {
	case broken != nil && !errors.Is(broken, os.ErrClosed):
		return broken
	case status != nil:
		return fmt.Errorf("the server process ended: %w", status)
	}
	return errors.New("the server process ended: exit status 0")
}

// feed writes to standard input.
func (c *child) feed() {
	for {
		select {
		case line := <-c.input:
			if _, err := c.stdin.Write(append(line, '\n')); err != nil {
				c.stop() // it reads no more
				return
			}
		case <-c.stopping:
			return
		}
	}
}

// send queues a line for standard input; false means that the child takes no more.
func (c *child) send(line []byte, giveUp <-chan struct{}) bool {
	select {
	case c.input <- line:
		return true
	case <-c.stopping:
	case <-giveUp:
	}
	return false
}

// offer queues a line if there is room. It is for the goroutine that reads standard output: were that to
// wait for a child that waits for it to read, neither would go on.
func (c *child) offer(line []byte) {
	select {
	case c.input <- line:
	default:
	}
}

// stop ends the child, gently first, and returns at once. Its end shows in exited.
func (c *child) stop() {
	c.stopOnce.Do(func() {
		close(c.stopping)
		_ = c.stdin.Close() // the way to ask a stdio server to end
		go func() {
			for _, signal := range []func(int){terminateGroup, killGroup} {
				select {
				case <-c.exited:
					return
				case <-time.After(stopGrace):
					signal(c.pid)
				}
			}
		}()
	})
}

func (c *child) isStopping() bool {
	select {
	case <-c.stopping:
		return true
	default:
		return false
	}
}

// pipe is one pipe between the bridge and a child.
type pipe struct{ r, w *os.File }

type pipes struct{ stdin, stdout, stderr pipe }

func newPipes() (*pipes, error) {
	var p pipes
	for _, one := range []*pipe{&p.stdin, &p.stdout, &p.stderr} {
		var err error
		if one.r, one.w, err = os.Pipe(); err != nil {
			p.closeChildEnds()
			p.closeOurEnds()
			return nil, fmt.Errorf("cannot make a pipe: %w", err)
		}
	}
	return &p, nil
}

// closeChildEnds and closeOurEnds close files that may be nil or closed already.
func (p *pipes) closeChildEnds() { closeFiles(p.stdin.r, p.stdout.w, p.stderr.w) }
func (p *pipes) closeOurEnds()   { closeFiles(p.stdin.w, p.stdout.r, p.stderr.r) }

func closeFiles(files ...*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}
