// SPDX-License-Identifier: Apache-2.0

package publishtest

import "math/rand/v2"

// Rewrite gives the same agent in another form: sets in another order, members in
// another order, defaults written out or left out, null or nothing for what is
// absent.
func (a *Agent) Rewrite(r *rand.Rand) *Agent {
	same := &Agent{a.spec.clone()}
	same.spec.walk(func(v *value) { rewrite(r, v) })
	return same
}

// null is written as null in a place where that means absent.
func null() *value { return &value{shape: freeForm} }

func rewrite(r *rand.Rand, v *value) {
	if v.respell != nil {
		v.respell(r, v)
	}
	switch v.shape {
	case set, keyed:
		r.Shuffle(len(v.elements), func(i, j int) { v.elements[i], v.elements[j] = v.elements[j], v.elements[i] })
	case object:
		for i := range v.members {
			rewriteMember(r, &v.members[i])
		}
		r.Shuffle(len(v.members), func(i, j int) { v.members[i], v.members[j] = v.members[j], v.members[i] })
	case freeForm:
		v.free = shuffleFree(r, v.free)
	case word, text, boolean, integer, duration, ordered: // their spelling is the writer's
	}
}

func rewriteMember(r *rand.Rand, m *member) {
	if m.value != nil && m.byDefault != nil && means(m.value, m.byDefault) && chance(r, 2) {
		m.value = nil
	}
	if m.value != nil || chance(r, 2) {
		return
	}
	same := append([]*value{null()}, m.empty...)
	if m.byDefault != nil {
		same = append(same, m.byDefault)
	}
	m.value = same[r.IntN(len(same))].clone()
}

// means says whether a value is its default.
func means(v, byDefault *value) bool {
	if v.shape != byDefault.shape || v.text != byDefault.text || v.number != byDefault.number || v.truth != byDefault.truth {
		return false
	}
	for _, m := range v.members {
		if m.value != nil && (m.byDefault == nil || !means(m.value, m.byDefault)) {
			return false
		}
	}
	return true
}

func shuffleFree(r *rand.Rand, v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = shuffleFree(r, v[i])
		}
	case freeObject:
		for i := range v {
			v[i].value = shuffleFree(r, v[i].value)
		}
		r.Shuffle(len(v), func(i, j int) { v[i], v[j] = v[j], v[i] })
	}
	return v
}
