// SPDX-License-Identifier: Apache-2.0

package offline_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit.dev/remit/internal/offline"
)

func TestReports(t *testing.T) {
	broken := valid + "  builtins: [run_code]\n"
	report := &offline.Report{Objects: append(check(t, broken), check(t, valid)...)}
	report.Errors = []*offline.ReadError{{Source: "b.yaml", Line: 3, Err: errors.New("no YAML")}}
	report.Notices = []offline.Notice{{Source: "c.yaml", Message: "left out"}}
	report.Objects = append(report.Objects, check(t, valid+"  limits: {steps: many}\n")[0])
	hash := report.Objects[1].Hash
	const wrongType = `Invalid value: "string": spec.limits.steps in body must be of type integer: "string"`
	const incomplete = "some rules were not checked because of the findings: correct them, and check again"
	const message = `builtin "run_code" needs the sandbox: set spec.sandbox.enabled to true, or remove it`

	t.Run("text", func(t *testing.T) {
		var text bytes.Buffer
		if err := report.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		want := "agents.yaml:11:14: Spec support/helpdesk: spec.builtins[0]: " + message + " (sandbox_disabled)\n" +
			"agents.yaml:11:12: Spec support/helpdesk: spec.limits.steps: " + wrongType + " (schema)\n" +
			"agents.yaml:1:1: Spec support/helpdesk: " + incomplete + "\n" +
			"3 objects checked, 2 findings in 2 of them\n"
		if diff := cmp.Diff(want, text.String()); diff != "" {
			t.Errorf("text (-want +got):\n%s", diff)
		}
	})
	t.Run("JSON", func(t *testing.T) {
		var text bytes.Buffer
		if err := report.WriteJSON(&text); err != nil {
			t.Fatal(err)
		}
		object := func(more map[string]any) map[string]any {
			all := map[string]any{"source": "agents.yaml", "line": 1.0, "kind": "Spec", "namespace": "support", "name": "helpdesk", "findings": []any{}}
			maps.Copy(all, more)
			return all
		}
		want := map[string]any{"objects": []any{
			object(map[string]any{"findings": []any{map[string]any{
				"rule": "sandbox_disabled", "path": "spec.builtins[0]", "message": message, "line": 11.0, "column": 14.0,
			}}}),
			object(map[string]any{"hash": string(hash), "version": "v-" + string(hash)[7:27]}),
			object(map[string]any{"incomplete": true, "findings": []any{map[string]any{
				"rule": "schema", "path": "spec.limits.steps", "message": wrongType, "line": 11.0, "column": 12.0,
			}}}),
		}, "errors": []any{map[string]any{"source": "b.yaml", "line": 3.0, "message": "no YAML"}},
			"notices": []any{map[string]any{"source": "c.yaml", "message": "left out"}}}
		if diff := cmp.Diff(want, decodeJSON(t, text.Bytes())); diff != "" {
			t.Errorf("JSON (-want +got):\n%s", diff)
		}
	})
	t.Run("SARIF", func(t *testing.T) {
		var text bytes.Buffer
		if err := report.WriteSARIF(&text, "/src/agents"); err != nil {
			t.Fatal(err)
		}
		log := decodeJSON(t, text.Bytes())
		run := log["runs"].([]any)[0].(map[string]any)
		rules := run["tool"].(map[string]any)["driver"].(map[string]any)["rules"].([]any)
		result := run["results"].([]any)[0].(map[string]any)
		if rule := rules[int(result["ruleIndex"].(float64))].(map[string]any)["id"]; rule != "sandbox_disabled" {
			t.Errorf("ruleIndex is that of %v", rule)
		}
		delete(result, "ruleIndex")
		want := map[string]any{
			"ruleId": "sandbox_disabled", "level": "error",
			"message": map[string]any{"text": "Spec support/helpdesk: spec.builtins[0]: " + message},
			"locations": []any{map[string]any{
				"physicalLocation": map[string]any{
					"artifactLocation": map[string]any{"uri": "agents.yaml", "uriBaseId": "%SRCROOT%"},
					"region":           map[string]any{"startLine": 11.0, "startColumn": 14.0},
				},
				"logicalLocations": []any{map[string]any{"fullyQualifiedName": "spec.builtins[0]"}},
			}},
		}
		if diff := cmp.Diff(want, result); diff != "" {
			t.Errorf("result (-want +got):\n%s", diff)
		}
		if log["version"] != "2.1.0" || len(run["results"].([]any)) != 2 {
			t.Errorf("version %v, %d results", log["version"], len(run["results"].([]any)))
		}
		notification := func(level, message, uri string, region any) any {
			place := map[string]any{"artifactLocation": map[string]any{"uri": uri, "uriBaseId": "%SRCROOT%"}}
			if region != nil {
				place["region"] = region
			}
			return map[string]any{"level": level, "message": map[string]any{"text": message}, "locations": []any{map[string]any{"physicalLocation": place}}}
		}
		invocations := []any{map[string]any{"executionSuccessful": false, "toolExecutionNotifications": []any{
			notification("error", "no YAML", "b.yaml", map[string]any{"startLine": 3.0}),
			notification("warning", "Spec support/helpdesk: "+incomplete, "agents.yaml", map[string]any{"startLine": 1.0}),
			notification("note", "left out", "c.yaml", nil),
		}}}
		if diff := cmp.Diff(invocations, run["invocations"]); diff != "" {
			t.Errorf("invocations (-want +got):\n%s", diff)
		}
		for _, rule := range rules {
			rule := rule.(map[string]any)
			for _, field := range []string{"shortDescription", "fullDescription", "help"} {
				if text, _ := rule[field].(map[string]any)["text"].(string); text == "" {
					t.Errorf("%s has no %s", rule["id"], field)
				}
			}
		}
	})
}

// Code review tools take an empty list for "clean" and a missing one for an error.
func TestReportOfNothing(t *testing.T) {
	var sarif, plain bytes.Buffer
	if err := (&offline.Report{}).WriteSARIF(&sarif, "/"); err != nil {
		t.Fatal(err)
	}
	if err := (&offline.Report{}).WriteJSON(&plain); err != nil {
		t.Fatal(err)
	}
	run := decodeJSON(t, sarif.Bytes())["runs"].([]any)[0].(map[string]any)
	if results, ok := run["results"].([]any); !ok || len(results) != 0 {
		t.Errorf("results: %v", run["results"])
	}
	want := []any{map[string]any{"executionSuccessful": true, "toolExecutionNotifications": []any{}}}
	if diff := cmp.Diff(want, run["invocations"]); diff != "" {
		t.Errorf("invocations (-want +got):\n%s", diff)
	}
	nothing := map[string]any{"objects": []any{}, "errors": []any{}, "notices": []any{}}
	if diff := cmp.Diff(nothing, decodeJSON(t, plain.Bytes())); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
}

func TestFilesInSARIF(t *testing.T) {
	const below = `","uriBaseId":"%SRCROOT%"`
	for source, want := range map[string]string{
		"./a b/c.yaml": "a%20b/c.yaml" + below, "a:b.yaml": "./a:b.yaml" + below, "/src/agents/d/e.yaml": "d/e.yaml" + below, "..a.yaml": "..a.yaml" + below,
		"/a/b.yaml": `file:///a/b.yaml"`, "../x/f.yaml": `file:///src/x/f.yaml"`, "/src/agents-2/g.yaml": `file:///src/agents-2/g.yaml"`,
		"stdin": `stdin"`,
	} {
		report := &offline.Report{Objects: []offline.Object{{Source: source, Findings: []offline.Finding{{Line: 1, Column: 1}}}}}
		var text bytes.Buffer
		if err := report.WriteSARIF(&text, "/src/agents"); err != nil {
			t.Fatal(err)
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, text.Bytes()); err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(compact.Bytes(), []byte(`"artifactLocation":{"uri":"`+want+`}`)) {
			t.Errorf("%s is not %s in %s", source, want, compact.Bytes())
		}
	}
}

func decodeJSON(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var value map[string]any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	return value
}
