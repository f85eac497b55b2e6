// SPDX-License-Identifier: Apache-2.0

package publish

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
}

// Rules lists every rule by name.
func Rules() []Rule {
	return []Rule{
		{RuleAttemptsNotIdempotent, "A tool with more than one attempt is idempotent, by declaration or as a GET or HEAD request."},
		{RuleDanglingSkillLink, "Each [[skill:NAME]] link names a skill of the agent."},
		{RuleDuplicateName, "Names are unique within their collection."},
		{RuleEmptyText, "A required text holds more than line breaks."},
		{RuleHTTPBody, "Only methods that take a body send one."},
		{RuleHTTPHeader, "An HTTP tool sets neither credentials nor headers of the connection."},
		{RuleHTTPPlaceholder, "Each {placeholder} of an HTTP tool is a property of its input schema, and required where the path needs it."},
		{RuleHTTPURL, "The URL of an HTTP tool names its host literally and holds no credentials."},
		{RuleInputSchema, "An input schema is self-contained JSON Schema 2020-12 with an object at its root."},
		{RuleModelParameter, "Sampling parameters are known and within their range."},
		{RuleMoreFindings, "There are more findings than are shown."},
		{RuleNotCanonical, "Every value has one canonical form."},
		{RuleReservedName, "Names of the operator's own tools are left to them."},
		{RuleSandboxDisabled, "Code tools and run_code need the sandbox."},
		{RuleSchedule, "A schedule is a five-field cron expression that fires."},
		{RuleSubagentGrant, "A subagent uses only MCP servers that its parent has."},
		{RuleSubagentGrantTool, "A subagent uses only those tools of an MCP server that its parent's grant leaves in."},
		{RuleSubagentMCPTool, "A subagent reaches tools of MCP servers through its own grants."},
		{RuleTimeZone, "A time zone is a name of the IANA database."},
		{RuleTooLarge, "The whole fits into a Version."},
		{RuleUnknownFunction, "A function tool names a function that is registered in the operator."},
		{RuleUnknownTag, "A selector that begins with @ is a tag that its list knows."},
		{RuleUnknownTool, "A subagent lists only tools of its parent."},
	}
}
