// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"cmp"
	"slices"

	"remit.dev/remit/internal/canonical"
	"remit.dev/remit/internal/publish"
)

// The rules that only the offline commands have.
const (
	// RuleUnknownField: the schema has no such field.
	RuleUnknownField = "unknown_field"
	// RuleSchema: the schema or one of its CEL rules refuses the value.
	RuleSchema = "schema"
	// RuleMetadata: the metadata is none that an object can have.
	RuleMetadata = "metadata"
	// RuleDuplicateKey: a key is there twice, of which an API server would keep one.
	RuleDuplicateKey = string(canonical.RuleDuplicateKey)
	// RuleKeyNotText: YAML reads a key as something else than text, of which the API
	// server would keep another spelling.
	RuleKeyNotText = "key_not_text"
	// RuleDuplicateObject: an object is there twice, with different contents.
	RuleDuplicateObject = "duplicate_object"
)

// Rules lists every rule that findings may carry, by name.
func Rules() []publish.Rule {
	rules := append(publish.Rules(),
		publish.Rule{
			Name: RuleUnknownField, Summary: "Every field is in the schema.",
			Help: "An API server drops a field that it does not know. Correct its name, or remove it.",
		},
		publish.Rule{
			Name: RuleSchema, Summary: "Every value keeps the schema and its CEL rules.",
			Help: "The API server refuses the object. Correct the value as the message says.",
		},
		publish.Rule{
			Name: RuleMetadata, Summary: "The metadata is one that an object can have.",
			Help: "The API server refuses the object. Correct the metadata as the message says.",
		},
		publish.Rule{
			Name: RuleDuplicateKey, Summary: "Every key is there once.",
			Help: "Of two equal keys one is dropped without a word. Keep one.",
		},
		publish.Rule{
			Name: RuleKeyNotText, Summary: "Every key is text, also where YAML reads something else.",
			Help: "YAML reads yes as true and 1e3 as a number, and Kubernetes stores that as the key. Put the key in quotes.",
		},
		publish.Rule{
			Name: RuleDuplicateObject, Summary: "Every object is there once in an input.",
			Help: "Of two objects of one name the last one wins. Rename or remove one of them.",
		},
		publish.Rule{
			Name: string(canonical.RuleNumberRounded), Summary: "Every number is one that Kubernetes can store.",
			Help: "Kubernetes stores integers of 64 bits and floats of 64 bits. Write the number that would be stored, or a string.",
		},
		publish.Rule{
			Name: string(canonical.RuleInvalidUTF8), Summary: "Every string is UTF-8.",
			Help: "Bytes that are not UTF-8 are replaced without a word. Save the file as UTF-8.",
		},
		publish.Rule{
			Name: string(canonical.RuleLoneSurrogate), Summary: "No escape names half of a surrogate pair.",
			Help: "Half a pair stands for no character and is replaced without a word. Write both halves or neither.",
		},
	)
	slices.SortFunc(rules, func(a, b publish.Rule) int { return cmp.Compare(a.Name, b.Name) })
	return rules
}
