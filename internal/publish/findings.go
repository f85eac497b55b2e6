// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"remit.dev/remit/api/v1alpha1"
)

// MaxFindings bounds the findings of one Publish, the last of which then says
// how many there are besides.
const MaxFindings = 256

// The bounds of a Finding's parts, in characters, as its CRD has them.
const (
	maxPath    = 512
	maxMessage = 1024
)

// maxQuoted bounds the characters of one value within a message.
const maxQuoted = 96

func (v *validation) add(rule string, path *field.Path, format string, args ...any) {
	v.findings = append(v.findings, v1alpha1.Finding{
		Rule:    rule,
		Path:    shorten(path.String(), maxPath),
		Message: shorten(fmt.Sprintf(format, args...), maxMessage),
	})
}

// warn adds advice.
func (v *validation) warn(rule string, path *field.Path, format string, args ...any) {
	v.add(rule, path, format, args...)
	v.findings[len(v.findings)-1].Severity = v1alpha1.SeverityWarning
}

// sorted gives the findings in the one order in which equal Specs give them.
func (v *validation) sorted() []v1alpha1.Finding {
	return SortFindings(v.findings)
}

// SortFindings sorts findings by path, rule and message, leaves each there once
// and bounds their number to MaxFindings. It may reuse the slice.
func SortFindings(findings []v1alpha1.Finding) []v1alpha1.Finding {
	slices.SortFunc(findings, func(a, b v1alpha1.Finding) int {
		return cmp.Or(comparePaths(a.Path, b.Path), strings.Compare(a.Rule, b.Rule), strings.Compare(a.Message, b.Message))
	})
	findings = slices.Compact(findings)
	if len(findings) <= MaxFindings {
		return findings
	}
	more := v1alpha1.Finding{Rule: RuleMoreFindings, Path: root.String(), Severity: v1alpha1.SeverityWarning}
	if Refused(findings) { // what refuses is shown before any advice
		more.Severity = ""
		slices.SortStableFunc(findings, func(a, b v1alpha1.Finding) int { return strings.Compare(string(a.Severity), string(b.Severity)) })
	}
	shown := findings[:MaxFindings-1]
	more.Message = fmt.Sprintf("%d more findings are not shown: correct these first", len(findings)-len(shown))
	return append(shown, more)
}

// comparePaths compares as text, but indices as numbers, so that the findings of
// a list come in the order of the list.
func comparePaths(a, b string) int {
	for a != "" && b != "" {
		x, y := digits(a), digits(b)
		if x == 0 || y == 0 {
			if a[0] != b[0] {
				return cmp.Compare(a[0], b[0])
			}
			a, b = a[1:], b[1:]
			continue
		}
		if c := cmp.Or(cmp.Compare(x, y), strings.Compare(a[:x], b[:y])); c != 0 {
			return c
		}
		a, b = a[x:], b[y:]
	}
	return cmp.Compare(len(a), len(b))
}

// digits counts the decimal digits at the start of s.
func digits(s string) int {
	return len(s) - len(strings.TrimLeft(s, "0123456789"))
}

// shorten cuts s to at most limit characters.
func shorten(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit-1]) + "…"
}

// quoted shows a value of the author's within a message.
func quoted[S ~string](s S) string {
	return strconv.Quote(shorten(string(s), maxQuoted))
}

// PointerPath appends a JSON pointer (RFC 6901) to a path, which may be nil. A
// step of digits is taken for an index.
func PointerPath(path *field.Path, pointer string) *field.Path {
	if pointer == "" {
		return path
	}
	for step := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		step = pointerUnescaper.Replace(step)
		if index, err := strconv.Atoi(step); err == nil && index >= 0 {
			path = path.Index(index)
		} else {
			path = path.Child(step)
		}
	}
	return path
}

var pointerUnescaper = strings.NewReplacer("~1", "/", "~0", "~")
