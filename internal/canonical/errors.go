// SPDX-License-Identifier: Apache-2.0

package canonical

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Rule names why a value has no canonical form.
type Rule string

// The rules about data.
const (
	// RuleSyntax: the text is not one JSON value.
	RuleSyntax Rule = "syntax"
	// RuleInvalidUTF8: a string holds bytes that are not UTF-8.
	RuleInvalidUTF8 Rule = "invalid_utf8"
	// RuleLoneSurrogate: an escape names half of a UTF-16 surrogate pair.
	RuleLoneSurrogate Rule = "lone_surrogate"
	// RuleDuplicateKey: an object, or a list keyed by a field, has a key twice.
	RuleDuplicateKey Rule = "duplicate_key"
	// RuleTooDeep: the nesting is deeper than MaxDepth.
	RuleTooDeep Rule = "too_deep"
	// RuleTooLarge: the text is longer than MaxBytes.
	RuleTooLarge Rule = "too_large"
	// RuleNumberRange: a number is beyond the range of a float64.
	RuleNumberRange Rule = "number_range"
	// RuleNumberRounded: Kubernetes would store another number than the one
	// that is written. Only CheckText reports it.
	RuleNumberRounded Rule = "number_rounded"
	// RuleMarshal: a type's own MarshalJSON failed.
	RuleMarshal Rule = "marshal"
)

// The rules about Go types.
const (
	// RuleType: the type can hold values that have no canonical form.
	RuleType Rule = "type"
	// RuleTag: a canonical tag is unknown, or does not fit its field.
	RuleTag Rule = "tag"
	// RuleListOrder: a list does not say whether its order carries meaning.
	RuleListOrder Rule = "list_order"
)

// Error says where and why a value, or a type, has no canonical form.
type Error struct {
	// Path is a JSON pointer (RFC 6901), empty for the whole value. In errors
	// about types "*" stands for any element.
	Path string
	Rule Rule
	// Detail is for people: it names what was found and what to do.
	Detail string
}

func (e *Error) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("%s (%s)", e.Detail, e.Rule)
	}
	return fmt.Sprintf("%s: %s (%s)", e.Path, e.Detail, e.Rule)
}

func newError(rule Rule, format string, args ...any) *Error {
	return &Error{Rule: rule, Detail: fmt.Sprintf(format, args...)}
}

// prepend puts a step in front of the path. Paths are made only when an error
// unwinds, so that encoding pays nothing for them.
func (e *Error) prepend(step string) {
	e.Path = "/" + pointerEscaper.Replace(excerpt(step)) + e.Path
}

func (e *Error) under(step string) *Error {
	e.prepend(step)
	return e
}

func (e *Error) underIndex(i int) *Error { return e.under(strconv.Itoa(i)) }

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

// asError keeps a nil *Error from becoming a non-nil error.
func asError(e *Error) error {
	if e == nil {
		return nil
	}
	return e
}

// maxExcerpt bounds the bytes of input that one part of a message quotes.
const maxExcerpt = 128

func excerpt(s string) string {
	if len(s) <= maxExcerpt {
		return s
	}
	end := maxExcerpt
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}
