// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxEnvelopeBytes bounds the text of an envelope. Nesting is bounded by the
// decoder, at 10,000 levels.
const MaxEnvelopeBytes = 16 << 20

// readMode says what becomes of an addition to the format that this reader does
// not know.
type readMode bool

const (
	// strictly refuses it.
	strictly readMode = false
	// tolerantly drops it or reads its fallback, and notes that.
	tolerantly readMode = true
)

// document reads one JSON text once, from its beginning to its end. The decoder
// refuses duplicate keys, text that is not UTF-8 and half surrogate pairs anywhere
// in it, as two readers can take those for two different values.
type document struct {
	// text is a copy, so that what is read from it stays when the caller reuses
	// its buffer. Cells are parts of it, which saves allocating each.
	text    string
	decoder *jsontext.Decoder
	mode    readMode
	notices noticeList
}

func newDocument(data []byte, mode readMode) *document {
	return &document{
		text:    string(data),
		decoder: jsontext.NewDecoder(bytes.NewBuffer(data)),
		mode:    mode,
	}
}

// readDocument reads data as one object, whose members are given to field one by
// one. One that field does not know is dealt with by the mode.
func readDocument(data []byte, mode readMode, field func(d *document, key string) (known bool, err error)) (*document, error) {
	if len(data) > MaxEnvelopeBytes {
		return nil, &Error{Message: fmt.Sprintf("the document has %d bytes, more than %d", len(data), MaxEnvelopeBytes)}
	}
	d := newDocument(data, mode)
	if err := d.object("", func(key string) (bool, error) { return field(d, key) }); err != nil {
		return nil, err
	}
	return d, d.end()
}

// object reads an object at a place. A member that field does not know is refused
// or dropped.
func (d *document) object(at string, field func(key string) (known bool, err error)) error {
	if err := d.open('{', at, "an object"); err != nil {
		return err
	}
	for d.decoder.PeekKind() == '"' {
		name, err := d.decoder.ReadToken()
		if err != nil {
			return syntaxError(err)
		}
		key := name.String()
		known, err := field(key)
		if err != nil {
			return err
		}
		if known {
			continue
		}
		if d.mode == strictly {
			return &Error{at + "/" + pointerEscapes.Replace(excerpt(key)), "the key is unknown: correct or remove it"}
		}
		if err := d.decoder.SkipValue(); err != nil {
			return syntaxError(err)
		}
		d.notices.add(at+"/"+pointerEscapes.Replace(excerpt(key)), "unknown key", "dropped")
	}
	return d.close()
}

// array reads an array at a place, element by element.
func (d *document) array(at string, element func(i int) error) error {
	if err := d.open('[', at, "an array"); err != nil {
		return err
	}
	for i := 0; d.more(); i++ {
		if err := element(i); err != nil {
			return err
		}
	}
	return d.close()
}

func (d *document) open(kind jsontext.Kind, at, want string) error {
	if got := d.decoder.PeekKind(); got != kind {
		return d.unexpected(at, want)
	}
	_, err := d.decoder.ReadToken()
	return syntaxError(err)
}

// more tells whether the array goes on. Where the text ends or is malformed, the
// next read says so.
func (d *document) more() bool { return d.decoder.PeekKind() != ']' }

// close reads the end of an object or array.
func (d *document) close() error {
	_, err := d.decoder.ReadToken()
	return syntaxError(err)
}

// end makes sure that nothing follows the value.
func (d *document) end() error {
	_, err := d.decoder.ReadToken()
	switch {
	case err == nil:
		return &Error{Message: "the document goes on after its value: it must be one JSON value"}
	case errors.Is(err, io.EOF):
		return nil
	default:
		return syntaxError(err)
	}
}

// value reads any value and gives its text, a part of the document's.
func (d *document) value() (string, error) {
	raw, err := d.decoder.ReadValue()
	if err != nil {
		return "", syntaxError(err)
	}
	end := int(d.decoder.InputOffset())
	return d.text[end-len(raw) : end], nil
}

// cell reads a scalar. Its place is asked for only to say what is wrong.
func (d *document) cell(at func() string) (Cell, error) {
	raw, err := d.decoder.ReadValue()
	if err != nil {
		return Cell{}, syntaxError(err)
	}
	end := int(d.decoder.InputOffset())
	text := d.text[end-len(raw) : end]
	switch text[0] {
	case '"':
		inner := text[1 : len(text)-1]
		if strings.IndexByte(inner, '\\') < 0 {
			return Cell{TypeString, inner}, nil
		}
		unquoted, err := jsontext.AppendUnquote(nil, raw)
		return Cell{TypeString, string(unquoted)}, syntaxError(err)
	case 'n':
		return Cell{}, nil
	case 't', 'f':
		return Cell{TypeBoolean, text}, nil
	case '{', '[':
		return Cell{}, &Error{at(), "it is " + jsonTypeOf(text) + ", but must be a string, number, boolean or null"}
	default:
		return numberCell(text), nil
	}
}

// unexpected is what the next value, which is not what is wanted, amounts to.
func (d *document) unexpected(at, want string) error {
	text, err := d.value()
	if err != nil {
		return err
	}
	return &Error{at, "it is " + jsonTypeOf(text) + ", but must be " + want}
}

// jsonTypeOf names the type of a JSON value, with its article.
func jsonTypeOf(text string) string {
	switch text[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	default:
		return "a number"
	}
}

// syntaxError is an error of the decoder as an *Error.
func syntaxError(err error) error {
	if err == nil {
		return nil
	}
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.EOF):
		return &Error{Message: "the document is empty: it must be one JSON value"}
	case !errors.As(err, &syntactic):
		return &Error{Message: "it is not JSON: " + excerpt(err.Error())}
	case errors.Is(err, jsontext.ErrDuplicateName):
		return &Error{excerpt(string(syntactic.JSONPointer)), "the key is there twice: keep one, as readers differ in which one counts"}
	default:
		return &Error{excerpt(string(syntactic.JSONPointer)),
			fmt.Sprintf("it is not JSON, at byte %d: %s", syntactic.ByteOffset, excerpt(syntactic.Err.Error()))}
	}
}

// maxExcerpt bounds the bytes of a document that one part of a message quotes.
const maxExcerpt = 128

func excerpt(text string) string {
	if len(text) <= maxExcerpt {
		return text
	}
	return strings.ToValidUTF8(text[:maxExcerpt], "") + "…"
}
