// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"slices"
	"strings"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/octool"
)

// The names of the rules, as findings carry them.
const (
	// RuleDuplicateName: two entries of one collection have the same name.
	RuleDuplicateName = "duplicate_name"
	// RuleReservedName: a tool is named like a tool of the operator.
	RuleReservedName = "reserved_name"
	// RuleEmptyText: nothing is left of a text that is required.
	RuleEmptyText = "empty_text"
	// RuleModelParameter: a sampling parameter is unknown or out of range.
	RuleModelParameter = "model_parameter"
	// RuleInputSchema: an input schema is not JSON Schema 2020-12 of an object.
	RuleInputSchema = "input_schema"
	// RuleHTTPURL: the URL of an HTTP tool cannot be requested.
	RuleHTTPURL = "http_url"
	// RuleHTTPHeader: an HTTP tool sets a header that it may not set.
	RuleHTTPHeader = "http_header"
	// RuleHTTPBody: an HTTP tool sends a body with a method that has none.
	RuleHTTPBody = "http_body"
	// RuleHTTPPlaceholder: a placeholder of an HTTP tool names no argument.
	RuleHTTPPlaceholder = "http_placeholder"
	// RuleDescription: the description of a tool has not two to four sentences.
	RuleDescription = "description_sentences"
	// RuleCode: the source of a code tool is not a program with a function main.
	RuleCode = "code"
	// RuleCodeParameters: main of a code tool does not take the arguments.
	RuleCodeParameters = "code_parameters"
	// RuleUnknownFunction: a function is not registered in the operator.
	RuleUnknownFunction = "unknown_function"
	// RuleAttemptsNotIdempotent: a tool asks to be repeated and may not be.
	RuleAttemptsNotIdempotent = "attempts_not_idempotent"
	// RuleSandboxDisabled: something needs the sandbox and it is off.
	RuleSandboxDisabled = "sandbox_disabled"
	// RuleUnknownTag: a selector is a tag that its list does not know.
	RuleUnknownTag = "unknown_tag"
	// RuleUnknownTool: a subagent lists a tool that its parent lacks.
	RuleUnknownTool = "unknown_tool"
	// RuleSubagentMCPTool: a subagent lists a tool of an MCP server as if it
	// were one of its parent's own.
	RuleSubagentMCPTool = "subagent_mcp_tool"
	// RuleSubagentGrant: a subagent asks for a server that its parent lacks.
	RuleSubagentGrant = "subagent_grant"
	// RuleSubagentGrantTool: a subagent asks for a tool of a server that its
	// parent's grant leaves out.
	RuleSubagentGrantTool = "subagent_grant_tool"
	// RuleDanglingSkillLink: a link names a skill that is not there.
	RuleDanglingSkillLink = "dangling_skill_link"
	// RuleSchedule: a cron expression has not five valid fields, or never fires.
	RuleSchedule = "schedule"
	// RuleTimeZone: a time zone is not in the IANA database.
	RuleTimeZone = "time_zone"
	// RuleWorkflowTool: a step calls a tool that the agent has not.
	RuleWorkflowTool = "workflow_tool"
	// RuleWorkflowArguments: the arguments of a step are not those of its tool.
	RuleWorkflowArguments = "workflow_arguments"
	// RuleWorkflowExpression: an expression of a step is not valid, or gives no map.
	RuleWorkflowExpression = "workflow_expression"
	// RuleNotCanonical: a value has no canonical form.
	RuleNotCanonical = "not_canonical"
	// RuleTooLarge: the whole is larger than a Version can be.
	RuleTooLarge = "too_large"
	// RuleMoreFindings: there are more findings than are shown.
	RuleMoreFindings = "more_findings"
)

// Rule is a publication rule, for documents that list them.
type Rule struct {
	// Name as findings carry it.
	Name string
	// Summary is one sentence that says what holds where the rule is kept.
	Summary string
	// Help says why, and what to do where it is not.
	Help string
	// Severity is Warning for advice, and else empty.
	Severity v1alpha1.FindingSeverity
}

// strictRules are those of input schemas that models take under strict calling.
var strictRules = []string{
	octool.RuleAdditionalProperties, octool.RuleKeyword, octool.RuleType, octool.RuleOptionalField,
	octool.RuleFormat, octool.RuleMinItems, octool.RuleEnumValue, octool.RuleRefTarget, octool.RuleRefRecursive, octool.RuleRefInAllOf,
}

// Rules lists every rule by name.
func Rules() []Rule {
	rules := ownRules()
	for _, name := range strictRules {
		rules = append(rules, Rule{name, "The input schema of an HTTP or code tool keeps to what models take under strict calling.",
			"Close every object, make what is optional nullable, and move bounds into the description: " +
				"a model that is held to the schema then sends what it says.", v1alpha1.SeverityWarning})
	}
	slices.SortFunc(rules, func(a, b Rule) int { return strings.Compare(a.Name, b.Name) })
	return rules
}

func ownRules() []Rule {
	return []Rule{
		{RuleAttemptsNotIdempotent, "A tool with more than one attempt is idempotent, by declaration or as a GET or HEAD request.",
			"A call that failed may have had its effect. Set attempts to 1, or idempotent to true if repeating a call does no harm.", ""},
		{RuleCode, "The source of a code tool is Starlark that resolves and defines a function main.",
			"The sandbox would refuse the program at each call. Correct it where the message points.", ""},
		{RuleCodeParameters, "The function main of a code tool takes the arguments of its input schema by name.",
			"Each property of the input schema is passed by its name. Make the parameters of main and the properties agree.", ""},
		{RuleDanglingSkillLink, "Each [[skill:NAME]] link names a skill of the agent.",
			"A subagent's links lead to its own skills, then to its parent's. Correct the link, or add the skill.", ""},
		{RuleDescription, "The description of an HTTP or code tool has two to four sentences.",
			"A model decides by the description. Say what the tool is for, when to avoid it, what it returns and one caveat.", v1alpha1.SeverityWarning},
		{RuleDuplicateName, "Names are unique within their collection.",
			"Entries are told apart by their names and have no order. Rename or remove one of them.", ""},
		{RuleEmptyText, "A required text holds more than line breaks.",
			"Line breaks at the end of a text are removed before it is hashed. Write some text, or remove what needs it.", ""},
		{RuleHTTPBody, "Only methods that take a body send one.",
			"Use query for the arguments of a GET or HEAD request, or another method.", ""},
		{RuleHTTPHeader, "An HTTP tool sets neither credentials nor headers of the connection.",
			"A Version is kept for ever, so a credential is named and never written down. Remove the header, or put it into the Grant.", ""},
		{RuleHTTPPlaceholder, "Each {placeholder} of an HTTP tool is a property of its input schema, and required where the path needs it.",
			"Add the argument to inputSchema.properties and, for the path, to inputSchema.required, or correct its name.", ""},
		{RuleHTTPURL, "The URL of an HTTP tool names its host literally and holds no credentials.",
			"The host is what a Grant permits, so no argument may change it. Write the URL as it is sent, with arguments in path and query.", ""},
		{RuleInputSchema, "An input schema is self-contained JSON Schema 2020-12 with an object at its root.",
			"Nothing is loaded from elsewhere, as it could change after it was hashed. Set type to object at the root, and copy what it refers to into $defs.", ""},
		{RuleModelParameter, "Sampling parameters are known and within their range.",
			"The parameters are temperature, topP, maxOutputTokens and seed. Correct the name or the value.", ""},
		{RuleMoreFindings, "There are more findings than are shown.",
			"Correct those that are shown first.", ""},
		{RuleNotCanonical, "Every value has one canonical form.",
			"A value that parsers read in different ways cannot be hashed. Correct it where the message points.", ""},
		{RuleReservedName, "Names of the operator's own tools are left to them.",
			"A model could not tell the two tools apart. Choose another name.", ""},
		{RuleSandboxDisabled, "Code tools and run_code need the sandbox.",
			"Set spec.sandbox.enabled to true, or remove what needs it.", ""},
		{RuleSchedule, "A schedule is a five-field cron expression that fires.",
			"The fields are minute, hour, day of month, month and day of week. Correct the field that the message names.", ""},
		{RuleSubagentGrant, "A subagent uses only MCP servers that its parent has.",
			"A subagent never has more than its parent. Add the grant to spec.mcp, or remove it from the subagent.", ""},
		{RuleSubagentGrantTool, "A subagent uses only those tools of an MCP server that its parent's grant leaves in.",
			"A subagent never has more than its parent. Add the tool to the parent's grant, or remove it from the subagent.", ""},
		{RuleSubagentMCPTool, "A subagent reaches tools of MCP servers through its own grants.",
			"The list tools of a subagent names tools of spec.tools. Grant the server's tool in the mcp of the subagent.", ""},
		{RuleTimeZone, "A time zone is a name of the IANA database.",
			"Write a name as in Europe/Berlin or Etc/UTC, in its upper and lower case.", ""},
		{RuleTooLarge, "The whole fits into a Version.",
			"A Version is one object of the API server. Shorten the texts, or split the agent.", ""},
		{RuleUnknownFunction, "A function tool names a function that is registered in the operator.",
			"Correct the name, or register the function. The offline commands learn of yours by --function.", ""},
		{RuleUnknownTag, "A selector that begins with @ is a tag that its list knows.",
			"A tag that is not known would match nothing. Correct it, or write the exact name of a tool.", ""},
		{RuleUnknownTool, "A subagent lists only tools of its parent.",
			"Correct the name, or add the tool to spec.tools.", ""},
		{RuleWorkflowArguments, "The arguments of a step are a JSON object that fits the input schema of its tool.",
			"The call would be refused in every Run. Correct the arguments, or the inputSchema of the tool.", ""},
		{RuleWorkflowExpression, "The expression of a step is valid CEL that gives a map, and refers to the input and earlier steps only.",
			"The variables are input, inputJSON and steps.ID.text and steps.ID.json of each step before. Correct it where the message points.", ""},
		{RuleWorkflowTool, "A step calls a tool of the agent, by the name by which the model would call it.",
			"The name is that of a tool of spec.tools, GRANT__TOOL with a grant of spec.mcp, or a builtin of spec.builtins. Correct it, or add the tool.", ""},
	}
}
