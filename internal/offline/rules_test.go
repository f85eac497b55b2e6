// SPDX-License-Identifier: Apache-2.0

package offline_test

import (
	"slices"
	"strings"
	"testing"

	"remit.dev/remit/internal/offline"
)

// Every rule that is listed has an input that breaks it.
func TestEveryRuleCanBeBroken(t *testing.T) {
	tool := func(rest string) string { return valid + "  tools:\n  - {name: t, " + rest + "}\n" }
	http := func(rest string) string { return tool("kind: HTTP, http: {grant: g, " + rest + "}") }
	code := func(rest string) string { return tool("kind: Code, "+rest) + "  sandbox: {enabled: true}\n" }
	subagent := func(rest string) string {
		return valid + "  mcp: [{grant: g, tools: [a]}]\n  subagents: [{name: s, description: d, instructions: i, " + rest + "}]\n"
	}
	step := func(rest string) string { return valid + "  workflow: {steps: [{id: a, " + rest + "}]}\n" }
	inJSON := func(instructions string) string {
		return `{"apiVersion":"remit.dev/v1alpha1","kind":"Spec","metadata":{"name":"a"},"spec":{"instructions":"` + instructions +
			`","models":[{"grant":"g","model":"m"}]}}`
	}
	skills := valid + "  skills:\n"
	for i := range 32 {
		skills += "  - {name: s" + strings.Repeat("x", i) + ", description: d, body: " + strings.Repeat("x", 32768) + "}\n"
	}
	schema := func(property string) string {
		return http("method: GET, url: 'https://a/'}, inputSchema: {type: object, additionalProperties: false, required: [p], properties: {p: " + property + "}")
	}
	inputs := map[string]string{
		"additional_properties":   schema("{type: object}"),
		"description_sentences":   http("method: GET, url: 'https://a/'"),
		"enum_value":              schema("{enum: [[1]]}"),
		"format":                  schema("{type: string, format: regex}"),
		"keyword":                 schema("{type: string, maxLength: 1}"),
		"min_items":               schema("{type: array, minItems: 2}"),
		"optional_field":          http("method: GET, url: 'https://a/'}, inputSchema: {type: object, additionalProperties: false, properties: {p: {type: string}}"),
		"ref_in_all_of":           schema("{allOf: [{$ref: '#/$defs/a'}]}}, $defs: {a: {type: string}"),
		"ref_recursive":           schema("{$ref: '#/$defs/a'}}, $defs: {a: {anyOf: [{type: 'null'}, {$ref: '#/$defs/a'}]}"),
		"ref_target":              schema("{$ref: '#/properties/p/x', x: {type: string}}"),
		"type":                    schema("true"),
		"attempts_not_idempotent": http("method: POST, url: 'https://a/'}, attempts: 2, annotations: {title: x"),
		"code":                    code("code: {source: x}"),
		"code_parameters":         code("code: {source: 'def main(): return 1'}, inputSchema: {type: object, properties: {a: {}}}"),
		"dangling_skill_link":     strings.Replace(valid, "You help.", "'[[skill:x]]'", 1),
		"duplicate_key":           valid + "  instructions: x\n",
		"duplicate_name":          valid + "  builtins: [ask_user, ask_user]\n",
		"duplicate_object":        valid + "---\n" + strings.Replace(valid, "You help.", "You do.", 1),
		"empty_text":              strings.Replace(valid, "You help.", `"\n"`, 1),
		"http_body":               http("method: GET, url: 'https://a/', body: {}"),
		"http_header":             http("method: GET, url: 'https://a/', headers: {Host: x}"),
		"http_placeholder":        http("method: GET, url: 'https://a/{x}'"),
		"http_url":                http("method: GET, url: 'https://a/#x'"),
		"input_schema":            tool("kind: Function, function: {name: lookup_weather}, inputSchema: {}"),
		"invalid_utf8":            inJSON("\xff"),
		"key_not_text":            valid + "  yes: 1\n",
		"lone_surrogate":          inJSON(`\ud800`),
		"metadata":                strings.Replace(valid, "helpdesk", "Help_Desk", 1),
		"model_parameter":         valid + "    parameters: {temperature: 3}\n",
		"more_findings":           strings.Replace(valid, "You help.", "'"+strings.Repeat("[[skill:x]]\n\n    ", 300)+"'", 1),
		"not_canonical":           http("method: POST, url: 'https://a/', body: " + strings.Repeat("[", 64) + strings.Repeat("]", 64)),
		"number_rounded":          valid + "  limits: {steps: 1.00000000000000000001}\n",
		"reserved_name":           strings.Replace(tool("kind: Function, function: {name: lookup_weather}"), "name: t", "name: ask_user", 1),
		"sandbox_disabled":        valid + "  builtins: [run_code]\n",
		"schedule":                valid + "  schedules: [{name: a, cron: x}]\n",
		"schema":                  valid + "  limits: {steps: 0}\n",
		"subagent_grant":          subagent("mcp: [{grant: h}]"),
		"subagent_grant_tool":     subagent("mcp: [{grant: g, tools: [b]}]"),
		"subagent_mcp_tool":       subagent("tools: [g__a]"),
		"time_zone":               valid + "  schedules: [{name: a, cron: '0 9 * * *', timeZone: Local}]\n",
		"too_large":               skills,
		"unknown_field":           valid + "  instruction: x\n",
		"unknown_function":        tool("kind: Function, function: {name: x}"),
		"unknown_tag":             valid + "  mcp: [{grant: g, enable: ['@x']}]\n",
		"unknown_tool":            subagent("tools: [x]"),
		"workflow_arguments":      tool("kind: Function, function: {name: lookup_weather}, inputSchema: {type: object, required: [a]}") + "  workflow: {steps: [{id: a, tool: t}]}\n",
		"workflow_expression":     step("tool: t, argumentsExpression: steps.b.json"),
		"workflow_tool":           step("tool: t"),
	}
	for _, rule := range offline.Rules() {
		t.Run(rule.Name, func(t *testing.T) {
			input, ok := inputs[rule.Name]
			if !ok {
				t.Fatal("nothing is known to break it: give an input here, or take the rule off the list")
			}
			delete(inputs, rule.Name)
			found := slices.ContainsFunc(check(t, input), func(o offline.Object) bool {
				return slices.ContainsFunc(o.Findings, func(f offline.Finding) bool { return f.Rule == rule.Name })
			})
			if !found {
				t.Errorf("not found: %v", lines(check(t, input)))
			}
			if rule.Summary == "" || rule.Help == "" {
				t.Errorf("not explained: %+v", rule)
			}
		})
	}
	for name := range inputs {
		t.Errorf("%s is not on the list", name)
	}
}
