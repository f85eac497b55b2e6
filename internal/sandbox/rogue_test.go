// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"testing"
	"time"
)

func init() {
	for name, rogue := range rogues {
		children[name] = rogue.child
	}
}

// greeted runs a child that behaves until it has its program.
func greeted(then func() error) func() error {
	return func() error {
		var m toChild
		if err := readMessage(os.Stdin, &m, maxFromParent); err != nil {
			return err
		}
		if err := send(os.Stdout, fromChild{Ready: &readyMessage{}}); err != nil {
			return err
		}
		if err := readMessage(os.Stdin, &m, maxFromParent); err != nil {
			return err
		}
		return then()
	}
}

// hang waits for its end.
func hang() error { select {} }

// rogues are children that do not do what they should, with what comes of it.
var rogues = map[string]struct {
	child func() error
	kind  Kind
	says  string
}{
	"dies": {
		child: func() error { return errors.New("I cannot") },
		kind:  Unavailable, says: "the sandbox broke down: exit status 1: I cannot",
	},
	"is not confined": {
		child: func() error {
			if err := send(os.Stdout, fromChild{Ready: &readyMessage{Missing: []string{"seccomp: not here"}}}); err != nil {
				return err
			}
			return hang()
		},
		kind: Unavailable, says: "the child cannot be confined on this system: seccomp: not here",
	},
	"never says that it is ready": {child: hang, kind: Deadline, says: "longer than it may"},
	"is done before it is ready": {
		child: func() error {
			return errors.Join(send(os.Stdout, fromChild{Done: &doneMessage{Value: []byte("1")}}), hang())
		},
		kind: Unavailable, says: "does not begin with ready",
	},
	"dies with its program":        {child: greeted(func() error { return errors.New("I died") }), kind: Crashed, says: "exit status 1: I died"},
	"panics":                       {child: greeted(func() error { panic("oh") }), kind: Crashed, says: "exit status 2: panic: oh"},
	"is killed":                    {child: greeted(func() error { return killSelf() }), kind: Crashed, says: "signal: killed: the operator's container may be short of memory"},
	"ends without a word":          {child: greeted(func() error { return nil }), kind: Crashed, says: "exit status 0"},
	"never ends":                   {child: greeted(hang), kind: Deadline, says: "longer than it may"},
	"closes its output and hangs":  {child: greeted(func() error { return errors.Join(os.Stdout.Close(), hang()) }), kind: Deadline, says: "longer than it may"},
	"writes what is no message":    {child: greeted(func() error { return write("hello, this is no message") }), kind: Crashed, says: "a message has 1751477356 bytes, more than"},
	"announces 4 GiB":              {child: greeted(func() error { return write("\xff\xff\xff\xff") }), kind: Crashed, says: "a message has 4294967295 bytes, more than"},
	"writes half a message":        {child: greeted(func() error { return write("\x00\x00\x00\x10{") }), kind: Crashed, says: "exit status 0"},
	"writes for ever":              {child: greeted(func() error { return flood(os.Stdout) }), kind: Crashed, says: "a message has 2021161080 bytes"},
	"is ready twice":               {child: greeted(func() error { return send(os.Stdout, fromChild{Ready: &readyMessage{}}) }), kind: Crashed, says: "the child broke the rules"},
	"calls more than it may":       {child: greeted(callForEver), kind: Crashed, says: "the child broke the rules"},
	"complains for ever":           {child: greeted(func() error { return flood(os.Stderr) }), kind: Deadline, says: "longer than it may"},
	"calls and does not listen":    {child: greeted(func() error { return errors.Join(sendCall(), hang()) }), kind: Deadline, says: "longer than it may"},
	"claims to lack memory itself": {child: greeted(func() error { return send(os.Stdout, fromChild{Failed: &failedMessage{Kind: Memory, Detail: "x"}}) }), kind: Crashed, says: `"Memory" is no kind of failure of a program`},
}

func write(text string) error {
	_, err := os.Stdout.WriteString(text)
	return err
}

func flood(w io.Writer) error {
	text := bytes.Repeat([]byte("x"), 1<<20)
	for {
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
}

func sendCall() error {
	return send(os.Stdout, fromChild{Call: &callMessage{Tool: "t", Arguments: []byte("{}")}})
}

func callForEver() error {
	for {
		if err := sendCall(); err != nil {
			return err
		}
	}
}

func killSelf() error {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	return errors.Join(self.Kill(), hang())
}

// The parent survives any child, says what it did, and holds nothing for it.
func TestRogueChildren(t *testing.T) {
	for name, rogue := range rogues {
		t.Run(name, func(t *testing.T) {
			timeout := time.Minute
			if rogue.kind == Deadline {
				timeout = time.Second
			}
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			_, err := newTestRunner(t, name, nil).Run(ctx, Program{Source: "def main(): pass"}, noTools)
			checkKind(t, err, rogue.kind, rogue.says)
			if len(err.Error()) > 2*maxDetail {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
}

func TestUnconfinedWherePermitted(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	runner := newTestRunner(t, "is not confined", func(o *Options) { o.AllowUnconfined = true })
	missing, err := runner.Probe(ctx)
	if err != nil || len(missing) != 1 || missing[0] != "seccomp: not here" {
		t.Errorf("missing %v, error %v", missing, err)
	}
	_, err = runner.Run(ctx, Program{Source: "def main(): pass"}, nil)
	checkKind(t, err, Deadline, "longer than it may") // it got its program
}
