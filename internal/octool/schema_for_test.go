// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type level int

func (l level) MarshalText() ([]byte, error) { return []byte("low"), nil }

func (l *level) UnmarshalText([]byte) error { return nil }

type blob []byte

type embedded struct {
	Shared string `json:"shared"`
}

type everything struct {
	embedded
	Text     string          `json:"text" jsonschema:"Some text."`
	Small    uint8           `json:"small"`
	Float    float64         `json:"float"`
	Flag     bool            `json:"flag"`
	Nullable *string         `json:"nullable"`
	Optional *int            `json:"optional,omitempty" jsonschema:"Left out for all."`
	Zero     string          `json:"zero,omitzero"`
	List     []uint16        `json:"list"`
	Maybe    []string        `json:"maybe,omitempty"`
	Word     string          `json:"word" enum:"a,b"`
	Words    []string        `json:"words" enum:"a,b"`
	Mail     *string         `json:"mail,omitempty" format:"email"`
	Time     time.Time       `json:"time"`
	Until    *time.Time      `json:"until,omitempty"`
	Number   json.Number     `json:"number"`
	Bytes    []byte          `json:"bytes"`
	Address  netip.Addr      `json:"address"`
	Blob     blob            `json:"blob"`
	Level    level           `json:"level"`
	Inner    struct{ A int } `json:"inner"`
	Hidden   chan int        `json:"-"`
	hidden   chan int
}

// TestInputSchemaFor (J5, J21, J45 to J51): strict-clean, whatever the types.
func TestInputSchemaFor(t *testing.T) {
	_ = everything{}.hidden
	schema, err := InputSchemaFor[everything]()
	if err != nil {
		t.Fatal(err)
	}
	if found := StrictClean(schema); found != nil {
		t.Errorf("%+v", found)
	}
	null := `{"type":"null"}`
	want := `{"type":"object","properties":{` + strings.Join([]string{
		`"shared":{"type":"string"}`,
		`"text":{"type":"string","description":"Some text."}`,
		`"small":{"type":"integer"}`,
		`"float":{"type":"number"}`,
		`"flag":{"type":"boolean"}`,
		`"nullable":{"anyOf":[{"type":"string"},` + null + `]}`,
		`"optional":{"description":"Left out for all.","default":null,"anyOf":[{"type":"integer"},` + null + `]}`,
		`"zero":{"default":null,"anyOf":[{"type":"string"},` + null + `]}`,
		`"list":{"type":"array","items":{"type":"integer"}}`,
		`"maybe":{"default":null,"anyOf":[{"type":"array","items":{"type":"string"}},` + null + `]}`,
		`"word":{"type":"string","enum":["a","b"]}`,
		`"words":{"type":"array","items":{"type":"string","enum":["a","b"]}}`,
		`"mail":{"default":null,"anyOf":[{"type":"string","format":"email"},` + null + `]}`,
		`"time":{"type":"string","format":"date-time"}`,
		`"until":{"default":null,"anyOf":[{"type":"string","format":"date-time"},` + null + `]}`,
		`"number":{"type":"number"}`,
		`"bytes":{"type":"string"}`,
		`"address":{"type":"string"}`,
		`"blob":{"type":"string"}`,
		`"level":{"type":"string"}`,
		`"inner":{"type":"object","properties":{"A":{"type":"integer"}},"required":["A"],"additionalProperties":false}`,
	}, ",") + `},"required":["shared","text","small","float","flag","nullable","list","word","words","time","number","bytes","address","blob","level","inner"],
		"additionalProperties":false}`
	if diff := cmp.Diff(compacted(t, want), compacted(t, string(schema))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if strings.Index(string(schema), `"text"`) > strings.Index(string(schema), `"small"`) {
		t.Errorf("the properties are not in the order of the fields: %s", schema)
	}
}

func TestNoArguments(t *testing.T) {
	schema, err := InputSchemaFor[struct{}]()
	if want := `{"type":"object","properties":{},"additionalProperties":false}`; err != nil || string(schema) != want {
		t.Errorf("got %s and %v, want %s", schema, err, want)
	}
}

// compacted makes JSON comparable, whatever the order of its keys.
func compacted(t *testing.T, text string) any {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return value
}

// TestOutputSchemaFor (J42, J53, K64): closed, with bounds, and x-sensitivity.
func TestOutputSchemaFor(t *testing.T) {
	type row struct {
		Owner   string     `json:"owner" x-sensitivity:"identifier" jsonschema:"Who owns it."`
		Port    uint16     `json:"port"`
		Note    *string    `json:"note,omitempty" x-sensitivity:"free_text"`
		Tags    []string   `json:"tags,omitempty"`
		Expires *time.Time `json:"expires" x-sensitivity:"none"`
	}
	type rows struct {
		Rows []row `json:"rows"`
	}
	schema, err := OutputSchemaFor[rows]()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"type":"object","properties":{"rows":{"type":["null","array"],"items":{"type":"object","properties":{
		"owner":{"type":"string","description":"Who owns it.","x-sensitivity":"identifier"},
		"port":{"type":"integer","minimum":0,"maximum":65535},
		"note":{"type":"string","x-sensitivity":"free_text"},
		"tags":{"type":"array","items":{"type":"string"}},
		"expires":{"anyOf":[{"type":"string","format":"date-time"},{"type":"null"}],"x-sensitivity":"none"}},
		"required":["owner","port","expires"],"additionalProperties":false}}},"required":["rows"],"additionalProperties":false}`
	if diff := cmp.Diff(compacted(t, want), compacted(t, string(schema))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

type endless struct {
	Next *endless `json:"next"`
}

// TestSchemasThatCannotBeDerived: what JSON Schema, or the subset, has no words for.
func TestSchemasThatCannotBeDerived(t *testing.T) {
	for name, test := range map[string]struct {
		derive func() (json.RawMessage, error)
		says   string
	}{
		"J5 no struct":               {InputSchemaFor[[]string], "use a struct"},
		"J5 a time":                  {InputSchemaFor[time.Time], "use a struct"},
		"J52 it contains itself":     {InputSchemaFor[endless], "cycle"},
		"its own form":               {InputSchemaFor[struct{ N big.Int }], "big.Int"},
		"its own form, by a pointer": {InputSchemaFor[struct{ N []*big.Int }], "big.Int"},
		"a channel":                  {InputSchemaFor[struct{ C chan int }], "chan"},
		"a function":                 {InputSchemaFor[struct{ F func() }], "func"},
		"an array":                   {InputSchemaFor[struct{ A [3]int }], "use a slice"},
		"numbers as strings": {InputSchemaFor[struct {
			N int `json:"n,string"`
		}], "option string"},
		"K64 x-sensitivity of an argument": {InputSchemaFor[struct {
			N string `json:"n" x-sensitivity:"secret"`
		}], "not on arguments"},
		"an enum of numbers": {InputSchemaFor[struct {
			N int `json:"n" enum:"1,2"`
		}], "for strings"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := test.derive()
			if _, ok := errors.AsType[*Error](err); !ok || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want an *Error that says %q", err, test.says)
			}
		})
	}
}

// TestFreeFormArgumentsAreFound (J43, J53): a map is an open object, and what may be
// anything has no type. Nothing excuses them.
func TestFreeFormArgumentsAreFound(t *testing.T) {
	schema, err := InputSchemaFor[struct {
		Options map[string]string `json:"options"`
		Any     any               `json:"any"`
		Raw     *json.RawMessage  `json:"raw"`
	}]()
	if err != nil {
		t.Fatal(err)
	}
	want := []at{{RuleType, "/properties/any"}, {RuleAdditionalProperties, "/properties/options/additionalProperties"}, {RuleType, "/properties/raw/anyOf/0"}}
	if diff := cmp.Diff(want, placesOf(StrictClean(schema))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// K14: an argument that takes another tool's table refers to its definition, and takes a dump of one.
func TestInputSchemaForTables(t *testing.T) {
	type arguments struct {
		Table TabularEnvelope  `json:"table" jsonschema:"What to plot."`
		Other *TabularEnvelope `json:"other,omitempty"`
	}
	schema, err := InputSchemaFor[arguments]()
	if err != nil {
		t.Fatal(err)
	}
	if found := StrictClean(schema); found != nil {
		t.Errorf("%+v", found)
	}
	var read struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Defs       map[string]json.RawMessage `json:"$defs"`
	}
	if err := json.Unmarshal(schema, &read); err != nil {
		t.Fatal(err)
	}
	const reference = `"$ref":"#/$defs/TabularEnvelope"`
	if !strings.Contains(string(read.Properties["table"]), reference) || !strings.Contains(string(read.Properties["other"]), reference) {
		t.Errorf("properties %s", read.Properties)
	}
	if len(read.Defs) != 1 || len(read.Defs["TabularEnvelope"]) == 0 {
		t.Errorf("definitions %s", read.Defs)
	}
	taken, err := Typed(Definition{Name: "plot", Description: "Plots a table. It returns its size.", Access: AccessLocal},
		func(_ context.Context, _ any, a arguments) (struct {
			Rows int `json:"rows"`
		}, error) {
			return struct {
				Rows int `json:"rows"`
			}{a.Table.RowCount()}, nil
		})
	if err != nil {
		t.Fatal(err)
	}
	got, err := taken.Call(t.Context(), nil, json.RawMessage(`{"table":{"columns":["a"],"rows":[[18446744073709551616]],"row_count":1,"truncated":true,"resumable":false}}`))
	if err != nil || string(got) != `{"rows":1}` {
		t.Errorf("%s, %v", got, err)
	}
}
