// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"slices"
	"strings"
)

// itemPlace is where the schema of an item stands in that of its envelope.
const itemPlace = "#/properties/records/items"

// moveItem makes the root schema of an item one that stands at itemPlace, and gives
// the definitions that move to the root instead. A schema with an $id is the root
// of its own references, and is left as it is.
func moveItem(item *node) (definitions *node) {
	if item.member("$id") != nil {
		return nil
	}
	definitions = item.member("$defs")
	item.members = slices.DeleteFunc(item.members, func(m member) bool {
		return m.name == "$schema" || m.name == "$defs"
	})
	rewriteRefs(item)
	if definitions != nil {
		for _, m := range definitions.members {
			rewriteRefs(m.value)
		}
	}
	return definitions
}

// The keywords whose value is data, and those whose value maps names to schemas.
// Within neither does a member called $ref refer to anything.
var (
	dataKeywords = map[string]bool{"const": true, "enum": true, "default": true, "examples": true, "example": true}
	mapKeywords  = map[string]bool{
		"properties": true, "patternProperties": true, "$defs": true, "definitions": true,
		"dependentSchemas": true, "dependencies": true,
	}
)

// rewriteRefs moves the references within a schema, or a list of them.
func rewriteRefs(schema *node) {
	for _, m := range schema.members {
		switch {
		case dataKeywords[m.name]:
		case mapKeywords[m.name]:
			for _, inner := range m.value.members {
				rewriteRefs(inner.value)
			}
		case m.name == "$ref" && m.value.kind == stringNode:
			m.value.text = movedRef(m.value.text)
		default:
			rewriteRefs(m.value)
		}
	}
	for _, element := range schema.elements {
		rewriteRefs(element)
	}
}

func movedRef(ref string) string {
	rest, local := strings.CutPrefix(ref, "#")
	if !local || strings.HasPrefix(rest, "/$defs/") || rest != "" && rest[0] != '/' {
		return ref
	}
	return itemPlace + rest
}
