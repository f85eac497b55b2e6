// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"net/url"
	"strings"
)

// none is the index of no definition.
const none = -1

// definitions are the entries of $defs at the root, by index, and the references
// among them.
type definitions struct {
	byName map[string]int
	// edges are the references within each definition, in the order of the walk.
	edges [][]edge
}

// edge is a reference from one definition to another.
type edge struct {
	to int
	at *place
}

func definitionsOf(root *node) *definitions {
	found := &definitions{byName: map[string]int{}}
	entries := root.member("$defs")
	if entries == nil {
		return found
	}
	for i, entry := range entries.sorted() {
		found.byName[entry.name] = i
	}
	found.edges = make([][]edge, len(found.byName))
	return found
}

// index gives the definition of that name, or none.
func (d *definitions) index(name string) int {
	if i, ok := d.byName[name]; ok {
		return i
	}
	return none
}

// target gives the definition that a reference points at, or none: the fragment
// is percent-encoded (RFC 3986) around an escaped JSON pointer.
func (d *definitions) target(reference string) int {
	escaped, ok := strings.CutPrefix(reference, "#/$defs/")
	if !ok {
		return none
	}
	token, err := url.PathUnescape(escaped)
	if err != nil || strings.Contains(token, "/") {
		return none
	}
	return d.index(pointerUnescapes.Replace(token))
}

func (c *strictCleaner) reference(value *node, at *place, in scope) {
	if in.allOf {
		c.add(RuleRefInAllOf, at, "a $ref must not be within allOf: write the schema in its place")
	}
	target := none
	if value.kind == stringNode {
		target = c.definitions.target(value.text)
	}
	if target == none {
		c.add(RuleRefTarget, at, "a $ref must point at an entry of $defs at the root, as in #/$defs/Name")
		return
	}
	if in.definition != none {
		c.definitions.edges[in.definition] = append(c.definitions.edges[in.definition], edge{target, at})
	}
}

// recursive finds each reference that closes a cycle: one between two definitions
// that reach each other.
func (c *strictCleaner) recursive() {
	cycle := c.definitions.cycles()
	for from, edges := range c.definitions.edges {
		for _, e := range edges {
			if from == e.to || cycle[from] == cycle[e.to] {
				c.add(RuleRefRecursive, e.at, "this $ref makes a definition contain itself: write the levels out, as many as are needed")
			}
		}
	}
}

// cycles gives each definition a number, the same for two that reach each other.
// It is Tarjan's algorithm with a stack of its own, as a chain of references can
// be as long as the schema.
func (d *definitions) cycles() []int {
	var (
		count  = len(d.edges)
		number = make([]int, count) // when it was found, from 1
		lowest = make([]int, count) // the earliest that it reaches
		cycle  = make([]int, count) // from 1; 0 while it is open
		open   []int
		found  int
	)
	type frame struct{ at, next int }
	for start := range count {
		if number[start] != 0 {
			continue
		}
		stack := []frame{{at: start}}
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			at := top.at
			if top.next == 0 && number[at] == 0 {
				found++
				number[at], lowest[at] = found, found
				open = append(open, at)
			}
			if top.next < len(d.edges[at]) {
				to := d.edges[at][top.next].to
				top.next++
				switch {
				case number[to] == 0:
					stack = append(stack, frame{at: to})
				case cycle[to] == 0:
					lowest[at] = min(lowest[at], number[to])
				}
				continue
			}
			stack = stack[:len(stack)-1]
			if len(stack) > 0 {
				below := stack[len(stack)-1].at
				lowest[below] = min(lowest[below], lowest[at])
			}
			if lowest[at] == number[at] {
				open = closeCycle(open, at, number[at], cycle)
			}
		}
	}
	return cycle
}

// closeCycle takes the definitions down to root off the open ones.
func closeCycle(open []int, root, number int, cycle []int) []int {
	for {
		last := open[len(open)-1]
		open = open[:len(open)-1]
		cycle[last] = number
		if last == root {
			return open
		}
	}
}
