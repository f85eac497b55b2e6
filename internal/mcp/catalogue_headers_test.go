package mcp

import (
	"encoding/json"
	"strings"
	"testing"
)

// MCP 2026-07-28, basic/transports: a tool is not offered when the headers that it asks for are none, are
// shared by two arguments, or would carry what is no plain value.
func TestParamHeaders(t *testing.T) {
	for _, row := range []struct {
		name       string
		properties string
		want       string // a part of the finding; empty when there is none
	}{
		{"none", `{"a": {"type": "string"}}`, ""},
		{"plain values", `{"a": {"type": "string", "x-mcp-header": "Region"}, "b": {"type": "integer", "x-mcp-header": "Shard"},
			"c": {"type": "boolean", "x-mcp-header": "Dry-Run"}}`, ""},
		{"nested", `{"a": {"type": "object", "properties": {"b": {"type": "string", "x-mcp-header": "Region"}}}}`, ""},
		{"a property of that name", `{"x-mcp-header": {"type": "object"}}`, ""},
		{"a value of that name", `{"a": {"type": "string", "default": "x-mcp-header"}}`, ""},
		{"empty", `{"a": {"type": "string", "x-mcp-header": ""}}`, `property "/a": x-mcp-header is not the name of a header`},
		{"not a text", `{"a": {"type": "string", "x-mcp-header": 1}}`, `property "/a": x-mcp-header is not the name of a header`},
		{"a space", `{"a": {"type": "string", "x-mcp-header": "My Region"}}`, `is not the name of a header`},
		{"a line break", `{"a": {"type": "string", "x-mcp-header": "Region\r\nX: y"}}`, `is not the name of a header`},
		{"not ASCII", `{"a": {"type": "string", "x-mcp-header": "Région"}}`, `is not the name of a header`},
		{"a number", `{"a": {"type": "number", "x-mcp-header": "Region"}}`, `is for a string, an integer or a boolean`},
		{"an object", `{"a": {"type": "object", "x-mcp-header": "Region"}}`, `is for a string, an integer or a boolean`},
		{"several types", `{"a": {"type": ["string", "null"], "x-mcp-header": "Region"}}`, `is for a string, an integer or a boolean`},
		{"no type", `{"a": {"x-mcp-header": "Region"}}`, `is for a string, an integer or a boolean`},
		{"shared", `{"a": {"type": "string", "x-mcp-header": "Region"}, "b": {"type": "string", "x-mcp-header": "region"}}`,
			`properties "/a" and "/b" ask for one header`},
		{"shared with a nested one", `{"a": {"type": "string", "x-mcp-header": "Region"},
			"b": {"properties": {"c": {"type": "string", "x-mcp-header": "Region"}}}}`, `properties "/a" and "/b/c" ask for one header`},
		{"a long path", `{"` + strings.Repeat(`\u0001`, 1000) + `": {"x-mcp-header": "Region"}}`, `is for a string, an integer or a boolean`},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := checkParamHeaders(json.RawMessage(`{"type": "object", "properties": ` + row.properties + `}`))
			switch {
			case row.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want) || len(err.Error()) > 512):
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
}

// A tool that asks for such a header is shown, and says why it is not offered.
func TestToolWithABadParamHeader(t *testing.T) {
	b := newCatalogueBuilder(Credential{})
	b.tool(json.RawMessage(`{"name": "t", "inputSchema": {"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": ":"}}}}`))
	tools := b.done().Tools
	if len(tools) != 1 || tools[0].InputSchema != nil || !strings.Contains(tools[0].Unusable, "is not the name of a header") {
		t.Errorf("catalogued %+v", tools)
	}
}
