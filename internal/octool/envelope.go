// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"bytes"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
)

// EnvelopeKind says which of the three envelopes a result is.
type EnvelopeKind string

// The envelopes. There is no result kind for tables: a table is told by its
// columns and rows.
const (
	EnvelopeNone     EnvelopeKind = ""
	EnvelopeRecords  EnvelopeKind = "records"
	EnvelopeTabular  EnvelopeKind = "tabular"
	EnvelopeArtifact EnvelopeKind = "artifact"
)

// Detect says which envelope a result is to be read as: the one that the output
// schema describes, or, where it describes none or several, or is empty, the one
// whose required keys the result has. It does not check the result; reading does.
func Detect(outputSchema, value json.RawMessage) EnvelopeKind {
	if kind := DetectSchema(outputSchema); kind != EnvelopeNone {
		return kind
	}
	return DetectValue(value)
}

// DetectSchema says which envelope a schema describes: by the properties columns
// and rows, records, or artifact of its root, and of what its root refers to.
func DetectSchema(outputSchema json.RawMessage) EnvelopeKind {
	root := newPlaceResolver().place(ReadSensitivity(outputSchema).root)
	if root == nil {
		return EnvelopeNone
	}
	has := func(name string) bool {
		_, ok := root.names[name]
		return ok
	}
	found := EnvelopeNone
	for _, candidate := range []struct {
		kind  EnvelopeKind
		found bool
	}{
		{EnvelopeTabular, has("columns") && has("rows")},
		{EnvelopeRecords, has("records")},
		{EnvelopeArtifact, has("artifact")},
	} {
		switch {
		case candidate.found && found != EnvelopeNone:
			return EnvelopeNone
		case candidate.found:
			found = candidate.kind
		}
	}
	return found
}

// requiredKeys are those without which an envelope cannot be read.
var requiredKeys = map[EnvelopeKind][]string{
	EnvelopeRecords:  {"records", "count", "truncated"},
	EnvelopeTabular:  {"columns", "rows", "row_count", "truncated"},
	EnvelopeArtifact: {"artifact"},
}

// DetectValue says which envelope a result is by its keys. An object that has
// those of none, or of more than one, is none.
func DetectValue(value json.RawMessage) EnvelopeKind {
	keys, ok := topKeys(value)
	if !ok {
		return EnvelopeNone
	}
	found := EnvelopeNone
	for kind, required := range requiredKeys {
		has := true
		for _, key := range required {
			has = has && keys[key]
		}
		switch {
		case has && found != EnvelopeNone:
			return EnvelopeNone
		case has:
			found = kind
		}
	}
	return found
}

// topKeys gives the keys of an envelope that an object has. An artifact counts
// only if it is a reference.
func topKeys(value json.RawMessage) (map[string]bool, bool) {
	keys := map[string]bool{}
	d := jsontext.NewDecoder(bytes.NewBuffer(value))
	if d.PeekKind() != '{' || skipToken(d) != nil {
		return nil, false
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, false
		}
		key := name.String()
		if key == "artifact" {
			raw, err := d.ReadValue()
			if err != nil {
				return nil, false
			}
			keys[key] = isReference(raw)
			continue
		}
		keys[key] = true
		if d.SkipValue() != nil {
			return nil, false
		}
	}
	return keys, skipToken(d) == nil
}

func isReference(raw jsontext.Value) bool {
	if raw.Kind() != '{' {
		return false
	}
	_, err := newDocument(raw, tolerantly).artifact("")
	return err == nil
}

func skipToken(d *jsontext.Decoder) error {
	_, err := d.ReadToken()
	return err
}

// DocumentOf gives the JSON text of a result: text as it is, and what was decoded
// already as encoding/json writes it, json.Number as its digits. What has no JSON,
// as a float that is not finite, is an *Error.
func DocumentOf(value any) (json.RawMessage, error) {
	switch value := value.(type) {
	case json.RawMessage:
		return value, nil
	case []byte:
		return value, nil
	case string:
		return json.RawMessage(value), nil
	}
	encoded, err := encodeJSON(value)
	if err != nil {
		return nil, &Error{Message: "the value has no JSON: " + excerpt(err.Error())}
	}
	return encoded, nil
}
