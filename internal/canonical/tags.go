// SPDX-License-Identifier: Apache-2.0

package canonical

import (
	"reflect"
	"strings"
)

// order says what the order of a list means. Each list field declares it, in its
// canonical tag.
//
// Prevents: one Spec, written in two orders that mean the same, hashing
// differently; and two failover lists, which differ in their order only, hashing
// the same. Undeclared, a new field would have one of the two without anyone
// having decided it.
type order uint8

const (
	orderUndecided order = iota
	// ordered: the order carries meaning and is kept.
	ordered
	// set: strings whose order and repetition mean nothing. Sorted, each once.
	set
	// keyed: objects told apart by one field, their order meaning nothing.
	// Sorted by that field, each value of it once.
	keyed
)

// tag is what the canonical tag of a field says; the package comment lists its
// options.
type tag struct {
	order    order
	key      string
	tristate bool
	text     bool
	excluded bool
}

func parseTag(field reflect.StructField) (tag, *Error) {
	var t tag
	value, ok := field.Tag.Lookup("canonical")
	if !ok {
		return t, nil
	}
	if value == "-" {
		return tag{excluded: true}, nil
	}
	for option := range strings.SplitSeq(value, ",") {
		name, key, hasKey := strings.Cut(option, "=")
		o := orderUndecided
		switch {
		case name == "map" && key != "":
			o, t.key = keyed, key
		case hasKey:
			return t, unknownOption(option)
		case name == "ordered":
			o = ordered
		case name == "set":
			o = set
		case name == "tristate":
			t.tristate = true
		case name == "text":
			t.text = true
		default:
			return t, unknownOption(option)
		}
		if o != orderUndecided && t.order != orderUndecided {
			return t, newError(RuleTag, "the tag %q gives more than one order", value)
		}
		t.order = max(t.order, o)
	}
	return t, nil
}

func unknownOption(option string) *Error {
	return newError(RuleTag, `unknown option %q; the options are ordered, set, map=KEY, tristate, text and -`, option)
}
