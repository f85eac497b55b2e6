// SPDX-License-Identifier: Apache-2.0

// Package language says what a program of the sandbox is: Starlark with sets,
// while and control flow at the top level, without load and recursion, that
// defines a function main. Functions cannot change the values of the top level.
// Publication and the sandbox ask the same function. It is pure.
package language

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

const (
	// Filename of a program in positions and backtraces.
	Filename = "main.star"
	// Entry is the function that is called.
	Entry = "main"
	// MaxSource bounds a program, in bytes. The API bounds a code tool's in
	// characters, each of which has at most four.
	MaxSource = 256 << 10

	// maxErrors bounds the errors of one program.
	maxErrors = 8
	// maxName bounds a name within an error, in characters.
	maxName = 64
)

// Names that a program finds defined besides those of the language itself.
var (
	// Modules are there for every program.
	Modules = []string{"json", "math", "struct", "time"}
	// Calls are there for a program that may call tools.
	Calls = []string{"call", "try_call"}
)

// Options gives the dialect. What is allowed beyond the core of the language is
// what people who know Python expect; the sandbox's limits end loops.
func Options() *syntax.FileOptions {
	return &syntax.FileOptions{Set: true, While: true, TopLevelControl: true, GlobalReassign: true}
}

// Error is one reason why a source text is no program.
type Error struct {
	// Line and Column count from 1, the column in characters.
	Line, Column int
	// Detail says what is wrong there.
	Detail string
}

func (e *Error) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Detail)
}

func errorAt(at syntax.Position, format string, args ...any) *Error {
	return &Error{Line: int(at.Line), Column: int(at.Col), Detail: fmt.Sprintf(format, args...)}
}

// Main is the function main of a program.
type Main struct {
	// Parameters in their order.
	Parameters []Parameter
	// Rest says that main takes other arguments too (**kwargs).
	Rest bool
}

// Parameter is one parameter of main.
type Parameter struct {
	Name string
	// Required says that it has no default.
	Required bool
}

// Check parses source and resolves its names. With calls, the program may call
// tools. It returns the errors by their position, at most a few.
func Check(source string, calls bool) (Main, []*Error) {
	if len(source) > MaxSource {
		return Main{}, []*Error{{Line: 1, Column: 1,
			Detail: fmt.Sprintf("the program has %d bytes, more than %d: shorten it", len(source), MaxSource)}}
	}
	file, err := Options().Parse(Filename, source, 0)
	if err != nil {
		return Main{}, collect(err)
	}
	// To the resolver every name is defined, and those that are not are found
	// below: it would look for a similar name for each, which takes seconds
	// where there are thousands.
	err = resolve.File(file, func(name string) bool { return !starlark.Universe.Has(name) }, starlark.Universe.Has)
	found := collect(err)
	syntax.Walk(file, func(node syntax.Node) bool {
		if e := unavailable(node, calls); e != nil {
			found = append(found, e)
		}
		return true
	})
	main := entry(file)
	if main == nil {
		found = append(found, &Error{Line: 1, Column: 1,
			Detail: "there is no function main: define one that takes the arguments by name and returns the result"})
	}
	if len(found) > 0 {
		slices.SortStableFunc(found, func(a, b *Error) int { return cmp.Or(a.Line-b.Line, a.Column-b.Column) })
		return Main{}, found[:min(len(found), maxErrors)]
	}
	return signature(main), nil
}

// unavailable says what a node asks for that no program has.
func unavailable(node syntax.Node, calls bool) *Error {
	switch n := node.(type) {
	case *syntax.LoadStmt:
		return errorAt(n.Load, "load is not available: a program is a single file")
	case *syntax.Ident:
		binding, ok := n.Binding.(*resolve.Binding)
		if !ok || binding.Scope != resolve.Predeclared || slices.Contains(Modules, n.Name) {
			return nil
		}
		if !slices.Contains(Calls, n.Name) {
			return errorAt(n.NamePos, "undefined: %.*s", maxName, n.Name)
		}
		if !calls {
			return errorAt(n.NamePos, "%s is not available: a code tool calls no other tools, only run_code does", n.Name)
		}
	}
	return nil
}

// entry finds the last definition of main at the top level.
func entry(file *syntax.File) *syntax.DefStmt {
	for _, statement := range slices.Backward(file.Stmts) {
		if def, ok := statement.(*syntax.DefStmt); ok && def.Name.Name == Entry {
			return def
		}
	}
	return nil
}

func signature(def *syntax.DefStmt) Main {
	var main Main
	for _, parameter := range def.Params {
		switch p := parameter.(type) {
		case *syntax.Ident:
			main.Parameters = append(main.Parameters, Parameter{p.Name, true})
		case *syntax.BinaryExpr: // name=default
			if name, ok := p.X.(*syntax.Ident); ok {
				main.Parameters = append(main.Parameters, Parameter{name.Name, false})
			}
		case *syntax.UnaryExpr: // *, *args or **kwargs
			main.Rest = main.Rest || p.Op == syntax.STARSTAR
		}
	}
	return main
}

// collect gives the errors of the parser or of the resolver.
func collect(err error) []*Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[syntax.Error](err); ok {
		return []*Error{errorAt(e.Pos, "%s", e.Msg)}
	}
	list, ok := errors.AsType[resolve.ErrorList](err)
	if !ok {
		return []*Error{{Line: 1, Column: 1, Detail: err.Error()}}
	}
	found := make([]*Error, 0, len(list))
	for _, e := range list {
		found = append(found, errorAt(e.Pos, "%s", e.Msg))
	}
	return found
}
