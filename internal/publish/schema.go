// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"remit.dev/remit/internal/canonical"
)

// MaxInputSchemaBytes bounds the canonical form of one input schema: it is sent
// to the model with each request.
const MaxInputSchemaBytes = 64 << 10

// maxSchemaFindings bounds the findings of one input schema.
const maxSchemaFindings = 8

const (
	schemaURL = "input-schema:///"
	draft     = "https://json-schema.org/draft/2020-12/schema"
)

// schemaError says what keeps an input schema from being used.
type schemaError struct {
	// Pointer is a JSON pointer (RFC 6901) within the schema.
	Pointer string
	// Detail says what is wrong and what to do.
	Detail string
}

func (e *schemaError) Error() string {
	if e.Pointer == "" {
		return e.Detail
	}
	return e.Pointer + ": " + e.Detail
}

// inputSchemaError says why raw is not the schema of a tool's arguments: JSON
// Schema 2020-12 with an object at its root, at most MaxInputSchemaBytes.
// References are followed within the schema only, so that nothing is ever loaded.
// It returns a *schemaError, several of them joined, or nil.
func inputSchemaError(raw []byte) error {
	text, err := canonical.JSON(raw)
	if err != nil {
		if located, ok := errors.AsType[*canonical.Error](err); ok {
			return &schemaError{located.Path, located.Detail}
		}
		return &schemaError{Detail: err.Error()}
	}
	if len(text) > MaxInputSchemaBytes {
		return &schemaError{Detail: fmt.Sprintf("the schema has %d bytes, more than %d: shorten it", len(text), MaxInputSchemaBytes)}
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return &schemaError{Detail: err.Error()}
	}
	if err := checkSchemaRoot(parsed); err != nil {
		return err
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(noLoader{})
	if err := compiler.AddResource(schemaURL, parsed); err != nil {
		return &schemaError{Detail: err.Error()}
	}
	if _, err := compiler.Compile(schemaURL); err != nil {
		return schemaErrors(err)
	}
	return nil
}

func checkSchemaRoot(parsed any) error {
	schema, ok := parsed.(map[string]any)
	if !ok {
		return &schemaError{Detail: "the schema must be a JSON object"}
	}
	if named, ok := schema["$schema"]; ok && named != draft {
		return &schemaError{"/$schema", "remove it, or set it to " + draft}
	}
	if schema["type"] != "object" {
		return &schemaError{Detail: `arguments are an object: set type to "object" at the root`}
	}
	return nil
}

// noLoader refuses what a reference would load: publication does no I/O, and
// what is elsewhere can change after the schema was hashed.
type noLoader struct{}

var errOutside = errors.New("nothing is loaded")

func (noLoader) Load(string) (any, error) { return nil, errOutside }

// schemaErrors takes the library's error apart.
func schemaErrors(err error) error {
	if outside, ok := errors.AsType[*jsonschema.LoadURLError](err); ok {
		return &schemaError{Detail: fmt.Sprintf("the schema refers to %s, which is outside of it: copy what is needed into $defs and refer to #/$defs/NAME",
			quoted(strings.TrimPrefix(outside.URL, schemaURL)))}
	}
	if invalid, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		if tree, ok := errors.AsType[*jsonschema.ValidationError](invalid.Err); ok {
			return errors.Join(leaves(nil, tree, message.NewPrinter(language.English))...)
		}
	}
	return &schemaError{Detail: strings.ReplaceAll(err.Error(), schemaURL, "")}
}

func leaves(found []error, tree *jsonschema.ValidationError, printer *message.Printer) []error {
	if len(tree.Causes) == 0 {
		var pointer strings.Builder
		for _, step := range tree.InstanceLocation {
			pointer.WriteString("/" + pointerEscaper.Replace(step))
		}
		return append(found, &schemaError{pointer.String(), "not JSON Schema 2020-12: " + tree.ErrorKind.LocalizedString(printer)})
	}
	for _, cause := range tree.Causes {
		if len(found) < maxSchemaFindings {
			found = leaves(found, cause, printer)
		}
	}
	return found
}

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

func checkInputSchema(v *validation, path *field.Path, raw []byte) {
	err := inputSchemaError(raw)
	if err == nil {
		return
	}
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	for _, err := range all {
		if located, ok := errors.AsType[*schemaError](err); ok {
			v.add(RuleInputSchema, PointerPath(path, located.Pointer), "%s", located.Detail)
		}
	}
}
