// SPDX-License-Identifier: Apache-2.0

package offline_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit.dev/remit/internal/offline"
)

func TestReports(t *testing.T) {
	broken := valid + "  builtins: [run_code]\n"
	report := &offline.Report{Objects: append(check(t, broken), check(t, valid)...)}
	hash := report.Objects[1].Hash
	const message = `builtin "run_code" needs the sandbox: set spec.sandbox.enabled to true, or remove it`

	t.Run("text", func(t *testing.T) {
		var text bytes.Buffer
		if err := report.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		want := "agents.yaml:11:14: Spec support/helpdesk: spec.builtins[0]: " + message + " (sandbox_disabled)\n" +
			"2 objects checked, 1 finding in 1 of them\n"
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
		}}
		if diff := cmp.Diff(want, decodeJSON(t, text.Bytes())); diff != "" {
			t.Errorf("JSON (-want +got):\n%s", diff)
		}
	})
	t.Run("SARIF", func(t *testing.T) {
		var text bytes.Buffer
		if err := report.WriteSARIF(&text); err != nil {
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
					"artifactLocation": map[string]any{"uri": "agents.yaml"},
					"region":           map[string]any{"startLine": 11.0, "startColumn": 14.0},
				},
				"logicalLocations": []any{map[string]any{"fullyQualifiedName": "spec.builtins[0]"}},
			}},
		}
		if diff := cmp.Diff(want, result); diff != "" {
			t.Errorf("result (-want +got):\n%s", diff)
		}
		if log["version"] != "2.1.0" || len(run["results"].([]any)) != 1 {
			t.Errorf("version %v, %d results", log["version"], len(run["results"].([]any)))
		}
	})
}

// Code review tools take an empty list for "clean" and a missing one for an error.
func TestReportOfNothing(t *testing.T) {
	var sarif, plain bytes.Buffer
	if err := (&offline.Report{}).WriteSARIF(&sarif); err != nil {
		t.Fatal(err)
	}
	if err := (&offline.Report{}).WriteJSON(&plain); err != nil {
		t.Fatal(err)
	}
	run := decodeJSON(t, sarif.Bytes())["runs"].([]any)[0].(map[string]any)
	if results, ok := run["results"].([]any); !ok || len(results) != 0 {
		t.Errorf("results: %v", run["results"])
	}
	if objects, ok := decodeJSON(t, plain.Bytes())["objects"].([]any); !ok || len(objects) != 0 {
		t.Errorf("objects: %s", plain.Bytes())
	}
}

func TestFilesInSARIF(t *testing.T) {
	for source, want := range map[string]string{
		"./a b/c.yaml": "a%20b/c.yaml", "/a/b.yaml": "file:///a/b.yaml", "stdin": "stdin",
	} {
		report := &offline.Report{Objects: []offline.Object{{Source: source, Findings: []offline.Finding{{Line: 1, Column: 1}}}}}
		var text bytes.Buffer
		if err := report.WriteSARIF(&text); err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(text.Bytes(), []byte(`"uri": "`+want+`"`)) {
			t.Errorf("%s is not %s in %s", source, want, text.Bytes())
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
