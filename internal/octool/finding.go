// SPDX-License-Identifier: Apache-2.0

package octool

import "fmt"

// Finding is one rule that a descriptor, a provider or a table breaks. Findings
// are collected and reported together; they never stop anything by themselves.
type Finding struct {
	// Rule is the name of the rule, as in name_pattern.
	Rule string `json:"rule"`
	// Message says what is wrong, for a person.
	Message string `json:"message"`
	// Tool is the name of the tool, where there is one.
	Tool string `json:"tool,omitempty"`
	// Path is a JSON pointer (RFC 6901) into the schema or the table.
	Path string `json:"path,omitempty"`
}

// Error is a descriptor that cannot be constructed or an envelope that cannot be
// read: the first structural rule that it breaks.
type Error struct {
	// Path is a JSON pointer into the document, or the name of the field.
	Path string
	// Message says what is wrong and what would be right.
	Message string
}

func (e *Error) Error() string {
	if e.Path == "" {
		return e.Message
	}
	return fmt.Sprintf("%s: %s", e.Path, e.Message)
}
