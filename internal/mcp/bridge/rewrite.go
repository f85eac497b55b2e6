package bridge

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
)

var errTwice = errors.New("a member of the message is there twice")

// member finds the value at a path of member names within an object, and gives its place. Where a name is
// there twice readers differ on which one counts, so that is an error.
func member(object []byte, path ...string) (start, end int, found bool, err error) {
	decoder := json.NewDecoder(bytes.NewReader(object))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return 0, 0, false, nil //nolint:nilerr // what is no object has no members
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return 0, 0, false, err
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return 0, 0, false, err
		}
		if name != path[0] {
			continue
		}
		if found {
			return 0, 0, false, errTwice
		}
		found, end = true, int(decoder.InputOffset())
		start = end - len(value)
	}
	if !found || len(path) == 1 {
		return start, end, found, nil
	}
	first, last, found, err := member(object[start:end], path[1:]...)
	return start + first, start + last, found, err
}

// replace puts a value in the place of the one at a path, and gives the one that was there; nil when there
// was none, and the object is as it was. Every other byte stays.
func replace(object []byte, with []byte, path ...string) (changed, was []byte, err error) {
	start, end, found, err := member(object, path...)
	if err != nil || !found {
		return object, nil, err
	}
	return slices.Concat(object[:start], with, object[end:]), object[start:end], nil
}
