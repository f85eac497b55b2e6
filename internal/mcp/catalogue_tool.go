package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// tool adds one tool, or a finding on why it is left out. One bad tool never costs the others.
func (b *catalogueBuilder) tool(raw json.RawMessage) {
	var members map[string]json.RawMessage
	if err := decodeObject(raw, &members); err != nil {
		b.finding("a tool is left out: its definition is not a JSON object")
		return
	}
	var name string
	if json.Unmarshal(members["name"], &name) != nil || !validName(name) {
		b.finding("a tool is left out: its name %s is not 1 to %d printable ASCII characters without spaces", b.quote(name), MaxToolName)
		return
	}
	if b.tools[name] {
		b.finding("tool %q is defined more than once; the first definition counts", name)
		return
	}
	b.tools[name] = true
	tool, err := decodeTool(name, members)
	if err != nil {
		b.finding("tool %q is left out: %v", name, err)
		return
	}
	if len(tool.Description) > MaxDescription {
		tool.Description = truncate(tool.Description, MaxDescription)
		b.finding("tool %q: its description is cut to %d bytes", name, MaxDescription)
	}
	if len(members["_meta"]) > MaxMetaBytes {
		tool.Meta = nil
		b.finding("tool %q: its _meta is over %d bytes and is left out", name, MaxMetaBytes)
	}
	if bad := tool.Annotations.Malformed; len(bad) > 0 {
		b.finding("tool %q: %s malformed and counted as unset", name, isOrAre(bad))
	}
	b.catalogue.Tools = append(b.catalogue.Tools, tool)
}

func isOrAre(names []string) string {
	if len(names) == 1 {
		return names[0] + " is"
	}
	return strings.Join(names, ", ") + " are"
}

// validName is looser than what the specification recommends and tight enough for logs, status keys and
// messages.
func validName(name string) bool {
	if name == "" || len(name) > MaxToolName {
		return false
	}
	for i := range len(name) {
		if name[i] <= ' ' || name[i] > '~' {
			return false
		}
	}
	return true
}

// decodeTool reads a definition whose name is known to be good.
func decodeTool(name string, members map[string]json.RawMessage) (Tool, error) {
	for _, member := range toolMembers {
		if checkDepth(members[member], MaxDepth) != nil {
			return Tool{}, fmt.Errorf("%s nests deeper than %d levels", member, MaxDepth)
		}
	}
	tool := Tool{Name: name, Annotations: decodeAnnotations(members["annotations"])}
	var err error
	if tool.Title, err = boundedMember(members, "title", MaxTitle); err != nil {
		return Tool{}, err
	}
	if tool.Description, err = stringMember(members, "description"); err != nil {
		return Tool{}, err
	}
	if tool.OutputSchema, err = schemaMember(members, "outputSchema"); err != nil {
		return Tool{}, err
	}
	if tool.InputSchema, err = inputSchema(members); err != nil {
		tool.InputSchema, tool.OutputSchema, tool.Unusable = nil, nil, err.Error()
	}
	if raw := members["_meta"]; !isNull(raw) && json.Unmarshal(raw, &tool.Meta) != nil {
		return Tool{}, errors.New("_meta is not a JSON object")
	}
	tool.Digest, err = digestOf(toolDomain, toolMembers, members)
	return tool, err
}

// inputSchema is the schema of a tool's arguments, or why no call of the tool can be made. The tool is shown
// all the same, so that people see what became of it.
func inputSchema(members map[string]json.RawMessage) (json.RawMessage, error) {
	raw, err := schemaMember(members, "inputSchema")
	switch {
	case err != nil:
		return nil, err
	case raw == nil:
		return nil, errors.New("it has no inputSchema, so its arguments could not be checked")
	}
	return raw, checkParamHeaders(raw)
}

// boundedMember is a member that is a string, cut to limit bytes.
func boundedMember(members map[string]json.RawMessage, name string, limit int) (string, error) {
	text, err := stringMember(members, name)
	return truncate(text, limit), err
}

// stringMember is a member that is a string, "" when it is absent or null.
func stringMember(members map[string]json.RawMessage, name string) (text string, err error) {
	if raw := members[name]; !isNull(raw) && json.Unmarshal(raw, &text) != nil {
		return "", fmt.Errorf("%s is not a string", name)
	}
	return text, nil
}

// schemaMember is a member that is a JSON object within the bounds, nil when it is absent or null.
func schemaMember(members map[string]json.RawMessage, name string) (json.RawMessage, error) {
	raw := members[name]
	switch {
	case isNull(raw):
		return nil, nil
	case raw[0] != '{':
		return nil, fmt.Errorf("%s is not a JSON object", name)
	case len(raw) > MaxSchemaBytes:
		return nil, fmt.Errorf("%s is over %d bytes", name, MaxSchemaBytes)
	}
	return raw, nil
}
