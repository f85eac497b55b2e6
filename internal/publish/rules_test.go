// SPDX-License-Identifier: Apache-2.0

package publish_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/publish"
)

type (
	agent   = v1alpha1.AgentSpec
	finding = v1alpha1.Finding
)

// functions are those that the operator has in these tests.
var functions = sets.New("lookup_weather")

// minimal is the smallest valid agent, with whatever change does to it.
func minimal(change func(*agent)) agent {
	spec := agent{
		Instructions: "You help.",
		Models:       []v1alpha1.Model{{Grant: "openai", Model: "gpt"}},
	}
	if change != nil {
		change(&spec)
	}
	return spec
}

func raw(text string) *apiextensionsv1.JSON { return &apiextensionsv1.JSON{Raw: []byte(text)} }

func httpTool(name string, method v1alpha1.HTTPMethod) v1alpha1.Tool {
	return v1alpha1.Tool{
		Name: name, Kind: v1alpha1.ToolHTTP,
		HTTP: &v1alpha1.HTTPTool{Grant: "shop", Method: method, URL: "https://shop.example/orders"},
	}
}

func codeTool(name string) v1alpha1.Tool {
	return v1alpha1.Tool{Name: name, Kind: v1alpha1.ToolCode, Code: &v1alpha1.CodeTool{Source: "def main(): return 1"}}
}

func functionTool(name, function string) v1alpha1.Tool {
	return v1alpha1.Tool{Name: name, Kind: v1alpha1.ToolFunction, Function: &v1alpha1.FunctionTool{Name: function}}
}

func skill(name v1alpha1.Slug, body string) v1alpha1.Skill {
	return v1alpha1.Skill{Name: name, Description: "When needed.", Body: body}
}

func subagent(name v1alpha1.Slug, change func(*v1alpha1.Subagent)) v1alpha1.Subagent {
	s := v1alpha1.Subagent{Name: name, Description: "Checks.", Instructions: "You check."}
	if change != nil {
		change(&s)
	}
	return s
}

func grant(name v1alpha1.Slug, tools ...v1alpha1.ToolLiteral) v1alpha1.MCPGrant {
	return v1alpha1.MCPGrant{Grant: name, Tools: tools}
}

// ruleTest shows one rule: what breaks it and how that is reported, and a change
// close to it that keeps the rule.
type ruleTest struct {
	breaks func(*agent)
	want   []finding
	keeps  func(*agent)
}

// published leaves out the advice on descriptors, which has tests of its own.
func published(spec v1alpha1.AgentSpec) (publish.Result, []v1alpha1.Finding) {
	result, findings := publish.Publish(spec, functions)
	var refused []v1alpha1.Finding
	for _, f := range findings {
		if f.Severity != v1alpha1.SeverityWarning {
			refused = append(refused, f)
		}
	}
	return result, refused
}

func runRuleTests(t *testing.T, tests map[string]ruleTest) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			result, findings := published(minimal(test.breaks))
			if diff := cmp.Diff(test.want, findings); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			if result.Name != "" || result.Body != nil || result.Hash != "" {
				t.Errorf("there are findings and yet a Version: %s", result.Name)
			}
			result, findings = published(minimal(test.keeps))
			if len(findings) > 0 {
				t.Errorf("the valid neighbour has findings: %v", findings)
			}
			if result.Name == "" {
				t.Error("the valid neighbour has no Version")
			}
		})
	}
}

func TestUniqueNames(t *testing.T) {
	runRuleTests(t, map[string]ruleTest{
		"B2 tools": {
			breaks: func(a *agent) {
				a.Tools = []v1alpha1.Tool{httpTool("find", "GET"), httpTool("refund", "POST"), httpTool("find", "POST"), httpTool("find", "PUT")}
			},
			want: []finding{
				{Rule: "duplicate_name", Path: "spec.tools[2].name", Message: `"find" is the name of spec.tools[0] too: rename or remove one of them`},
				{Rule: "duplicate_name", Path: "spec.tools[3].name", Message: `"find" is the name of spec.tools[0] too: rename or remove one of them`},
			},
			keeps: func(a *agent) {
				a.Tools = []v1alpha1.Tool{httpTool("find", "GET"), httpTool("refund", "POST")}
			},
		},
		"B2 skills": {
			breaks: func(a *agent) { a.Skills = []v1alpha1.Skill{skill("pay", "x"), skill("pay", "y")} },
			want: []finding{
				{Rule: "duplicate_name", Path: "spec.skills[1].name", Message: `"pay" is the name of spec.skills[0] too: rename or remove one of them`},
			},
			keeps: func(a *agent) { a.Skills = []v1alpha1.Skill{skill("pay", "x"), skill("pays", "x")} },
		},
		"B2 subagents": {
			breaks: func(a *agent) { a.Subagents = []v1alpha1.Subagent{subagent("pay", nil), subagent("pay", nil)} },
			want: []finding{
				{Rule: "duplicate_name", Path: "spec.subagents[1].name", Message: `"pay" is the name of spec.subagents[0] too: rename or remove one of them`},
			},
			keeps: func(a *agent) {
				// One name in two collections is no duplicate.
				a.Subagents = []v1alpha1.Subagent{subagent("pay", nil)}
				a.Skills = []v1alpha1.Skill{skill("pay", "x")}
				a.Channels = []v1alpha1.Channel{{Name: "pay", Kind: v1alpha1.ChannelWebhook}}
			},
		},
		"B2 schedules": {
			breaks: func(a *agent) {
				a.Schedules = []v1alpha1.Schedule{{Name: "daily", Cron: "0 9 * * *"}, {Name: "daily", Cron: "0 8 * * *"}}
			},
			want: []finding{
				{Rule: "duplicate_name", Path: "spec.schedules[1].name", Message: `"daily" is the name of spec.schedules[0] too: rename or remove one of them`},
			},
			keeps: func(a *agent) {
				a.Schedules = []v1alpha1.Schedule{{Name: "daily", Cron: "0 9 * * *"}, {Name: "early", Cron: "0 9 * * *"}}
			},
		},
		"B2 channels": {
			breaks: func(a *agent) {
				a.Channels = []v1alpha1.Channel{{Name: "in", Kind: v1alpha1.ChannelWebhook}, {Name: "in", Kind: v1alpha1.ChannelWebhook}}
			},
			want: []finding{
				{Rule: "duplicate_name", Path: "spec.channels[1].name", Message: `"in" is the name of spec.channels[0] too: rename or remove one of them`},
			},
			keeps: func(a *agent) {
				a.Channels = []v1alpha1.Channel{{Name: "in", Kind: v1alpha1.ChannelWebhook}, {Name: "inn", Kind: v1alpha1.ChannelWebhook}}
			},
		},
		"B2 MCP grants, by their slug": {
			breaks: func(a *agent) { a.MCP = []v1alpha1.MCPGrant{grant("github", "x"), grant("github", "y")} },
			want: []finding{
				{Rule: "duplicate_name", Path: "spec.mcp[1].grant", Message: `"github" is the grant of spec.mcp[0] too: rename or remove one of them`},
			},
			keeps: func(a *agent) { a.MCP = []v1alpha1.MCPGrant{grant("github", "x"), grant("gitlab", "x")} },
		},
		"B2 a subagent's own collections": {
			breaks: func(a *agent) {
				a.MCP = []v1alpha1.MCPGrant{grant("github")}
				a.Subagents = []v1alpha1.Subagent{subagent("check", func(s *v1alpha1.Subagent) {
					s.Skills = []v1alpha1.Skill{skill("pay", "x"), skill("pay", "y")}
					s.MCP = []v1alpha1.MCPGrant{grant("github"), grant("github")}
				})}
			},
			want: []finding{
				{Rule: "duplicate_name", Path: "spec.subagents[0].mcp[1].grant", Message: `"github" is the grant of spec.subagents[0].mcp[0] too: rename or remove one of them`},
				{Rule: "duplicate_name", Path: "spec.subagents[0].skills[1].name", Message: `"pay" is the name of spec.subagents[0].skills[0] too: rename or remove one of them`},
			},
			keeps: func(a *agent) {
				a.MCP = []v1alpha1.MCPGrant{grant("github")}
				a.Skills = []v1alpha1.Skill{skill("pay", "x")}
				a.Subagents = []v1alpha1.Subagent{subagent("check", func(s *v1alpha1.Subagent) {
					s.Skills = []v1alpha1.Skill{skill("pay", "y")}
					s.MCP = []v1alpha1.MCPGrant{grant("github")}
				})}
			},
		},
		"N12 names of the operator's tools": {
			breaks: func(a *agent) {
				a.Tools = []v1alpha1.Tool{httpTool("ask_user", "GET"), httpTool("call_tool", "GET")}
			},
			want: []finding{
				{Rule: "reserved_name", Path: "spec.tools[0].name", Message: `"ask_user" is a tool of the operator: choose another name`},
				{Rule: "reserved_name", Path: "spec.tools[1].name", Message: `"call_tool" is a tool of the operator: choose another name`},
			},
			keeps: func(a *agent) { a.Tools = []v1alpha1.Tool{httpTool("ask_users", "GET")} },
		},
	})
}

func TestSubagents(t *testing.T) {
	withSubagent := func(change func(*v1alpha1.Subagent)) func(*agent) {
		return func(a *agent) {
			a.Tools = []v1alpha1.Tool{httpTool("find", "GET")}
			a.MCP = []v1alpha1.MCPGrant{grant("github", "read_file", "list_issues"), grant("files"), {
				Grant: "wiki", Enable: []v1alpha1.AccessSelector{"@read-only", "edit"}, Disable: []v1alpha1.AccessSelector{"wipe"},
			}}
			a.Subagents = []v1alpha1.Subagent{subagent("check", change)}
		}
	}
	const grantMCP = ` is a tool of an MCP server, which a subagent reaches through its own grants: remove it here and grant it in spec.subagents[0].mcp`
	runRuleTests(t, map[string]ruleTest{
		"B3 every tool exists among the parent's": {
			breaks: withSubagent(func(s *v1alpha1.Subagent) { s.Tools = []v1alpha1.ToolLiteral{"find", "fetch"} }),
			want: []finding{
				{Rule: "unknown_tool", Path: "spec.subagents[0].tools[1]", Message: `no tool "fetch" is in spec.tools: correct the name, or add the tool there`},
			},
			keeps: withSubagent(func(s *v1alpha1.Subagent) { s.Tools = []v1alpha1.ToolLiteral{"find"} }),
		},
		"B4 P14 a qualified name points to the subagent's own grants": {
			breaks: withSubagent(func(s *v1alpha1.Subagent) { s.Tools = []v1alpha1.ToolLiteral{"github__read_file", "no-such__x"} }),
			want: []finding{
				{Rule: "subagent_mcp_tool", Path: "spec.subagents[0].tools[0]", Message: `"github__read_file"` + grantMCP},
				{Rule: "subagent_mcp_tool", Path: "spec.subagents[0].tools[1]", Message: `"no-such__x"` + grantMCP},
			},
			keeps: withSubagent(func(s *v1alpha1.Subagent) { s.MCP = []v1alpha1.MCPGrant{grant("github", "read_file")} }),
		},
		"B4 P14 so does a name of a grant's tools": {
			breaks: withSubagent(func(s *v1alpha1.Subagent) { s.Tools = []v1alpha1.ToolLiteral{"list_issues"} }),
			want: []finding{
				{Rule: "subagent_mcp_tool", Path: "spec.subagents[0].tools[0]", Message: `"list_issues"` + grantMCP},
			},
			keeps: withSubagent(nil),
		},
		"B5 no server that the parent lacks": {
			breaks: withSubagent(func(s *v1alpha1.Subagent) { s.MCP = []v1alpha1.MCPGrant{grant("files"), grant("jira")} }),
			want: []finding{
				{Rule: "subagent_grant", Path: "spec.subagents[0].mcp[1].grant", Message: `the agent itself has no grant "jira": add it to spec.mcp, or remove it here`},
			},
			keeps: withSubagent(func(s *v1alpha1.Subagent) { s.MCP = []v1alpha1.MCPGrant{grant("files", "anything")} }),
		},
		"B5 D14 only tools that the parent enumerates": {
			breaks: withSubagent(func(s *v1alpha1.Subagent) {
				s.MCP = []v1alpha1.MCPGrant{grant("github", "read_file", "delete_repo", "Read_file")}
			}),
			want: []finding{
				{Rule: "subagent_grant_tool", Path: "spec.subagents[0].mcp[0].tools[1]", Message: `spec.mcp[0] leaves "delete_repo" out: add it there, or remove it here`},
				{Rule: "subagent_grant_tool", Path: "spec.subagents[0].mcp[0].tools[2]", Message: `spec.mcp[0] leaves "Read_file" out: add it there, or remove it here`},
			},
			// P13: an empty list is all that the parent has.
			keeps: withSubagent(func(s *v1alpha1.Subagent) { s.MCP = []v1alpha1.MCPGrant{grant("github")} }),
		},
		"B5 nor by enable, nor what the parent disables": {
			breaks: withSubagent(func(s *v1alpha1.Subagent) {
				s.MCP = []v1alpha1.MCPGrant{
					{Grant: "github", Enable: []v1alpha1.AccessSelector{"@all", "delete_repo"}},
					grant("wiki", "wipe"),
				}
			}),
			want: []finding{
				{Rule: "subagent_grant_tool", Path: "spec.subagents[0].mcp[0].enable[1]", Message: `spec.mcp[0] leaves "delete_repo" out: add it there, or remove it here`},
				{Rule: "subagent_grant_tool", Path: "spec.subagents[0].mcp[1].tools[0]", Message: `spec.mcp[2] leaves "wipe" out: add it there, or remove it here`},
			},
			// Whether "page" is read-only is not known before its server is.
			keeps: withSubagent(func(s *v1alpha1.Subagent) { s.MCP = []v1alpha1.MCPGrant{grant("wiki", "page", "edit")} }),
		},
	})
}

func TestSandbox(t *testing.T) {
	runRuleTests(t, map[string]ruleTest{
		"B6 run_code": {
			breaks: func(a *agent) { a.Builtins = []v1alpha1.Builtin{"ask_user", "run_code"} },
			want: []finding{
				{Rule: "sandbox_disabled", Path: "spec.builtins[1]", Message: `builtin "run_code" needs the sandbox: set spec.sandbox.enabled to true, or remove it`},
			},
			keeps: func(a *agent) { a.Builtins = []v1alpha1.Builtin{"ask_user", "wait_webhook"} },
		},
		"B6 code tools": {
			breaks: func(a *agent) { a.Tools = []v1alpha1.Tool{codeTool("sum")} },
			want: []finding{
				{Rule: "sandbox_disabled", Path: "spec.tools[0].kind", Message: `code tool "sum" needs the sandbox: set spec.sandbox.enabled to true, or remove it`},
			},
			keeps: func(a *agent) {
				a.Tools = []v1alpha1.Tool{codeTool("sum")}
				a.Builtins = []v1alpha1.Builtin{"run_code"}
				a.Sandbox.Enabled = true
			},
		},
	})
}

func TestAttempts(t *testing.T) {
	withTool := func(tool v1alpha1.Tool, attempts int32, idempotent *bool) func(*agent) {
		tool.Attempts, tool.Idempotent = attempts, idempotent
		return func(a *agent) { a.Tools = []v1alpha1.Tool{tool} }
	}
	const advice = `: set attempts to 1, or set idempotent to true if repeating a call does no harm`
	runRuleTests(t, map[string]ruleTest{
		"B7 A11 a POST is not idempotent": {
			breaks: withTool(httpTool("refund", "POST"), 2, nil),
			want: []finding{
				{Rule: "attempts_not_idempotent", Path: "spec.tools[0].attempts", Message: `attempts is 2 and tool "refund" is not known to be idempotent` + advice},
			},
			// A12: one attempt is no retry.
			keeps: withTool(httpTool("refund", "POST"), 1, nil),
		},
		"B7 A11 a GET is": {
			breaks: withTool(functionTool("weather", "lookup_weather"), 5, nil),
			want: []finding{
				{Rule: "attempts_not_idempotent", Path: "spec.tools[0].attempts", Message: `attempts is 5 and tool "weather" is not known to be idempotent` + advice},
			},
			keeps: withTool(httpTool("find", "GET"), 5, nil),
		},
		"B7 A10 declared false beats a GET, declared true anything": {
			breaks: withTool(httpTool("find", "HEAD"), 3, new(false)),
			want: []finding{
				{Rule: "attempts_not_idempotent", Path: "spec.tools[0].attempts", Message: `attempts is 3 and tool "find" is declared not to be idempotent` + advice},
			},
			keeps: withTool(httpTool("find", "DELETE"), 3, new(true)),
		},
	})
}

func TestSelectors(t *testing.T) {
	const known = `: this list knows @all and @read-only; anything else is the exact name of a tool`
	runRuleTests(t, map[string]ruleTest{
		"B9 F4 unknown tags": {
			breaks: func(a *agent) {
				a.MCP = []v1alpha1.MCPGrant{{
					Grant:   "github",
					Enable:  []v1alpha1.AccessSelector{"@all", "@readonly"},
					Disable: []v1alpha1.AccessSelector{"@destructive"},
					Preload: []v1alpha1.AccessSelector{"@"},
				}}
			},
			want: []finding{
				{Rule: "unknown_tag", Path: "spec.mcp[0].disable[0]", Message: `unknown tag "@destructive"` + known},
				{Rule: "unknown_tag", Path: "spec.mcp[0].enable[1]", Message: `unknown tag "@readonly"` + known},
				{Rule: "unknown_tag", Path: "spec.mcp[0].preload[0]", Message: `unknown tag "@"` + known},
			},
			keeps: func(a *agent) {
				a.MCP = []v1alpha1.MCPGrant{{
					Grant:   "github",
					Enable:  []v1alpha1.AccessSelector{"@all", "read@only"},
					Disable: []v1alpha1.AccessSelector{"destructive"},
					Preload: []v1alpha1.AccessSelector{"@read-only"},
				}}
			},
		},
		"B9 a list of exact names takes no tag": {
			breaks: func(a *agent) {
				a.MCP = []v1alpha1.MCPGrant{grant("github", "@all")}
				a.Subagents = []v1alpha1.Subagent{subagent("check", func(s *v1alpha1.Subagent) {
					s.Tools = []v1alpha1.ToolLiteral{"@all"}
					s.MCP = []v1alpha1.MCPGrant{{Grant: "github", Enable: []v1alpha1.AccessSelector{"@write"}}}
				})}
			},
			want: []finding{
				{Rule: "unknown_tag", Path: "spec.mcp[0].tools[0]", Message: `"@all" is a tag, and this list takes exact tool names only`},
				{Rule: "unknown_tag", Path: "spec.subagents[0].mcp[0].enable[0]", Message: `unknown tag "@write"` + known},
				{Rule: "unknown_tag", Path: "spec.subagents[0].tools[0]", Message: `"@all" is a tag, and this list takes exact tool names only`},
			},
			keeps: func(a *agent) {
				a.MCP = []v1alpha1.MCPGrant{grant("github")}
				a.Subagents = []v1alpha1.Subagent{subagent("check", func(s *v1alpha1.Subagent) {
					s.MCP = []v1alpha1.MCPGrant{{Grant: "github", Enable: []v1alpha1.AccessSelector{"@read-only"}}}
				})}
			},
		},
	})
}

func TestModelParameters(t *testing.T) {
	withParameters := func(text string) func(*agent) {
		return func(a *agent) { a.Models[0].Parameters = raw(text) }
	}
	const path = "spec.models[0].parameters"
	runRuleTests(t, map[string]ruleTest{
		"unknown": {
			breaks: withParameters(`{"top_p": 1, "seed": 1}`),
			want: []finding{
				{Rule: "model_parameter", Path: path + ".top_p", Message: `unknown parameter "top_p": the parameters are maxOutputTokens, seed, temperature, topP`},
			},
			keeps: withParameters(`{"topP": 1, "seed": -9223372036854775808}`),
		},
		"out of range": {
			breaks: withParameters(`{"temperature": 2.1, "topP": -0.1, "maxOutputTokens": 0, "seed": 1.5}`),
			want: []finding{
				{Rule: "model_parameter", Path: path + ".maxOutputTokens", Message: `maxOutputTokens must be an integer of at least 1, not 0`},
				{Rule: "model_parameter", Path: path + ".seed", Message: `seed must be an integer, not 1.5`},
				{Rule: "model_parameter", Path: path + ".temperature", Message: `temperature must be a number from 0 to 2, not 2.1`},
				{Rule: "model_parameter", Path: path + ".topP", Message: `topP must be a number from 0 to 1, not -0.1`},
			},
			keeps: withParameters(`{"temperature": 2.0, "topP": 0, "maxOutputTokens": 1.0, "seed": 1e3}`),
		},
		"other types": {
			breaks: withParameters(`{"temperature": "1", "topP": null, "maxOutputTokens": [1], "seed": 99999999999999999999}`),
			want: []finding{
				{Rule: "model_parameter", Path: path + ".maxOutputTokens", Message: `maxOutputTokens must be an integer of at least 1, not [1]`},
				{Rule: "model_parameter", Path: path + ".seed", Message: `seed must be an integer, not 100000000000000000000`},
				{Rule: "model_parameter", Path: path + ".temperature", Message: `temperature must be a number from 0 to 2, not "1"`},
				{Rule: "model_parameter", Path: path + ".topP", Message: `topP must be a number from 0 to 1, not null`},
			},
			// One Grant may stand in the failover list twice.
			keeps: func(a *agent) { a.Models = append(a.Models, a.Models[0]) },
		},
		"no canonical form": {
			breaks: withParameters(`{"seed": 1, "seed": 2}`),
			want: []finding{
				{Rule: "not_canonical", Path: path + ".seed", Message: `the key is there more than once; keep one`},
			},
			keeps: withParameters(`{}`),
		},
		"no object": {
			breaks: withParameters(`[]`),
			want: []finding{
				{Rule: "not_canonical", Path: path, Message: `a JSON object is needed here, not []`},
			},
			keeps: withParameters(` { } `),
		},
	})
}

func TestFunctions(t *testing.T) {
	runRuleTests(t, map[string]ruleTest{
		"A5 a function is registered": {
			breaks: func(a *agent) { a.Tools = []v1alpha1.Tool{functionTool("weather", "weather")} },
			want: []finding{
				{Rule: "unknown_function", Path: "spec.tools[0].function.name", Message: `no function "weather" is registered in the operator: correct the name, or register the function`},
			},
			keeps: func(a *agent) { a.Tools = []v1alpha1.Tool{functionTool("weather", "lookup_weather")} },
		},
	})
}

func TestSchedules(t *testing.T) {
	withSchedule := func(expression, zone string) func(*agent) {
		return func(a *agent) {
			a.Schedules = []v1alpha1.Schedule{{Name: "daily", Cron: expression, TimeZone: zone}}
		}
	}
	const path = "spec.schedules[0]"
	fieldUse := func(values string) string {
		return ": use " + values + ", as * or in lists, ranges and steps (1,2 1-5 */5)"
	}
	const fields = `: a schedule has five fields: minute, hour, day of month, month, day of week`
	runRuleTests(t, map[string]ruleTest{
		"four fields": {
			breaks: withSchedule("0 9 * *", ""),
			want:   []finding{{Rule: "schedule", Path: path + ".cron", Message: `"0 9 * *"` + fields}},
			keeps:  withSchedule("0 9 * * THU", ""),
		},
		"seconds": {
			breaks: withSchedule("0 0 9 * * *", ""),
			want:   []finding{{Rule: "schedule", Path: path + ".cron", Message: `"0 0 9 * * *"` + fields}},
			keeps:  withSchedule("*/15 9-17 1,15 jan-jun mon-fri", ""),
		},
		"a descriptor": {
			breaks: withSchedule("@daily", ""),
			want:   []finding{{Rule: "schedule", Path: path + ".cron", Message: `"@daily"` + fields}},
			keeps:  withSchedule("0 0 * * *", ""),
		},
		"a time zone in the expression": {
			breaks: withSchedule("TZ=UTC 0 9 * *", ""),
			want:   []finding{{Rule: "schedule", Path: path + ".cron", Message: `"TZ=UTC 0 9 * *"` + fields}},
			keeps:  withSchedule("0 9 * * *", "UTC"),
		},
		"out of range": {
			breaks: withSchedule("60 9 * * *", ""),
			want:   []finding{{Rule: "schedule", Path: path + ".cron", Message: `"60 9 * * *": the minute cannot be "60"` + fieldUse("0 to 59")}},
			keeps:  withSchedule("59 9 * * *", ""),
		},
		"not what the parser can read, every field": {
			breaks: withSchedule("mon */0 L foo 8", ""),
			want: []finding{{Rule: "schedule", Path: path + ".cron", Message: `"mon */0 L foo 8": the minute cannot be "mon"` + fieldUse("0 to 59") +
				`; the hour cannot be "*/0"` + fieldUse("0 to 23") + `; the day of month cannot be "L"` + fieldUse("1 to 31") +
				`; the month cannot be "foo"` + fieldUse("1 to 12 or JAN to DEC") + `; the day of week cannot be "8"` + fieldUse("0 to 7 or SUN to SAT")}},
			keeps: withSchedule("0 */1 1 FEB 7", ""),
		},
		"never": {
			breaks: withSchedule("0 9 30 2 *", ""),
			want:   []finding{{Rule: "schedule", Path: path + ".cron", Message: `"0 9 30 2 *": there is no such day in any year, so it never fires: correct the day or the month`}},
			keeps:  withSchedule("0 9 29 2 *", ""),
		},
		"an unknown time zone": {
			breaks: withSchedule("0 9 * * *", "Europe/Bern"),
			want:   []finding{{Rule: "time_zone", Path: path + ".timeZone", Message: `"Europe/Bern" is not a name of the IANA time zone database: use one as in Europe/Berlin or Etc/UTC`}},
			keeps:  withSchedule("0 9 * * *", "Europe/Zurich"),
		},
		"the host's own time zone": {
			breaks: withSchedule("0 9 * * *", "Local"),
			want:   []finding{{Rule: "time_zone", Path: path + ".timeZone", Message: `"Local" is not a name of the IANA time zone database: use one as in Europe/Berlin or Etc/UTC`}},
			keeps:  withSchedule("0 9 * * *", "Etc/GMT-14"),
		},
	})
}

func TestTexts(t *testing.T) {
	runRuleTests(t, map[string]ruleTest{
		"P2 nothing but line breaks": {
			breaks: func(a *agent) {
				a.Instructions = "\r\n\n"
				a.Skills = []v1alpha1.Skill{{Name: "pay", Description: "\n", Body: "\r"}}
				tool := codeTool("sum")
				tool.Code.Source = "\n"
				a.Tools, a.Sandbox.Enabled = []v1alpha1.Tool{tool}, true
				a.Subagents = []v1alpha1.Subagent{{Name: "check", Description: "\n", Instructions: "\n"}}
			},
			want: func() []finding {
				var all []finding
				for _, path := range []string{
					"spec.instructions", "spec.skills[0].body", "spec.skills[0].description",
					"spec.subagents[0].description", "spec.subagents[0].instructions", "spec.tools[0].code.source",
				} {
					all = append(all, finding{Rule: "empty_text", Path: path, Message: "the text is empty once line breaks at its end are removed: write some"})
				}
				return all
			}(),
			keeps: func(a *agent) { a.Instructions = " \n" },
		},
	})
}

func TestFindingsAreBounded(t *testing.T) {
	spec := minimal(func(a *agent) { a.Instructions = strings.Repeat("[[skill:x]]\n", publish.MaxFindings+40) })
	_, findings := published(spec)
	if len(findings) != publish.MaxFindings {
		t.Fatalf("%d findings, want %d", len(findings), publish.MaxFindings)
	}
	want := finding{Rule: "more_findings", Path: "spec", Message: "41 more findings are not shown: correct these first"}
	if diff := cmp.Diff(want, findings[len(findings)-1]); diff != "" {
		t.Errorf("last finding (-want +got):\n%s", diff)
	}
}

func TestFindingsAreSorted(t *testing.T) {
	var tools []v1alpha1.Tool
	for range 12 {
		tool := httpTool("same", "POST")
		tool.Attempts = 2
		tools = append(tools, tool)
	}
	_, findings := published(minimal(func(a *agent) { a.Tools, a.Instructions = tools, "\n" }))
	var got []string
	for _, f := range findings {
		got = append(got, f.Path)
	}
	want := []string{"spec.instructions", "spec.tools[0].attempts"}
	for _, i := range []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"} {
		want = append(want, "spec.tools["+i+"].attempts", "spec.tools["+i+"].name")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
}
