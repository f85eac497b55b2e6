// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit.dev/remit/internal/schema"
)

// K15, K22, K71, K72: the vocabularies and their fallbacks.
func TestVocabularies(t *testing.T) {
	if diff := cmp.Diff([]ColumnKind{
		"text", "number", "integer", "boolean", "timestamp", "ip", "fqdn", "mac", "ip_block", "big_integer",
	}, ColumnKinds()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]ColumnScale{"linear", "log10", "log2"}, ColumnScales()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]any{"column_kinds": "text", "column_scales": nil, "sensitivity": "inherits_input"}, VocabularyFallbacks()); diff != "" {
		t.Error(diff)
	}
	if ColumnKindFallback != "text" || ColumnScaleFallback != "" || SensitivityFallback != "inherits_input" ||
		ResultKindFallback != "records" || AccessFallback != "remote" {
		t.Error("a fallback is not the most conservative reading")
	}
}

// K18.
func TestRenderHints(t *testing.T) {
	for kind, want := range map[ColumnKind]RenderHint{
		KindIPBlock:    {AlignLeft, true},
		KindBigInteger: {AlignRight, false},
		KindText:       {AlignLeft, false},
		KindNumber:     {AlignRight, false},
		"later":        {AlignLeft, false},
	} {
		if got := kind.Render(); got != want {
			t.Errorf("%s: got %v", kind, got)
		}
	}
}

// kindExamples are cells that fit a kind, and cells that do not.
var kindExamples = map[ColumnKind]struct{ fits, fails []string }{
	// K42
	KindText: {
		fits:  []string{`"x"`, `""`, `null`},
		fails: []string{`1`, `1.5`, `true`},
	},
	KindNumber: {
		fits:  []string{`1`, `-1.5e3`, `18446744073709551616`, `null`},
		fails: []string{`true`, `"1"`, `1e400`},
	},
	KindInteger: {
		fits:  []string{`0`, `9007199254740991`, `-9007199254740991`, `null`},
		fails: []string{`9007199254740992`, `-9007199254740992`, `1.0`, `1e3`, `true`, `"1"`},
	},
	KindBoolean: {
		fits:  []string{`true`, `false`, `null`},
		fails: []string{`0`, `1`, `"true"`},
	},
	// K43
	KindTimestamp: {
		fits: []string{
			`"2026-05-04T03:02:01Z"`, `"2026-05-04T03:02:01.123456789+05:30"`, `"2024-02-29T00:00:00-00:00"`,
			`"2016-12-31T23:59:60Z"`, `"2017-01-01T05:29:60+05:30"`, `null`,
		},
		fails: []string{
			`"2026-05-04"`, `"2026-05-04T03:02:01"`, `"2026-05-04 03:02:01Z"`, `"2026-05-04T03:02Z"`, `"2025-02-29T00:00:00Z"`,
			`"2026-05-04T3:02:01Z"`, `"2026-05-04T03:02:01,5Z"`, `"2026-05-04T03:02:01+0530"`, `"2026-05-04T03:02:01+24:00"`,
			`"2026-05-04T03:02:60Z"`, `"2026-05-04T24:00:00Z"`, `"x"`, `""`, `1777863721`,
		},
	},
	KindIP: {
		fits: []string{`"10.0.0.1"`, `"::1"`, `"2001:db8::"`, `"::ffff:10.0.0.1"`, `"fe80::1%eth0"`, `null`},
		fails: []string{
			`"10.0.0.01"`, `"10.0.0"`, `"10.0.0.256"`, `"10.0.0.0/8"`, `"[::1]"`, `"1::2::3"`, `" 10.0.0.1"`, `"fe80::1%"`, `"fe80::1%a%b"`, `""`, `167772161`,
		},
	},
	KindFQDN: {
		fits: []string{
			`"example.com"`, `"example.com."`, `"localhost"`, `"a-b.c1"`, `"1.2"`,
			`"` + strings.Repeat("a", 63) + `.com"`, `"` + strings.Repeat("a.", 126) + `a"`, `"` + strings.Repeat("a.", 126) + `a."`, `null`,
		},
		fails: []string{
			`""`, `"."`, `"a..b"`, `".a"`, `"-a.b"`, `"a-.b"`, `"a_b.c"`, `"é.com"`, `"a b"`,
			`"` + strings.Repeat("a", 64) + `.com"`, `"` + strings.Repeat("a.", 126) + `aa"`, `1`,
		},
	},
	KindMAC: {
		fits:  []string{`"00:1B:44:11:3a:b7"`, `"00-1b-44-11-3a-b7"`, `"00:1b:44:11:3a:b7:00:01"`, `null`},
		fails: []string{`"00:1b:44:11:3a"`, `"00:1b:44:11:3a:b7:00"`, `"00:1b-44:11:3a:b7"`, `"001b.4411.3ab7"`, `"0:1b:44:11:3a:b7:"`, `"00:1g:44:11:3a:b7"`, `""`},
	},
	// K19, K44
	KindIPBlock: {
		fits: []string{
			`"10.0.0.1"`, `"2001:db8::1"`, `"10.0.0.0/8"`, `"10.1.2.3/8"`, `"2001:db8::1/32"`, `"0.0.0.0/0"`,
			`"10.0.0.1-10.0.0.9"`, `"10.0.0.1-10.0.0.1"`, `"::1-::ffff"`, `null`,
		},
		fails: []string{
			`"10.0.0.0/33"`, `"10.0.0.0/"`, `"10.0.0.0/-1"`, `"10.0.0.9-10.0.0.1"`, `"10.0.0.1-::1"`, `"::1-10.0.0.1"`, `"10.0.0.1-"`, `"-10.0.0.1"`,
			`"10.0.0.1 - 10.0.0.2"`, `"10.0.0.0/8-10.0.0.1"`, `"fe80::1%a-fe80::2%a"`, `""`, `1`,
		},
	},
	// K20, K44
	KindBigInteger: {
		fits:  []string{`0`, `-5`, `18446744073709551616`, `"18446744073709551616"`, `"-1"`, `"0"`, `"-0"`, `null`},
		fails: []string{`1.0`, `true`, `"1.0"`, `"007"`, `"+1"`, `" 1"`, `""`, `"-"`, `"0x10"`, `"١"`},
	},
}

// K16, K41 to K44: each kind with what fits and what does not.
func TestKindFits(t *testing.T) {
	for _, kind := range ColumnKinds() {
		examples, ok := kindExamples[kind]
		if !ok {
			t.Errorf("%s has no examples", kind)
		}
		for _, text := range examples.fits {
			if c, err := ParseCell([]byte(text)); err != nil || !kind.fits(c) {
				t.Errorf("%s does not fit %s, %v", text, kind, err)
			}
		}
		for _, text := range examples.fails {
			if c, err := ParseCell([]byte(text)); err != nil || kind.fits(c) {
				t.Errorf("%s fits %s, %v", text, kind, err)
			}
		}
	}
}

// K16: what fits a kind fits its schema.
func TestKindSchema(t *testing.T) {
	for _, kind := range ColumnKinds() {
		compiled, err := schema.Compile(kind.Schema())
		if err != nil {
			t.Fatal(kind, err)
		}
		for _, text := range kindExamples[kind].fits {
			if err := compiled.Validate([]byte(text)); err != nil && text != "null" {
				t.Errorf("%s: %s: %v", kind, text, err)
			}
		}
	}
	want := map[ColumnKind]string{
		KindText: `{"type":"string"}`, KindNumber: `{"type":"number"}`, KindInteger: `{"type":"integer"}`, KindBoolean: `{"type":"boolean"}`,
		KindTimestamp: `{"type":"string","format":"date-time"}`, KindFQDN: `{"type":"string","format":"hostname"}`,
		KindMAC: `{"type":"string"}`, KindIPBlock: `{"type":"string"}`,
	}
	for kind, text := range want {
		if got := string(kind.Schema()); got != text {
			t.Errorf("%s: got %s", kind, got)
		}
	}
}

// K30: by value, whichever form each has.
func TestCompareBigIntegers(t *testing.T) {
	var cells []Cell
	if err := json.Unmarshal([]byte(`["10",null,9,"-36893488147419103232","x",-10,"340282366920938463463374607431768211456",true,"-9",0,"36893488147419103232",1.5]`), &cells); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(cells, CompareBigIntegers)
	var got []string
	for _, c := range cells {
		got = append(got, c.Text())
	}
	want := []string{
		"-36893488147419103232", "-10", "-9", "0", "9", "10", "36893488147419103232", "340282366920938463463374607431768211456", "1.5", "true", "x", "",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if CompareBigIntegers(IntegerCell(1), StringCell("1")) != 0 || CompareBigIntegers(Cell{TypeInteger, "-0"}, IntegerCell(0)) != 0 {
		t.Error("one number in two forms differs")
	}
}

// K31, K32.
func TestAxisScale(t *testing.T) {
	for name, test := range map[string]struct {
		declared ColumnScale
		values   []float64
		want     ColumnScale
	}{
		"linear is declared for a wide range": {ScaleLinear, []float64{1, 1e9}, ScaleLinear},
		"log2 is declared for a narrow range": {ScaleLog2, []float64{1, 2}, ScaleLog2},
		"log10 is declared for zero":          {ScaleLog10, []float64{0}, ScaleLog10},
		"a thousandfold":                      {ScaleNone, []float64{1000, 1}, ScaleLog10},
		"just less":                           {ScaleNone, []float64{999.9, 1}, ScaleLinear},
		"zero":                                {ScaleNone, []float64{0, 1, 1e9}, ScaleLinear},
		"negative":                            {ScaleNone, []float64{-1, 1, 1e9}, ScaleLinear},
		"one value":                           {ScaleNone, []float64{5}, ScaleLinear},
		"no value":                            {ScaleNone, nil, ScaleLinear},
		"what is not finite does not count":   {ScaleNone, []float64{math.NaN(), math.Inf(1), 1, 2, math.Inf(-1)}, ScaleLinear},
		"nothing but what is not finite":      {ScaleNone, []float64{math.Inf(1)}, ScaleLinear},
		"the ends of a float64":               {ScaleNone, []float64{math.MaxFloat64, math.MaxFloat64 / 2}, ScaleLinear},
		"the whole of a float64":              {ScaleNone, []float64{math.MaxFloat64, math.SmallestNonzeroFloat64}, ScaleLog10},
	} {
		t.Run(name, func(t *testing.T) {
			if got := AxisScale(test.declared, test.values); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// K40, K41, K45: one finding a column, with its message.
func TestValidateTabular(t *testing.T) {
	read := func(document string) *TabularEnvelope {
		e, err := ParseTabular([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	got := ValidateTabular(read(`{"columns":["ok","it's","size","n","t"],
		"rows":[[null,"10.0.0.1",1,1,"\u0000"],["a",7,2,true,"a"],["b","x'y\n",3,2.5,"c"],["c",null,"n/a",3,"d"],["d","no","n/a",null,"e"]],
		"row_count":5,"truncated":false,"column_kinds":["text","ip","big_integer","integer","mac"]}`))
	want := []Finding{
		{Rule: "cell_kind", Path: "/rows/1/1", Message: `column 'it\'s' (ip): 3 of 5 cells do not fit; first at row 1: 7`},
		{Rule: "cell_kind", Path: "/rows/3/2", Message: `column 'size' (big_integer): 2 of 5 cells do not fit; first at row 3: 'n/a'`},
		{Rule: "cell_kind", Path: "/rows/1/3", Message: `column 'n' (integer): 2 of 5 cells do not fit; first at row 1: true`},
		{Rule: "cell_kind", Path: "/rows/0/4", Message: `column 't' (mac): 5 of 5 cells do not fit; first at row 0: '\x00'`},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, document := range []string{
		`{"columns":["a"],"rows":[[1]],"row_count":1,"truncated":false}`,
		`{"columns":["a"],"rows":[["1"],[null]],"row_count":2,"truncated":false,"column_kinds":["text"]}`,
		`{"columns":["a"],"rows":[],"row_count":0,"truncated":false,"column_kinds":["ip"]}`,
	} {
		if got := ValidateTabular(read(document)); len(got) != 0 {
			t.Errorf("%s: %v", document, got)
		}
	}
	broken := &TabularEnvelope{Columns: []string{"a"}, Rows: [][]Cell{{}, {StringCell(strings.Repeat("x", 10_000))}}, ColumnKinds: []ColumnKind{KindIP, KindIP}}
	found := ValidateTabular(broken)
	if len(found) != 1 || found[0].Path != "/rows/1/0" || len(found[0].Message) > 512 {
		t.Error(found)
	}
}
