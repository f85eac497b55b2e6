// SPDX-License-Identifier: Apache-2.0

package tools

import (
	"encoding/json"
	"strings"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/canonical"
	"remit.dev/remit/internal/engine"
	"remit.dev/remit/internal/pipeline"
)

// maxSubagentList bounds what the descriptions of all subagents take of a prompt, in
// bytes. Each has an equal share.
const maxSubagentList = 8 << 10

const subagentDescription = "Gives a task to one of your subagents and waits for its answer, which may take hours where a person must approve what it does. " +
	"Use it for a task that a subagent is described for. A subagent reads nothing of this conversation: put everything that it has to know into input. " +
	"It returns the subagent's answer as text. The subagents are:"

// SubagentCall are the arguments of a call of a subagent.
type SubagentCall struct {
	Name  v1alpha1.Slug `json:"name"`
	Input string        `json:"input"`
}

// ReadSubagentCall reads arguments that fit the schema of RunSubagent.
func ReadSubagentCall(arguments string) (SubagentCall, error) {
	var call SubagentCall
	read, err := engine.ReadArguments(arguments)
	if err != nil {
		return call, err
	}
	return call, json.Unmarshal(read.JSON, &call)
}

// RunSubagent is the builtin by which an agent calls its subagents. It has no
// executor: a Run of its own answers each call, and what that one does is gated there.
func RunSubagent(subagents []v1alpha1.Subagent) pipeline.Tool {
	description, schema := describeSubagents(subagents), subagentSchema(subagents)
	return pipeline.Tool{
		Name:        v1alpha1.RunSubagent,
		Description: description,
		InputSchema: schema,
		Definition:  v1alpha1.Digest(canonical.Hash(builtinDomain, []byte(v1alpha1.RunSubagent+"\n"+string(schema)+"\n"+description)).String()),
		Class:       v1alpha1.ClassReadOnly,
		Idempotent:  true,
		Delegated:   true,
		Preloaded:   true,
	}
}

func describeSubagents(subagents []v1alpha1.Subagent) string {
	var text strings.Builder
	text.WriteString(subagentDescription)
	share := maxSubagentList / max(len(subagents), 1)
	for i := range subagents {
		text.WriteString("\n- " + string(subagents[i].Name) + ": " + cut(subagents[i].Description, share))
	}
	return text.String()
}

// cut shortens text to limit bytes, between two characters.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len("…")], "") + "…"
}

func subagentSchema(subagents []v1alpha1.Subagent) json.RawMessage {
	type property struct {
		Type        string          `json:"type"`
		Enum        []v1alpha1.Slug `json:"enum,omitempty"`
		MinLength   int             `json:"minLength,omitempty"`
		MaxLength   int             `json:"maxLength,omitempty"`
		Description string          `json:"description"`
	}
	name := property{Type: "string", Description: "The name of the subagent."}
	for i := range subagents {
		name.Enum = append(name.Enum, subagents[i].Name)
	}
	schema, err := json.Marshal(map[string]any{
		"type": "object", "additionalProperties": false, "required": []string{"name", "input"},
		"properties": map[string]property{"name": name, "input": {
			Type: "string", MinLength: 1, MaxLength: 16384, Description: "The task, with everything that the subagent has to know."}},
	})
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	return schema
}
