// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	starjson "go.starlark.net/lib/json"
	"go.starlark.net/starlark"

	"remit.dev/remit/internal/sandbox/language"
)

// interpreter runs one program, within the child.
type interpreter struct {
	thread *starlark.Thread
	limits startMessage
	// parent makes one call of a tool; nil where the program may make none.
	parent func(callMessage) (answerMessage, error)

	calls  int
	output strings.Builder
	cut    bool
	// stopped is why the program was stopped from outside of it.
	stopped atomic.Pointer[failure]
}

// failure is an error whose kind is not Runtime.
type failure struct {
	kind   Kind
	detail string
}

func (f *failure) Error() string { return f.detail }

func newInterpreter(limits startMessage, parent func(callMessage) (answerMessage, error)) *interpreter {
	i := &interpreter{limits: limits, parent: parent}
	i.thread = &starlark.Thread{Name: language.Entry, Print: i.print}
	i.thread.SetMaxExecutionSteps(limits.Steps)
	i.thread.OnMaxSteps = func(*starlark.Thread) {
		i.stop(StepLimit, "the program took more than %d steps: let it do less, or split the work", limits.Steps)
	}
	return i
}

// stop ends the program at its next step. Any goroutine may call it.
func (i *interpreter) stop(kind Kind, format string, args ...any) {
	i.stopped.CompareAndSwap(nil, &failure{kind, fmt.Sprintf(format, args...)})
	i.thread.Cancel(string(kind))
}

func (i *interpreter) print(_ *starlark.Thread, text string) {
	room := MaxOutput - i.output.Len()
	switch {
	case i.cut:
	case len(text)+1 <= room:
		i.output.WriteString(strings.ToValidUTF8(text, "?") + "\n")
	default:
		i.cut = true
		i.output.WriteString(strings.ToValidUTF8(text[:room], "?"))
	}
}

// run gives the message that ends the child's work.
func (i *interpreter) run(p programMessage) fromChild {
	if _, wrong := language.Check(p.Source, i.parent != nil); len(wrong) > 0 {
		return fromChild{Failed: &failedMessage{
			Kind: Syntax, Line: wrong[0].Line, Column: wrong[0].Column, Detail: shorten(wrong[0].Detail, maxDetail),
		}}
	}
	value, err := i.value(p)
	printed := printed{Output: i.output.String(), Cut: i.cut}
	if err != nil {
		failed := i.failed(err)
		failed.printed = printed
		return fromChild{Failed: failed}
	}
	return fromChild{Done: &doneMessage{Value: value, printed: printed}}
}

// value is what main returns for the arguments, as JSON.
func (i *interpreter) value(p programMessage) (json.RawMessage, error) {
	globals, err := starlark.ExecFileOptions(language.Options(), i.thread, language.Filename, p.Source, i.predeclared())
	if err != nil {
		return nil, err
	}
	arguments, err := i.decode(p.Arguments)
	if err != nil {
		return nil, err
	}
	returned, err := starlark.Call(i.thread, globals[language.Entry], nil, arguments)
	if err != nil {
		return nil, err
	}
	value, err := encode(returned, MaxResult)
	if wrong, ok := errors.AsType[*valueError](err); ok {
		return nil, &failure{BadResult, fmt.Sprintf("main returned what has no form in JSON: %s: return only None, bool, int, float, string, list, dict and struct", wrong)}
	}
	if errors.Is(err, errTooLarge) {
		return nil, &failure{ResultTooLarge, fmt.Sprintf("main returned more than %d bytes of JSON: return less", MaxResult)}
	}
	return value, err
}

// decode gives the members of a JSON object as keyword arguments, in their order.
func (i *interpreter) decode(arguments json.RawMessage) ([]starlark.Tuple, error) {
	decoder := starjson.Module.Members["decode"]
	value, err := starlark.Call(i.thread, decoder, starlark.Tuple{starlark.String(arguments)}, nil)
	if err != nil {
		return nil, err
	}
	members, ok := value.(starlark.IterableMapping)
	if !ok {
		return nil, &failure{Runtime, fmt.Sprintf("the arguments are no object but of type %s", value.Type())}
	}
	return members.Items(), nil
}

// failed says why there is no value.
func (i *interpreter) failed(err error) *failedMessage {
	m := &failedMessage{Kind: Runtime, Detail: err.Error()}
	if f, ok := errors.AsType[*failure](err); ok {
		m.Kind, m.Detail = f.kind, f.detail
	}
	if f := i.stopped.Load(); f != nil {
		m.Kind, m.Detail = f.kind, f.detail
	}
	m.Detail = shorten(m.Detail, maxDetail)
	if m.Detail == "" {
		m.Detail = "the program failed without a message"
	}
	if at, ok := errors.AsType[*starlark.EvalError](err); ok {
		m.locate(at.CallStack)
	}
	return m
}

// locate takes the place from the innermost frame of the program itself.
func (f *failedMessage) locate(stack starlark.CallStack) {
	var lines []string
	for _, frame := range stack {
		if frame.Pos.Filename() == language.Filename {
			f.Line, f.Column = int(frame.Pos.Line), int(frame.Pos.Col)
			lines = append(lines, fmt.Sprintf("line %d, column %d, in %s", f.Line, f.Column, frame.Name))
		}
	}
	if len(lines) > 1 { // a single line would repeat the place
		f.Backtrace = shorten("Called from:\n"+strings.Join(lines, "\n"), maxBacktrace)
	}
}

// deadline stops the program after a time. The caller stops the timer.
func (i *interpreter) deadline(after time.Duration) *time.Timer {
	return time.AfterFunc(after, func() {
		i.stop(Deadline, "the program took longer than %s: let it do less, or split the work", after.Round(time.Millisecond))
	})
}
