// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"encoding/json"
	"errors"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/canonical"
)

const argumentsDomain canonical.Domain = "remit.dev/arguments/v1"

// Arguments are those of one call, in the forms in which they are used.
type Arguments struct {
	// JSON is the canonical form, and Digest its digest.
	JSON   json.RawMessage
	Digest v1alpha1.Digest
	// Indented is for people.
	Indented string
}

// ReadArguments reads arguments as a model wrote them: one JSON object, or nothing
// for the empty one.
func ReadArguments(text string) (Arguments, error) {
	given := []byte(text)
	if len(bytes.TrimSpace(given)) == 0 {
		given = []byte("{}")
	}
	content, err := canonical.JSON(given)
	if err != nil {
		return Arguments{}, err
	}
	if content[0] != '{' {
		return Arguments{}, errors.New("they must be a JSON object")
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, content, "", "  "); err != nil {
		return Arguments{}, err
	}
	return Arguments{
		JSON:     content,
		Digest:   v1alpha1.Digest(canonical.Hash(argumentsDomain, content).String()),
		Indented: indented.String(),
	}, nil
}
