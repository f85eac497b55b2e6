// SPDX-License-Identifier: Apache-2.0

// Package schema checks JSON values against JSON Schemas that somebody else
// wrote. It never loads anything: a reference that leaves the schema is an error.
package schema

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"remit.dev/remit/internal/canonical"
)

const (
	// MaxBytes bounds the text of a schema.
	MaxBytes = 256 << 10
	// maxViolations bounds what one ValidationError lists.
	maxViolations = 8
	maxViolation  = 256

	location = "mem:///schema"
)

// Schema is a compiled JSON Schema, draft 2020-12 unless it says otherwise.
type Schema struct{ compiled *jsonschema.Schema }

// CompileError says why a schema cannot be used.
type CompileError struct{ Detail string }

func (e *CompileError) Error() string { return "the schema cannot be used: " + e.Detail }

// ValidationError lists where a value does not fit its schema.
type ValidationError struct{ Violations []Violation }

// Violation is one place where a value does not fit.
type Violation struct {
	// Pointer is the RFC 6901 pointer to the place; empty is the whole value.
	Pointer string
	Message string
}

func (e *ValidationError) Error() string {
	texts := make([]string, 0, len(e.Violations))
	for _, v := range e.Violations {
		place := v.Pointer
		if place == "" {
			place = "the value"
		}
		texts = append(texts, place+": "+v.Message)
	}
	return strings.Join(texts, "; ")
}

// Compile reads a schema. Its text is held to the canonical rules first, which
// refuse duplicate keys, numbers out of range and depth without end.
func Compile(raw []byte) (*Schema, error) {
	if len(raw) > MaxBytes {
		return nil, &CompileError{Detail: fmt.Sprintf("it has %d bytes, and the limit is %d", len(raw), MaxBytes)}
	}
	document, err := decode(raw)
	if err != nil {
		return nil, &CompileError{Detail: err.Error()}
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(refuse{})
	engine := &patternEngine{patterns: &Patterns{}}
	compiler.UseRegexpEngine(engine.compile)
	if err := compiler.AddResource(location, document); err != nil {
		return nil, &CompileError{Detail: bounded(err.Error(), 1024)}
	}
	compiled, err := compiler.Compile(location)
	if err != nil {
		return nil, &CompileError{Detail: bounded(engine.explain(err), 1024)}
	}
	engine.patterns = nil
	return &Schema{compiled: compiled}, nil
}

// Validate checks canonical JSON text. It returns a *ValidationError that lists
// a bounded number of places.
func (s *Schema) Validate(text []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	err = s.compiled.Validate(value)
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return err
	}
	found := &ValidationError{}
	collect(invalid, message.NewPrinter(language.English), found)
	return found
}

// collect lists the causes at the leaves: those above them only repeat them.
func collect(e *jsonschema.ValidationError, printer *message.Printer, into *ValidationError) {
	if len(into.Violations) == maxViolations {
		return
	}
	if len(e.Causes) == 0 {
		into.Violations = append(into.Violations, Violation{
			Pointer: bounded(pointer(e.InstanceLocation), maxViolation),
			Message: bounded(e.ErrorKind.LocalizedString(printer), maxViolation),
		})
		return
	}
	for _, cause := range e.Causes {
		collect(cause, printer, into)
	}
}

func pointer(tokens []string) string {
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	var b strings.Builder
	for _, token := range tokens {
		b.WriteByte('/')
		b.WriteString(escape.Replace(token))
	}
	return b.String()
}

func decode(raw []byte) (any, error) {
	text, err := canonical.JSON(raw)
	if err != nil {
		return nil, err
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(text))
}

func bounded(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}

// refuse is a loader that loads nothing.
type refuse struct{}

func (refuse) Load(url string) (any, error) {
	return nil, fmt.Errorf("reference %q leaves the schema, and nothing is loaded", url)
}
