// SPDX-License-Identifier: Apache-2.0

package publishtest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"unicode/utf16"
)

// spellText gives free text other line endings and other newlines at its end.
func spellText(r *rand.Rand, s string) string {
	s = strings.ReplaceAll(s, "\n", pick(r, "\n", "\r\n", "\r"))
	return s + pick(r, "", "", "\n", "\r\n", "\n\n", "\r")
}

// exactFloats is up to where every integer is a float64.
const exactFloats = 1 << 53

func spellInteger(r *rand.Rand, n int64) string {
	digits := strconv.FormatInt(n, 10)
	if n > exactFloats || n < -exactFloats {
		return digits
	}
	tenfold := digits + "0E-1"
	if n == 0 {
		tenfold = "-0"
	}
	return pick(r, digits, digits, digits+".0", digits+".00", digits+"e0", tenfold)
}

func spellFloat(r *rand.Rand, f float64) string {
	digits := strconv.FormatFloat(f, 'e', -1, 64)
	mantissa, exponent, _ := strings.Cut(digits, "e")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	return pick(r, digits, strings.ToUpper(digits), mantissa+"00e"+exponent, strconv.FormatFloat(f, 'f', -1, 64))
}

func spellDuration(r *rand.Rand, seconds int64) string {
	h, m, s := seconds/3600, seconds/60%60, seconds%60
	forms := []string{fmt.Sprintf("%ds", seconds), fmt.Sprintf("%dh%dm%ds", h, m, s), fmt.Sprintf("%dm%ds", seconds/60, s)}
	if m == 0 && s == 0 {
		forms = append(forms, fmt.Sprintf("%dh", h))
	}
	if seconds < 600 {
		forms = append(forms, fmt.Sprintf("%dms", seconds*1000))
	}
	return forms[r.IntN(len(forms))]
}

// spellBlanks separates the fields of a schedule in other ways.
func spellBlanks(r *rand.Rand, v *value) {
	v.text = pick(r, "", " ", "\t") + strings.ReplaceAll(v.text, " ", pick(r, " ", "  ", "\t", " \t ")) + pick(r, "", "  ")
}

// spellNames writes the names of members in another case.
func spellNames(r *rand.Rand, v *value) {
	for i := range v.members {
		key := v.members[i].key
		v.members[i].key = pick(r, key, strings.ToLower(key), strings.ToUpper(key))
	}
}

// jsonString quotes with escapes for some of the characters that need none.
func jsonString(r *rand.Rand, s string) string {
	if chance(r, 2) {
		return yamlQuoted(s)
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range s {
		if c == '"' || c == '\\' || c < ' ' || chance(r, 8) {
			for _, unit := range utf16.Encode([]rune{c}) {
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
			continue
		}
		b.WriteRune(c)
	}
	b.WriteByte('"')
	return b.String()
}

// yamlQuoted is a double-quoted string of both JSON and YAML.
func yamlQuoted(s string) string {
	quoted, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string has no error
	}
	return string(quoted)
}
