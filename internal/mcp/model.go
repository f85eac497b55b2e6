package mcp

import "encoding/json"

// Annotations are a tool's hints exactly as the server sent them: nil means that the server said
// nothing, which is not the same as false (requirement F5).
type Annotations struct {
	// Present is true when the definition has an annotations member that is not null.
	Present bool
	Title   string

	ReadOnly    *bool
	Destructive *bool
	Idempotent  *bool
	OpenWorld   *bool

	// Malformed names the hints whose value was of the wrong type, and "annotations" when the member
	// is not an object. They count as unset.
	Malformed []string
}

// Tool is one tool of a catalogue.
type Tool struct {
	Name        string
	Title       string
	Description string
	// InputSchema is a JSON object as the server sent it; OutputSchema likewise, or nil.
	InputSchema  json.RawMessage
	OutputSchema json.RawMessage
	Annotations  Annotations
	Meta         map[string]json.RawMessage
	// Unusable says why no call of the tool can be made as the protocol wants it, or is empty. Its schemas
	// are nil then.
	Unusable string
	// Digest is the SHA-256, in hex, of the definition as the server sent it: name, title, description,
	// schemas, annotations and _meta, whatever the order of their keys.
	Digest string
}

// Prompt is one prompt of a catalogue. Prompts live as long as the catalogue does: nothing durable refers to
// one (requirements M11, M13).
type Prompt struct {
	Name        string
	Title       string
	Description string
	Arguments   []PromptArgument
	// Digest is that of a tool, over name, title, description, arguments and _meta (requirement M12).
	Digest string
}

// PromptArgument is one argument of a prompt.
type PromptArgument struct {
	Name        string
	Title       string
	Description string
	Required    bool
}

// Catalogue is what a server offers.
type Catalogue struct {
	ServerName      string
	ServerVersion   string
	ProtocolVersion string
	Instructions    string
	// ListChanged says that the server announces changes of its lists, so that Listen hears of them.
	ListChanged bool
	// Tools are in the server's order, each name once.
	Tools []Tool
	// Prompts likewise; nil where the server does not declare that it has some.
	Prompts []Prompt
	// Findings are sentences on what was left out or cut, and why.
	Findings []string
}

// Content types that MCP defines (2025-11-25, server/tools).
const (
	ContentText         = "text"
	ContentImage        = "image"
	ContentAudio        = "audio"
	ContentResource     = "resource"
	ContentResourceLink = "resource_link"
)

// Content is one block of a result. Which fields are set depends on Type.
type Content struct {
	Type string
	// Text of a text block or of an embedded text resource.
	Text string
	// Data is base64, as sent, of an image, audio or an embedded binary resource.
	Data     string
	MIMEType string
	// URI, Name and Description of a resource or of a link to one.
	URI         string
	Name        string
	Description string
	// Raw is the whole block when Type is none of the five above.
	Raw json.RawMessage
}

// Result is what a tool answered. IsError marks a failure that the tool itself reports.
type Result struct {
	Content []Content
	// Structured is the structuredContent as sent, or nil.
	Structured json.RawMessage
	IsError    bool
}
