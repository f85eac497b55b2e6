// SPDX-License-Identifier: Apache-2.0

package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

const (
	// MaxTurns is the most turns of a script.
	MaxTurns = 256
	// MaxScript is the longest script document, in bytes: what a ConfigMap holds.
	MaxScript = 1 << 20

	maxScriptProblems = 8
)

// Script is a checked script document, in YAML or JSON:
//
//	turns:
//	- when: 'order 1001'         # a marker that the context must hold, if there is one
//	  model: small               # only for requests to this model, if there is one
//	  text: I will look it up.
//	  calls:
//	  - tool: desk__get_order
//	    arguments: {id: 1001}    # or rawArguments, a text that need not be JSON
//	  finish: ToolCalls          # what follows from the calls when left out
//	  usage: {inputTokens: 12, outputTokens: 7}
//	- model: small               # instead of a reply, a model call that fails
//	  error: {kind: RateLimited, status: 429, message: slow down, retryAfter: 2s}
//
// An empty text must be written out (text: ""), as it makes the turn a degenerate reply.
type Script struct{ turns []turn }

type turn struct {
	when, model string
	completion  Completion
	// failure is set for a turn that stands for a failing call.
	failure *Error
	// fails marks a turn that sends its request to failover, so that no message of a
	// conversation comes of it: one with a failure, or with a degenerate reply.
	fails bool
}

// ScriptError is a problem of a script document.
type ScriptError struct {
	// Path is the field's, such as turns[2].calls[0].tool; empty for the document as a
	// whole.
	Path string
	// Problem says what is wrong and what is right.
	Problem string
}

// Error joins path and problem.
func (e *ScriptError) Error() string {
	if e.Path == "" {
		return "script: " + e.Problem
	}
	return "script: " + e.Path + ": " + e.Problem
}

type scriptDocument struct {
	Turns []turnDocument `json:"turns"`
}

type turnDocument struct {
	When   string         `json:"when"`
	Model  string         `json:"model"`
	Text   *string        `json:"text"`
	Calls  []callDocument `json:"calls"`
	Finish FinishReason   `json:"finish"`
	Usage  struct {
		InputTokens  int64 `json:"inputTokens"`
		OutputTokens int64 `json:"outputTokens"`
	} `json:"usage"`
	Error *errorDocument `json:"error"`
}

type callDocument struct {
	Tool         string          `json:"tool"`
	Arguments    json.RawMessage `json:"arguments"`
	RawArguments *string         `json:"rawArguments"`
}

type errorDocument struct {
	Kind       Kind   `json:"kind"`
	Status     int    `json:"status"`
	Message    string `json:"message"`
	RetryAfter string `json:"retryAfter"`
}

// ParseScript decodes and checks a script document. Unknown and repeated keys are
// refused. The error joins up to eight *ScriptError.
func ParseScript(document []byte) (*Script, error) {
	if len(document) > MaxScript {
		return nil, &ScriptError{Problem: fmt.Sprintf("is %d bytes long, more than %d", len(document), MaxScript)}
	}
	asJSON, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return nil, &ScriptError{Problem: printable(err.Error(), maxDetail)}
	}
	var decoded scriptDocument
	unknown, err := kjson.UnmarshalStrict(asJSON, &decoded)
	if err != nil {
		return nil, &ScriptError{Problem: printable(err.Error(), maxDetail)}
	}
	problems := scriptProblems{}
	for _, problem := range unknown {
		problems.add("", "%s", printable(problem.Error(), maxDetail))
	}
	if n := len(decoded.Turns); n == 0 || n > MaxTurns {
		problems.add("turns", "has %d turns; it must have 1 to %d", n, MaxTurns)
		return nil, problems.err()
	}
	script := &Script{}
	for i, document := range decoded.Turns {
		script.turns = append(script.turns, document.check(fmt.Sprintf("turns[%d]", i), &problems))
	}
	if err := problems.err(); err != nil {
		return nil, err
	}
	return script, nil
}

type scriptProblems struct{ errs []error }

func (p *scriptProblems) add(path, format string, args ...any) {
	if len(p.errs) < maxScriptProblems {
		p.errs = append(p.errs, &ScriptError{Path: path, Problem: fmt.Sprintf(format, args...)})
	}
}

func (p *scriptProblems) err() error { return errors.Join(p.errs...) }

func (d turnDocument) check(path string, problems *scriptProblems) turn {
	result := turn{when: d.When, model: d.Model}
	if d.Error != nil {
		if d.Text != nil || len(d.Calls) > 0 || d.Finish != "" {
			problems.add(path, "has an error and a reply; it must have one of them")
		}
		result.failure, result.fails = d.Error.check(path+".error", problems), true
		return result
	}
	if d.Text == nil && len(d.Calls) == 0 {
		problems.add(path, `needs text, calls or error; write text: "" for a reply without any`)
	}
	if len(d.Calls) > MaxCalls {
		problems.add(path+".calls", "has %d calls; at most %d are allowed", len(d.Calls), MaxCalls)
		return result
	}
	result.completion = Completion{Finish: d.finish(path, problems), Usage: Usage(d.Usage)}
	if d.Text != nil {
		result.completion.Text = *d.Text
	}
	if d.Usage.InputTokens < 0 || d.Usage.OutputTokens < 0 || d.Usage.InputTokens > maxTokens || d.Usage.OutputTokens > maxTokens {
		problems.add(path+".usage", "each count must lie between 0 and %d", int64(maxTokens))
	}
	for i, call := range d.Calls {
		result.completion.Calls = append(result.completion.Calls, call.check(fmt.Sprintf("%s.calls[%d]", path, i), problems))
	}
	_, result.fails = Degenerate(result.completion)
	return result
}

func (d turnDocument) finish(path string, problems *scriptProblems) FinishReason {
	known := []FinishReason{FinishStop, FinishToolCalls, FinishLength, FinishRefused, FinishOther}
	switch {
	case d.Finish == "" && len(d.Calls) > 0:
		return FinishToolCalls
	case d.Finish == "":
		return FinishStop
	case !slices.Contains(known, d.Finish):
		problems.add(path+".finish", "%q is none of %v", printable(string(d.Finish), MaxName), known)
	}
	return d.Finish
}

func (d callDocument) check(path string, problems *scriptProblems) ToolCall {
	call := ToolCall{Name: d.Tool, Arguments: "{}"}
	if d.Tool == "" || len(d.Tool) > MaxName {
		problems.add(path+".tool", "must name a tool in at most %d bytes", MaxName)
	}
	switch {
	case d.RawArguments != nil && d.Arguments != nil:
		problems.add(path, "has arguments and rawArguments; it must have one of them")
	case d.RawArguments != nil:
		call.Arguments = *d.RawArguments
	case d.Arguments != nil && !isObject(d.Arguments):
		problems.add(path+".arguments", "must be an object; use rawArguments for any other text")
	case d.Arguments != nil:
		call.Arguments = string(d.Arguments)
	}
	if len(call.Arguments) > MaxArguments {
		problems.add(path, "has arguments of %d bytes; at most %d are allowed", len(call.Arguments), MaxArguments)
	}
	return call
}

// scriptable are the kinds that a turn may stand for: those that an endpoint or the way
// to it brings about.
var scriptable = []Kind{
	KindUnauthorized, KindForbidden, KindNotFound, KindRejected, KindRateLimited, KindServer, KindRedirect,
	KindBadResponse, KindTooLarge, KindUnreachable, KindDenied, KindTimeout,
}

func (d errorDocument) check(path string, problems *scriptProblems) *Error {
	failure := &Error{Kind: d.Kind, Status: d.Status, Detail: printable(d.Message, maxDetail)}
	if !slices.Contains(scriptable, d.Kind) {
		problems.add(path+".kind", "%q is none of %v", printable(string(d.Kind), MaxName), scriptable)
	}
	if d.Status != 0 && (d.Status < 100 || d.Status > 599) {
		problems.add(path+".status", "%d is no HTTP status; it must lie between 100 and 599", d.Status)
	}
	if d.RetryAfter != "" {
		delay, err := time.ParseDuration(d.RetryAfter)
		if err != nil || delay < 0 || delay > maxRetryAfter {
			problems.add(path+".retryAfter", "%q is no duration between 0s and %s", printable(d.RetryAfter, MaxName), maxRetryAfter)
		}
		failure.RetryAfter = delay
	}
	return failure
}
