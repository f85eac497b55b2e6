// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"remit.dev/remit/internal/schema"
)

// fieldSchema is what of a schema matters for the sensitivity of what it describes.
type fieldSchema struct {
	id     int
	marks  marks
	unread string
	// applied hold for the same place: references, allOf and the like.
	applied    []*fieldSchema
	properties map[string]*fieldSchema
	patterns   []fieldPattern
	// others hold for properties that neither of the two names.
	others []*fieldSchema
	// prefix are lists of schemas for the first elements, one by one: prefixItems,
	// and items of the drafts before it.
	prefix [][]*fieldSchema
	// items hold for the elements beyond some list of prefix, anyItem for all.
	items   []*fieldSchema
	anyItem []*fieldSchema
}

// inert tells whether a schema says nothing but what it applies, as a reference.
func (s *fieldSchema) inert() bool {
	return s.marks == 0 && len(s.properties) == 0 && len(s.patterns) == 0 && len(s.others) == 0 &&
		len(s.prefix) == 0 && len(s.items) == 0 && len(s.anyItem) == 0
}

// fieldPattern is a schema for names that match, or for all where the expression
// is nil: it is not one of Go's, or too large.
type fieldPattern struct {
	expression *schema.Pattern
	schema     *fieldSchema
}

type sensitivityCompiler struct {
	document *node
	id       string // of the root
	compiled map[*node]*fieldSchema
	anchors  map[string][]*node
	patterns schema.Patterns
	// several says that there are more roots than one, by $id.
	several bool
	// used says that the keyword is there at all.
	used   bool
	marked bool
	unread string // why there is no document
}

func newSensitivityCompiler(outputSchema json.RawMessage) *sensitivityCompiler {
	c := &sensitivityCompiler{compiled: map[*node]*fieldSchema{}, anchors: map[string][]*node{}}
	if text := bytes.TrimSpace(outputSchema); len(text) == 0 || string(text) == "null" {
		return c
	}
	document, err := parseNode(outputSchema)
	if err != nil {
		c.unread = "the schema cannot be read: " + excerpt(err.Error())
		return c
	}
	c.document = document
	if id := document.member("$id"); id != nil {
		c.id = strings.TrimSuffix(id.text, "#")
	}
	c.scan(document)
	return c
}

// scan notes what compiling needs to know of the whole schema.
func (c *sensitivityCompiler) scan(n *node) {
	for _, m := range n.members {
		switch {
		case m.name == sensitivityKeyword:
			c.used = true
		case m.value.kind != stringNode:
		case m.name == "$anchor" || m.name == "$dynamicAnchor":
			c.anchors[m.value.text] = append(c.anchors[m.value.text], n)
		case m.name == "$id" && n != c.document:
			c.several = true
		}
		c.scan(m.value)
	}
	for _, element := range n.elements {
		c.scan(element)
	}
}

func (c *sensitivityCompiler) compileRoot() *fieldSchema {
	if c.document != nil {
		return c.compile(c.document)
	}
	root := &fieldSchema{}
	if c.unread != "" {
		c.leaveUnread(root, c.unread)
	}
	return root
}

func (c *sensitivityCompiler) leaveUnread(s *fieldSchema, reason string) {
	s.marks |= markSecret
	s.unread = reason
	c.marked = true
}

// compile reads a schema once, however often it is referred to.
func (c *sensitivityCompiler) compile(n *node) *fieldSchema {
	if s, ok := c.compiled[n]; ok {
		return s
	}
	s := &fieldSchema{id: len(c.compiled)}
	c.compiled[n] = s
	switch n.kind {
	case objectNode:
		for _, m := range n.members {
			c.keyword(s, m)
		}
	case booleanNode:
	default:
		c.leaveUnread(s, "its schema is "+n.kind.String())
	}
	return s
}

func (c *sensitivityCompiler) keyword(s *fieldSchema, m member) {
	switch m.name {
	case sensitivityKeyword:
		s.marks |= markOf(m.value)
		c.marked = true
	case "$ref", "$dynamicRef", "$recursiveRef":
		c.reference(s, m)
	case "allOf", "anyOf", "oneOf":
		s.applied = append(s.applied, c.list(s, m)...)
	case "if", "then", "else", "propertyNames":
		s.applied = append(s.applied, c.compile(m.value))
	case "dependentSchemas", "dependencies":
		for _, inner := range m.value.members {
			if inner.value.kind != arrayNode { // names of properties
				s.applied = append(s.applied, c.compile(inner.value))
			}
		}
	case "properties", "patternProperties":
		c.properties(s, m)
	case "additionalProperties", "unevaluatedProperties":
		s.others = append(s.others, c.compile(m.value))
	case "prefixItems":
		s.prefix = append(s.prefix, c.list(s, m))
	case "items":
		if m.value.kind == arrayNode { // before draft 2020-12
			s.prefix = append(s.prefix, c.list(s, m))
			break
		}
		s.items = append(s.items, c.compile(m.value))
	case "additionalItems", "unevaluatedItems":
		s.items = append(s.items, c.compile(m.value))
	case "contains":
		s.anyItem = append(s.anyItem, c.compile(m.value))
	case "$defs", "definitions": // count where they are referred to
	default:
		if !dataKeywords[m.name] {
			c.within(s, m)
		}
	}
}

var referenceKeywords = map[string]bool{"$ref": true, "$dynamicRef": true, "$recursiveRef": true}

// within takes what stands below a keyword that is not followed, as not and
// contentSchema, for said of the place itself.
func (c *sensitivityCompiler) within(s *fieldSchema, around member) {
	for _, m := range around.value.members {
		switch {
		case m.name == sensitivityKeyword:
			s.marks |= markOf(m.value)
			c.marked = true
		case referenceKeywords[m.name] && c.used:
			c.leaveUnread(s, "a reference below "+quoted(around.name)+" is not followed")
		}
		c.within(s, member{around.name, m.value})
	}
	for _, element := range around.value.elements {
		c.within(s, member{around.name, element})
	}
}

// list compiles a list of schemas.
func (c *sensitivityCompiler) list(s *fieldSchema, m member) []*fieldSchema {
	if m.value.kind != arrayNode {
		c.leaveUnread(s, m.name+" is "+m.value.kind.String())
		return nil
	}
	schemas := make([]*fieldSchema, len(m.value.elements))
	for i, element := range m.value.elements {
		schemas[i] = c.compile(element)
	}
	return schemas
}

func (c *sensitivityCompiler) properties(s *fieldSchema, m member) {
	if m.value.kind != objectNode {
		c.leaveUnread(s, m.name+" is "+m.value.kind.String())
		return
	}
	if m.name == "properties" {
		s.properties = make(map[string]*fieldSchema, len(m.value.members))
	}
	for _, inner := range m.value.members {
		field := c.compile(inner.value)
		if m.name == "properties" {
			s.properties[inner.name] = field
			continue
		}
		expression, err := c.patterns.Compile(inner.name)
		if err != nil {
			expression = nil
		}
		s.patterns = append(s.patterns, fieldPattern{expression, field})
	}
}

func (c *sensitivityCompiler) reference(s *fieldSchema, m member) {
	targets := c.targets(m.value)
	if len(targets) == 0 {
		c.leaveUnread(s, "its "+m.name+" "+quoted(m.value.text)+" leads out of the schema, or nowhere in it")
		return
	}
	for _, target := range targets {
		s.applied = append(s.applied, c.compile(target))
	}
}

// targets are what a reference may lead to: none where it is not followed. A
// dynamic one leads to any anchor of its name.
func (c *sensitivityCompiler) targets(ref *node) []*node {
	base, fragment, _ := strings.Cut(ref.text, "#")
	if ref.kind != stringNode || c.several || base != "" && base != c.id {
		return nil
	}
	fragment, err := url.PathUnescape(fragment)
	switch {
	case err != nil:
		return nil
	case fragment == "":
		return []*node{c.document}
	case fragment[0] != '/':
		return c.anchors[fragment]
	}
	at := c.document
	for token := range strings.SplitSeq(fragment[1:], "/") {
		if at = at.step(pointerUnescapes.Replace(token)); at == nil {
			return nil
		}
	}
	return []*node{at}
}

// step gives the member or element that a token of a pointer names, or nil.
func (n *node) step(token string) *node {
	if n.kind != arrayNode {
		return n.member(token)
	}
	i, err := strconv.Atoi(token)
	if err != nil || i < 0 || i >= len(n.elements) {
		return nil
	}
	return n.elements[i]
}
