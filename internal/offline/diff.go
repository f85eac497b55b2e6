// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"remit.dev/remit/api/v1alpha1"
)

// Change is one difference in meaning between two Specs. Old or New is nil for
// what one of them lacks.
type Change struct {
	// Path names entries of keyed lists and sets by their key: their place means
	// nothing.
	Path string          `json:"path"`
	Old  json.RawMessage `json:"old,omitempty"`
	New  json.RawMessage `json:"new,omitempty"`
}

// Diff compares two canonical bodies by the meaning of their fields. There is a
// change exactly if their hashes differ.
func Diff(old, updated []byte) ([]Change, error) {
	var a, b any
	if err := decodeNumbers(old, &a); err != nil {
		return nil, err
	}
	if err := decodeNumbers(updated, &b); err != nil {
		return nil, err
	}
	var d differ
	d.compare(field.NewPath("spec"), typed{reflect.TypeFor[v1alpha1.AgentSpec](), ""}, a, b)
	return d.changes, d.err
}

func decodeNumbers(text []byte, into *any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return decoder.Decode(into)
}

// typed is what is known of a value: its Go type, nil within free-form JSON, and
// the canonical tag of its field.
type typed struct {
	goType reflect.Type
	tag    string
}

// member is what is known of the member of an object.
func (t typed) member(name string) typed {
	if t.goType == nil {
		return typed{}
	}
	if t.goType.Kind() == reflect.Map {
		return typed{t.goType.Elem(), t.tag}
	}
	if t.goType.Kind() != reflect.Struct {
		return typed{}
	}
	for f := range t.goType.Fields() {
		if jsonName, _, _ := strings.Cut(f.Tag.Get("json"), ","); jsonName != name {
			continue
		}
		goType := f.Type
		if goType.Kind() == reflect.Pointer {
			goType = goType.Elem()
		}
		return typed{goType, f.Tag.Get("canonical")}
	}
	return typed{}
}

func (t typed) element() typed {
	if t.goType == nil || t.goType.Kind() != reflect.Slice {
		return typed{}
	}
	return typed{t.goType.Elem(), ""}
}

// key is the field that tells the elements of a keyed list apart.
func (t typed) key() (string, bool) { return strings.CutPrefix(t.tag, "map=") }

type differ struct {
	changes []Change
	err     error
}

func (d *differ) compare(path *field.Path, t typed, a, b any) {
	objectA, okA := a.(map[string]any)
	objectB, okB := b.(map[string]any)
	if okA && okB {
		d.members(objectA, objectB, func(key string) (*field.Path, typed) { return path.Child(key), t.member(key) })
		return
	}
	listA, okA := a.([]any)
	listB, okB := b.([]any)
	if !okA || !okB {
		d.values(path, a, b)
		return
	}
	element := t.element()
	if key, ok := t.key(); ok {
		d.members(byKey(listA, key), byKey(listB, key), func(name string) (*field.Path, typed) { return path.Key(name), element })
		return
	}
	if t.tag == "set" {
		d.members(bySelf(listA), bySelf(listB), func(name string) (*field.Path, typed) { return path.Key(name), element })
		return
	}
	for i := range max(len(listA), len(listB)) {
		d.compare(path.Index(i), element, at(listA, i), at(listB, i))
	}
}

func (d *differ) members(a, b map[string]any, at func(key string) (*field.Path, typed)) {
	keys := slices.Sorted(maps.Keys(a))
	for key := range b {
		if _, ok := a[key]; !ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		path, t := at(key)
		d.compare(path, t, orMissing(a, key), orMissing(b, key))
	}
}

// missing is what is not there, as null is a value in free-form JSON.
type missing struct{}

func orMissing(object map[string]any, key string) any {
	if value, ok := object[key]; ok {
		return value
	}
	return missing{}
}

func at(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return missing{}
}

func byKey(list []any, key string) map[string]any {
	named := make(map[string]any, len(list))
	for _, element := range list {
		if object, ok := element.(map[string]any); ok {
			name, _ := object[key].(string)
			named[name] = object
		}
	}
	return named
}

func bySelf(list []any) map[string]any {
	named := make(map[string]any, len(list))
	for _, element := range list {
		if name, ok := element.(string); ok {
			named[name] = name
		}
	}
	return named
}

func (d *differ) values(path *field.Path, a, b any) {
	old, updated := d.encode(a), d.encode(b)
	if !bytes.Equal(old, updated) {
		d.changes = append(d.changes, Change{Path: path.String(), Old: old, New: updated})
	}
}

// encode gives canonical bytes back, as the value came from them.
func (d *differ) encode(value any) json.RawMessage {
	if value == (missing{}) {
		return nil
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		d.err = err
	}
	return bytes.TrimSpace(text.Bytes())
}
