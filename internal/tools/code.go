// SPDX-License-Identifier: Apache-2.0

package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/pipeline"
	"remit.dev/remit/internal/sandbox"
)

// codeTool runs the program of one code tool.
type codeTool struct {
	runner *sandbox.Runner
	source string
}

// NewCodeTool makes the executor of one code tool (A3). A program has no effect
// outside of its sandbox, so a call may always be made again.
func NewCodeTool(runner *sandbox.Runner, source string) pipeline.Executor {
	return &codeTool{runner, source}
}

// Execute runs the program anew. A string that it returns is the content as it
// is, anything else as JSON; what it prints is dropped.
func (t *codeTool) Execute(ctx context.Context, invocation pipeline.Invocation) pipeline.Answer {
	result, err := t.runner.Run(ctx, sandbox.Program{Source: t.source, Arguments: invocation.Arguments}, nil)
	if err != nil {
		return pipeline.Failure(programFailure(err), "The tool's program failed: "+err.Error())
	}
	return pipeline.Text(valueText(result.Value))
}

// valueText is a value as a model reads it.
func valueText(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil && string(value) != "null" {
		return text
	}
	return string(value)
}

// programFailures says how the model reads each kind of failure; the others are
// the program's own.
var programFailures = map[sandbox.Kind]v1alpha1.ErrorKind{
	sandbox.Deadline:       v1alpha1.ErrorTimeout,
	sandbox.Canceled:       v1alpha1.ErrorCancelled,
	sandbox.Unavailable:    v1alpha1.ErrorServerUnavailable,
	sandbox.ResultTooLarge: v1alpha1.ErrorBadResult,
	sandbox.BadResult:      v1alpha1.ErrorBadResult,
}

func programFailure(err error) v1alpha1.ErrorKind {
	if failure, ok := errors.AsType[*sandbox.Error](err); ok {
		if kind, ok := programFailures[failure.Kind]; ok {
			return kind
		}
	}
	return v1alpha1.ErrorTool
}

// RunCodeTool is the built-in tool run_code: it runs a program of the model's,
// which may call tools.
type RunCodeTool struct {
	Runner *sandbox.Runner
	// Call makes the calls of the program, and refuses those that a person would
	// have to approve first: a program cannot wait for that (H39).
	Call sandbox.CallTool
}

// What run_code says of itself.
const (
	RunCodeName        = string(v1alpha1.BuiltinRunCode)
	RunCodeDescription = "Runs a program in Starlark, a dialect of Python, and returns what its function main returns. " +
		"Use it to call several tools and to compute with their results. Define def main(), without parameters. " +
		"call(\"TOOL\", argument=value) calls a tool and returns its result as a string, often JSON for json.decode; " +
		"if the call fails, so does the program. try_call takes the same and returns a struct of ok, content and error instead. " +
		"The modules json, math and time are there; import, files, the network, the clock, classes, try and recursion are not, and functions cannot change values of the top level. " +
		"Return what you need to know: what is printed is shown only in part."
)

// RunCodeSchema is the schema of run_code's arguments.
var RunCodeSchema = json.RawMessage(`{"type":"object","properties":{"code":{"type":"string","minLength":1,"maxLength":65536,` +
	`"description":"The source text of the program."}},"required":["code"],"additionalProperties":false}`)

// Execute runs one program. Its calls of tools are judged and recorded each by
// itself; that of run_code says how many there were before a failure.
func (t *RunCodeTool) Execute(ctx context.Context, invocation pipeline.Invocation) pipeline.Answer {
	var arguments struct{ Code string }
	if err := json.Unmarshal(invocation.Arguments, &arguments); err != nil {
		return pipeline.Failure(v1alpha1.ErrorInvalidArguments, err.Error())
	}
	result, err := t.Runner.Run(ctx, sandbox.Program{Source: arguments.Code}, t.Call)
	if err != nil {
		return failedProgram(result, err)
	}
	return pipeline.Text(valueText(result.Value) + printedText(result))
}

func failedProgram(result sandbox.Result, err error) pipeline.Answer {
	answer := pipeline.Failure(programFailure(err), "The program failed: "+err.Error()+printedText(result))
	if result.Calls > 0 {
		answer.Content += fmt.Sprintf("\nBefore it failed it called %d tools; what those calls did is not undone.", result.Calls)
	}
	if result.Calls > 0 && answer.Error == v1alpha1.ErrorTimeout {
		answer.Error = v1alpha1.ErrorTool // a timeout would say that nothing had an effect
	}
	return answer
}

func printedText(result sandbox.Result) string {
	if result.Output == "" {
		return ""
	}
	text := "\nPrinted:\n" + result.Output
	if result.OutputCut {
		text += "\n(more was printed and is left out)"
	}
	return text
}
