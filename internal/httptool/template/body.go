// SPDX-License-Identifier: Apache-2.0

package template

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// node is a JSON value with placeholders.
type node interface {
	// value gives what encoding/json encodes; false when it is left out.
	value(f *filling) (value any, given bool, err error)
}

type (
	// literal is a value without placeholders.
	literal struct{ content any }
	// object has its members in order of their names.
	object []member
	member struct {
		name string
		node node
	}
	array []node
	// leaf is a string.
	leaf struct {
		text  text
		place Place
	}
)

func (p *parsing) wholeBody(t *Template, raw []byte) {
	place := Place{Field: fieldBody}
	if t.Method == "GET" || t.Method == "HEAD" {
		p.add(Body, place, "a "+t.Method+" request has no body: use query, or another method")
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var content any
	if err := decoder.Decode(&content); err != nil {
		p.add(Syntax, place, "not JSON: "+shortened(err.Error()))
		return
	}
	if _, err := decoder.Token(); err != io.EOF {
		p.add(Syntax, place, "not one JSON value")
		return
	}
	t.body = p.node(place, content)
}

func (p *parsing) node(place Place, content any) node {
	switch content := content.(type) {
	case string:
		parts, ok := p.text(place, content)
		if plain, isPlain := parts.plain(); !ok || isPlain {
			return literal{plain}
		}
		return leaf{parts, place}
	case []any:
		parsed := make(array, len(content))
		for i, element := range content {
			parsed[i] = p.node(place.within(strconv.Itoa(i)), element)
		}
		return parsed
	case map[string]any:
		var parsed object
		for _, key := range slices.Sorted(maps.Keys(content)) {
			within := place.within(key)
			if name, ok := p.name(within, key); ok {
				parsed = append(parsed, member{name, p.node(within, content[key])})
			}
		}
		return parsed
	default:
		return literal{content}
	}
}

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

func (p Place) within(step string) Place {
	p.Pointer += "/" + pointerEscaper.Replace(step)
	return p
}

func (l literal) value(*filling) (any, bool, error) { return l.content, true, nil }

func (a array) value(f *filling) (any, bool, error) {
	filled := make([]any, 0, len(a))
	for _, element := range a {
		value, given, err := element.value(f)
		if err != nil {
			return nil, false, err
		}
		if given {
			filled = append(filled, value)
		}
	}
	return filled, true, nil
}

func (o object) value(f *filling) (any, bool, error) {
	filled := make(map[string]any, len(o))
	for _, member := range o {
		value, given, err := member.node.value(f)
		if err != nil {
			return nil, false, err
		}
		if given {
			filled[member.name] = value
		}
	}
	return filled, true, nil
}

func (l leaf) value(f *filling) (any, bool, error) {
	f.place = l.place
	if name, alone := l.text.alone(); alone {
		argument, given := f.arguments[name]
		return argument.value, given, f.take(argument.size)
	}
	filled, given, err := l.text.fill(f, anything)
	return filled, given, err
}

// fillBody gives nil when there is no body, or when it is a placeholder without a value.
func (t *Template) fillBody(f *filling) ([]byte, error) {
	if t.body == nil {
		return nil, nil
	}
	value, given, err := t.body.value(f)
	if err != nil || !given {
		return nil, err
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, &Error{Place: Place{Field: fieldBody}, Detail: "the body cannot be encoded: " + err.Error()}
	}
	if out.Len() > MaxBody {
		return nil, &Error{Detail: fmt.Sprintf("the body would have more than %d bytes: shorten the arguments", MaxBody)}
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}
