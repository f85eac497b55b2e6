// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// RecordsEnvelope is a list of items whose shape is known up front. Its count is
// the number of its records, and is not stored apart. Numbers in an Item that has
// no type of its own for them arrive as json.Number, as none is ever rounded.
type RecordsEnvelope[Item any] struct {
	Records []Item
	Page
}

// NewRecords makes an envelope. The error is an *Error with the rule of paging
// that is broken.
func NewRecords[Item any](records []Item, page Page) (*RecordsEnvelope[Item], error) {
	e := &RecordsEnvelope[Item]{Records: records, Page: page}
	if err := e.Validate(); err != nil {
		return nil, err
	}
	return e, nil
}

// ParseRecords reads an envelope that must be exact: an unknown key is an error.
// The error is an *Error.
func ParseRecords[Item any](data []byte) (*RecordsEnvelope[Item], error) {
	e, _, err := readRecords[Item](data, strictly)
	return e, err
}

// ReadRecords reads an envelope that somebody else made, perhaps by a later minor
// of the format. What it does not know it drops, and notes; what is wrong is an
// *Error. Keys inside the records are left to Item.
func ReadRecords[Item any](data []byte) (*RecordsEnvelope[Item], []Notice, error) {
	return readRecords[Item](data, tolerantly)
}

// Count is the number of records returned.
func (e *RecordsEnvelope[Item]) Count() int { return len(e.Records) }

// Validate checks the rules that hold for every envelope. The error is an *Error.
func (e *RecordsEnvelope[Item]) Validate() error { return e.validate(len(e.Records)) }

// MarshalJSON writes a valid envelope, the keys in the order of the format and no
// key without a value. The error is an *Error.
func (e RecordsEnvelope[Item]) MarshalJSON() ([]byte, error) {
	if err := e.Validate(); err != nil {
		return nil, err
	}
	w := &objectWriter{}
	records := []byte("[]")
	if len(e.Records) > 0 {
		var err error
		if records, err = encodeJSON(e.Records); err != nil {
			return nil, &Error{"/records", "the records have no JSON: " + excerpt(err.Error())}
		}
	}
	w.raw("records", records)
	w.int("count", int64(len(e.Records)))
	w.bool("truncated", e.Truncated)
	e.dump(w)
	return w.result()
}

// UnmarshalJSON is ParseRecords.
func (e *RecordsEnvelope[Item]) UnmarshalJSON(data []byte) error {
	parsed, err := ParseRecords[Item](data)
	if err == nil {
		*e = *parsed
	}
	return err
}

func readRecords[Item any](data []byte, mode readMode) (*RecordsEnvelope[Item], []Notice, error) {
	e := &RecordsEnvelope[Item]{}
	var records bool
	var count *int64
	page := pageReader{}
	d, err := readDocument(data, mode, func(d *document, key string) (_ bool, err error) {
		switch key {
		case "records":
			records = true
			e.Records, err = readItems[Item](d)
		case "count":
			count, err = d.size("/count")
		default:
			return page.field(d, key)
		}
		return true, err
	})
	if err != nil {
		return nil, nil, err
	}
	if !records {
		return nil, nil, missing("records")
	}
	if err := checkCount("count", count, len(e.Records)); err != nil {
		return nil, nil, err
	}
	if err := page.end(len(e.Records)); err != nil {
		return nil, nil, err
	}
	e.Page = page.page
	return e, d.notices.all(), nil
}

// readItems reads the records: all of them at once, and one by one if that fails,
// to say which one it is.
func readItems[Item any](d *document) ([]Item, error) {
	start := d.decoder.InputOffset()
	var texts []string
	isStruct := reflect.TypeFor[Item]().Kind() == reflect.Struct
	err := d.array("/records", func(i int) error {
		text, err := d.value()
		if err == nil && isStruct && text == "null" {
			err = &Error{indexed("/records", i), "it is null, but must be a record"}
		}
		texts = append(texts, text)
		return err
	})
	if err != nil {
		return nil, err
	}
	items := make([]Item, 0, len(texts))
	list := d.text[start:d.decoder.InputOffset()]
	if decodeItem(list[strings.IndexByte(list, '['):], &items) == nil {
		return items, nil
	}
	items = make([]Item, len(texts))
	for i, text := range texts {
		if err := decodeItem(text, &items[i]); err != nil {
			return nil, &Error{indexed("/records", i), describe(err)}
		}
	}
	return items, nil
}

func decodeItem(text string, into any) error {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	return decoder.Decode(into)
}

// describe says why a record does not fit its type, without quoting its values.
func describe(err error) string {
	mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return "the record cannot be read: " + excerpt(err.Error())
	}
	found, _, _ := strings.Cut(mismatch.Value, " ")
	field := "the record"
	if mismatch.Field != "" {
		field = "the field " + quoted(mismatch.Field)
	}
	return fmt.Sprintf("%s does not fit a Go %s: its JSON type is %s", field, mismatch.Type, found)
}
