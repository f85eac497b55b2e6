// SPDX-License-Identifier: Apache-2.0

package canonical

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"

	"pgregory.net/rapid"
)

// The values that the property tests draw: nil, bool, string, number, []any and
// object.
type (
	// number is units x 10^-scale, and exact as a float64 or int64.
	number struct {
		units int64
		scale int // 0 to 3
	}
	object      []objectEntry
	objectEntry struct {
		key   string
		value any
	}
)

// drawText favours the characters about which encodings and escapes disagree.
var drawText = rapid.StringOf(rapid.OneOf(
	rapid.SampledFrom([]rune("ab\"\\/\n\r\t\b\f\x00\x1f\x7f<>&éö\u0301\u2028\ud7ff\ue000\ufb33\ufffd\uffff😀\U0010ffff")),
	rapid.Rune(),
)).Filter(isJSONText)

func drawNumber(t *rapid.T) number {
	scale := rapid.IntRange(0, 3).Draw(t, "scale")
	if scale == 0 {
		return number{units: rapid.Int64().Draw(t, "integer")}
	}
	n := number{units: rapid.Int64Range(-1e9, 1e9).Draw(t, "units"), scale: scale}
	for n.scale > 0 && n.units%10 == 0 {
		n.units, n.scale = n.units/10, n.scale-1
	}
	return n
}

func drawValue(t *rapid.T, depth int) any {
	kinds := 6
	if depth == 0 {
		kinds = 4
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return drawNumber(t)
	case 3:
		return drawText.Draw(t, "string")
	case 4:
		array := make([]any, rapid.IntRange(0, 4).Draw(t, "length"))
		for i := range array {
			array[i] = drawValue(t, depth-1)
		}
		return array
	default:
		var o object
		for _, key := range rapid.SliceOfNDistinct(drawText, 0, 4, rapid.ID).Draw(t, "keys") {
			o = append(o, objectEntry{key, drawValue(t, depth-1)})
		}
		return o
	}
}

// change gives a value that differs from v in one place.
func change(t *rapid.T, v any) any {
	switch v := v.(type) {
	case bool:
		return !v
	case number:
		if rapid.Bool().Draw(t, "as text") {
			return fmt.Sprint(v.units)
		}
		return number{units: v.units ^ 1, scale: v.scale}
	case string:
		return v + rapid.SampledFrom([]string{"a", "\n", " ", "\u0301"}).Draw(t, "more")
	case []any:
		if len(v) == 0 {
			return rapid.SampledFrom([]any{nil, object(nil), []any{nil}}).Draw(t, "not empty")
		}
		i := rapid.IntRange(0, len(v)-1).Draw(t, "element")
		if rapid.Bool().Draw(t, "repeat") {
			return slices.Insert(slices.Clone(v), i, v[i])
		}
		changed := slices.Clone(v)
		changed[i] = change(t, v[i])
		return changed
	case object:
		if len(v) == 0 {
			return rapid.SampledFrom([]any{nil, []any(nil), object{{"", nil}}}).Draw(t, "not empty")
		}
		i := rapid.IntRange(0, len(v)-1).Draw(t, "member")
		if rapid.Bool().Draw(t, "drop") {
			return slices.Delete(slices.Clone(v), i, i+1)
		}
		changed := slices.Clone(v)
		changed[i].value = change(t, v[i].value)
		return changed
	default:
		return rapid.SampledFrom([]any{false, number{}, "", "null", []any(nil), object(nil)}).Draw(t, "not null")
	}
}

// spell writes v as JSON in one of the many ways.
func spell(t *rapid.T, v any) string {
	space := func() string { return rapid.SampledFrom([]string{"", "", " ", "\r\n\t"}).Draw(t, "space") }
	var parts []string
	brackets := "[]"
	switch v := v.(type) {
	case nil:
		return space() + "null" + space()
	case bool:
		return space() + fmt.Sprint(v) + space()
	case number:
		return space() + rapid.SampledFrom(v.spellings()).Draw(t, "number") + space()
	case string:
		return space() + spellString(t, v) + space()
	case []any:
		for _, element := range v {
			parts = append(parts, spell(t, element))
		}
	case object:
		brackets = "{}"
		for _, entry := range rapid.Permutation(v).Draw(t, "order") {
			parts = append(parts, space()+spellString(t, entry.key)+space()+":"+spell(t, entry.value))
		}
	}
	if len(parts) == 0 {
		parts = []string{space()}
	}
	return space() + brackets[:1] + strings.Join(parts, ",") + brackets[1:] + space()
}

func (n number) spellings() []string {
	const exact = 1 << 53
	digits := fmt.Sprint(n.units)
	if n.units > exact || n.units < -exact {
		return []string{digits}
	}
	if n.units == 0 {
		return []string{"0", "-0", "0.0", "-0.0", "0e5", "-0.00E-05"}
	}
	all := []string{
		fmt.Sprintf("%de-%d", n.units, n.scale),
		fmt.Sprintf("%d.00E-0%d", n.units, n.scale),
		fmt.Sprintf("%d0e-%d", n.units, n.scale+1),
	}
	if n.scale == 0 {
		return append(all, digits, digits+".0", digits+".00", digits+"e0", digits+"E+00")
	}
	whole, isNegative := strings.CutPrefix(digits, "-")
	whole = strings.Repeat("0", max(0, n.scale+1-len(whole))) + whole
	whole = whole[:len(whole)-n.scale] + "." + whole[len(whole)-n.scale:]
	if isNegative {
		whole = "-" + whole
	}
	return append(all, whole, whole+"00")
}

func spellString(t *rapid.T, s string) string {
	short := map[rune]string{'"': `\"`, '\\': `\\`, '/': `\/`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		plain := r >= 0x20 && r != '"' && r != '\\'
		switch style := rapid.IntRange(0, 3).Draw(t, "escape"); {
		case plain && style < 2:
			b.WriteRune(r)
		case short[r] != "" && style < 3:
			b.WriteString(short[r])
		default:
			format := rapid.SampledFrom([]string{`\u%04x`, `\u%04X`}).Draw(t, "case")
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&b, format, unit)
			}
		}
	}
	b.WriteByte('"')
	return b.String()
}
