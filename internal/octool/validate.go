// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"encoding/json"
	"fmt"
	"strings"
)

// The number of sentences of a description.
const (
	minSentences = 2
	maxSentences = 4
)

// ValidateTool finds every rule that a descriptor breaks, other than those of
// structure, which New holds it to.
func ValidateTool(tool *Tool) []Finding {
	if !tool.made() {
		return []Finding{{Rule: RuleNotOCTool, Message: "the tool was not made by New"}}
	}
	found, more := judge(DescribedTool{
		Name: tool.name, Description: tool.description, InputSchema: tool.inputSchema, OutputSchema: tool.outputSchema,
		Described: Described{ResultKind: tool.resultKind, Deprecated: tool.deprecated, Meta: tool.meta},
	})
	return upTo(MaxSchemaFindings, found, more)
}

// DescribedTool is a tool that somebody else describes, as an MCP server does.
type DescribedTool struct {
	Name        string
	Description string
	// InputSchema and OutputSchema are as they were sent; nil is none.
	InputSchema  json.RawMessage
	OutputSchema json.RawMessage
	// Described is what ReadMeta reads of it; without one, ReadMeta(nil).
	Described Described
}

// ValidateDescribed judges such a tool by the rules of ValidateTool. It gives
// MaxFindings at most, of which the last then says how many more there are.
func ValidateDescribed(tool DescribedTool) []Finding {
	found, more := judge(tool)
	return upTo(MaxFindings, found, more)
}

// JudgeDescribed is ValidateDescribed with room for MaxSchemaFindings, for those who
// sum findings up.
func JudgeDescribed(tool DescribedTool) []Finding {
	found, more := judge(tool)
	return upTo(MaxSchemaFindings, found, more)
}

// judge gives the findings of a tool, and counts those of its schema beyond what
// strictClean lists.
func judge(tool DescribedTool) (found []Finding, more int) {
	add := func(rule, format string, args ...any) {
		found = append(found, Finding{Rule: rule, Tool: tool.Name, Message: fmt.Sprintf(format, args...)})
	}
	if !namePattern.MatchString(tool.Name) {
		add(RuleNamePattern, "the name %s must match %s", quoted(tool.Name), NamePattern)
	}
	if count := countSentences(tool.Description); count < minSentences || count > maxSentences {
		add(RuleDescriptionSentences, "the description must have %d to %d sentences, and has %d: say what the tool is for, "+
			"when to avoid it, what it returns and one caveat", minSentences, maxSentences, count)
	}
	inputs, more := strictClean(tool.InputSchema)
	for _, finding := range inputs {
		finding.Tool, finding.Path = tool.Name, "/input_schema"+finding.Path
		found = append(found, finding)
	}
	output, problem := readOutputSchema(tool.OutputSchema)
	if problem != "" && isBlank(metaText(tool.Described.Meta, MetaSchemaEscape)) {
		add(RuleOutputSchemaEscape, "the output schema %s: close it, or give the reason in meta[%q]", problem, MetaSchemaEscape)
	}
	if tool.Described.ResultKind == ResultArtifact && output.member("properties").member("artifact") == nil {
		add(RuleArtifactEnvelope, "the result is an artifact, and the output schema has no property artifact")
	}
	if target := metaText(tool.Described.Meta, MetaAliasOf); tool.Described.Deprecated && (isBlank(target) || target == tool.Name) {
		add(RuleDeprecatedAlias, "a deprecated tool must name the tool that replaces it in meta[%q]", MetaAliasOf)
	}
	return found, more
}

// readOutputSchema reads a schema, and says why it promises nothing of the result
// where it does not.
func readOutputSchema(schema json.RawMessage) (root *node, problem string) {
	if schema == nil {
		return nil, "is missing"
	}
	root, err := parseNode(schema)
	if err != nil {
		return nil, fmt.Sprintf("cannot be read (%s)", err)
	}
	if additional := root.member("additionalProperties"); additional != nil && additional.kind == booleanNode && additional.text == "true" {
		return root, "is open"
	}
	return root, ""
}

// countSentences counts what stands between ". " and ". ", and is not empty.
func countSentences(text string) int {
	count := 0
	for piece := range strings.SplitSeq(text, ". ") {
		if !isBlank(piece) {
			count++
		}
	}
	return count
}
