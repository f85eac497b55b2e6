// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"encoding/json"
	"slices"
	"strconv"
)

// schemaSide says for which side a schema is. They differ in how a member may be
// left out, and only results are bounded.
type schemaSide bool

const (
	// forResults describes what is dumped: no optional member is ever null.
	forResults schemaSide = false
	// forArguments keeps to the subset of strict calling: an optional member is
	// null where there is none.
	forArguments schemaSide = true
)

// RecordsSchema is the output schema of an envelope of items that fit item, as it
// is dumped: JSON Schema 2020-12, closed. The definitions of item move to the root,
// and references within it are rewritten to where it now stands. The error is an
// *Error for an item that is no schema.
func RecordsSchema(item json.RawMessage) (json.RawMessage, error) {
	return recordsSchema(item, forResults)
}

// RecordsInputSchema is the schema of an argument that takes such an envelope, as
// another tool dumped it; it is strict-clean where item is.
func RecordsInputSchema(item json.RawMessage) (json.RawMessage, error) {
	return recordsSchema(item, forArguments)
}

// TabularSchema is the output schema of a table as it is dumped: JSON Schema
// 2020-12, closed.
func TabularSchema() json.RawMessage { return forResults.tabular().appendJSON(nil) }

// TabularInputSchema is the schema of an argument that takes a table, as another
// tool dumped it; it is strict-clean. An input schema holds it as the definition
// TabularEnvelope and refers to it.
func TabularInputSchema() json.RawMessage { return forArguments.tabular().appendJSON(nil) }

// ArtifactSchema is the output schema of an artifact as it is dumped: JSON Schema
// 2020-12, closed.
func ArtifactSchema() json.RawMessage {
	const side = forResults
	artifact := side.object([]member{
		{"reference", typed("string", "The sink's name of the artifact, opaque to others.")},
		{"media_type", typed("string", "")},
		{"bytes", side.size("")},
	}, []member{
		{"width", side.size("In pixels.")},
		{"height", side.size("In pixels.")},
		{"role", typed("string", "")},
		{"uri", typed("string", "Where a client gets the artifact that cannot resolve its reference.")},
	})
	return side.object([]member{
		{"artifact", artifact},
		{"artifacts", listOf(artifact, "Further artifacts.")},
		{"warnings", warningsSchema()},
		{"sensitivity", enumOf(SensitivityInheritsInput)},
	}, []member{
		{"source", side.source()},
	}).appendJSON(nil)
}

func recordsSchema(item json.RawMessage, side schemaSide) (json.RawMessage, error) {
	root, err := parseNode(item)
	if err != nil {
		return nil, err
	}
	if root.kind != objectNode && root.kind != booleanNode {
		return nil, &Error{Message: "the schema of an item must be an object or a boolean"}
	}
	definitions := moveItem(root)
	schema := side.object([]member{
		{"records", listOf(root, "")},
		{"count", side.size("The number of records returned.")},
		{"truncated", truncatedSchema()},
	}, side.page())
	if definitions != nil {
		schema.members = append(schema.members, member{"$defs", definitions})
	}
	return schema.appendJSON(nil), nil
}

func (s schemaSide) tabular() *node {
	cell := anyOf(typed("string", ""), typed("integer", ""), typed("number", ""), typed("boolean", ""), typed("null", ""))
	return s.object([]member{
		{"columns", listOf(typed("string", ""), "")},
		{"rows", listOf(listOf(cell, ""), "One cell for each column.")},
		{"row_count", s.size("The number of rows returned.")},
		{"truncated", truncatedSchema()},
	}, append([]member{
		{"column_kinds", listOf(enumOf(ColumnKinds()...), "What the cells hold, one entry per column.")},
		{"column_scales", listOf(anyOf(enumOf(ColumnScales()...), typed("null", "")), "On which axis a column is drawn, one entry per column.")},
		{"column_descriptions", listOf(anyOf(typed("string", ""), typed("null", "")), "What the columns mean, one entry per column.")},
	}, s.page()...))
}

func (s schemaSide) page() []member {
	return []member{
		{"total_count", s.total()},
		{"next_cursor", typed("string", "Opaque; pass it back as cursor to go on.")},
		{"stop_reason", typed("string", "What ended the read.")},
		{"warnings", warningsSchema()},
		{"source", s.source()},
		{"resumable", typed("boolean", "Whether a truncated list goes on.")},
	}
}

func (s schemaSide) source() *node {
	return describedBy(s.object(nil, []member{
		{"instance", typed("string", "")},
		{"snapshot", typed("string", "")},
	}), "What was read.")
}

func (s schemaSide) total() *node {
	number, digits := typed("integer", ""), typed("string", "")
	if s == forResults {
		number.members = append(number.members, member{"minimum", numberOf(0)}, member{"maximum", numberOf(maxSafeInteger)})
		digits.members = append(digits.members, member{"pattern", textOf("^(0|[1-9][0-9]*)$")})
	}
	return describedBy(anyOf(number, digits), "The exact full size; a string of decimal digits above 2^53 - 1.")
}

func (s schemaSide) size(description string) *node {
	schema := typed("integer", description)
	if s == forResults {
		schema.members = append(schema.members, member{"minimum", numberOf(0)})
	}
	return schema
}

// object is a closed object. On the side of arguments an optional member is one
// that may be null.
func (s schemaSide) object(required, optional []member) *node {
	properties := slices.Clone(required)
	names := &node{kind: arrayNode}
	for _, m := range required {
		names.elements = append(names.elements, textOf(m.name))
	}
	for _, m := range optional {
		if s == forArguments {
			m.value = anyOf(m.value, typed("null", ""))
			m.value.members = append(m.value.members, member{"default", &node{kind: nullNode}})
		}
		properties = append(properties, m)
	}
	schema := typed("object", "")
	schema.members = append(schema.members, member{"properties", &node{kind: objectNode, members: properties}})
	if len(required) > 0 {
		schema.members = append(schema.members, member{"required", names})
	}
	schema.members = append(schema.members, member{"additionalProperties", &node{kind: booleanNode, text: "false"}})
	return schema
}

func truncatedSchema() *node {
	return typed("boolean", "Whether a cap, a stop or an interruption shortened the list.")
}

func warningsSchema() *node {
	return listOf(typed("string", ""), "Problems to pass on, one per entry.")
}

func typed(name, description string) *node {
	return describedBy(objectOf(member{"type", textOf(name)}), description)
}

func listOf(items *node, description string) *node {
	list := typed("array", description)
	list.members = append(list.members, member{"items", items})
	return list
}

func enumOf[Word ~string](words ...Word) *node {
	enum := typed("string", "")
	values := &node{kind: arrayNode}
	for _, word := range words {
		values.elements = append(values.elements, textOf(string(word)))
	}
	enum.members = append(enum.members, member{"enum", values})
	return enum
}

func anyOf(schemas ...*node) *node {
	return objectOf(member{"anyOf", &node{kind: arrayNode, elements: schemas}})
}

func describedBy(schema *node, description string) *node {
	if description != "" {
		schema.members = append(schema.members, member{"description", textOf(description)})
	}
	return schema
}

func objectOf(members ...member) *node { return &node{kind: objectNode, members: members} }

func textOf(text string) *node { return &node{kind: stringNode, text: text} }

func numberOf(n int64) *node { return &node{kind: numberNode, text: strconv.FormatInt(n, 10)} }
