// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// RedactedMarker stands in the place of what is not shown, whatever its type was.
const RedactedMarker = "[redacted]"

const redactedJSON = `"` + RedactedMarker + `"`

// RedactPolicy says what is left out beside secrets.
type RedactPolicy struct {
	Identifiers bool
	FreeText    bool
}

func (p RedactPolicy) marks() marks {
	hidden := markSecret
	if p.Identifiers {
		hidden |= markIdentifier
	}
	if p.FreeText {
		hidden |= markFreeText
	}
	return hidden
}

// Redact gives a result with the marker in place of everything that its output
// schema marks. See ReadSensitivity for what counts as marked.
func Redact(value, outputSchema json.RawMessage, policy RedactPolicy) json.RawMessage {
	return ReadSensitivity(outputSchema).Redact(value, policy)
}

// Redact gives a result with the marker in place of every value, of any type and
// null too, that is marked. All else is byte for byte what it was, so that no
// number changes. Where the schema marks anything, a value that is not one valid
// JSON text is replaced whole, as nobody knows what it holds.
func (m *SensitivityMap) Redact(value json.RawMessage, policy RedactPolicy) json.RawMessage {
	if !m.marked {
		return value
	}
	r := &redactor{
		src:      value,
		decoder:  jsontext.NewDecoder(bytes.NewBuffer(value)),
		resolver: newPlaceResolver(),
		hidden:   policy.marks(),
	}
	if r.value(r.resolver.place(m.root)) != nil {
		return json.RawMessage(redactedJSON)
	}
	if _, err := r.decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return json.RawMessage(redactedJSON)
	}
	return append(r.dst, r.src[r.copied:]...)
}

// redactor copies a JSON text. Its depth is bounded by the decoder.
type redactor struct {
	src, dst []byte
	copied   int // of src
	decoder  *jsontext.Decoder
	resolver *placeResolver
	hidden   marks
}

func (r *redactor) value(p *resultPlace) error {
	kind := r.decoder.PeekKind()
	switch {
	case p == nil:
		return r.decoder.SkipValue()
	case p.marks&r.hidden != 0:
		return r.replace()
	case kind == '{':
		return r.object(p)
	case kind == '[':
		return r.array(p)
	default:
		return r.decoder.SkipValue()
	}
}

// replace writes the marker in place of the next value.
func (r *redactor) replace() error {
	start := int(r.decoder.InputOffset())
	start += len(r.src[start:]) - len(bytes.TrimLeft(r.src[start:], " \t\r\n,:"))
	if err := r.decoder.SkipValue(); err != nil {
		return err
	}
	r.dst = append(r.dst, r.src[r.copied:start]...)
	r.dst = append(r.dst, redactedJSON...)
	r.copied = int(r.decoder.InputOffset())
	return nil
}

func (r *redactor) object(p *resultPlace) error {
	if _, err := r.decoder.ReadToken(); err != nil {
		return err
	}
	for r.decoder.PeekKind() == '"' {
		name, err := r.decoder.ReadToken()
		if err != nil {
			return err
		}
		if err := r.value(r.resolver.property(p, name.String())); err != nil {
			return err
		}
	}
	_, err := r.decoder.ReadToken()
	return err
}

func (r *redactor) array(p *resultPlace) error {
	if _, err := r.decoder.ReadToken(); err != nil {
		return err
	}
	for i := 0; r.decoder.PeekKind() != ']'; i++ {
		if err := r.value(r.resolver.element(p, i)); err != nil {
			return err
		}
	}
	_, err := r.decoder.ReadToken()
	return err
}
