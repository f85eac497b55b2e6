// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"remit.dev/remit/internal/canonical"
)

// MaxInputSchemaBytes bounds the canonical form of one input schema: it is sent
// to the model with each request.
const MaxInputSchemaBytes = 64 << 10

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

func checkInputSchema(v *validation, path *field.Path, raw []byte) {
	for _, e := range inputSchemaErrors(raw) {
		v.add(RuleInputSchema, PointerPath(path, e.Pointer), "%s", e.Detail)
	}
}

// inputSchemaErrors says why raw is not the schema of a tool's arguments: JSON
// Schema 2020-12 with an object at its root, at most MaxInputSchemaBytes.
// References are followed within the schema only, so that nothing is ever loaded.
func inputSchemaErrors(raw []byte) []schemaError {
	text, err := canonical.JSON(raw)
	if located, ok := errors.AsType[*canonical.Error](err); ok {
		return []schemaError{{located.Path, located.Detail}}
	}
	if len(text) > MaxInputSchemaBytes {
		return []schemaError{{Detail: fmt.Sprintf("the schema has %d bytes, more than %d: shorten it", len(text), MaxInputSchemaBytes)}}
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return []schemaError{{Detail: err.Error()}}
	}
	root, ok := parsed.(map[string]any)
	if !ok {
		return []schemaError{{Detail: "the schema must be a JSON object"}}
	}
	var found []schemaError
	if root["type"] != "object" {
		found = append(found, schemaError{Detail: `arguments are an object: set type to "object" at the root`})
	}
	if named, ok := root["$schema"]; ok && named != draft {
		// What holds in another draft says nothing about this one.
		return append(found, schemaError{"/$schema", "remove it, or set it to " + draft})
	}
	return append(found, compileErrors(root)...)
}

func compileErrors(root map[string]any) []schemaError {
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(noLoader{})
	if err := compiler.AddResource(schemaURL, root); err != nil {
		return schemaErrors(root, err)
	}
	if _, err := compiler.Compile(schemaURL); err != nil {
		return schemaErrors(root, err)
	}
	return nil
}

// noLoader refuses what a reference would load: publication does no I/O, and
// what is elsewhere can change after the schema was hashed.
type noLoader struct{}

var errOutside = errors.New("nothing is loaded")

func (noLoader) Load(string) (any, error) { return nil, errOutside }

// schemaErrors takes the library's error apart.
func schemaErrors(root map[string]any, err error) []schemaError {
	if invalid, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		if tree, ok := errors.AsType[*jsonschema.ValidationError](invalid.Err); ok {
			return leaves(nil, tree)
		}
	}
	// It names one reference that leads nowhere, and not where that is.
	if broken := brokenReferences(root); len(broken) > 0 {
		return broken
	}
	if outside, ok := errors.AsType[*jsonschema.LoadURLError](err); ok {
		return []schemaError{{Detail: outsideDetail(outside.URL)}}
	}
	return []schemaError{{Detail: "the schema cannot be used: " + strings.ReplaceAll(err.Error(), schemaURL, "") + ": correct it there"}}
}

func leaves(found []schemaError, tree *jsonschema.ValidationError) []schemaError {
	if len(tree.Causes) == 0 {
		var pointer strings.Builder
		for _, step := range tree.InstanceLocation {
			pointer.WriteString("/" + pointerEscaper.Replace(step))
		}
		return append(found, schemaError{pointer.String(), "not JSON Schema 2020-12: " + kindDetail(tree.ErrorKind)})
	}
	for _, cause := range tree.Causes {
		if len(found) <= MaxFindings {
			found = leaves(found, cause)
		}
	}
	return found
}

// english is what the library's messages are printed with.
var english = message.NewPrinter(language.English)

// kindDetail says in words what the library says by the names of keywords.
func kindDetail(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.ExclusiveMinimum:
		return fmt.Sprintf("the number must be greater than %s, not %s", decimal(k.Want), decimal(k.Got))
	case *kind.Minimum:
		return fmt.Sprintf("the number must be at least %s, not %s", decimal(k.Want), decimal(k.Got))
	case *kind.MinItems:
		return fmt.Sprintf("the number of elements must be at least %d, not %d", k.Want, k.Got)
	case *kind.UniqueItems:
		return fmt.Sprintf("elements %d and %d of the array are the same: remove one of them", k.Duplicates[0], k.Duplicates[1])
	default:
		return k.LocalizedString(english)
	}
}

func decimal(r *big.Rat) string {
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")
