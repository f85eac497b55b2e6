// SPDX-License-Identifier: Apache-2.0

package template

import (
	"regexp"
	"strconv"
	"strings"
)

// text is a text with placeholders.
type text []part

// part is a piece of a text. At most one of its fields is set.
type part struct{ literal, argument, secret string }

// braces says how a brace that begins no placeholder is written.
type braces bool

const (
	doubled braces = false // {{ and }}
	escaped braces = true  // %7B and %7D, which no reader of URLs takes for a placeholder
)

var placeholder = regexp.MustCompile(`^\{(?:([A-Za-z_][A-Za-z0-9_]*)|secret:([a-z](?:[a-z0-9-]{0,38}[a-z0-9])?))\}`)

// parseText takes a text apart. The fault says what is wrong with one of its braces.
func parseText(rest string, plain braces) (parts text, fault string) {
	var literal strings.Builder
	for {
		i := strings.IndexAny(rest, "{}")
		if i < 0 {
			break
		}
		literal.WriteString(rest[:i])
		rest = rest[i:]
		if plain == doubled && len(rest) > 1 && rest[0] == rest[1] {
			literal.WriteByte(rest[0])
			rest = rest[2:]
			continue
		}
		match := placeholder.FindStringSubmatch(rest)
		if match == nil {
			return nil, strayBrace(rest, plain)
		}
		parts = parts.append(literal.String())
		literal.Reset()
		parts = append(parts, part{argument: match[1], secret: match[2]})
		rest = rest[len(match[0]):]
	}
	literal.WriteString(rest)
	return parts.append(literal.String()), ""
}

func (t text) append(literal string) text {
	if literal == "" {
		return t
	}
	return append(t, part{literal: literal})
}

func strayBrace(rest string, plain braces) string {
	if strings.HasPrefix(rest, "{secret:") {
		return "has a secret without a proper name: write lower-case letters, digits and dashes, as in {secret:api-key}"
	}
	how := "{{ and }}"
	if plain == escaped {
		how = "%7B and %7D"
	}
	return "has a brace that belongs to no {placeholder}: a placeholder is a name of letters, digits and _; write other braces as " + how
}

// plain is the text without placeholders, if there are none.
func (t text) plain() (string, bool) {
	switch {
	case len(t) == 0:
		return "", true
	case len(t) == 1 && t[0].argument == "" && t[0].secret == "":
		return t[0].literal, true
	}
	return "", false
}

// alone is the argument that is the whole of the text, if one is.
func (t text) alone() (argument string, ok bool) {
	if len(t) != 1 {
		return "", false
	}
	return t[0].argument, t[0].argument != ""
}

// fill puts in the values, each of which check may refuse. It gives false when an
// argument was not given.
func (t text) fill(f *filling, check func(string) string) (filled string, given bool, err error) {
	var out strings.Builder
	for _, p := range t {
		value := p.literal
		switch {
		case p.argument != "":
			value, given, err = f.scalar(p.argument)
		case p.secret != "":
			value, err = f.secret(p.secret)
			given = true
		default:
			out.WriteString(value)
			continue
		}
		if err != nil || !given {
			return "", false, err
		}
		if fault := check(value); fault != "" {
			return "", false, &Error{Place: f.place, Argument: p.argument, Secret: p.secret, Detail: fault}
		}
		if err := f.take(len(value)); err != nil {
			return "", false, err
		}
		out.WriteString(value)
	}
	return out.String(), true, nil
}

// anything is the check of places that encode every value.
func anything(string) string { return "" }

// maxQuoted bounds the bytes of a text that a message shows.
const maxQuoted = 96

func quoted(text string) string {
	if len(text) > maxQuoted {
		text = strings.ToValidUTF8(text[:maxQuoted], "") + "…"
	}
	return strconv.Quote(text)
}
