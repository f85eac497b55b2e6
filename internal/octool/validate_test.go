// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func rulesOf(found []Finding) []string {
	var rules []string
	for _, finding := range found {
		rules = append(rules, finding.Rule)
	}
	return rules
}

// TestValidateTool holds for each rule what breaks it and what does not (J55 to
// J61). The rules on names can only be broken by a discovered tool.
func TestValidateTool(t *testing.T) {
	schema := func(text string) func(*DescribedTool) {
		return func(d *DescribedTool) { d.OutputSchema = json.RawMessage(text) }
	}
	described := func(text string) func(*DescribedTool) {
		return func(d *DescribedTool) { d.Description = text }
	}
	meta := func(key, value string) func(*DescribedTool) {
		return func(d *DescribedTool) { d.Described.Meta = map[string]json.RawMessage{key: json.RawMessage(value)} }
	}
	kind := func(kind ResultKind) func(*DescribedTool) {
		return func(d *DescribedTool) { d.Described.ResultKind = kind }
	}
	deprecated := func(d *DescribedTool) { d.Described.Deprecated = true }
	open := `{"type":"object","properties":{"id":{"type":"string"}},"required":["id"],"additionalProperties":true}`
	for name, test := range map[string]struct {
		change []func(*DescribedTool)
		want   []string
	}{
		"nothing": {nil, nil},

		"J56 upper case":                {[]func(*DescribedTool){func(d *DescribedTool) { d.Name = "listRows" }}, []string{RuleNamePattern}},
		"J56 a dot":                     {[]func(*DescribedTool){func(d *DescribedTool) { d.Name = "list.rows" }}, []string{RuleNamePattern}},
		"J56 49 of them":                {[]func(*DescribedTool){func(d *DescribedTool) { d.Name = strings.Repeat("a", 49) }}, []string{RuleNamePattern}},
		"J56 48 of them":                {[]func(*DescribedTool){func(d *DescribedTool) { d.Name = strings.Repeat("a", 48) }}, nil},
		"J57 none":                      {[]func(*DescribedTool){described("")}, []string{RuleDescriptionSentences}},
		"J57 one":                       {[]func(*DescribedTool){described("Lists rows.")}, []string{RuleDescriptionSentences}},
		"J57 two":                       {[]func(*DescribedTool){described("Lists rows. Returns them.")}, nil},
		"J57 four":                      {[]func(*DescribedTool){described("One. Two. Three. Four")}, nil},
		"J57 five":                      {[]func(*DescribedTool){described("One. Two. Three. Four. Five.")}, []string{RuleDescriptionSentences}},
		"J4 P30 abbreviated":            {[]func(*DescribedTool){described("Takes e.g. a, i.e. b, cf. c. Two. Three.")}, []string{RuleDescriptionSentences}},
		"P30 a point within a number":   {[]func(*DescribedTool){described("Version 1.2 of it. Two.")}, nil},
		"P30 empty pieces do not count": {[]func(*DescribedTool){described("Lists rows. . Returns them. ")}, nil},
		"P30 only a point and a space":  {[]func(*DescribedTool){described("Lists rows!\nReturns them.")}, []string{RuleDescriptionSentences}},

		"J58 an open input": {[]func(*DescribedTool){func(d *DescribedTool) {
			d.InputSchema = json.RawMessage(`{"type":"object","title":"T"}`)
		}}, []string{RuleAdditionalProperties, RuleKeyword}},
		"J58 no input": {[]func(*DescribedTool){func(d *DescribedTool) { d.InputSchema = nil }}, []string{RuleRootNotObject}},

		"J59 J41 none":             {[]func(*DescribedTool){func(d *DescribedTool) { d.OutputSchema = nil }}, []string{RuleOutputSchemaEscape}},
		"J59 J41 open":             {[]func(*DescribedTool){schema(open)}, []string{RuleOutputSchemaEscape}},
		"J41 not literally true":   {[]func(*DescribedTool){schema(`{"type":"object"}`)}, nil},
		"J41 another schema":       {[]func(*DescribedTool){schema(`{"type":"object","additionalProperties":{"type":"string"}}`)}, nil},
		"J41 open within":          {[]func(*DescribedTool){schema(`{"type":"object","properties":{"a":` + open + `}}`)}, nil},
		"J41 no JSON":              {[]func(*DescribedTool){schema(`{`)}, []string{RuleOutputSchemaEscape}},
		"J41 open, with a reason":  {[]func(*DescribedTool){schema(open), meta(MetaSchemaEscape, `"the caller picks the fields"`)}, nil},
		"J41 none, with a reason":  {[]func(*DescribedTool){func(d *DescribedTool) { d.OutputSchema = nil }, meta(MetaSchemaEscape, `"free SQL"`)}, nil},
		"J41 an empty reason":      {[]func(*DescribedTool){schema(open), meta(MetaSchemaEscape, `" "`)}, []string{RuleOutputSchemaEscape}},
		"J41 a reason that is not": {[]func(*DescribedTool){schema(open), meta(MetaSchemaEscape, `true`)}, []string{RuleOutputSchemaEscape}},
		"J43 no reason excuses an input": {[]func(*DescribedTool){meta(MetaSchemaEscape, `"free"`), func(d *DescribedTool) {
			d.InputSchema = json.RawMessage(`{"type":"object","additionalProperties":true}`)
		}}, []string{RuleAdditionalProperties}},

		"J60 an artifact without":    {[]func(*DescribedTool){kind(ResultArtifact)}, []string{RuleArtifactEnvelope}},
		"J60 an artifact":            {[]func(*DescribedTool){kind(ResultArtifact), schema(`{"type":"object","properties":{"artifact":{"type":"object"}}}`)}, nil},
		"J60 an artifact, no schema": {[]func(*DescribedTool){kind(ResultArtifact), func(d *DescribedTool) { d.OutputSchema = nil }, meta(MetaSchemaEscape, `"x"`)}, []string{RuleArtifactEnvelope}},
		"J60 required is not enough": {[]func(*DescribedTool){kind(ResultArtifact), schema(`{"type":"object","required":["artifact"]}`)}, []string{RuleArtifactEnvelope}},
		"J60 records need no such":   {[]func(*DescribedTool){kind(ResultRecords)}, nil},
		"J61 names no other":         {[]func(*DescribedTool){deprecated}, []string{RuleDeprecatedAlias}},
		"J61 names itself":           {[]func(*DescribedTool){deprecated, meta(MetaAliasOf, `"list_rows"`)}, []string{RuleDeprecatedAlias}},
		"J61 names a number":         {[]func(*DescribedTool){deprecated, meta(MetaAliasOf, `1`)}, []string{RuleDeprecatedAlias}},
		"J61 names nothing":          {[]func(*DescribedTool){deprecated, meta(MetaAliasOf, `""`)}, []string{RuleDeprecatedAlias}},
		"J61 names another":          {[]func(*DescribedTool){deprecated, meta(MetaAliasOf, `"get_rows"`)}, nil},
		"J14 what is not deprecated": {[]func(*DescribedTool){meta(MetaAliasOf, `"list_rows"`)}, nil},
		"J2 all of them, in an order": {[]func(*DescribedTool){func(d *DescribedTool) {
			*d = DescribedTool{Name: "Bad", Description: "Short", InputSchema: json.RawMessage(`{"type":"object"}`),
				Described: Described{ResultKind: ResultArtifact, Deprecated: true}}
		}}, []string{RuleNamePattern, RuleDescriptionSentences, RuleAdditionalProperties, RuleOutputSchemaEscape, RuleArtifactEnvelope, RuleDeprecatedAlias}},
	} {
		t.Run(name, func(t *testing.T) {
			d := definition()
			tool := DescribedTool{Name: d.Name, Description: d.Description, InputSchema: d.InputSchema, OutputSchema: d.OutputSchema}
			for _, change := range test.change {
				change(&tool)
			}
			found := ValidateDescribed(tool)
			if got := rulesOf(found); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			for _, finding := range found {
				if finding.Tool != tool.Name || finding.Message == "" {
					t.Errorf("want the tool and a message: %+v", finding)
				}
			}
		})
	}
}

// TestValidateToolAsksTheSame: a tool that New made is judged by the same rules.
func TestValidateToolAsksTheSame(t *testing.T) {
	if found := ValidateTool(makeTool(t)); found != nil {
		t.Errorf("a good tool: %+v", found)
	}
	bad := makeTool(t, aliasOf("list_rows"), func(d *Definition) {
		d.Description, d.OutputSchema, d.ResultKind = "One", nil, ResultArtifact
		d.InputSchema = json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","title":"A"}},"additionalProperties":false}`)
	})
	want := []Finding{
		{Rule: RuleDescriptionSentences, Tool: "list_rows"},
		{Rule: RuleOptionalField, Tool: "list_rows", Path: "/input_schema/properties/a"},
		{Rule: RuleKeyword, Tool: "list_rows", Path: "/input_schema/properties/a/title"},
		{Rule: RuleOutputSchemaEscape, Tool: "list_rows"},
		{Rule: RuleArtifactEnvelope, Tool: "list_rows"},
		{Rule: RuleDeprecatedAlias, Tool: "list_rows"},
	}
	found := ValidateTool(bad)
	for i := range found {
		found[i].Message = ""
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("J58: (-want +got):\n%s", diff)
	}
	if got := rulesOf(ValidateTool(nil)); !slices.Equal(got, []string{RuleNotOCTool}) {
		t.Errorf("nil: %q", got)
	}
	if got := rulesOf(ValidateTool(&Tool{})); !slices.Equal(got, []string{RuleNotOCTool}) {
		t.Errorf("the zero Tool: %q", got)
	}
}

// TestFindingsOfADescribedToolAreBounded: what a server sends cannot fill a status.
func TestFindingsOfADescribedToolAreBounded(t *testing.T) {
	many := `{"type":"object","additionalProperties":false,"anyOf":[` + strings.TrimSuffix(strings.Repeat(`{"type":"x"},`, 5000), ",") + `]}`
	d := definition()
	found := ValidateDescribed(DescribedTool{Name: d.Name, Description: d.Description, InputSchema: json.RawMessage(many), OutputSchema: d.OutputSchema})
	if len(found) != MaxFindings {
		t.Fatalf("%d findings", len(found))
	}
	if last := found[MaxFindings-1]; last.Rule != RuleMoreFindings || !strings.HasPrefix(last.Message, "4937 more") {
		t.Errorf("the last is %+v", last)
	}
	if exactly := upTo(3, make([]Finding, 3), 0); len(exactly) != 3 || exactly[2].Rule != "" {
		t.Errorf("as many as may be are cut: %+v", exactly)
	}
}

func TestValidateProvider(t *testing.T) {
	first, second := makeTool(t, named("get_rows")), makeTool(t, named("list_rows"))
	alias := func(name string, target any) *Tool { return makeTool(t, named(name), aliasOf(target)) }
	calls := 0
	alternating := ProviderFunc(func() []*Tool {
		if calls++; calls%2 == 0 {
			return []*Tool{second, first}
		}
		return []*Tool{first, second}
	})
	shrinking := ProviderFunc(func() []*Tool { calls++; return []*Tool{first, second}[:1+calls%2] })
	for name, test := range map[string]struct {
		provider Provider
		want     []string
	}{
		"none":                        {Tools(), nil},
		"J25 an order, unique names":  {Tools(first, second), nil},
		"J63 another order":           {alternating, []string{RuleUnstableOrder}},
		"J63 another number":          {shrinking, []string{RuleUnstableOrder}},
		"J64 a name twice":            {Tools(first, second, first), []string{"get_rows: " + RuleDuplicateName}},
		"J64 three times, found once": {Tools(first, first, first), []string{"get_rows: " + RuleDuplicateName}},
		"J65 nil":                     {Tools(first, nil), []string{RuleNotOCTool}},
		"J65 the zero Tool":           {Tools(&Tool{}, &Tool{}), []string{RuleNotOCTool, RuleNotOCTool}},
		"J28 two libraries":           {MergeProviders(Tools(first), Tools(second)), nil},
		"J28 with one name":           {MergeProviders(Tools(first), Tools(second, first)), []string{"get_rows: " + RuleDuplicateName}},
		"J62 the target is listed":    {Tools(alias("old", "get_rows"), first), nil},
		"J62 it is not":               {Tools(alias("old", "rows"), first), []string{"old: " + RuleAliasTargetMissing}},
		"J62 an alias of an alias":    {Tools(alias("oldest", "old"), alias("old", "get_rows"), first), nil},
		"J61 only, for itself":        {Tools(alias("old", "old")), []string{"old: " + RuleDeprecatedAlias}},
		"J61 only, for nothing":       {Tools(alias("old", 1)), []string{"old: " + RuleDeprecatedAlias}},
		"the listing first, then each tool": {Tools(makeTool(t, named("bad"), func(d *Definition) { d.Description = "One" }), first, first, nil),
			[]string{"get_rows: " + RuleDuplicateName, "bad: " + RuleDescriptionSentences, RuleNotOCTool}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, finding := range ValidateProvider(test.provider) {
				text := finding.Rule
				if finding.Tool != "" {
					text = fmt.Sprintf("%s: %s", finding.Tool, finding.Rule)
				}
				got = append(got, text)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
