// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	noArguments = `{"type":"object","properties":{},"additionalProperties":false}`
	someResult  = `{"type":"object","properties":{"version":{"type":"string"}},"required":["version"],"additionalProperties":false}`
)

func echo(_ context.Context, _ any, arguments json.RawMessage) (json.RawMessage, error) {
	return arguments, nil
}

// definition is of a tool that breaks no rule.
func definition() Definition {
	return Definition{
		Name:         "list_rows",
		Description:  "Lists the rows of a table. It returns them in the order of their keys.",
		InputSchema:  json.RawMessage(noArguments),
		OutputSchema: json.RawMessage(someResult),
		Func:         echo,
		Access:       AccessLocal,
		Tags:         []string{TagRecommended},
	}
}

// makeTool makes a tool of the definition as it is changed.
func makeTool(t testing.TB, change ...func(*Definition)) *Tool {
	t.Helper()
	d := definition()
	for _, c := range change {
		c(&d)
	}
	tool, err := New(d)
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

func named(name string, tags ...string) func(*Definition) {
	return func(d *Definition) { d.Name, d.Tags = name, tags }
}

func aliasOf(target any) func(*Definition) {
	return func(d *Definition) { d.Deprecated, d.Meta = true, map[string]any{MetaAliasOf: target} }
}

// TestNewHoldsToStructure: the first field that breaks a rule is the error (J2 to
// J10, J22).
func TestNewHoldsToStructure(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Definition)
		path   string
	}{
		"J3 as long as it may be": {named("a" + strings.Repeat("b", 47)), ""},
		"J3 one longer":           {named("a" + strings.Repeat("b", 48)), "name"},
		"J3 none":                 {named(""), "name"},
		"J3 upper case":           {named("List"), "name"},
		"J3 a hyphen":             {named("list-rows"), "name"},
		"J3 a digit first":        {named("1st"), "name"},
		"J3 an underscore first":  {named("_rows"), "name"},
		"J3 a line after it":      {named("rows\n"), "name"},
		"J3 digits within":        {named("rows_2"), ""},
		"J4 none":                 {func(d *Definition) { d.Description = "" }, "description"},
		"J4 blank":                {func(d *Definition) { d.Description = " \n" }, "description"},
		"J5 none":                 {func(d *Definition) { d.InputSchema = nil }, "input_schema"},
		"J5 no JSON":              {func(d *Definition) { d.InputSchema = json.RawMessage(`{`) }, "input_schema"},
		"J5 no object":            {func(d *Definition) { d.InputSchema = json.RawMessage(`[]`) }, "input_schema"},
		"J5 of another type":      {func(d *Definition) { d.InputSchema = json.RawMessage(`{"type":"array"}`) }, "input_schema"},
		"J5 strict or not":        {func(d *Definition) { d.InputSchema = json.RawMessage(`{"type":"object"}`) }, ""},
		"J6 none":                 {func(d *Definition) { d.Func = nil }, "func"},
		"J7 none":                 {func(d *Definition) { d.Access = "" }, "access"},
		"J7 remote":               {func(d *Definition) { d.Access = AccessRemote }, ""},
		"J7 unknown":              {func(d *Definition) { d.Access = "cluster" }, "access"},
		"J8 blank":                {func(d *Definition) { d.Target = " " }, "target"},
		"J9 none":                 {func(d *Definition) { d.OutputSchema = nil }, ""},
		"J9 of another type":      {func(d *Definition) { d.OutputSchema = json.RawMessage(`{"type":"string"}`) }, "output_schema"},
		"J10 an artifact":         {func(d *Definition) { d.ResultKind = ResultArtifact }, ""},
		"J10 there is no tabular": {func(d *Definition) { d.ResultKind = "tabular" }, "result_kind"},
		"J11 blank":               {func(d *Definition) { d.Title = "\t" }, "title"},
		"J15 no JSON":             {func(d *Definition) { d.Meta = map[string]any{"f": func() {}} }, "meta"},
		"J16 blank":               {func(d *Definition) { d.Tags = []string{"x", ""} }, "tags"},
		"J2 the first of several": {func(d *Definition) { d.Access, d.Func, d.Name = "", nil, "" }, "name"},
	} {
		t.Run(name, func(t *testing.T) {
			d := definition()
			test.change(&d)
			tool, err := New(d)
			if test.path == "" {
				if err != nil || tool == nil {
					t.Fatalf("got %v", err)
				}
				return
			}
			if broken, ok := errors.AsType[*Error](err); !ok || broken.Path != test.path || tool != nil {
				t.Fatalf("got %v, want an *Error at %s", err, test.path)
			}
		})
	}
}

// TestDefaults (J8 to J16).
func TestDefaults(t *testing.T) {
	tool := makeTool(t, func(d *Definition) { d.Tags, d.OutputSchema = nil, nil })
	type defaults struct {
		Title, Target                                 string
		Kind                                          ResultKind
		ReadOnly, Destructive, Idempotent, Deprecated bool
		Output, Alias                                 string
		Meta, Tags                                    int
	}
	got := defaults{tool.Title(), tool.Target(), tool.ResultKind(), tool.ReadOnlyHint(), tool.DestructiveHint(), tool.IdempotentHint(),
		tool.Deprecated(), string(tool.OutputSchema()), tool.AliasOf(), len(tool.Meta()), len(tool.Tags())}
	want := defaults{Kind: ResultRecords, ReadOnly: true, Idempotent: true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	no, yes := false, true
	said := makeTool(t, func(d *Definition) { d.ReadOnlyHint, d.DestructiveHint, d.IdempotentHint = &no, &yes, &no })
	if said.ReadOnlyHint() || !said.DestructiveHint() || said.IdempotentHint() {
		t.Error("J12 J13: hints that were given are not kept")
	}
}

// TestToolsNeverChange (J1): neither what they were made of nor what they give out
// is a way into them.
func TestToolsNeverChange(t *testing.T) {
	d := definition()
	readOnly := true
	nested := map[string]any{"k": "v"}
	d.Meta, d.ReadOnlyHint = map[string]any{"facts": nested}, &readOnly
	tool, err := New(d)
	if err != nil {
		t.Fatal(err)
	}
	before := ToMCPTool(tool)

	d.InputSchema[2], d.OutputSchema[2], d.Tags[0], readOnly, nested["k"] = 'X', 'X', "x", false, "x"
	tool.InputSchema()[2], tool.OutputSchema()[2], tool.Tags()[0] = 'X', 'X', "x"
	meta := tool.Meta()
	meta["facts"][1] = 'X'
	maps.Copy(meta, map[string]json.RawMessage{"more": nil})
	given := tool.Definition()
	given.InputSchema[2], given.Tags[0], *given.ReadOnlyHint = 'X', "x", false

	if diff := cmp.Diff(before, ToMCPTool(tool)); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}

// TestDefinitionMakesTheSameTool: what a tool says of itself makes it again.
func TestDefinitionMakesTheSameTool(t *testing.T) {
	tool := makeTool(t, func(d *Definition) {
		no := false
		d.Title, d.Target, d.ReadOnlyHint, d.ResultKind = "Rows", "cluster", &no, ResultArtifact
		d.Meta = map[string]any{MetaMinAPIVersion: "2.1", "big": json.Number("12345678901234567890")}
	})
	again, err := New(tool.Definition())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(ToMCPTool(tool), ToMCPTool(again)); diff != "" {
		t.Errorf("(-tool +again):\n%s", diff)
	}
	if got := string(again.Meta()["big"]); got != "12345678901234567890" {
		t.Errorf("a number became %s", got)
	}
}

// TestCall (J18 to J23).
func TestCall(t *testing.T) {
	passed := errors.New("the library's own")
	returning := func(result string, err error) func(*Definition) {
		return func(d *Definition) {
			d.Func = func(context.Context, any, json.RawMessage) (json.RawMessage, error) {
				return json.RawMessage(result), err
			}
		}
	}
	for name, test := range map[string]struct {
		tool      *Tool
		arguments string
		want      string
		says      string
	}{
		"J23 an object":               {makeTool(t), `{"a":9007199254740993}`, `{"a":9007199254740993}`, ""},
		"J23 no arguments":            {makeTool(t), ``, `{}`, ""},
		"J20 no object":               {makeTool(t), `[]`, "", "must be a JSON object"},
		"J20 null":                    {makeTool(t), `null`, "", "must be a JSON object"},
		"J20 no JSON":                 {makeTool(t), `{`, "", "must be a JSON object"},
		"J6 a result that is a list":  {makeTool(t, returning(`[]`, nil)), `{}`, "", `result: tool "list_rows"`},
		"J6 a result that is nothing": {makeTool(t, returning(``, nil)), `{}`, "", "result"},
		"J19 an error of the library": {makeTool(t, returning(``, passed)), `{}`, "", passed.Error()},
		"J2 a tool that nobody made":  {&Tool{}, `{}`, "", "not made by New"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := test.tool.Call(t.Context(), nil, json.RawMessage(test.arguments))
			if test.says != "" {
				if err == nil || !strings.Contains(err.Error(), test.says) {
					t.Fatalf("got %v, want an error that says %q", err, test.says)
				}
				return
			}
			if err != nil || string(got) != test.want {
				t.Fatalf("got %s and %v, want %s", got, err, test.want)
			}
		})
	}
	_, err := makeTool(t).Call(t.Context(), nil, json.RawMessage(`[]`))
	if _, ok := errors.AsType[*ArgumentError](err); !ok {
		t.Errorf("J20: arguments that are no object give a %T", err)
	}
}

type rowsInput struct {
	Table  string   `json:"table" jsonschema:"Name of the table."`
	Cursor *string  `json:"cursor,omitempty" jsonschema:"Where the last page ended."`
	Limit  int64    `json:"limit,omitempty" jsonschema:"Rows of a page, from 1 to 100."`
	Order  string   `json:"order" enum:"up,down"`
	Keys   []string `json:"keys,omitempty"`
}

type rowsOutput struct {
	Table string `json:"table"`
	Limit int64  `json:"limit"`
	Next  *int64 `json:"next,omitempty"`
}

type store struct{ rows int64 }

func listRows(t testing.TB) *Tool {
	t.Helper()
	d := definition()
	d.OutputSchema = nil
	tool, err := Typed(d, func(_ context.Context, s *store, in rowsInput) (rowsOutput, error) {
		if in.Cursor != nil && *in.Cursor == "-1" {
			return rowsOutput{}, &ArgumentError{Argument: "/cursor", Message: "it must come from a page"}
		}
		out := rowsOutput{Table: in.Table + " <" + in.Order + ">", Limit: in.Limit}
		if s != nil {
			out.Next = &s.rows
		}
		return out, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

// TestTypedReadsStrictly (J19, J20, J21, K56): arguments fit or are refused, by name.
func TestTypedReadsStrictly(t *testing.T) {
	tool := listRows(t)
	if found := ValidateTool(tool); found != nil {
		t.Fatal(found)
	}
	for name, test := range map[string]struct {
		dependency any
		arguments  string
		want       string
		refused    string
	}{
		"all that is required":     {nil, `{"table":"t","order":"up"}`, `{"table":"t <up>","limit":0}`, ""},
		"J18 with its dependency":  {&store{7}, `{"table":"t","order":"up"}`, `{"table":"t <up>","limit":0,"next":7}`, ""},
		"J49 null is as absent":    {nil, `{"table":"t","order":"up","cursor":null,"limit":null,"keys":null}`, `{"table":"t <up>","limit":0}`, ""},
		"integers are exact":       {nil, `{"table":"t","order":"up","limit":9007199254740993}`, `{"table":"t <up>","limit":9007199254740993}`, ""},
		"an integer beyond int64":  {nil, `{"table":"t","order":"up","limit":9223372036854775808}`, "", "limit"},
		"a fraction":               {nil, `{"table":"t","order":"up","limit":1.5}`, "", "/limit"},
		"a key twice":              {nil, `{"table":"t","order":"up","table":"u"}`, "", "duplicate"},
		"a key twice, escaped":     {nil, `{"table":"t","order":"up","\u0074able":"u"}`, "", "duplicate"},
		"a key in another case":    {nil, `{"Table":"t","order":"up"}`, "", "Table"},
		"an unknown key":           {nil, `{"table":"t","order":"up","offset":1}`, "", "offset"},
		"a required one is absent": {nil, `{"order":"up"}`, "", "table"},
		"a required one is null":   {nil, `{"table":null,"order":"up"}`, "", "/table"},
		"a value that is no word":  {nil, `{"table":"t","order":"left"}`, "", "/order"},
		"what the function finds":  {nil, `{"table":"t","order":"up","cursor":"-1"}`, "", "/cursor: it must come from a page"},
		"arguments without end":    {nil, `{"table":"` + strings.Repeat("x", MaxSchemaBytes) + `","order":"up"}`, "", "more than"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tool.Call(t.Context(), test.dependency, json.RawMessage(test.arguments))
			if test.refused == "" {
				if err != nil || string(got) != test.want {
					t.Fatalf("got %s and %v, want %s", got, err, test.want)
				}
				return
			}
			if refused, ok := errors.AsType[*ArgumentError](err); !ok || !strings.Contains(refused.Error(), test.refused) {
				t.Fatalf("got %v, want an *ArgumentError that says %q", err, test.refused)
			}
		})
	}
	if _, err := tool.Call(t.Context(), "no store", json.RawMessage(`{"table":"t","order":"up"}`)); err == nil || !strings.Contains(err.Error(), "*octool.store") {
		t.Errorf("J18: a wrong dependency gives %v", err)
	}
}

func TestTypedRefuses(t *testing.T) {
	var none func(context.Context, any, rowsInput) (rowsOutput, error)
	if _, err := Typed(definition(), none); err == nil || !strings.Contains(err.Error(), "func") {
		t.Errorf("J6: no function gives %v", err)
	}
	if _, err := Typed(definition(), func(context.Context, any, map[string]any) (rowsOutput, error) { return rowsOutput{}, nil }); err == nil {
		t.Error("J43: arguments without a shape are taken")
	}
	if _, err := Typed(definition(), func(context.Context, any, struct{ C chan int }) (rowsOutput, error) { return rowsOutput{}, nil }); err == nil {
		t.Error("a channel is taken as an argument")
	}
}

// TestTypedKeepsAnOutputSchema: a result whose schema is known otherwise, or not at
// all.
func TestTypedKeepsAnOutputSchema(t *testing.T) {
	free := func(context.Context, any, struct{}) (json.RawMessage, error) { return json.RawMessage(`{"x":1}`), nil }
	kept, err := Typed(definition(), free)
	if err != nil || string(kept.OutputSchema()) != someResult {
		t.Errorf("got %s and %v", kept.OutputSchema(), err)
	}
	d := definition()
	d.OutputSchema = nil
	without, err := Typed(d, free)
	if err != nil || without.OutputSchema() != nil {
		t.Fatalf("got %s and %v", without.OutputSchema(), err)
	}
	if rules := rulesOf(ValidateTool(without)); !slices.Equal(rules, []string{RuleOutputSchemaEscape}) {
		t.Errorf("got %q", rules)
	}
	if result, err := without.Call(t.Context(), nil, nil); err != nil || string(result) != `{"x":1}` {
		t.Errorf("got %s and %v", result, err)
	}
}
