// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"slices"
	"strconv"
	"strings"
)

// maxPointerBytes bounds the pointer of a finding. One that is longer ends at the
// last place around what was found that fits.
const maxPointerBytes = 512

// place is where a walk is. It is written out only when there is something to
// say, so that a walk costs no more than what it visits. The root is nil.
type place struct {
	around *place
	token  string
}

func (p *place) child(token string) *place { return &place{p, token} }

func (p *place) index(i int) *place { return p.child(strconv.Itoa(i)) }

// String is the place as a JSON pointer (RFC 6901); the root is the empty one.
func (p *place) String() string { return p.after("") }

// after is the pointer with a prefix, of maxPointerBytes at most.
func (p *place) after(prefix string) string {
	var tokens []string
	for at := p; at != nil; at = at.around {
		tokens = append(tokens, at.token)
	}
	var pointer strings.Builder
	pointer.WriteString(prefix)
	for _, token := range slices.Backward(tokens) {
		if pointer.Len()+1+len(token) > maxPointerBytes {
			break
		}
		pointer.WriteByte('/')
		pointerEscapes.WriteString(&pointer, token) //nolint:errcheck // a Builder does not fail
	}
	return pointer.String()
}

var (
	pointerEscapes   = strings.NewReplacer("~", "~0", "/", "~1")
	pointerUnescapes = strings.NewReplacer("~1", "/", "~0", "~")
)

// maxQuoted bounds what a message quotes of somebody else's text.
const maxQuoted = 64

// quoted is text in quotes, cut to a bound.
func quoted(text string) string { return strconv.Quote(bounded(text, maxQuoted)) }

// bounded is text, cut to a bound where it is longer.
func bounded(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}
