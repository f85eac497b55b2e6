// SPDX-License-Identifier: Apache-2.0

// Package canonical gives data of equal meaning equal bytes, so that a digest of
// the bytes is a digest of the meaning.
//
// Two kinds of data go through the same encoder. [Typed] takes a Go struct,
// whose fields say what they mean: which lists have an order, which values may
// be told apart from their absence. [JSON] takes free-form JSON, where nothing
// is known and so everything counts: arrays are ordered and null is a value.
// The free-form parts of a typed value follow the rules of JSON.
//
// The output is JSON as RFC 8785 (JCS) has it, with one departure: an integer
// within int64 keeps all of its digits, as it does in Kubernetes. It is a fixed
// point: JSON gives canonical bytes back unchanged, those that Typed made
// included, so a stored body can be verified without the Go type it came from.
//
// # Tags
//
// Typed goes by the json tag of a field for its name and by the canonical tag for
// what it means, the options of which are separated by commas:
//
//	ordered    a list in which the order carries meaning
//	set        a list of strings in which it does not, nor does repetition
//	map=KEY    a list of objects told apart by their JSON field KEY
//	tristate   a list, map or pointer to something that is not absent when empty
//	text       free text, or a list or map of it, for NormalizeTextFields
//	-          not part of the canonical form
//
// A list says which of the first three it is; [Check] refuses a type in which
// one does not.
//
// # Rules
//
// Each rule is documented where it is applied, beside the divergence that it
// prevents:
//
//   - key order: compareUTF16
//   - strings: appendString
//   - numbers: appendNumber, appendFloat
//   - no value, null and empty: presence
//   - lists: order
//   - free text: NormalizeText
//
// The rules together are [Canonicalization] v1; a change to any of them, or to the order or
// the meaning that a tag gives to an existing field, is a new version of them.
package canonical

// Canonicalization names this set of rules. Bytes made under different rules are
// not comparable.
const Canonicalization = "v1"

// Bounds on what is read and written.
const (
	// MaxBytes bounds the size of free-form JSON and of canonical output, in
	// bytes: the largest request that a Kubernetes API server accepts.
	MaxBytes = 3 << 20
	// MaxDepth bounds the nesting of objects and arrays in the output.
	MaxDepth = 64
)
