// SPDX-License-Identifier: Apache-2.0

package publishtest

import "math/rand/v2"

// Change gives an agent that differs from a in the meaning of exactly one value.
func (a *Agent) Change(r *rand.Rand) *Agent {
	changed := &Agent{a.spec.clone()}
	var changes []func()
	changed.spec.walk(func(v *value) {
		if v.change != nil {
			changes = append(changes, func() { v.change(r, v) })
		}
		for i := range v.members {
			if m := &v.members[i]; m.optional != nil {
				changes = append(changes, m.toggle)
			}
		}
	})
	changes[r.IntN(len(changes))]()
	return changed
}

// toggle adds a member that is absent, or takes it away.
func (m *member) toggle() {
	if m.value != nil {
		m.value = nil
		return
	}
	m.value = m.optional.clone()
}

func changeScalar(_ *rand.Rand, v *value) { v.truth = !v.truth }

// changeText changes what counts in free text: characters, lines, and spaces at
// the end of a line.
func changeText(r *rand.Rand, v *value) {
	switch r.IntN(4) {
	case 0:
		v.text = "A" + v.text
	case 1:
		v.text += " "
	case 2:
		v.text += "\nmore"
	default:
		v.text = "\n" + v.text
	}
}

// reorder changes an ordered list: its order if that can be seen, else its length.
func reorder(_ *rand.Rand, v *value) {
	if n := len(v.elements); n > 1 && !v.elements[0].same(v.elements[n-1]) {
		v.elements[0], v.elements[n-1] = v.elements[n-1], v.elements[0]
		return
	}
	v.elements = append(v.elements, v.elements[0].clone())
}

// same compares the parts of models.
func (v *value) same(w *value) bool {
	if v == nil || w == nil {
		return v == w
	}
	if v.text != w.text || len(v.members) != len(w.members) || !sameFree(v.free, w.free) {
		return false
	}
	for i := range v.members {
		if !v.members[i].value.same(w.members[i].value) {
			return false
		}
	}
	return true
}

func sameFree(a, b any) bool {
	x, okX := a.(freeObject)
	y, okY := b.(freeObject)
	if !okX || !okY {
		return !okX && !okY && a == b
	}
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if x[i].key != y[i].key || !sameFree(x[i].value, y[i].value) {
			return false
		}
	}
	return true
}

// changeFree changes one thing somewhere under the key "default", or anywhere if
// there is none: the rest of a schema has to stay valid.
func changeFree(r *rand.Rand, v *value) {
	if schema, ok := v.free.(freeObject); ok {
		for i := range schema {
			if schema[i].key == "default" {
				schema[i].value = otherFree(r, schema[i].value)
				return
			}
		}
	}
	v.free = otherFree(r, v.free)
}

// otherFree gives another JSON value: null is not nothing, 1 is not "1", and the
// order of an array counts.
func otherFree(r *rand.Rand, v any) any {
	switch v := v.(type) {
	case nil:
		return []any{}
	case bool:
		return !v
	case string:
		if v == "1" {
			return int64(1)
		}
		return v + " "
	case int64:
		return v + 1
	case float64:
		return -v
	case []any:
		if len(v) == 0 || chance(r, 3) {
			return append(v, nil)
		}
		i := r.IntN(len(v))
		v[i] = otherFree(r, v[i])
		return v
	case freeObject:
		if len(v) == 0 || chance(r, 3) {
			return append(v, freeMember{"added", nil})
		}
		i := r.IntN(len(v))
		v[i].value = otherFree(r, v[i].value)
		return v
	default:
		return nil
	}
}
