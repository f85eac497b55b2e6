// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
)

// references are those of a schema, and what they can lead to by name.
type references struct {
	all     []reference
	anchors sets.Set[string]
	// based says that a part of the schema has an address of its own, to which
	// references are relative.
	based bool
}

type reference struct {
	pointer string // to the keyword
	target  string
}

// brokenReferences are the references that lead nowhere within the schema. It
// finds none where that depends on more than the reference itself.
func brokenReferences(root map[string]any) []schemaError {
	r := references{anchors: sets.New[string]()}
	r.read(root, "")
	if r.based {
		return nil
	}
	var broken []schemaError
	for _, ref := range r.all {
		fragment, within := strings.CutPrefix(ref.target, "#")
		switch {
		case ref.target == "": // the schema itself
		case !within:
			broken = append(broken, schemaError{ref.pointer, outsideDetail(ref.target)})
		case !r.leads(root, fragment):
			broken = append(broken, schemaError{ref.pointer, fmt.Sprintf(
				"%s leads nowhere in this schema: correct it, or add what it refers to, as in $defs", quoted(ref.target))})
		}
	}
	return broken
}

func outsideDetail(target string) string {
	return fmt.Sprintf("the schema refers to %s, which is outside of it: copy what is needed into $defs and refer to #/$defs/NAME",
		quoted(strings.TrimPrefix(target, schemaURL)))
}

// read takes a schema, or a list of them. Its depth is bounded by that of canonical
// JSON.
func (r *references) read(value any, pointer string) {
	switch value := value.(type) {
	case []any:
		for i, element := range value {
			r.read(element, pointer+"/"+strconv.Itoa(i))
		}
	case map[string]any:
		for _, keyword := range slices.Sorted(maps.Keys(value)) {
			r.keyword(keyword, value[keyword], pointer+"/"+pointerEscaper.Replace(keyword))
		}
	}
}

func (r *references) keyword(keyword string, value any, pointer string) {
	text, isText := value.(string)
	named, isMap := value.(map[string]any)
	switch keyword {
	case "const", "enum", "default", "examples": // values, and no schemas
	case "$id":
		r.based = true
	case "$anchor", "$dynamicAnchor":
		r.anchors.Insert(text)
	case "$ref", "$dynamicRef":
		if isText {
			r.all = append(r.all, reference{pointer, text})
		}
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		if isMap {
			for _, name := range slices.Sorted(maps.Keys(named)) {
				r.read(named[name], pointer+"/"+pointerEscaper.Replace(name))
			}
		}
	default:
		r.read(value, pointer)
	}
}

// leads says whether a fragment leads to a part of the schema.
func (r *references) leads(value any, fragment string) bool {
	fragment, err := url.PathUnescape(fragment)
	if err != nil || fragment != "" && fragment[0] != '/' {
		return err == nil && r.anchors.Has(fragment)
	}
	if fragment == "" {
		return true
	}
	for step := range strings.SplitSeq(fragment[1:], "/") {
		step = pointerUnescaper.Replace(step)
		switch around := value.(type) {
		case map[string]any:
			member, ok := around[step]
			if !ok {
				return false
			}
			value = member
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(around) {
				return false
			}
			value = around[i]
		default:
			return false
		}
	}
	return true
}
