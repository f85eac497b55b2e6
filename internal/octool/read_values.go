// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"fmt"
	"strconv"
)

// optionalString reads a string, where null is none.
func (d *document) optionalString(at string) (*string, error) {
	if d.decoder.PeekKind() == 'n' {
		return nil, d.skip()
	}
	text, err := d.string(at)
	return &text, err
}

func (d *document) string(at string) (string, error) {
	if d.decoder.PeekKind() != '"' {
		return "", d.unexpected(at, "a string")
	}
	token, err := d.decoder.ReadToken()
	if err != nil {
		return "", syntaxError(err)
	}
	return token.String(), nil
}

// strings reads a list of strings, where null is none.
func (d *document) strings(at string) ([]string, error) {
	if d.decoder.PeekKind() == 'n' {
		return nil, d.skip()
	}
	list := []string{}
	err := d.array(at, func(i int) error {
		text, err := d.string(indexed(at, i))
		list = append(list, text)
		return err
	})
	return list, err
}

// warnings reads a list of strings, where an empty one is none.
func (d *document) warnings(at string) ([]string, error) {
	list, err := d.strings(at)
	if len(list) == 0 {
		return nil, err
	}
	return list, err
}

// optionalStrings reads a list of strings and nulls, where null is none.
func (d *document) optionalStrings(at string) ([]*string, error) {
	if d.decoder.PeekKind() == 'n' {
		return nil, d.skip()
	}
	list := []*string{}
	err := d.array(at, func(i int) error {
		if kind := d.decoder.PeekKind(); kind != '"' && kind != 'n' {
			return d.unexpected(indexed(at, i), "a string or null")
		}
		text, err := d.optionalString(at)
		list = append(list, text)
		return err
	})
	return list, err
}

func (d *document) bool(at string) (bool, error) {
	kind := d.decoder.PeekKind()
	if kind != 't' && kind != 'f' {
		return false, d.unexpected(at, "a boolean")
	}
	return kind == 't', d.skip()
}

// optionalBool reads a boolean, where null is none.
func (d *document) optionalBool(at string) (*bool, error) {
	if d.decoder.PeekKind() == 'n' {
		return nil, d.skip()
	}
	value, err := d.bool(at)
	return &value, err
}

// size reads an integer from 0 to 2^53 - 1.
func (d *document) size(at string) (*int64, error) {
	if d.decoder.PeekKind() != '0' {
		return nil, d.unexpected(at, "an integer")
	}
	text, err := d.value()
	if err != nil {
		return nil, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > maxSafeInteger {
		return nil, &Error{at, fmt.Sprintf("it is %s, but must be an integer from 0 to 2^53 - 1", excerpt(text))}
	}
	return &n, nil
}

// optionalSize reads a size, where null is none.
func (d *document) optionalSize(at string) (*int64, error) {
	if d.decoder.PeekKind() == 'n' {
		return nil, d.skip()
	}
	return d.size(at)
}

func (d *document) skip() error {
	return syntaxError(d.decoder.SkipValue())
}

func indexed(at string, i int) string { return at + "/" + strconv.Itoa(i) }
