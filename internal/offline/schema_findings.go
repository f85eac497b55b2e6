// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/publish"
)

// schemaFinding is what the schema says of a value. Where a publication rule says
// the same it goes by the name of that rule, and says what to do.
func schemaFinding(err *field.Error) v1alpha1.Finding {
	path := err.Field
	if path == "" || path == "<nil>" {
		path = "metadata"
	}
	switch {
	case err.Type == field.ErrorTypeDuplicate:
		return duplicateFinding(path, err.BadValue)
	case isUnknownTag(err):
		return v1alpha1.Finding{Rule: publish.RuleUnknownTag, Path: path, Message: err.Detail}
	default:
		return v1alpha1.Finding{Rule: RuleSchema, Path: path, Message: messageOf(err)}
	}
}

// duplicateFinding is about an entry of a set, or of a list that is keyed by fields.
func duplicateFinding(path string, value any) v1alpha1.Finding {
	f := v1alpha1.Finding{Rule: publish.RuleDuplicateName, Path: path}
	keys, keyed := value.(map[string]any)
	names := slices.Sorted(maps.Keys(keys))
	switch {
	case !keyed:
		f.Message = fmt.Sprintf("%s is in this list already: remove one of them", quoted(value))
	case len(names) == 1:
		f.Path += "." + names[0]
		f.Message = fmt.Sprintf("%s is the %s of an earlier entry too: rename or remove one of them", quoted(keys[names[0]]), names[0])
	default:
		f.Message = fmt.Sprintf("an earlier entry has the same %s: rename or remove one of them", strings.Join(names, " and "))
	}
	return f
}

// maxQuoted bounds the characters of one value within a message.
const maxQuoted = 96

func quoted(value any) string {
	text := []rune(fmt.Sprint(value))
	if len(text) > maxQuoted {
		text = append(text[:maxQuoted-1], '…')
	}
	return strconv.Quote(string(text))
}

// isUnknownTag recognises the CEL rules about tags by what they say: an API server
// gives them no name.
func isUnknownTag(err *field.Error) bool {
	value, ok := err.BadValue.(string)
	return ok && strings.HasPrefix(value, "@") && err.Type == field.ErrorTypeInvalid &&
		(strings.HasPrefix(err.Detail, "unknown tag ") || strings.Contains(err.Detail, " is a tag, "))
}

// maxMessage bounds a message, in characters, as the CRD bounds those of
// findings.
const maxMessage = 1024

// messageOf is the error without its path, and without the value if that is too
// long.
func messageOf(err *field.Error) string {
	text := err.ErrorBody()
	if utf8.RuneCountInString(text) > maxMessage {
		text = string(err.Type) + ": " + err.Detail
	}
	if runes := []rune(text); len(runes) > maxMessage {
		return string(runes[:maxMessage-1]) + "…"
	}
	return text
}
