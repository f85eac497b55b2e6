// SPDX-License-Identifier: Apache-2.0

package template

import (
	"errors"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Origin is a scheme, a host and a port (RFC 6454).
type Origin struct {
	// Scheme is http or https.
	Scheme string
	// Host is a name in lower case without a final dot, or an address without brackets.
	Host string
	Port uint16
}

// Authority is the host, with the port where it is not the scheme's own.
func (o Origin) Authority() string {
	host := o.Host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if o.Port == usualPort(o.Scheme) {
		return host
	}
	return host + ":" + strconv.Itoa(int(o.Port))
}

// String is the origin as the beginning of a URL.
func (o Origin) String() string { return o.Scheme + "://" + o.Authority() }

// OriginOf gives the origin of a URL; false for one that is not http or https, has no
// host or a port that is none, or holds user information.
func OriginOf(u *url.URL) (Origin, bool) {
	o := Origin{Scheme: u.Scheme, Host: strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")), Port: usualPort(u.Scheme)}
	if o.Port == 0 || o.Host == "" || u.User != nil {
		return Origin{}, false
	}
	if text := u.Port(); text != "" {
		port, err := strconv.ParseUint(text, 10, 16)
		if err != nil || port == 0 {
			return Origin{}, false
		}
		o.Port = uint16(port)
	}
	return o, true
}

func usualPort(scheme string) uint16 {
	switch scheme {
	case "http":
		return 80
	case "https":
		return 443
	default:
		return 0
	}
}

// segment is what stands between two slashes of a path.
type segment []segmentPart

// segmentPart is text as the author encoded it, and decoded, or an argument.
type segmentPart struct{ raw, decoded, argument string }

var urlPlace = Place{Field: fieldURL}

// url takes a URL apart without net/url wherever there may be placeholders: what cannot
// hold one is found first.
func (p *parsing) url(t *Template, whole string) {
	scheme, rest, _ := strings.Cut(whole, "://")
	rest, _, fragment := strings.Cut(rest, "#")
	authority, path, query := rest, "", ""
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	path, query, _ = strings.Cut(path, "?")
	if strings.ContainsFunc(whole, unicode.IsControl) {
		p.add(URL, urlPlace, "not a URL: it holds a control character")
		return
	}
	if !p.origin(t, whole, scheme, authority) {
		return
	}
	if fragment {
		p.add(URL, urlPlace, quoted(whole)+" has a fragment, which is never sent: remove what follows the #")
	}
	p.path(t, whole, path)
	p.queryText(t, whole, query)
}

func (p *parsing) origin(t *Template, whole, scheme, authority string) bool {
	if strings.Contains(authority, "@") { // and show nothing of it
		p.add(URL, urlPlace, "a URL may not hold credentials: remove what is before the @ and put it into the Grant's Secret")
		return false
	}
	if strings.ContainsAny(authority, "{}") {
		p.add(URL, urlPlace, "placeholders belong into the path and the query, not into the host "+quoted(authority))
		return false
	}
	parsed, err := url.Parse(scheme + "://" + authority)
	if err != nil {
		if inner, ok := errors.AsType[*url.Error](err); ok {
			err = inner.Err
		}
		p.add(URL, urlPlace, "not a URL: "+shortened(err.Error()))
		return false
	}
	origin, ok := OriginOf(parsed)
	if !ok {
		p.add(URL, urlPlace, quoted(whole)+" must be an absolute http or https URL")
		return false
	}
	if strings.ContainsFunc(origin.Host, func(r rune) bool { return r > unicode.MaxASCII }) {
		p.add(URL, urlPlace, "the host "+quoted(origin.Host)+" is not ASCII: write it as DNS has it, with labels that begin with xn--")
		return false
	}
	t.Origin = origin
	return true
}

func (p *parsing) path(t *Template, whole, path string) {
	if path == "" {
		return
	}
	pieces := strings.Split(path[1:], "/")
	for i, piece := range pieces {
		if piece == "" && i < len(pieces)-1 {
			p.add(URL, urlPlace, quoted(whole)+" has an empty path segment, which servers read in different ways: remove a slash, or write it as %2F")
			return
		}
		parsed, ok := p.segment(whole, piece)
		if !ok {
			return
		}
		t.segments = append(t.segments, parsed)
	}
}

func (p *parsing) segment(whole, piece string) (segment, bool) {
	parts, fault := parseText(piece, escaped)
	if fault != "" {
		p.add(URL, urlPlace, quoted(whole)+" "+fault)
		return nil, false
	}
	var parsed segment
	decoded, open := "", false
	for _, part := range parts {
		if part.secret != "" {
			p.add(Placeholder, urlPlace, "{secret:"+part.secret+"} is in the path, which servers and proxies log: put it into a header")
			return nil, false
		}
		if part.argument != "" {
			p.uses = append(p.uses, Use{Argument: part.argument, Place: urlPlace, Required: true})
			parsed, open = append(parsed, segmentPart{argument: part.argument}), true
			continue
		}
		plain, err := url.PathUnescape(part.literal)
		if err != nil {
			p.add(URL, urlPlace, "not a URL: "+shortened(err.Error()))
			return nil, false
		}
		decoded += plain
		parsed = append(parsed, segmentPart{raw: encodeSegment(part.literal), decoded: plain})
	}
	if open && strings.Contains(decoded, "%") { // "%25{x}" and 2F would be a slash to whoever decodes twice
		p.add(URL, urlPlace, quoted(whole)+" has a %25 beside a placeholder: put it into a segment of its own")
		return nil, false
	}
	if !open && piece != "" && moves(decoded) {
		p.add(URL, urlPlace, quoted(whole)+" has a path segment that servers resolve or drop, such as .. and the like: write the path that it leads to")
		return nil, false
	}
	return parsed, true
}

func (t *Template) fillURL(f *filling) (*url.URL, error) {
	f.place = urlPlace
	var raw strings.Builder
	for _, segment := range t.segments {
		filled, err := segment.fill(f)
		if err != nil {
			return nil, err
		}
		raw.WriteString("/" + filled)
	}
	path, err := url.PathUnescape(raw.String())
	if err != nil {
		return nil, &Error{Place: urlPlace, Detail: "the path cannot be encoded: " + err.Error()}
	}
	query, err := t.fillQuery(f)
	if err != nil {
		return nil, err
	}
	if raw.Len()+len(query) > MaxURL {
		return nil, tooLongURL()
	}
	return &url.URL{Scheme: t.Origin.Scheme, Host: t.Origin.Authority(), Path: path, RawPath: raw.String(), RawQuery: query}, nil
}

func tooLongURL() error {
	return &Error{Detail: "the URL would have more than " + strconv.Itoa(MaxURL) + " bytes: shorten the arguments"}
}

// fill gives the segment as it is sent. The author's encoding of his own text stays.
func (s segment) fill(f *filling) (string, error) {
	var raw, decoded strings.Builder
	last := ""
	for _, part := range s {
		if part.argument == "" {
			raw.WriteString(part.raw)
			decoded.WriteString(part.decoded)
			continue
		}
		last = part.argument
		value, given, err := f.scalar(last)
		switch {
		case err != nil:
			return "", err
		case !given || value == "":
			return "", f.refuse(last, "must not be empty")
		case separates(value):
			return "", f.refuse(last, `must not hold a slash, a backslash, a percent sign or a control character: %s does`, quoted(value))
		}
		if err := f.take(len(value)); err != nil {
			return "", err
		}
		decoded.WriteString(value)
		raw.WriteString(encodeAll(value))
	}
	if last != "" && moves(decoded.String()) {
		return "", f.refuse(last, "must not make a path segment that servers resolve or drop: %s is one", quoted(decoded.String()))
	}
	return raw.String(), nil
}

// separates says whether a server could see more than one segment in a value, after
// decoding it once more, or as one that takes compatibility characters for ASCII.
func separates(value string) bool {
	value = norm.NFKC.String(value)
	return strings.ContainsAny(value, `/\%`) || strings.ContainsFunc(value, unicode.IsControl)
}

// moves says whether a server could resolve a decoded segment, or what it takes for one in
// it, as "." or "..", or drop it: some cut it at a semicolon first, or trim it.
func moves(decoded string) bool {
	for piece := range strings.FieldsFuncSeq(norm.NFKC.String(decoded), func(r rune) bool { return r == '/' || r == '\\' }) {
		name, _, _ := strings.Cut(piece, ";")
		if strings.Trim(name, ". \t") == "" {
			return true
		}
	}
	return false
}

// encodeAll encodes everything but unreserved characters (RFC 3986 section 2.3).
func encodeAll(value string) string { return strings.ReplaceAll(url.QueryEscape(value), "+", "%20") }

// encodeSegment encodes what no path segment may hold, and leaves the author's own
// encoding as it is.
func encodeSegment(literal string) string {
	const allowed = "-._~!$&'()*+,;=:@%"
	var out strings.Builder
	for i := range len(literal) {
		switch c := literal[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte(allowed, c) >= 0:
			out.WriteByte(c)
		default:
			out.WriteString(encodeAll(string([]byte{c})))
		}
	}
	return out.String()
}

// shortened bounds what another library says about a text of the author's.
func shortened(message string) string {
	const limit = 2 * maxQuoted
	if len(message) > limit {
		return strings.ToValidUTF8(message[:limit], "") + "…"
	}
	return message
}
