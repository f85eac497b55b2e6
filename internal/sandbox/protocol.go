// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// The two processes send each other frames: the length of the content in four
// bytes, the highest first, and the content, one JSON object with exactly one
// member. The parent sends start, which the child answers with ready once it is
// confined, and then program. The child sends call as often as the program calls
// a tool, and the parent answers each with answer; done or failed ends it all.

const (
	// maxFromChild bounds one frame of the child: the largest result with the
	// largest output, in which a character takes up to six bytes.
	maxFromChild = MaxResult + 6*MaxOutput + 4<<10
	// maxFromParent bounds one frame of the parent: the largest content of a
	// tool's result, written likewise.
	maxFromParent = 6*MaxContent + 4<<10
)

// toChild is one message of the parent; exactly one member is set.
type toChild struct {
	Start   *startMessage   `json:"start,omitempty"`
	Program *programMessage `json:"program,omitempty"`
	Answer  *answerMessage  `json:"answer,omitempty"`
}

// startMessage sets the limits that hold before any program is there.
type startMessage struct {
	// Memory in bytes.
	Memory int64 `json:"memory"`
	// CPU time.
	CPU time.Duration `json:"cpu"`
	// Calls is how many tools the program may call.
	Calls int `json:"calls"`
	// Steps of the interpreter.
	Steps uint64 `json:"steps"`
}

// programMessage is what to run.
type programMessage struct {
	Source    string          `json:"source"`
	Arguments json.RawMessage `json:"arguments"`
	// Timeout from now on.
	Timeout time.Duration `json:"timeout"`
}

// answerMessage is the outcome of a call.
type answerMessage struct {
	Content string `json:"content"`
	Error   string `json:"error,omitempty"`
}

// fromChild is one message of the child; exactly one member is set.
type fromChild struct {
	Ready  *readyMessage  `json:"ready,omitempty"`
	Call   *callMessage   `json:"call,omitempty"`
	Done   *doneMessage   `json:"done,omitempty"`
	Failed *failedMessage `json:"failed,omitempty"`
}

// readyMessage says that the child is confined.
type readyMessage struct {
	// Missing is what could not be set up, empty where everything is.
	Missing []string `json:"missing,omitempty"`
}

// callMessage asks for a call of a tool.
type callMessage struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
}

// printed is what the program printed.
type printed struct {
	Output string `json:"output,omitempty"`
	// Cut says that there was more.
	Cut bool `json:"cut,omitempty"`
}

// doneMessage is what main returned.
type doneMessage struct {
	Value json.RawMessage `json:"value"`
	printed
}

// failedMessage is why there is no result.
type failedMessage struct {
	Kind      Kind   `json:"kind"`
	Line      int    `json:"line,omitempty"`
	Column    int    `json:"column,omitempty"`
	Detail    string `json:"detail"`
	Backtrace string `json:"backtrace,omitempty"`
	printed
}

// writeMessage writes one frame. An error that is an *oversize means that
// nothing was written.
func writeMessage(w io.Writer, message any, limit int) error {
	var frame bytes.Buffer
	frame.Write(make([]byte, 4))
	encoder := json.NewEncoder(&frame)
	encoder.SetEscapeHTML(false) // it would make raw JSON larger than its bound
	if err := encoder.Encode(message); err != nil {
		return err
	}
	length := frame.Len() - 4
	if length > limit {
		return &oversize{int64(length), int64(limit)}
	}
	binary.BigEndian.PutUint32(frame.Bytes(), uint32(length))
	_, err := w.Write(frame.Bytes())
	return err
}

// oversize is a frame that is larger than its bound.
type oversize struct{ length, limit int64 }

func (e *oversize) Error() string {
	return fmt.Sprintf("a message has %d bytes, more than %d", e.length, e.limit)
}

// readMessage reads one frame into message. The error is io.EOF only where the
// stream ends between two frames.
func readMessage(r io.Reader, message any, limit int) error {
	var header [4]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return err
	}
	length := binary.BigEndian.Uint32(header[:])
	if uint64(length) > uint64(limit) {
		return &oversize{int64(length), int64(limit)}
	}
	content := make([]byte, length)
	if _, err := io.ReadFull(r, content); errors.Is(err, io.EOF) {
		return fmt.Errorf("a message is not finished: %w", io.ErrUnexpectedEOF)
	} else if err != nil {
		return fmt.Errorf("a message is not finished: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(message); err != nil {
		return fmt.Errorf("a message cannot be read: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("a message is followed by something else")
	}
	return nil
}

// receive reads one message of the child and checks what every reader of it
// relies on: one member is set, and everything in it is within its bound.
func receive(r io.Reader) (fromChild, error) {
	var m fromChild
	if err := readMessage(r, &m, maxFromChild); err != nil {
		return fromChild{}, err
	}
	members := 0
	for _, set := range []bool{m.Ready != nil, m.Call != nil, m.Done != nil, m.Failed != nil} {
		if set {
			members++
		}
	}
	if members != 1 {
		return fromChild{}, fmt.Errorf("a message has %d members, not one", members)
	}
	var err error
	switch {
	case m.Call != nil:
		err = m.Call.check()
	case m.Done != nil:
		err = errors.Join(m.Done.checkOutput(), within("the result", len(m.Done.Value), 1, MaxResult))
	case m.Failed != nil:
		err = errors.Join(m.Failed.checkOutput(), m.Failed.check())
	}
	if err != nil {
		return fromChild{}, err
	}
	return m, nil
}

func (c *callMessage) check() error {
	if err := errors.Join(
		within("the name of a tool", len(c.Tool), 1, MaxToolName),
		within("the arguments of a call", len(c.Arguments), 2, MaxArguments),
	); err != nil {
		return err
	}
	if c.Arguments[0] != '{' {
		return errors.New("the arguments of a call are no object")
	}
	return nil
}

func (p printed) checkOutput() error { return within("the output", len(p.Output), 0, MaxOutput) }

func (f *failedMessage) check() error {
	if !f.Kind.ofProgram() {
		return fmt.Errorf("%q is no kind of failure of a program", f.Kind)
	}
	if f.Line < 0 || f.Column < 0 {
		return fmt.Errorf("line %d, column %d is no place", f.Line, f.Column)
	}
	return errors.Join(
		within("the detail of a failure", len(f.Detail), 1, maxDetail),
		within("a backtrace", len(f.Backtrace), 0, maxBacktrace),
	)
}

func within(what string, length, least, most int) error {
	if length < least || length > most {
		return fmt.Errorf("%s has %d bytes: %d to %d are allowed", what, length, least, most)
	}
	return nil
}
