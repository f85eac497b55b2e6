// SPDX-License-Identifier: Apache-2.0

package canonical

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// freeForm writes the canonical form of raw to dst, depth being the number of
// objects and arrays around it.
func (e *encoder) freeForm(raw []byte, depth int) *Error {
	if len(raw) > MaxBytes {
		return newError(RuleTooLarge, "the JSON has %d bytes, more than %d", len(raw), MaxBytes)
	}
	e.src, e.pos = raw, 0
	if err := e.readValue(depth); err != nil {
		return err
	}
	if e.peek(); e.pos < len(e.src) {
		return newError(RuleSyntax, "the JSON goes on after its value, at byte %d; it must be one value", e.pos)
	}
	return nil
}

// peek skips white space and gives the next byte, 0 at the end.
func (e *encoder) peek() byte {
	for ; e.pos < len(e.src); e.pos++ {
		switch c := e.src[e.pos]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

func (e *encoder) readValue(depth int) *Error {
	switch c := e.peek(); {
	case c == '{':
		return e.readObject(depth)
	case c == '[':
		return e.readArray(depth)
	case c == '"':
		_, err := e.readString()
		return err
	case c == '-' || '0' <= c && c <= '9':
		return e.readNumber()
	case c == 't':
		return e.readLiteral("true")
	case c == 'f':
		return e.readLiteral("false")
	case c == 'n':
		return e.readLiteral("null")
	default:
		return e.unexpected("a value")
	}
}

func (e *encoder) readObject(depth int) *Error {
	if err := e.checkDepth(depth); err != nil {
		return err
	}
	first := len(e.members)
	e.pos++
	e.dst = append(e.dst, '{')
	body := len(e.dst)
	if e.peek() == '}' {
		e.pos++
		e.close('}')
		return nil
	}
	for {
		if err := e.readMember(depth); err != nil {
			return err
		}
		switch e.peek() {
		case ',':
			e.pos++
		case '}':
			e.pos++
			return e.endObject(first, body)
		default:
			return e.unexpected(`"," or "}"`)
		}
	}
}

func (e *encoder) readMember(depth int) *Error {
	if e.peek() != '"' {
		return e.unexpected("a key in double quotes")
	}
	start := len(e.dst)
	key, err := e.readString()
	if err != nil {
		return err
	}
	if e.peek() != ':' {
		return e.unexpected(`":"`)
	}
	e.pos++
	e.dst = append(e.dst, ':')
	if e.goOn {
		e.steps = append(e.steps, string(key))
	}
	if err := e.readValue(depth + 1); err != nil {
		return e.under(err, string(key))
	}
	e.leave()
	e.members = append(e.members, member{key: key, start: start, end: len(e.dst)})
	e.dst = append(e.dst, ',')
	return nil
}

// readArray keeps the order: nothing says that an array inside free-form JSON
// is a set.
func (e *encoder) readArray(depth int) *Error {
	if err := e.checkDepth(depth); err != nil {
		return err
	}
	e.pos++
	e.dst = append(e.dst, '[')
	if e.peek() == ']' {
		e.pos++
		e.close(']')
		return nil
	}
	for i := 0; ; i++ {
		if e.goOn {
			e.steps = append(e.steps, strconv.Itoa(i))
		}
		if err := e.readValue(depth + 1); err != nil {
			return e.under(err, strconv.Itoa(i))
		}
		e.leave()
		e.dst = append(e.dst, ',')
		switch e.peek() {
		case ',':
			e.pos++
		case ']':
			e.pos++
			e.close(']')
			return nil
		default:
			return e.unexpected(`"," or "]"`)
		}
	}
}

func (e *encoder) readLiteral(literal string) *Error {
	if !bytes.HasPrefix(e.src[e.pos:], []byte(literal)) {
		return e.unexpected("a value")
	}
	e.pos += len(literal)
	e.dst = append(e.dst, literal...)
	return nil
}

func (e *encoder) readNumber() *Error {
	length, integer := scanNumber(e.src[e.pos:])
	if length == 0 {
		return newError(RuleSyntax, "malformed number at byte %d", e.pos)
	}
	literal := e.src[e.pos : e.pos+length]
	start := len(e.dst)
	var ok bool
	e.dst, ok = appendNumber(e.dst, literal, integer)
	e.pos += length
	if !ok {
		e.dst = append(e.dst, '0')
		return e.note(newError(RuleNumberRange, "%s is beyond the range of a 64-bit float; write it as a string", excerpt(string(literal))))
	}
	if stored := e.dst[start:]; e.goOn && !sameDecimal(literal, stored) {
		return e.note(newError(RuleNumberRounded,
			"%s would be stored as %s; write that number, or a string", excerpt(string(literal)), stored))
	}
	return nil
}

// scanNumber gives the length of the number that src begins with, 0 if it is
// malformed, and whether it has neither fraction nor exponent (RFC 8259, 6).
func scanNumber(src []byte) (length int, integer bool) {
	i := 0
	if i < len(src) && src[i] == '-' {
		i++
	}
	whole := digits(src[i:])
	if whole == 0 || whole > 1 && src[i] == '0' {
		return 0, false
	}
	i += whole
	integer = true
	if i < len(src) && src[i] == '.' {
		fraction := digits(src[i+1:])
		if fraction == 0 {
			return 0, false
		}
		i += 1 + fraction
		integer = false
	}
	if i < len(src) && (src[i] == 'e' || src[i] == 'E') {
		i++
		if i < len(src) && (src[i] == '+' || src[i] == '-') {
			i++
		}
		exponent := digits(src[i:])
		if exponent == 0 {
			return 0, false
		}
		i += exponent
		integer = false
	}
	return i, integer
}

func digits(src []byte) int {
	for i, c := range src {
		if c < '0' || c > '9' {
			return i
		}
	}
	return len(src)
}

// readString writes the canonical form of the string at pos, and gives its text,
// which stays valid until the encoder is released.
func (e *encoder) readString() ([]byte, *Error) {
	start := e.pos + 1
	end := start
	for end < len(e.src) && !special[e.src[end]] {
		end++
	}
	if end == len(e.src) || e.src[end] != '"' {
		return e.readEscapedString(start, end)
	}
	text := e.src[start:end]
	if !utf8.Valid(text) {
		if err := e.note(invalidUTF8(string(text))); err != nil {
			return nil, err
		}
	}
	e.pos = end + 1
	e.dst = append(e.dst, '"')
	e.dst = append(e.dst, text...)
	e.dst = append(e.dst, '"')
	return text, nil
}

// readEscapedString is readString for a string whose text, which begins at
// start, has its first special byte at next.
func (e *encoder) readEscapedString(start, next int) ([]byte, *Error) {
	text, err := e.unescape(start, next)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(text) {
		if err := e.note(invalidUTF8(string(text))); err != nil {
			return nil, err
		}
	}
	e.dst = appendString(e.dst, text)
	return text, nil
}

func invalidUTF8(text string) *Error {
	return newError(RuleInvalidUTF8, "the string %.*q is not valid UTF-8; fix its encoding", maxExcerpt, text)
}

// unescape reads the rest of a string up to its closing quote, and gives its text.
func (e *encoder) unescape(start, next int) ([]byte, *Error) {
	begin := len(e.texts)
	for e.pos = next; e.pos < len(e.src); {
		e.texts = append(e.texts, e.src[start:e.pos]...)
		switch c := e.src[e.pos]; {
		case c == '"':
			e.pos++
			return e.texts[begin:len(e.texts):len(e.texts)], nil
		case c != '\\':
			return nil, newError(RuleSyntax, "the control character %#02x in a string must be escaped, at byte %d", c, e.pos)
		}
		if err := e.readEscape(); err != nil {
			return nil, err
		}
		start = e.pos
		for e.pos < len(e.src) && !special[e.src[e.pos]] {
			e.pos++
		}
	}
	return nil, newError(RuleSyntax, "the JSON ends inside a string; close it")
}

// unescaped maps the character of a two-character escape to what it stands for.
var unescaped = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

func (e *encoder) readEscape() *Error {
	if e.pos+1 == len(e.src) {
		return newError(RuleSyntax, "the JSON ends inside an escape")
	}
	switch c := e.src[e.pos+1]; {
	case c == 'u':
		r, err := e.readUnicodeEscape()
		if err != nil {
			return err
		}
		e.texts = utf8.AppendRune(e.texts, r)
	case unescaped[c] != 0:
		e.pos += 2
		e.texts = append(e.texts, unescaped[c])
	default:
		return newError(RuleSyntax, `the escape \%c is unknown, at byte %d`, c, e.pos)
	}
	return nil
}

// readUnicodeEscape reads \uXXXX, or two of them that make a surrogate pair.
// Half a pair stands for no character, and each parser puts something else in
// its place.
func (e *encoder) readUnicodeEscape() (rune, *Error) {
	at := e.pos
	r, ok := hex4(e.src[e.pos:])
	if !ok {
		return 0, newError(RuleSyntax, `\u takes four hexadecimal digits, at byte %d`, at)
	}
	e.pos += len(`\uXXXX`)
	if !utf16.IsSurrogate(r) {
		return r, nil
	}
	if low, ok := hex4(e.src[e.pos:]); ok {
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			e.pos += len(`\uXXXX`)
			return pair, nil
		}
	}
	return utf8.RuneError, e.note(newError(RuleLoneSurrogate,
		`\u%04x is half of a surrogate pair, at byte %d; write both halves or neither`, r, at))
}

// hex4 reads the four hexadecimal digits of the \uXXXX that src begins with.
func hex4(src []byte) (r rune, ok bool) {
	if len(src) < len(`\uXXXX`) || src[0] != '\\' || src[1] != 'u' {
		return 0, false
	}
	for _, c := range src[2:6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

func (e *encoder) unexpected(want string) *Error {
	if e.pos >= len(e.src) {
		return newError(RuleSyntax, "the JSON ends where %s is expected", want)
	}
	return newError(RuleSyntax, "found %q at byte %d where %s is expected", e.src[e.pos], e.pos, want)
}
