// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// MaxSchemaBytes bounds the text of a schema that is judged, and of the
	// arguments of a call.
	MaxSchemaBytes = 256 << 10
	// MaxSchemaDepth bounds how deep its objects and arrays are nested, and with
	// it the stack of everything that walks a schema.
	MaxSchemaDepth = 128
)

// nodeKind is what a JSON value is.
type nodeKind byte

const (
	objectNode nodeKind = iota
	arrayNode
	stringNode
	numberNode
	booleanNode
	nullNode
)

var nodeKindNames = [...]string{"an object", "an array", "a string", "a number", "a boolean", "null"}

func (k nodeKind) String() string { return nodeKindNames[k] }

// node is one JSON value of a schema. Numbers stay the text they were, so that
// none is rounded, and members keep their order.
type node struct {
	kind     nodeKind
	text     string // the value of a string, or the literal of a number or boolean
	members  []member
	elements []*node
}

type member struct {
	name  string
	value *node
}

// member gives the value of that name, or nil; of a value that is no object too.
func (n *node) member(name string) *node {
	if n == nil {
		return nil
	}
	for i := range n.members {
		if n.members[i].name == name {
			return n.members[i].value
		}
	}
	return nil
}

// is says whether n is the string text.
func (n *node) is(text string) bool {
	return n != nil && n.kind == stringNode && n.text == text
}

// sorted gives the members by name, so that what is found in a schema does not
// depend on who wrote it down last.
func (n *node) sorted() []member {
	byName := func(a, b member) int { return strings.Compare(a.name, b.name) }
	if slices.IsSortedFunc(n.members, byName) {
		return n.members
	}
	sorted := slices.Clone(n.members)
	slices.SortFunc(sorted, byName)
	return sorted
}

// parseNode reads one JSON value. The error is an *Error for what is no JSON, for
// a key that an object has twice, and for what exceeds the bounds on schemas.
func parseNode(text []byte) (*node, error) {
	if len(text) > MaxSchemaBytes {
		return nil, fault("", "it has %d bytes, more than %d", len(text), MaxSchemaBytes)
	}
	parser := nodeParser{jsontext.NewDecoder(bytes.NewReader(text))}
	value, err := parser.value(0)
	if err == nil {
		err = parser.end()
	}
	if err == nil {
		return value, nil
	}
	if found, ok := errors.AsType[*Error](err); ok {
		return nil, found
	}
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return nil, fault(bounded(string(syntax.JSONPointer), maxPointerBytes), "it is not JSON at byte %d: %s", syntax.ByteOffset, syntax.Err)
	}
	return nil, fault("", "it is empty")
}

type nodeParser struct{ *jsontext.Decoder }

func (p nodeParser) value(depth int) (*node, error) {
	token, err := p.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case jsontext.KindBeginObject, jsontext.KindBeginArray:
		if depth == MaxSchemaDepth {
			return nil, fault(bounded(string(p.StackPointer()), maxPointerBytes), "it is nested deeper than %d levels", MaxSchemaDepth)
		}
		if token.Kind() == jsontext.KindBeginObject {
			return p.object(depth)
		}
		return p.array(depth)
	case jsontext.KindString:
		return &node{kind: stringNode, text: token.String()}, nil
	case jsontext.KindNumber:
		return &node{kind: numberNode, text: token.String()}, nil
	case jsontext.KindNull:
		return &node{kind: nullNode}, nil
	default:
		return &node{kind: booleanNode, text: token.String()}, nil
	}
}

func (p nodeParser) object(depth int) (*node, error) {
	object := &node{kind: objectNode}
	for p.PeekKind() != jsontext.KindEndObject {
		name, err := p.ReadToken()
		if err != nil {
			return nil, err
		}
		m := member{name: name.String()}
		if m.value, err = p.value(depth + 1); err != nil {
			return nil, err
		}
		object.members = append(object.members, m)
	}
	_, err := p.ReadToken()
	return object, err
}

func (p nodeParser) array(depth int) (*node, error) {
	array := &node{kind: arrayNode}
	for p.PeekKind() != jsontext.KindEndArray {
		element, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		array.elements = append(array.elements, element)
	}
	_, err := p.ReadToken()
	return array, err
}

func (p nodeParser) end() error {
	switch _, err := p.ReadToken(); {
	case err == nil:
		return fault("", "it goes on after its value: give one value")
	case errors.Is(err, io.EOF):
		return nil
	default:
		return err
	}
}

// appendJSON writes the value as JSON, members in their order.
func (n *node) appendJSON(dst []byte) []byte {
	switch n.kind {
	case objectNode:
		dst = append(dst, '{')
		for i, m := range n.members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendQuoted(dst, m.name), ':')
			dst = m.value.appendJSON(dst)
		}
		return append(dst, '}')
	case arrayNode:
		dst = append(dst, '[')
		for i, element := range n.elements {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = element.appendJSON(dst)
		}
		return append(dst, ']')
	case stringNode:
		return appendQuoted(dst, n.text)
	case nullNode:
		return append(dst, "null"...)
	default:
		return append(dst, n.text...)
	}
}

// encodeJSON is json.Marshal that leaves <, > and & readable.
func encodeJSON(value any) (json.RawMessage, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n")), nil
}

// appendQuoted writes text that was read from JSON, and is valid UTF-8 therefore.
func appendQuoted(dst []byte, text string) []byte {
	quoted, err := jsontext.AppendQuote(dst, text)
	if err != nil {
		return append(dst, `""`...)
	}
	return quoted
}
