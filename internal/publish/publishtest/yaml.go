// SPDX-License-Identifier: Apache-2.0

package publishtest

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
)

// YAML writes the agent as a Spec of that name, in some mixture of styles.
func (a *Agent) YAML(r *rand.Rand, name string) []byte {
	w := &yamlWriter{Rand: r}
	w.members(wholeObject(name, a.spec).members, 0)
	if chance(r, 8) {
		return bytes.ReplaceAll(w.Bytes(), []byte("\n"), []byte("\r\n"))
	}
	return w.Bytes()
}

type yamlWriter struct {
	bytes.Buffer
	*rand.Rand
}

func (w *yamlWriter) indent(n int) { w.WriteString(strings.Repeat(" ", n)) }

// members writes a block mapping, each member on lines of its own.
func (w *yamlWriter) members(members []member, indent int) {
	for _, m := range members {
		if m.value == nil {
			continue
		}
		if chance(w.Rand, 16) {
			w.WriteString("# A comment: [\n")
		}
		w.indent(indent)
		w.WriteString(w.key(m.key) + ":")
		w.after(m.value, indent)
	}
}

// after writes a value after a key or a dash, and ends the line.
func (w *yamlWriter) after(v *value, indent int) {
	block := !chance(w.Rand, 4)
	switch {
	case block && v.shape == object && hasMembers(v):
		w.WriteByte('\n')
		w.members(v.members, indent+1+w.IntN(3))
	case block && len(v.elements) > 0:
		w.WriteByte('\n')
		indent += w.IntN(3)
		for _, e := range v.elements {
			w.indent(indent)
			w.WriteByte('-')
			w.after(e, indent)
		}
	case block && v.shape == text && blockScalar(v.text):
		w.literal(v.text, indent)
	default:
		w.WriteByte(' ')
		w.flow(v)
		w.WriteString(pick(w.Rand, "\n", "\n", "  \n", " # why\n"))
	}
}

func hasMembers(v *value) bool {
	for _, m := range v.members {
		if m.value != nil {
			return true
		}
	}
	return false
}

// blockScalar says whether each line break of a text is one for YAML, and the
// other way round.
func blockScalar(s string) bool {
	return !strings.ContainsAny(s, "\r\u0085\u2028\u2029\ufeff") && strings.TrimSpace(s) != ""
}

// literal writes a block scalar. Its indentation is written out, as the text may
// begin with spaces.
func (w *yamlWriter) literal(s string, indent int) {
	deeper := 1 + w.IntN(3)
	w.WriteString(" |" + strconv.Itoa(deeper) + pick(w.Rand, "", "-", "+") + "\n")
	for line := range strings.SplitSeq(s, "\n") {
		if line != "" {
			w.indent(indent + deeper)
		}
		w.WriteString(line + "\n")
	}
	w.WriteString(pick(w.Rand, "", "\n", "\n\n"))
}

// flow writes a value on one line.
func (w *yamlWriter) flow(v *value) {
	switch v.shape {
	case word:
		w.WriteString(w.scalar(v.text))
	case text:
		w.WriteString(w.scalar(spellText(w.Rand, v.text)))
	case boolean:
		w.WriteString(pick(w.Rand, strconv.FormatBool(v.truth), map[bool]string{true: "yes", false: "Off"}[v.truth]))
	case integer:
		w.WriteString(w.integer(v.number))
	case duration:
		w.WriteString(w.scalar(spellDuration(w.Rand, v.number)))
	case object:
		w.group('{', '}', len(v.members), func(i int) bool {
			if v.members[i].value == nil {
				return false
			}
			w.WriteString(w.key(v.members[i].key) + ": ")
			w.flow(v.members[i].value)
			return true
		})
	case ordered, set, keyed:
		w.group('[', ']', len(v.elements), func(i int) bool {
			w.flow(v.elements[i])
			return true
		})
	case freeForm:
		w.free(v.free)
	}
}

func (w *yamlWriter) group(begin, end byte, n int, write func(int) bool) {
	w.WriteByte(begin)
	separator := ""
	for i := range n {
		before := w.Len()
		w.WriteString(separator)
		if !write(i) {
			w.Truncate(before)
			continue
		}
		separator = ", "
	}
	w.WriteByte(end)
}

func (w *yamlWriter) free(v any) {
	switch v := v.(type) {
	case nil:
		w.WriteString(pick(w.Rand, "null", "~"))
	case bool:
		w.WriteString(strconv.FormatBool(v))
	case string:
		w.WriteString(yamlQuoted(v))
	case int64:
		w.WriteString(w.integer(v))
	case float64:
		w.WriteString(spellFloat(w.Rand, v))
	case []any:
		w.group('[', ']', len(v), func(i int) bool {
			w.free(v[i])
			return true
		})
	case freeObject:
		w.group('{', '}', len(v), func(i int) bool {
			w.WriteString(w.key(v[i].key) + ": ")
			w.free(v[i].value)
			return true
		})
	}
}

// integer adds what YAML knows and JSON does not.
func (w *yamlWriter) integer(n int64) string {
	if n >= 0 && chance(w.Rand, 4) {
		return pick(w.Rand, "+"+strconv.FormatInt(n, 10), "0x"+strconv.FormatInt(n, 16), "0o"+strconv.FormatInt(n, 8), strconv.FormatInt(n, 10)+"_")
	}
	return spellInteger(w.Rand, n)
}

// plain are words that no reader takes for anything else.
var plain = regexp.MustCompile(`^[a-z]{3,}[-_][a-z0-9_-]*[a-z0-9]$|^(instructions|models|tools|grant|name|spec|kind|metadata)$`)

func (w *yamlWriter) key(key string) string {
	if plain.MatchString(key) && chance(w.Rand, 2) {
		return key
	}
	return yamlQuoted(key)
}

func (w *yamlWriter) scalar(s string) string {
	switch {
	case plain.MatchString(s) && chance(w.Rand, 2):
		return s
	case !strings.ContainsAny(s, "\r\n\u0085\u2028\u2029\ufeff") && chance(w.Rand, 2):
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	default:
		return yamlQuoted(s)
	}
}
