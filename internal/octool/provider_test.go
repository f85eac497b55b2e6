// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func names(provider Provider) []string {
	var names []string
	for _, tool := range provider.AllTools() {
		names = append(names, tool.Name())
	}
	return names
}

func TestMergeAndFind(t *testing.T) {
	first, second := makeTool(t, named("a")), makeTool(t, named("b"))
	merged := MergeProviders(Tools(second, first), Tools(), Tools(first))
	if diff := cmp.Diff([]string{"b", "a", "a"}, names(merged)); diff != "" {
		t.Errorf("J28: (-want +got):\n%s", diff)
	}
	if got, ok := Find(merged, "a"); !ok || got != first {
		t.Errorf("J23: found %v", got)
	}
	if _, ok := Find(Tools(nil, &Tool{}), ""); ok {
		t.Error("J23: found what is no tool")
	}
}

// TestSelectTools (J29 to J31).
func TestSelectTools(t *testing.T) {
	tool := func(name string, tags ...string) *Tool { return makeTool(t, named(name, tags...)) }
	alias := func(name, target string, tags ...string) *Tool {
		return makeTool(t, named(name, tags...), aliasOf(target))
	}
	all := Tools(
		tool("rows", TagRecommended), tool("plan", TagAdvanced, "network"), tool("bare"), tool("strange", "unheard_of"),
		alias("old_rows", "rows", TagRecommended),
		alias("old_plan", "plan", TagRecommended),
		alias("older_plan", "old_plan", TagRecommended),
		alias("oldest_plan", "older_plan", TagRecommended, TagAdvanced),
		makeTool(t, named("kept", TagRecommended), func(d *Definition) { d.Meta = map[string]any{MetaAliasOf: "plan"} }),
		makeTool(t, named("aimless", TagRecommended), aliasOf(nil)),
	)
	for name, test := range map[string]struct {
		provider Provider
		tags     []string
		want     []string
	}{
		"J30 no tag":           {all, nil, nil},
		"J30 one":              {all, []string{"network"}, []string{"plan"}},
		"J30 any of two":       {all, []string{TagAdvanced, "unheard_of"}, []string{"plan", "strange"}},
		"J31 dangling aliases": {all, []string{TagRecommended}, []string{"rows", "old_rows", "kept", "aimless"}},
		"J31 targets are in":   {all, []string{TagRecommended, TagAdvanced}, []string{"rows", "plan", "old_rows", "old_plan", "older_plan", "oldest_plan", "kept", "aimless"}},
		"J30 a tag of each":    {SelectTools(all, TagAdvanced), []string{"network"}, []string{"plan"}},
		"J65 what is no tool":  {Tools(nil, &Tool{}), []string{""}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, names(SelectTools(test.provider, test.tags...))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestTagsThatAreNotKnown (J16, J29, J32, J66).
func TestTagsThatAreNotKnown(t *testing.T) {
	provider := Tools(makeTool(t, named("a", TagRecommended, TagAdvanced)), makeTool(t, named("b", "network", "odd")), nil, makeTool(t, named("c", "odd")))
	tagged := func(found []Finding) (got []string) {
		for _, finding := range found {
			tag := strings.Split(finding.Message, `"`)[1]
			got = append(got, finding.Rule+" "+finding.Tool+" "+tag)
		}
		return got
	}
	if diff := cmp.Diff([]string{"unknown_tag b network", "unknown_tag b odd", "unknown_tag c odd"}, tagged(ValidateTags(provider))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"unknown_tag b odd", "unknown_tag c odd"}, tagged(ValidateTags(provider, "network"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if found := ValidateTags(provider, "network", "odd"); found != nil {
		t.Errorf("got %+v", found)
	}
	if rules := rulesOf(ValidateProvider(provider)); slices.Contains(rules, RuleUnknownTag) {
		t.Error("J66: ValidateProvider asks for tags")
	}
	for tags, want := range map[string]bool{"": false, "odd": false, "odd recommended": true, TagAdvanced: false} {
		if got := LoadedByDefault(strings.Fields(tags)); got != want {
			t.Errorf("J29: %q is loaded by default: %t", tags, got)
		}
	}
}

func TestPrefixTools(t *testing.T) {
	rows := makeTool(t, named("rows"), func(d *Definition) {
		d.Description = "Lists rows, as list_rows did: `rows` of (get_row). Not arrows, rows2, rows_all, größerows or rows’."
		d.InputSchema = json.RawMessage(`{"type":"object","properties":{
			"description":{"type":"string","description":"From get_row."},
			"b":{"anyOf":[{"type":"object","properties":{"rows":{"type":"string","description":"rows"}},"required":["rows"],"additionalProperties":false}],
				"default":{"description":"rows"},"enum":["rows"]}},
			"required":["description","b"],"additionalProperties":false,"$defs":{"rows":{"type":"array","items":{"type":"string","description":"of rows"}}}}`)
	})
	row := makeTool(t, named("get_row"))
	former, err := Alias(rows, "list_rows")
	if err != nil {
		t.Fatal(err)
	}
	foreign := makeTool(t, named("other"), aliasOf("elsewhere"))
	prefixed, err := PrefixTools([]*Tool{rows, row, former, foreign}, "demo")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"demo_rows", "demo_get_row", "demo_list_rows", "demo_other"}, names(Tools(prefixed...))); diff != "" {
		t.Errorf("J34: (-want +got):\n%s", diff)
	}
	want := "Lists demo_rows, as demo_list_rows did: `demo_rows` of (demo_get_row). Not arrows, rows2, rows_all, größerows or demo_rows’."
	if diff := cmp.Diff(want, prefixed[0].Description()); diff != "" {
		t.Errorf("J35: (-want +got):\n%s", diff)
	}
	wantSchema := strings.NewReplacer("From get_row", "From demo_get_row", `"description":"rows"},"required"`, `"description":"demo_rows"},"required"`,
		`"description":"rows"}},"required":["rows"]`, `"description":"demo_rows"}},"required":["rows"]`, "of rows", "of demo_rows").
		Replace(string(rows.InputSchema()))
	if diff := cmp.Diff(compacted(t, wantSchema), compacted(t, string(prefixed[0].InputSchema()))); diff != "" {
		t.Errorf("J35: (-want +got):\n%s", diff)
	}
	if got := prefixed[2].AliasOf(); got != "demo_rows" {
		t.Errorf("J35: the alias is of %s", got)
	}
	if got := prefixed[3].AliasOf(); got != "elsewhere" {
		t.Errorf("an alias of no sibling became one of %s", got)
	}
	if string(prefixed[1].InputSchema()) != string(row.InputSchema()) {
		t.Error("a schema that names no sibling was changed")
	}
	if rows.Name() != "rows" || former.AliasOf() != "rows" {
		t.Error("J1: the tools themselves were changed")
	}
	if found := ValidateNamespace(Tools(prefixed...), "demo"); found != nil {
		t.Errorf("got %+v", found)
	}
}

func TestPrefixToolsRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		tools     []*Tool
		namespace string
		path      string
	}{
		"J34 none":        {nil, "", "namespace"},
		"J34 upper case":  {nil, "Demo", "namespace"},
		"J34 too long":    {nil, "a" + strings.Repeat("b", 16), "namespace"},
		"J34 underscores": {nil, "my_demo", "namespace"},
		"J3 too long":     {[]*Tool{makeTool(t, named(strings.Repeat("a", 44)))}, "demo", "name"},
		"J65 nil":         {[]*Tool{nil}, "demo", "tools"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := PrefixTools(test.tools, test.namespace)
			if refused, ok := errors.AsType[*Error](err); !ok || refused.Path != test.path {
				t.Errorf("got %v, want an *Error at %s", err, test.path)
			}
		})
	}
	if _, err := PrefixTools([]*Tool{makeTool(t, named(strings.Repeat("a", 43)))}, "demo"); err != nil {
		t.Errorf("J3: 48 characters with the namespace: %v", err)
	}
}

// TestValidateNamespace (J36, J66).
func TestValidateNamespace(t *testing.T) {
	for name, test := range map[string]struct {
		tools     []string
		namespace string
		want      string
		says      string
	}{
		"within":                 {[]string{"demo_rows", "demo_get_rows_2"}, "demo", "", ""},
		"no namespace":           {[]string{"rows"}, "", RuleNamespaceMissing, ""},
		"upper case":             {[]string{"rows"}, "Demo", RuleNamespacePattern, `"Demo"`},
		"17 characters":          {[]string{"rows"}, "abcdefghijklmnopq", RuleNamespacePattern, "abcdefghijklmnopq"},
		"16 characters":          {[]string{"abcdefghijklmnop_x"}, "abcdefghijklmnop", "", ""},
		"an underscore":          {[]string{"my_demo_rows"}, "my_demo", RuleNamespacePattern, `"my_demo"`},
		"a line after it":        {[]string{"demo_rows"}, "demo\n", RuleNamespacePattern, ""},
		"outside":                {[]string{"rows"}, "demo", RuleNameOutsideNamespace, `"rows"`},
		"another one":            {[]string{"demon_rows"}, "demo", RuleNameOutsideNamespace, `"demon_rows"`},
		"nothing after it":       {[]string{"demo_"}, "demo", RuleNameOutsideNamespace, `nothing follows "demo_"`},
		"two underscores":        {[]string{"demo__rows"}, "demo", RuleNameOutsideNamespace, `goes on with "_"`},
		"a digit after it":       {[]string{"demo_1rows"}, "demo", RuleNameOutsideNamespace, `goes on with "1"`},
		"no underscore after it": {[]string{"demorows"}, "demo", RuleNameOutsideNamespace, `must begin with "demo_"`},
	} {
		t.Run(name, func(t *testing.T) {
			var tools []*Tool
			for _, name := range test.tools {
				tools = append(tools, makeTool(t, named(name)))
			}
			found := ValidateNamespace(Tools(append(tools, nil)...), test.namespace)
			if test.want == "" {
				if found != nil {
					t.Fatalf("got %+v", found)
				}
				return
			}
			if len(found) != 1 || found[0].Rule != test.want || !strings.Contains(found[0].Message, test.says) {
				t.Fatalf("got %+v, want %s that says %s", found, test.want, test.says)
			}
		})
	}
}

// TestAlias (J14, J38).
func TestAlias(t *testing.T) {
	called := errors.New("called")
	tool := makeTool(t, func(d *Definition) {
		d.Func = func(context.Context, any, json.RawMessage) (json.RawMessage, error) { return nil, called }
		d.Meta, d.OutputSchema = map[string]any{MetaSchemaEscape: "free SQL"}, nil
	})
	alias, err := Alias(tool, "rows_of_old")
	if err != nil {
		t.Fatal(err)
	}
	if alias.Name() != "rows_of_old" || !alias.Deprecated() || alias.AliasOf() != "list_rows" || tool.Deprecated() {
		t.Errorf("got %+v", ToMCPTool(alias))
	}
	if _, err := alias.Call(t.Context(), nil, nil); !errors.Is(err, called) {
		t.Error("the alias has another function")
	}
	if found := ValidateProvider(Tools(tool, alias)); found != nil {
		t.Errorf("got %+v", found)
	}
	if _, err := Alias(tool, "Rows"); err == nil {
		t.Error("an alias that is no name")
	}
	if _, err := Alias(nil, "rows"); err == nil {
		t.Error("an alias of nothing")
	}
}

// TestSelectedAndPrefixedToolsAreValid (J31, J35): selecting and prefixing keep a
// good provider good.
func TestSelectedAndPrefixedToolsAreValid(t *testing.T) {
	good := makeTool(t)
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(0, 8).Draw(t, "count")
		tags := rapid.SliceOfN(rapid.SampledFrom([]string{TagRecommended, TagAdvanced, "network"}), 0, 3)
		var tools []*Tool
		for i := range count {
			d := good.Definition()
			d.Name = fmt.Sprintf("tool_%d", i)
			d.Tags = tags.Draw(t, "tags")
			d.Description = fmt.Sprintf("Like tool_%d. Or not.", rapid.IntRange(0, 8).Draw(t, "sibling"))
			if target := rapid.IntRange(0, 8).Draw(t, "target"); target < count && target != i {
				d.Deprecated, d.Meta = true, map[string]any{MetaAliasOf: fmt.Sprintf("tool_%d", target)}
			}
			tool, err := New(d)
			if err != nil {
				t.Fatal(err)
			}
			tools = append(tools, tool)
		}
		provider := Tools(tools...)
		if found := ValidateProvider(provider); found != nil {
			t.Fatalf("all: %+v", found)
		}
		selected := SelectTools(provider, tags.Draw(t, "selected")...)
		if found := ValidateProvider(selected); found != nil {
			t.Fatalf("selected: %+v", found)
		}
		prefixed, err := PrefixTools(selected.AllTools(), "demo")
		if err != nil {
			t.Fatal(err)
		}
		if found := append(ValidateProvider(Tools(prefixed...)), ValidateNamespace(Tools(prefixed...), "demo")...); found != nil {
			t.Fatalf("prefixed: %+v", found)
		}
	})
}
