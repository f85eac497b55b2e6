// SPDX-License-Identifier: Apache-2.0

package publishtest

import (
	"bytes"
	"math/rand/v2"
	"strconv"
)

// JSON writes the agent as a Spec of that name, in some layout and spelling.
func (a *Agent) JSON(r *rand.Rand, name string) []byte {
	w := &jsonWriter{Rand: r}
	w.value(wholeObject(name, a.spec))
	w.space()
	return w.Bytes()
}

// wholeObject is the whole Spec object.
func wholeObject(name string, spec *value) *value {
	return &value{shape: object, members: []member{
		{key: "apiVersion", value: &value{shape: word, text: "remit.dev/v1alpha1"}},
		{key: "kind", value: &value{shape: word, text: "Spec"}},
		{key: "metadata", value: &value{shape: object, members: []member{{key: "name", value: &value{shape: word, text: name}}}}},
		{key: "spec", value: spec},
	}}
}

type jsonWriter struct {
	bytes.Buffer
	*rand.Rand
}

func (w *jsonWriter) space() { w.WriteString(pick(w.Rand, "", "", " ", "\n", "\t", "\r\n")) }

func (w *jsonWriter) value(v *value) {
	switch v.shape {
	case word:
		w.WriteString(jsonString(w.Rand, v.text))
	case text:
		w.WriteString(jsonString(w.Rand, spellText(w.Rand, v.text)))
	case boolean:
		w.WriteString(strconv.FormatBool(v.truth))
	case integer:
		w.WriteString(spellInteger(w.Rand, v.number))
	case duration:
		w.WriteString(jsonString(w.Rand, spellDuration(w.Rand, v.number)))
	case object:
		w.group('{', '}', len(v.members), func(i int) bool {
			if v.members[i].value == nil {
				return false
			}
			w.key(v.members[i].key)
			w.value(v.members[i].value)
			return true
		})
	case ordered, set, keyed:
		w.group('[', ']', len(v.elements), func(i int) bool {
			w.value(v.elements[i])
			return true
		})
	case freeForm:
		w.free(v.free)
	}
}

func (w *jsonWriter) key(key string) {
	w.WriteString(jsonString(w.Rand, key))
	w.space()
	w.WriteByte(':')
	w.space()
}

// group writes n parts, as far as write has something to write.
func (w *jsonWriter) group(begin, end byte, n int, write func(int) bool) {
	w.WriteByte(begin)
	w.space()
	first := true
	for i := range n {
		before := w.Len()
		if !first {
			w.WriteByte(',')
			w.space()
		}
		if !write(i) {
			w.Truncate(before)
			continue
		}
		first = false
		w.space()
	}
	w.WriteByte(end)
}

func (w *jsonWriter) free(v any) {
	switch v := v.(type) {
	case nil:
		w.WriteString("null")
	case bool:
		w.WriteString(strconv.FormatBool(v))
	case string:
		w.WriteString(jsonString(w.Rand, v))
	case int64:
		w.WriteString(spellInteger(w.Rand, v))
	case float64:
		w.WriteString(spellFloat(w.Rand, v))
	case []any:
		w.group('[', ']', len(v), func(i int) bool {
			w.free(v[i])
			return true
		})
	case freeObject:
		w.group('{', '}', len(v), func(i int) bool {
			w.key(v[i].key)
			w.free(v[i].value)
			return true
		})
	}
}
