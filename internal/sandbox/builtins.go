// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	starjson "go.starlark.net/lib/json"
	starmath "go.starlark.net/lib/math"
	startime "go.starlark.net/lib/time"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// predeclared gives the names that language.Modules and language.Calls list.
func (i *interpreter) predeclared() starlark.StringDict {
	names := starlark.StringDict{
		"json":   starjson.Module,
		"math":   starmath.Module,
		"struct": starlark.NewBuiltin("struct", starlarkstruct.Make),
		"time":   calendar(),
	}
	if i.parent != nil {
		names["call"] = starlark.NewBuiltin("call", i.callOrFail)
		names["try_call"] = starlark.NewBuiltin("try_call", i.tryCall)
	}
	return names
}

// calendar is the module time without what would make a result depend on when
// and where it was computed: the clock, and the zones that the system knows.
func calendar() *starlarkstruct.Module {
	members := maps.Clone(startime.Module.Members)
	delete(members, "now")
	delete(members, "is_valid_timezone")
	return &starlarkstruct.Module{Name: "time", Members: members}
}

// callOrFail is call(NAME, ARGUMENTS…): it returns the content of the tool's
// result, and fails the program where the call fails. A program that does not
// think of failures thus never takes a message of one for a result.
func (i *interpreter) callOrFail(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	name, answer, err := i.call(b, args, kwargs)
	if err != nil {
		return nil, err
	}
	if answer.Error != "" {
		return nil, fmt.Errorf("the call of tool %s failed: %s: %s", name, answer.Error, shorten(answer.Content, maxDetail/2))
	}
	return starlark.String(answer.Content), nil
}

// tryCall is try_call(NAME, ARGUMENTS…): it returns a struct of ok, content and
// error, which is the kind of the failure, or empty.
func (i *interpreter) tryCall(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	_, answer, err := i.call(b, args, kwargs)
	if err != nil {
		return nil, err
	}
	return starlarkstruct.FromStringDict(starlarkstruct.Default, starlark.StringDict{
		"ok":      starlark.Bool(answer.Error == ""),
		"content": starlark.String(answer.Content),
		"error":   starlark.String(answer.Error),
	}), nil
}

// call has the parent make one call.
func (i *interpreter) call(b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (string, answerMessage, error) {
	name, arguments, err := callArguments(args, kwargs)
	if err != nil {
		return "", answerMessage{}, fmt.Errorf("%s: %w", b.Name(), err)
	}
	if i.calls == i.limits.Calls {
		return "", answerMessage{}, &failure{CallLimit,
			fmt.Sprintf("the program called more than %d tools: let it do less, or split the work", i.limits.Calls)}
	}
	i.calls++
	answer, err := i.parent(callMessage{Tool: name, Arguments: arguments})
	return name, answer, err
}

// callArguments reads the name of a tool, and its arguments by name or in a dict.
// A tool's argument may be called name like any other.
func callArguments(args starlark.Tuple, kwargs []starlark.Tuple) (string, json.RawMessage, error) {
	if len(args) < 1 || len(args) > 2 {
		return "", nil, errors.New("give the name of a tool first, then its arguments by name, or all of them in one dict")
	}
	name, ok := starlark.AsString(args[0])
	if !ok || name == "" || len(name) > MaxToolName {
		return "", nil, fmt.Errorf("the name of a tool is a string of 1 to %d bytes", MaxToolName)
	}
	arguments := starlark.NewDict(len(kwargs))
	if len(args) == 2 {
		given, ok := args[1].(*starlark.Dict)
		if !ok || len(kwargs) > 0 {
			return "", nil, errors.New("give the arguments either by name or all of them in one dict")
		}
		arguments = given
	}
	for _, member := range kwargs {
		if err := arguments.SetKey(member[0], member[1]); err != nil {
			return "", nil, err
		}
	}
	text, err := encode(arguments, MaxArguments)
	if errors.Is(err, errTooLarge) {
		return "", nil, fmt.Errorf("the arguments for tool %s are more than %d bytes of JSON", name, MaxArguments)
	}
	if err != nil {
		return "", nil, fmt.Errorf("the arguments for tool %s: %w", name, err)
	}
	return name, text, nil
}
