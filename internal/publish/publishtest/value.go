// SPDX-License-Identifier: Apache-2.0

// Package publishtest makes Specs for tests: valid ones at random, the same ones
// written in other ways, and ones that differ from them in one thing.
package publishtest

import (
	"math/rand/v2"
	"slices"
)

// shape is what a value is, and so what may be done to it without changing what
// it means.
type shape uint8

const (
	word     shape = iota // a string that counts to the last byte
	text                  // free text: line endings and newlines at its end do not count
	boolean               // true or false
	integer               // a typed integer
	duration              // a length of time, in seconds
	object                // members, those that are absent included
	ordered               // a list in which the order counts
	set                   // strings, in any order
	keyed                 // objects with names, in any order
	freeForm              // any JSON, where everything counts but key order and spelling
)

// value is one value of a Spec, with what is known of its meaning.
type value struct {
	shape    shape
	text     string   // of a word or text
	number   int64    // of an integer or duration
	truth    bool     // of a boolean
	members  []member // of an object
	elements []*value // of a list
	free     any      // free-form JSON: nil, bool, string, int64, float64, []any, freeObject

	// change makes another valid value of it, in place, that means something
	// else; nil where that would need a change elsewhere.
	change func(*rand.Rand, *value)
	// respell writes it in place in another way that means the same; nil where the
	// shape says all there is to that.
	respell func(*rand.Rand, *value)
}

// member is a member of an object, or one that is not there.
type member struct {
	key       string
	value     *value   // nil if absent
	byDefault *value   // what an absent one means; nil if nothing
	empty     []*value // what means the same as absent, besides null
	optional  *value   // what it may be instead of absent; nil if one of them is not valid
}

// freeObject is an object of free-form JSON, its keys in some order.
type freeObject []freeMember

type freeMember struct {
	key   string
	value any
}

func (v *value) clone() *value {
	if v == nil {
		return nil
	}
	c := *v
	c.members = slices.Clone(v.members)
	for i := range c.members {
		c.members[i].value = c.members[i].value.clone()
	}
	c.elements = make([]*value, len(v.elements))
	for i, e := range v.elements {
		c.elements[i] = e.clone()
	}
	c.free = cloneFree(v.free)
	return &c
}

func cloneFree(v any) any {
	switch v := v.(type) {
	case []any:
		c := make([]any, len(v))
		for i := range v {
			c[i] = cloneFree(v[i])
		}
		return c
	case freeObject:
		c := make(freeObject, len(v))
		for i := range v {
			c[i] = freeMember{v[i].key, cloneFree(v[i].value)}
		}
		return c
	default:
		return v
	}
}

func (v *value) member(key string) *member {
	for i := range v.members {
		if v.members[i].key == key {
			return &v.members[i]
		}
	}
	return nil
}

// walk visits v and all values within it.
func (v *value) walk(visit func(*value)) {
	if v == nil {
		return
	}
	visit(v)
	for _, m := range v.members {
		m.value.walk(visit)
	}
	for _, e := range v.elements {
		e.walk(visit)
	}
}

// chance is true once in n times.
func chance(r *rand.Rand, n int) bool { return r.IntN(n) == 0 }

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }
