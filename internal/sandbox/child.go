// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"errors"
	"fmt"
	"io"
)

// Serve is the child's side: it confines the process that it is called in, for
// good, runs one program of the parent's, and returns. The process must have been
// started for this alone. An error means that the parent broke off or is none.
func Serve(in io.Reader, out io.Writer) error {
	var m toChild
	if err := readMessage(in, &m, maxFromParent); err != nil {
		return fmt.Errorf("only the operator starts this command: %w", err)
	}
	if m.Start == nil {
		return errors.New("only the operator starts this command: there is no start message")
	}
	limits := *m.Start
	if err := send(out, fromChild{Ready: &readyMessage{Missing: confine(limits)}}); err != nil {
		return err
	}
	m = toChild{}
	if err := readMessage(in, &m, maxFromParent); err != nil {
		return err
	}
	if m.Program == nil {
		return errors.New("there is no program message")
	}
	var parent func(callMessage) (answerMessage, error)
	if limits.Calls > 0 {
		parent = func(c callMessage) (answerMessage, error) { return ask(in, out, c) }
	}
	i := newInterpreter(limits, parent)
	defer i.deadline(m.Program.Timeout).Stop()
	return send(out, i.run(*m.Program))
}

func send(out io.Writer, m fromChild) error { return writeMessage(out, m, maxFromChild) }

// ask has the parent make one call.
func ask(in io.Reader, out io.Writer, c callMessage) (answerMessage, error) {
	if err := send(out, fromChild{Call: &c}); err != nil {
		return answerMessage{}, err
	}
	var m toChild
	if err := readMessage(in, &m, maxFromParent); err != nil {
		return answerMessage{}, err
	}
	if m.Answer == nil {
		return answerMessage{}, errors.New("there is no answer message")
	}
	return *m.Answer, nil
}
