package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// paramHeader is the keyword by which a tool's schema wants an argument repeated in an HTTP header.
const paramHeader = "x-mcp-header"

// checkParamHeaders says what is wrong with the headers that a schema asks for. A client must not offer
// such a tool (MCP 2026-07-28, basic/transports): a header that is none, or that two arguments share,
// could make a gateway read another call than the server does.
func checkParamHeaders(schema json.RawMessage) error {
	if !bytes.Contains(schema, []byte(paramHeader)) {
		return nil
	}
	return paramHeaders{}.properties("", schema)
}

// paramHeaders are the properties that asked for a header, by its name in lower case.
type paramHeaders map[string]string

func (seen paramHeaders) properties(path string, schema json.RawMessage) error {
	var members map[string]json.RawMessage
	if json.Unmarshal(schema, &members) != nil {
		return nil // what is no schema is found elsewhere
	}
	var properties map[string]json.RawMessage
	if json.Unmarshal(members["properties"], &properties) != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		at := path + "/" + name
		if err := seen.property(at, properties[name]); err != nil {
			return err
		}
		if err := seen.properties(at, properties[name]); err != nil {
			return err
		}
	}
	return nil
}

func (seen paramHeaders) property(path string, schema json.RawMessage) error {
	var members map[string]json.RawMessage
	if json.Unmarshal(schema, &members) != nil || members[paramHeader] == nil {
		return nil
	}
	var kind, header string
	_ = json.Unmarshal(members["type"], &kind) // what is no text is none of these
	switch kind {
	case "string", "integer", "boolean":
	default:
		return fmt.Errorf("property %s: %s is for a string, an integer or a boolean", shown(path), paramHeader)
	}
	if json.Unmarshal(members[paramHeader], &header) != nil || !httpguts.ValidHeaderFieldName(header) {
		return fmt.Errorf("property %s: %s is not the name of a header", shown(path), paramHeader)
	}
	lower := strings.ToLower(header)
	if other, ok := seen[lower]; ok {
		return fmt.Errorf("properties %s and %s ask for one header", shown(other), shown(path))
	}
	seen[lower] = path
	return nil
}

// shown is a path that a server chose, fit for a status.
func shown(path string) string { return strconv.Quote(truncate(path, 64)) }
