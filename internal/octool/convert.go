// SPDX-License-Identifier: Apache-2.0

package octool

import "encoding/json"

// MetaPrefix stands before the keys of a descriptor in the _meta of an MCP tool.
const MetaPrefix = "com.opscogs.octools/"

// The keys of a descriptor in the _meta of an MCP tool.
const (
	metaSpecVersion = MetaPrefix + "spec_version"
	metaAccess      = MetaPrefix + "access"
	metaTarget      = MetaPrefix + "target"
	metaResultKind  = MetaPrefix + "result_kind"
	metaDeprecated  = MetaPrefix + "deprecated"
	metaTags        = MetaPrefix + "tags"
	metaMeta        = MetaPrefix + "meta"
)

// MCPTool is a tool as an MCP server lists it (MCP 2025-11-25, server/tools).
type MCPTool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  MCPAnnotations  `json:"annotations"`
	Meta         map[string]any  `json:"_meta"`
}

// MCPAnnotations are its hints, all of them said.
type MCPAnnotations struct {
	ReadOnlyHint    bool `json:"readOnlyHint"`
	DestructiveHint bool `json:"destructiveHint"`
	IdempotentHint  bool `json:"idempotentHint"`
}

// ToMCPTool writes a descriptor as an MCP tool. All of it but the function is
// there: what MCP has no field for is in _meta, where ReadMeta finds it. Target and
// tags are there where the tool has them.
func ToMCPTool(tool *Tool) MCPTool {
	meta := map[string]any{
		metaSpecVersion: SpecVersion,
		metaAccess:      tool.access,
		metaResultKind:  tool.resultKind,
		metaDeprecated:  tool.deprecated,
		metaMeta:        tool.Meta(),
	}
	if tool.target != "" {
		meta[metaTarget] = tool.target
	}
	if len(tool.tags) > 0 {
		meta[metaTags] = tool.Tags()
	}
	return MCPTool{
		Name: tool.name, Title: tool.title, Description: tool.description,
		InputSchema: tool.InputSchema(), OutputSchema: tool.OutputSchema(),
		Annotations: MCPAnnotations{ReadOnlyHint: tool.readOnly, DestructiveHint: tool.destructive, IdempotentHint: tool.idempotent},
		Meta:        meta,
	}
}

// AnthropicTool is a tool as the Messages API of Anthropic takes it. What it has no
// field for, the runtime keeps.
type AnthropicTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

// ToAnthropicTool writes a descriptor as such a tool.
func ToAnthropicTool(tool *Tool) AnthropicTool {
	return AnthropicTool{Name: tool.name, Description: tool.description, InputSchema: tool.InputSchema()}
}
