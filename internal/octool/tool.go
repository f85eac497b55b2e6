// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// NamePattern is the form of a tool's name, its namespace included. It leaves
// room for a prefix of the host under the common limit of 64 characters.
const NamePattern = `^[a-z][a-z0-9_]{0,47}$`

var namePattern = regexp.MustCompile(NamePattern)

// The keys of Definition.Meta that have a meaning here.
const (
	// MetaMinAPIVersion is the oldest version of the access target that will do.
	MetaMinAPIVersion = "min_api_version"
	// MetaSchemaEscape is why a tool has no closed output schema.
	MetaSchemaEscape = "schema_escape"
	// MetaAliasOf is the name that replaces the one of a deprecated alias.
	MetaAliasOf = "alias_of"
)

// The well-known tags.
const (
	// TagRecommended is on tools to load by default.
	TagRecommended = "recommended"
	// TagAdvanced is on tools to load when they are asked for.
	TagAdvanced = "advanced"
)

// ToolTags gives the well-known tags.
func ToolTags() []string { return []string{TagRecommended, TagAdvanced} }

// Definition is what New makes a Tool of. Fields that are not required are left
// at their zero value for the default.
type Definition struct {
	// Name matches NamePattern. Required.
	Name string
	// Title is for people.
	Title string
	// Description is for the model: what the tool is for, when to avoid it, what it
	// returns and one caveat, in two to four sentences. Required.
	Description string
	// InputSchema is JSON Schema 2020-12 of type object. Required.
	InputSchema json.RawMessage
	// OutputSchema likewise, of the result; nil where there is none, for which
	// Meta then gives the reason.
	OutputSchema json.RawMessage
	// Func does the work. Required.
	Func Func
	// Access says where the data is. Required.
	Access Access
	// Target is a label of what is accessed, as in "cluster".
	Target string
	// ResultKind is ResultRecords unless it says otherwise.
	ResultKind ResultKind
	// The hints of MCP, on the access target: nil is true for read-only, false for
	// destructive and true for idempotent. The last two count only for a tool that
	// is not read-only. They are advice, and no approval.
	ReadOnlyHint, DestructiveHint, IdempotentHint *bool
	// Deprecated marks an alias that is kept after a change of name.
	Deprecated bool
	// Meta are facts of the library under keys in snake_case; the values are such
	// as JSON has.
	Meta map[string]any
	// Tags are TagRecommended, TagAdvanced, or words of the provider's own.
	Tags []string
}

// Tool describes one capability. It is made by New and never changes.
type Tool struct {
	name, title, description  string
	inputSchema, outputSchema json.RawMessage
	call                      Func
	access                    Access
	target                    string
	resultKind                ResultKind
	readOnly                  bool
	destructive               bool
	idempotent                bool
	deprecated                bool
	meta                      map[string]json.RawMessage
	tags                      []string
}

// New makes a Tool, of copies of what the definition holds. The error is an *Error
// on the first field that breaks a rule of structure; ValidateTool finds what the
// other rules have to say.
func New(definition Definition) (*Tool, error) {
	tool := &Tool{
		name: definition.Name, title: definition.Title, description: definition.Description,
		inputSchema: slices.Clone(definition.InputSchema), outputSchema: slices.Clone(definition.OutputSchema),
		call: definition.Func, access: definition.Access, target: definition.Target,
		resultKind: definition.ResultKind, deprecated: definition.Deprecated,
		readOnly:    valueOr(definition.ReadOnlyHint, true),
		destructive: valueOr(definition.DestructiveHint, false),
		idempotent:  valueOr(definition.IdempotentHint, true),
		tags:        slices.Clone(definition.Tags),
	}
	if tool.resultKind == "" {
		tool.resultKind = ResultRecords
	}
	if err := tool.checkStructure(); err != nil {
		return nil, err.of(tool.name)
	}
	meta, err := encodeMeta(definition.Meta)
	if err != nil {
		return nil, fault("meta", "%s", err).of(tool.name)
	}
	tool.meta = meta
	return tool, nil
}

func valueOr(value *bool, fallback bool) bool {
	if value == nil {
		return fallback
	}
	return *value
}

// of names the tool in a message, where it has a name.
func (e *Error) of(tool string) *Error {
	if tool == "" {
		return e
	}
	return &Error{Path: e.Path, Message: fmt.Sprintf("tool %s: %s", quoted(tool), e.Message)}
}

// checkStructure gives the first field that breaks a rule of structure.
func (t *Tool) checkStructure() *Error {
	switch {
	case !namePattern.MatchString(t.name):
		return fault("name", "%s must match %s", quoted(t.name), NamePattern)
	case isBlank(t.description):
		return fault("description", "it is required: say what the tool is for, when to avoid it and what it returns")
	case t.call == nil:
		return fault("func", "it is required")
	case t.access != AccessLocal && t.access != AccessRemote:
		return fault("access", "%s must be %q or %q", quoted(string(t.access)), AccessLocal, AccessRemote)
	case t.resultKind != ResultRecords && t.resultKind != ResultArtifact:
		return fault("result_kind", "%s must be %q or %q", quoted(string(t.resultKind)), ResultRecords, ResultArtifact)
	case t.title != "" && isBlank(t.title):
		return fault("title", "it must not be blank: leave it out")
	case t.target != "" && isBlank(t.target):
		return fault("target", "it must not be blank: leave it out")
	case slices.ContainsFunc(t.tags, isBlank):
		return fault("tags", "a tag must not be blank")
	}
	if err := checkObjectSchema("input_schema", t.inputSchema); err != nil || t.outputSchema == nil {
		return err
	}
	return checkObjectSchema("output_schema", t.outputSchema)
}

func fault(field, format string, args ...any) *Error {
	return &Error{Path: field, Message: fmt.Sprintf(format, args...)}
}

func isBlank(text string) bool { return strings.TrimSpace(text) == "" }

func checkObjectSchema(field string, schema json.RawMessage) *Error {
	root, err := parseNode(schema)
	switch {
	case err != nil:
		return fault(field, "it cannot be read: %s", err)
	case !root.member("type").is("object"):
		return fault(field, `it must be a JSON object with "type": "object"`)
	}
	return nil
}

func encodeMeta(meta map[string]any) (map[string]json.RawMessage, error) {
	encoded := make(map[string]json.RawMessage, len(meta))
	for key, value := range meta {
		text, err := encodeJSON(value)
		if err != nil {
			return nil, fmt.Errorf("the value of %s is not such as JSON has: %w", quoted(key), err)
		}
		encoded[key] = text
	}
	return encoded, nil
}

// Name by which the tool is called.
func (t *Tool) Name() string { return t.name }

// Title for people, or empty.
func (t *Tool) Title() string { return t.title }

// Description for the model.
func (t *Tool) Description() string { return t.description }

// InputSchema is JSON Schema of type object.
func (t *Tool) InputSchema() json.RawMessage { return slices.Clone(t.inputSchema) }

// OutputSchema likewise, or nil.
func (t *Tool) OutputSchema() json.RawMessage { return slices.Clone(t.outputSchema) }

// Access says where the data is.
func (t *Tool) Access() Access { return t.access }

// Target is a label of what is accessed, or empty.
func (t *Tool) Target() string { return t.target }

// ResultKind says which envelope a result is.
func (t *Tool) ResultKind() ResultKind { return t.resultKind }

// ReadOnlyHint says that the access target is only read.
func (t *Tool) ReadOnlyHint() bool { return t.readOnly }

// DestructiveHint counts for a tool that is not read-only.
func (t *Tool) DestructiveHint() bool { return t.destructive }

// IdempotentHint counts for a tool that is not read-only.
func (t *Tool) IdempotentHint() bool { return t.idempotent }

// Deprecated says that the tool is an alias of the one that AliasOf names.
func (t *Tool) Deprecated() bool { return t.deprecated }

// Meta are the facts of the library, each as JSON.
func (t *Tool) Meta() map[string]json.RawMessage { return cloneMeta(t.meta) }

// Tags in the order in which they were given.
func (t *Tool) Tags() []string { return slices.Clone(t.tags) }

// AliasOf is the name in Meta that replaces this one, or empty.
func (t *Tool) AliasOf() string { return metaText(t.meta, MetaAliasOf) }

// Definition is what New would make this tool of again, to make one like it.
func (t *Tool) Definition() Definition {
	readOnly, destructive, idempotent := t.readOnly, t.destructive, t.idempotent
	meta := make(map[string]any, len(t.meta))
	for key, value := range cloneMeta(t.meta) {
		meta[key] = value
	}
	return Definition{
		Name: t.name, Title: t.title, Description: t.description,
		InputSchema: t.InputSchema(), OutputSchema: t.OutputSchema(), Func: t.call,
		Access: t.access, Target: t.target, ResultKind: t.resultKind,
		ReadOnlyHint: &readOnly, DestructiveHint: &destructive, IdempotentHint: &idempotent,
		Deprecated: t.deprecated, Meta: meta, Tags: t.Tags(),
	}
}

// made says whether New made the tool: the zero Tool describes nothing.
func (t *Tool) made() bool { return t != nil && t.call != nil }

func cloneMeta(meta map[string]json.RawMessage) map[string]json.RawMessage {
	cloned := maps.Clone(meta)
	for key, value := range cloned {
		cloned[key] = bytes.Clone(value)
	}
	return cloned
}

// metaText is the value of a key that is a string, or empty.
func metaText(meta map[string]json.RawMessage, key string) string {
	var text string
	if err := json.Unmarshal(meta[key], &text); err != nil {
		return ""
	}
	return text
}
