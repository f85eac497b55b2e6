// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
)

// resultPlace is a place of a result by the schemas that apply to it. Places with
// the same schemas are one, so that the records of a list cost no more than one of
// them. Nothing is known of what is below a nil place.
type resultPlace struct {
	schemas []*fieldSchema
	marks   marks
	unread  string
	// names are the properties that some schema names.
	names     map[string]struct{}
	patterned bool
	// prefix is the number of elements that some schema treats one by one.
	prefix   int
	children map[childKey]*resultPlace
}

// childKey is a property, an element, or all the properties that no schema names.
type childKey struct {
	kind  childKind
	name  string
	index int
}

type childKind uint8

const (
	namedChild childKind = iota
	otherChild
	elementChild
)

// placeBudget bounds the work on one result. Beyond it every place is secret.
const placeBudget = 1 << 20

type placeResolver struct {
	places map[string]*resultPlace
	budget int
	// exhausted stands for all places once the budget is.
	exhausted *resultPlace
}

func newPlaceResolver() *placeResolver {
	return &placeResolver{
		places: map[string]*resultPlace{},
		budget: placeBudget,
		exhausted: &resultPlace{
			marks: markSecret, unread: "the schemas that apply are too many", children: map[childKey]*resultPlace{},
		},
	}
}

// place gives the place to which those schemas, and all that they apply, apply.
func (r *placeResolver) place(schemas ...*fieldSchema) *resultPlace {
	if len(schemas) == 0 {
		return nil
	}
	seen := map[*fieldSchema]bool{}
	for pending := schemas; len(pending) > 0; {
		s := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if r.budget--; r.budget < 0 {
			return r.exhausted
		}
		if !seen[s] {
			seen[s] = true
			pending = append(pending, s.applied...)
		}
	}
	maps.DeleteFunc(seen, func(s *fieldSchema, _ bool) bool { return s.inert() })
	if len(seen) == 0 {
		return nil
	}
	applied := slices.SortedFunc(maps.Keys(seen), func(a, b *fieldSchema) int { return cmp.Compare(a.id, b.id) })
	var key []byte
	for _, s := range applied {
		key = binary.AppendUvarint(key, uint64(s.id))
	}
	if p, ok := r.places[string(key)]; ok {
		return p
	}
	p := r.newPlace(applied)
	r.places[string(key)] = p
	return p
}

func (r *placeResolver) newPlace(applied []*fieldSchema) *resultPlace {
	p := &resultPlace{schemas: applied, names: map[string]struct{}{}, children: map[childKey]*resultPlace{}}
	for _, s := range applied {
		p.marks |= s.marks
		p.unread = cmp.Or(p.unread, s.unread)
		p.patterned = p.patterned || len(s.patterns) > 0
		for _, list := range s.prefix {
			p.prefix = max(p.prefix, len(list))
		}
		r.budget -= len(s.properties)
		for name := range s.properties {
			p.names[name] = struct{}{}
		}
	}
	return p
}

func (r *placeResolver) child(p *resultPlace, key childKey, schemas func() []*fieldSchema) *resultPlace {
	if child, ok := p.children[key]; ok {
		return child
	}
	if r.budget -= len(p.schemas); r.budget < 0 {
		return r.exhausted
	}
	child := r.place(schemas()...)
	if r.budget < 0 { // what applies may be cut short
		child = r.exhausted
	}
	p.children[key] = child
	return child
}

// property gives the place of a property.
func (r *placeResolver) property(p *resultPlace, name string) *resultPlace {
	if _, named := p.names[name]; !named && !p.patterned {
		return r.otherProperty(p)
	}
	return r.child(p, childKey{kind: namedChild, name: name}, func() []*fieldSchema {
		var schemas []*fieldSchema
		for _, s := range p.schemas {
			named := false
			if schema, ok := s.properties[name]; ok {
				schemas, named = append(schemas, schema), true
			}
			for _, pattern := range s.patterns {
				if r.matches(pattern, name) {
					schemas = append(schemas, pattern.schema)
					named = named || pattern.expression != nil // else it only may match
				}
			}
			if !named {
				schemas = append(schemas, s.others...)
			}
		}
		return schemas
	})
}

// matchSteps is how many steps of matching a pattern count as one of the budget.
const matchSteps = 64

func (r *placeResolver) matches(pattern fieldPattern, name string) bool {
	if r.budget--; pattern.expression == nil {
		return true
	}
	r.budget -= len(name) * pattern.expression.Size / matchSteps
	return r.budget < 0 || pattern.expression.MatchString(name)
}

// otherProperty gives the place of the properties that no schema names; what a
// pattern matches is among them.
func (r *placeResolver) otherProperty(p *resultPlace) *resultPlace {
	return r.child(p, childKey{kind: otherChild}, func() []*fieldSchema {
		var schemas []*fieldSchema
		for _, s := range p.schemas {
			schemas = append(schemas, s.others...)
			for _, pattern := range s.patterns {
				schemas = append(schemas, pattern.schema)
			}
		}
		return schemas
	})
}

// element gives the place of the i-th element of a list.
func (r *placeResolver) element(p *resultPlace, i int) *resultPlace {
	i = min(i, p.prefix)
	return r.child(p, childKey{kind: elementChild, index: i}, func() []*fieldSchema {
		var schemas []*fieldSchema
		for _, s := range p.schemas {
			schemas = append(schemas, s.anyItem...)
			beyond := len(s.prefix) == 0
			for _, list := range s.prefix {
				if i < len(list) {
					schemas = append(schemas, list[i])
				} else {
					beyond = true
				}
			}
			if beyond {
				schemas = append(schemas, s.items...)
			}
		}
		return schemas
	})
}
