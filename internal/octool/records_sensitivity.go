// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
)

// FieldSensitivity is what the keyword x-sensitivity says of a field of a result.
// A value that is not known is read as secret.
type FieldSensitivity string

// The values of x-sensitivity.
const (
	FieldNone       FieldSensitivity = "none"
	FieldIdentifier FieldSensitivity = "identifier"
	FieldFreeText   FieldSensitivity = "free_text"
	FieldSecret     FieldSensitivity = "secret"
)

const sensitivityKeyword = "x-sensitivity"

// marks are all that is said of one place. Neither of identifier and free_text
// includes the other, so a place can be both.
type marks uint8

const (
	markNone marks = 1 << iota
	markIdentifier
	markFreeText
	markSecret
)

func markOf(value *node) marks {
	if value.kind != stringNode {
		return markSecret
	}
	switch FieldSensitivity(value.text) {
	case FieldNone:
		return markNone
	case FieldIdentifier:
		return markIdentifier
	case FieldFreeText:
		return markFreeText
	default:
		return markSecret
	}
}

// strongest is the most restrictive reading: free text may hold anything, so it
// goes before an identifier.
func (m marks) strongest() FieldSensitivity {
	switch {
	case m&markSecret != 0:
		return FieldSecret
	case m&markFreeText != 0:
		return FieldFreeText
	case m&markIdentifier != 0:
		return FieldIdentifier
	default:
		return FieldNone
	}
}

// SensitivityMap is what an output schema says of the sensitivity of a result. It
// never changes, so that one serves all results of a tool.
type SensitivityMap struct {
	root   *fieldSchema
	marked bool // anywhere
}

// ReadSensitivity reads x-sensitivity from an output schema. Wherever several
// schemas apply to a place, or may (allOf, anyOf, oneOf, if, $ref), all that they
// say counts. It is conservative: a place whose schema cannot be read, as its
// reference leads nowhere or out of the schema, is secret, and so is the whole
// result where the schema itself cannot be read. An empty schema says nothing.
func ReadSensitivity(outputSchema json.RawMessage) *SensitivityMap {
	compiler := newSensitivityCompiler(outputSchema)
	root := compiler.compileRoot()
	return &SensitivityMap{root: root, marked: compiler.marked}
}

// Marked says whether anything of a result is marked, or may be.
func (m *SensitivityMap) Marked() bool { return m.marked }

// FieldMark is one place of a result that a schema marks.
type FieldMark struct {
	// Path is a JSON pointer in which * stands for every element of a list, and for
	// every property that has no schema of its own.
	Path string `json:"path"`
	// Sensitivity is the most restrictive of all that is said.
	Sensitivity FieldSensitivity `json:"sensitivity"`
	// Unread says why the schema of the place cannot be read, where it is secret
	// for that.
	Unread string `json:"unread,omitempty"`
}

const (
	// MaxFieldMarks bounds what Fields lists.
	MaxFieldMarks = 1024
	// maxPlaces bounds what it visits, beside maxPointerBytes.
	maxPlaces = 16 << 10
)

// Fields lists the marked places, by path, up to MaxFieldMarks. A schema that
// refers to itself is followed once. complete is false where there are more.
func (m *SensitivityMap) Fields() (fields []FieldMark, complete bool) {
	if !m.marked {
		return nil, true
	}
	l := &fieldLister{resolver: newPlaceResolver(), open: map[*resultPlace]bool{}, complete: true}
	l.list("", l.resolver.place(m.root))
	slices.SortStableFunc(l.fields, func(a, b FieldMark) int { return cmp.Compare(a.Path, b.Path) })
	return l.fields, l.complete
}

type fieldLister struct {
	resolver *placeResolver
	open     map[*resultPlace]bool // around what is listed
	fields   []FieldMark
	visited  int
	complete bool
}

func (l *fieldLister) list(path string, p *resultPlace) {
	if p == nil || l.open[p] {
		return
	}
	if l.visited++; l.visited > maxPlaces || len(l.fields) == MaxFieldMarks || len(path) > maxPointerBytes {
		l.complete = false
		return
	}
	if p.marks != 0 {
		l.fields = append(l.fields, FieldMark{Path: path, Sensitivity: p.marks.strongest(), Unread: p.unread})
	}
	if p.marks&markSecret != 0 {
		return
	}
	l.open[p] = true
	for _, name := range slices.Sorted(maps.Keys(p.names)) {
		l.list(path+"/"+pointerEscapes.Replace(name), l.resolver.property(p, name))
	}
	l.list(path+"/*", l.resolver.otherProperty(p))
	for i := range p.prefix {
		l.list(indexed(path, i), l.resolver.element(p, i))
	}
	l.list(path+"/*", l.resolver.element(p, p.prefix))
	delete(l.open, p)
}
