// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"testing"
)

// K12, K20, K29: a cell keeps what was written.
func TestParseCell(t *testing.T) {
	for text, want := range map[string]struct {
		kind  CellType
		shown string
	}{
		`null`:                  {TypeNull, ""},
		`"a\nb"`:                {TypeString, "a\nb"},
		`""`:                    {TypeString, ""},
		`true`:                  {TypeBoolean, "true"},
		`false`:                 {TypeBoolean, "false"},
		`0`:                     {TypeInteger, "0"},
		`-0`:                    {TypeInteger, "-0"},
		`9007199254740993`:      {TypeInteger, "9007199254740993"},
		`18446744073709551616`:  {TypeInteger, "18446744073709551616"},
		`1.0`:                   {TypeFloat, "1.0"},
		`1e3`:                   {TypeFloat, "1e3"},
		`0.1000000000000000055`: {TypeFloat, "0.1000000000000000055"},
		`1E400`:                 {TypeFloat, "1E400"},
	} {
		c, err := ParseCell([]byte(" " + text + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		if c.Type() != want.kind || c.Text() != want.shown || c.IsNull() != (want.kind == TypeNull) {
			t.Errorf("%s: got %s %q", text, c.Type(), c.Text())
		}
		if got := mustDump(t, c); got != text {
			t.Errorf("%s: dumped as %s", text, got)
		}
	}
	for _, text := range []string{``, `{}`, `[1]`, `1 2`, `"`, `nul`} {
		if _, err := ParseCell([]byte(text)); err == nil {
			t.Errorf("%q is no scalar", text)
		}
	}
	var list []Cell
	if err := json.Unmarshal([]byte(`[1,"a",null]`), &list); err != nil || list[0] != IntegerCell(1) || list[1] != StringCell("a") || !list[2].IsNull() {
		t.Error(list, err)
	}
}

// K12, K20, K38: cells that are made.
func TestCells(t *testing.T) {
	huge, _ := new(big.Int).SetString("-36893488147419103232", 10)
	for _, test := range []struct {
		cell Cell
		want string
	}{
		{Cell{}, `null`},
		{NullCell(), `null`},
		{StringCell("<é&>"), `"<é&>"`},
		{BooleanCell(true), `true`},
		{IntegerCell(math.MinInt64), `-9223372036854775808`},
		{FloatCell(0.1), `0.1`},
		{FloatCell(3), `3`},
		{FloatCell(1e21), `1e+21`},
		{FloatCell(1e-7), `1e-07`},
		{FloatCell(math.NaN()), `null`},
		{FloatCell(math.Inf(-1)), `null`},
		{BigIntegerCell(nil), `null`},
		{BigIntegerCell(big.NewInt(maxSafeInteger)), `9007199254740991`},
		{BigIntegerCell(big.NewInt(-maxSafeInteger)), `-9007199254740991`},
		{BigIntegerCell(big.NewInt(maxSafeInteger + 1)), `"9007199254740992"`},
		{BigIntegerCell(huge), `"-36893488147419103232"`},
	} {
		if got := mustDump(t, test.cell); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
	if _, err := StringCell("\xff").MarshalJSON(); err == nil {
		t.Error("text that is not UTF-8 has no JSON")
	}
}

// K30: exact for people and order, a float64 for plotting.
func TestCellNumbers(t *testing.T) {
	for _, test := range []struct {
		cell    Cell
		exact   string // empty: no integer
		plotted float64
		plots   bool
	}{
		{IntegerCell(7), "7", 7, true},
		{StringCell("18446744073709551616"), "18446744073709551616", 1 << 64, true},
		{StringCell("-5"), "-5", -5, true},
		{Cell{TypeFloat, "1.5"}, "", 1.5, true},
		{Cell{TypeFloat, "1e400"}, "", math.Inf(1), false},
		{StringCell("1.5"), "", 0, false},
		{StringCell("007"), "", 0, false},
		{StringCell(""), "", 0, false},
		{StringCell("-"), "", 0, false},
		{BooleanCell(true), "", 0, false},
		{NullCell(), "", 0, false},
	} {
		number, ok := test.cell.Big()
		if ok != (test.exact != "") || ok && number.String() != test.exact {
			t.Errorf("%q: got %v %t", test.cell.Text(), number, ok)
		}
		if got, ok := test.cell.Float64(); got != test.plotted || ok != test.plots {
			t.Errorf("%q: plotted at %v, %t", test.cell.Text(), got, ok)
		}
	}
	if _, ok := StringCell(strings.Repeat("9", MaxBigDigits+1)).Big(); ok {
		t.Error("the digits that are converted have no bound")
	}
}
