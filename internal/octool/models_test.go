// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"encoding/json"
	"math"
	"math/big"
	"net/netip"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type modelLevel int

func (l modelLevel) MarshalText() ([]byte, error) { return []byte("level " + string(rune('a'+l))), nil }

type modelBase struct {
	ID int64 `json:"id" description:"the id"`
}

type modelNested struct {
	N int `json:"n"`
}

// modelRowType has a field of every sort.
type modelRowType struct {
	modelBase
	Name    string            `json:"name" jsonschema:"what it is called"`
	Open    bool              `json:"open"`
	Load    float64           `json:"load"`
	Small   float32           `json:"small"`
	Count   uint64            `json:"count"`
	At      time.Time         `json:"at"`
	Address netip.Addr        `json:"address"`
	Network netip.Prefix      `json:"network"`
	Size    *big.Int          `json:"size"`
	Owned   big.Int           `json:"owned"`
	Parent  *int              `json:"parent"`
	Tags    []string          `json:"tags"`
	Labels  map[string]string `json:"labels"`
	Nested  modelNested       `json:"nested"`
	Level   modelLevel        `json:"level"`
	Number  json.Number       `json:"number"`
	Free    any               `json:"free"`
	Raw     json.RawMessage   `json:"raw"`
	Note    string            `json:"note,omitempty"`
	Since   time.Time         `json:"since,omitzero"`
	Pause   time.Duration
	Skipped string `json:"-"`
	hidden  string
}

// K35, K36, K38: columns, kinds and cells, from the type alone.
func TestTabularFromModels(t *testing.T) {
	huge, _ := new(big.Int).SetString("36893488147419103232", 10)
	full := modelRowType{
		modelBase: modelBase{7}, Name: "a<b", Open: true, Load: 0.1, Small: 0.1, Count: math.MaxUint64,
		At: time.Date(2026, 5, 4, 3, 2, 1, 0, time.FixedZone("", 3600)), Address: netip.MustParseAddr("10.0.0.1"),
		Network: netip.MustParsePrefix("10.0.0.0/8"), Size: huge, Owned: *big.NewInt(-5), Parent: new(3),
		Tags: []string{"x", "<y>"}, Labels: map[string]string{"k": "v"}, Nested: modelNested{1}, Level: 1, Number: "1.50",
		Free: map[string]any{"a": 1}, Raw: json.RawMessage(`[1, 2]`), Note: "n", Since: time.Unix(0, 0).UTC(), Pause: 5, hidden: "h",
	}
	bare := modelRowType{Load: math.NaN(), Small: float32(math.Inf(1)), Free: math.Inf(-1)}
	e, err := TabularFromModels([]modelRowType{full, bare}, TabularOptions{Page: Page{Truncated: true, NextCursor: new("c")}})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"columns":["id","name","open","load","small","count","at","address","network","size","owned","parent","tags","labels","nested",` +
		`"level","number","free","raw","note","since","Pause"],"rows":[` +
		`[7,"a<b",true,0.1,0.1,18446744073709551615,"2026-05-04T03:02:01+01:00","10.0.0.1","10.0.0.0/8","36893488147419103232",-5,3,` +
		`"[\"x\",\"<y>\"]","{\"k\":\"v\"}","{\"n\":1}","level b",1.50,"{\"a\":1}","[1,2]","n","1970-01-01T00:00:00Z",5],` +
		`[0,"",false,null,null,0,"0001-01-01T00:00:00Z",null,null,null,0,null,null,null,"{\"n\":0}","level a",null,null,null,null,null,0]],` +
		`"row_count":2,"truncated":true,"column_kinds":["integer","text","boolean","number","number","integer","timestamp","ip","ip_block",` +
		`"big_integer","big_integer","integer","text","text","text","text","number","text","text","text","timestamp","integer"],` +
		`"column_descriptions":["the id","what it is called",null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null],` +
		`"next_cursor":"c","resumable":true}`
	if diff := cmp.Diff(want, mustDump(t, e)); diff != "" {
		t.Error(diff)
	}
	// K39: an integer beyond 2^53 - 1 is found, unless its column says otherwise.
	if found := ValidateTabular(e); len(found) != 1 || found[0].Path != "/rows/0/5" {
		t.Error(found)
	}
	e, err = TabularFromModels([]modelRowType{full, bare}, TabularOptions{ColumnKinds: map[string]ColumnKind{"count": KindBigInteger}})
	if err != nil {
		t.Fatal(err)
	}
	if found := ValidateTabular(e); len(found) != 0 || mustDump(t, e.Rows[0][5]) != `"18446744073709551615"` {
		t.Error(found, e.Rows[0][5])
	}
}

// K36: what is no string in a text column is its compact JSON; K37: kinds are
// replaced by name.
func TestTabularFromModelsOverrides(t *testing.T) {
	type row struct {
		Port int    `json:"port"`
		Host string `json:"host"`
		Any  any    `json:"any"`
	}
	e, err := TabularFromModels([]*row{{Port: 80, Host: "example.com", Any: 1}}, TabularOptions{
		ColumnKinds: map[string]ColumnKind{"port": KindText, "host": KindFQDN},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"columns":["port","host","any"],"rows":[["80","example.com","1"]],"row_count":1,"truncated":false,"column_kinds":["text","fqdn","text"]}`
	if got := mustDump(t, e); got != want {
		t.Errorf("got %s", got)
	}
	for name, test := range map[string]struct {
		options       TabularOptions
		path, message string
	}{
		"K37 no such column":    {TabularOptions{ColumnKinds: map[string]ColumnKind{"ports": KindText}}, "", `no column "ports"`},
		"K15 no such kind":      {TabularOptions{ColumnKinds: map[string]ColumnKind{"port": "x"}}, "/column_kinds/0", `"x"`},
		"K39 K52 a stray page":  {TabularOptions{Page: Page{NextCursor: new("c")}}, "/next_cursor", "truncated is false"},
		"K39 K52 a small total": {TabularOptions{Page: Page{TotalCount: new(CountOf(0))}}, "/total_count", "less than"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := TabularFromModels([]row{{}}, test.options)
			wantError(t, err, test.path, test.message)
		})
	}
}

type failingModel struct{}

func (failingModel) MarshalJSON() ([]byte, error) { return nil, &Error{"/inner", "no"} }

// K35: the type and its values are checked.
func TestTabularFromModelsRefuses(t *testing.T) {
	_, err := TabularFromModels([]int{1}, TabularOptions{})
	wantError(t, err, "", "int is none")
	_, err = TabularFromModels([]map[string]any{{}}, TabularOptions{})
	wantError(t, err, "", "made of structs")
	twice := reflect.StructOf([]reflect.StructField{
		{Name: "A", Type: reflect.TypeFor[int](), Tag: `json:"x"`},
		{Name: "B", Type: reflect.TypeFor[int](), Tag: `json:"x"`},
	})
	_, err = modelFields(twice)
	wantError(t, err, "", `two fields named "x"`)
	type named struct {
		modelNested `json:"nested"`
	}
	_, err = TabularFromModels([]named{{}}, TabularOptions{})
	wantError(t, err, "", "modelNested")
	_, err = TabularFromModels([]time.Time{{}}, TabularOptions{})
	wantError(t, err, "", "time.Time has no field")
	type row struct {
		A int `json:"a"`
		F any `json:"f"`
	}
	_, err = TabularFromModels([]*row{{}, nil}, TabularOptions{})
	wantError(t, err, "/rows/1", "nil")
	_, err = TabularFromModels([]row{{F: make(chan int)}}, TabularOptions{})
	wantError(t, err, "/rows/0/1", "no JSON")
	_, err = TabularFromModels([]row{{F: failingModel{}}}, TabularOptions{})
	wantError(t, err, "/rows/0/1/inner", "no")
	type number struct{ N json.Number }
	_, err = TabularFromModels([]number{{"1x"}}, TabularOptions{})
	wantError(t, err, "/rows/0/0", "no JSON")

	e, err := TabularFromModels([]row(nil), TabularOptions{})
	if err != nil || mustDump(t, e) != `{"columns":["a","f"],"rows":[],"row_count":0,"truncated":false,"column_kinds":["integer","text"]}` {
		t.Error(e, err)
	}
}

// K35: embedded structs, as encoding/json has them.
func TestTabularFromEmbedded(t *testing.T) {
	type Inner struct {
		A int `json:"a"`
		B int `json:"b"`
	}
	type row struct {
		*Inner
		Named Inner     `json:"named"`
		In    modelBase `json:"-"`
		B     string    `json:"b"`
	}
	type outer struct {
		*Lost `json:"lost"`
		Hide  `json:"-"`
		modelNested
	}
	e, err := TabularFromModels([]row{{Inner: &Inner{1, 2}, B: "b"}, {}}, TabularOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"columns":["a","named","b"],"rows":[[1,"{\"a\":0,\"b\":0}","b"],[null,"{\"a\":0,\"b\":0}",""]],"row_count":2,"truncated":false,"column_kinds":["integer","text","text"]}`
	if got := mustDump(t, e); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	e, err = TabularFromModels([]outer{{modelNested: modelNested{4}}}, TabularOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := mustDump(t, e), `{"columns":["lost","n"],"rows":[[null,4]],"row_count":1,"truncated":false,"column_kinds":["text","integer"]}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Lost is embedded under a name.
type Lost struct{ L int }

// Hide is embedded and left out.
type Hide struct{ H int }

// K38: what encoding/json leaves out is null, and nothing else.
func TestOmittedFieldsAreNull(t *testing.T) {
	type row struct {
		Zero    int            `json:"zero,omitempty"`
		List    []int          `json:"list,omitempty"`
		Labels  map[string]int `json:"labels,omitempty"`
		Any     any            `json:"any,omitempty"`
		Array   [1]int         `json:"array,omitempty"`
		Pointer *int           `json:"pointer,omitempty"`
		At      *time.Time     `json:"at,omitzero"`
		Nested  modelNested    `json:"nested,omitzero"`
		When    time.Time      `json:"when,omitzero"`
	}
	rows := []row{
		{List: []int{}, Labels: map[string]int{}},
		{Zero: 1, List: []int{1}, Labels: map[string]int{"a": 1}, Any: false, Pointer: new(0), At: &time.Time{}, Nested: modelNested{1}, When: time.Unix(0, 0)},
	}
	e, err := TabularFromModels(rows, TabularOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		encoded, err := json.Marshal(rows[i])
		if err != nil {
			t.Fatal(err)
		}
		var written map[string]json.RawMessage
		if err := json.Unmarshal(encoded, &written); err != nil {
			t.Fatal(err)
		}
		for j, column := range e.Columns {
			if _, there := written[column]; there == e.Rows[i][j].IsNull() {
				t.Errorf("row %d: %s is %s in JSON, and null in the table: %t", i, column, written[column], e.Rows[i][j].IsNull())
			}
		}
	}
}
