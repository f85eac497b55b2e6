package bridge

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

const (
	maxQuoted    = 120 // bytes of a line of the server that are quoted
	minRedaction = 6   // a shorter value of the environment would black out ordinary words
)

// redactor takes the secrets of an environment out of text.
type redactor struct{ replace *strings.Replacer }

// newRedactor takes every value for a secret but those of the variables that are named plain.
func newRedactor(env, plain []string) *redactor {
	var secrets []string
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		if len(value) >= minRedaction && !slices.Contains(plain, name) {
			secrets = append(secrets, value)
		}
	}
	// The longest first, as one secret may begin with another.
	slices.SortFunc(secrets, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	var pairs []string
	for _, secret := range secrets {
		pairs = append(pairs, secret, "[redacted]")
	}
	return &redactor{replace: strings.NewReplacer(pairs...)}
}

func (r *redactor) redact(text string) string { return r.replace.Replace(text) }

// quoteLine quotes the beginning of a line that a server wrote, without the secrets of its environment.
func quoteLine(line []byte, secrets *redactor) string {
	return strconv.Quote(printable(secrets.redact(string(line)), maxQuoted))
}

// printable is the beginning of a text, on one line.
func printable(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(strings.TrimRight(text, "\r\n"), "?"))
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "") + "…"
	}
	return text
}
