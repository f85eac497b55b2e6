// SPDX-License-Identifier: Apache-2.0

package template

import (
	"maps"
	"net/textproto"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// header is one header, by its canonical name.
type header struct {
	name  string
	value text
	place Place
}

// credentialHeaders hold nothing but a secret, so their value must name one.
var credentialHeaders = []string{"Authorization", "Cookie"}

// reservedHeaders are those of the connection, and those that Remit sends.
var reservedHeaders = []string{
	"Accept-Encoding", "Connection", "Content-Length", "Expect", "Host", "Idempotency-Key", "Keep-Alive",
	"Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// routingHeaders are taken by some servers for the method, the host or the path, so that
// the request would not be the one that the Grant permits.
var routingHeaders = []string{
	"Forwarded", "X-Forwarded-Host", "X-Forwarded-Path", "X-Forwarded-Port", "X-Forwarded-Prefix", "X-Forwarded-Proto",
	"X-Forwarded-Server", "X-Host", "X-Http-Host-Override", "X-Http-Method", "X-Http-Method-Override", "X-Method-Override",
	"X-Original-Host", "X-Original-Uri", "X-Original-Url", "X-Rewrite-Url",
}

func (p *parsing) headerMap(t *Template, headers map[string]string) {
	seen := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(headers)) {
		place, name := Place{Field: fieldHeaders, Key: key}, textproto.CanonicalMIMEHeaderKey(key)
		parts, ok := p.text(place, headers[key])
		fault := headerFault(key, name, parts, seen[name])
		switch {
		case fault != "":
			p.add(Header, place, fault)
		case len(headers[key]) > MaxText:
			p.add(Header, place, tooLongText)
		case ok:
			t.headers = append(t.headers, header{name: name, value: parts, place: place})
		}
		seen[name] = key
	}
}

// headerFault says what is wrong with a header, or nothing.
func headerFault(key, name string, value text, same string) string {
	switch {
	case !httpguts.ValidHeaderFieldName(key):
		return quoted(key) + " is not a name of a header (RFC 9110)"
	case slices.Contains(credentialHeaders, name) && !value.hasSecret():
		return name + " is a credential: name it as {secret:NAME}, or remove it here and set the Grant's credential"
	case slices.Contains(reservedHeaders, name):
		return name + " is set when the request is sent: remove it"
	case slices.Contains(routingHeaders, name):
		return name + " can change the method, the host or the path that a Grant permits: remove it"
	case same != "":
		return quoted(same) + " and " + quoted(key) + " are one header: keep one of them"
	}
	for _, part := range value {
		if !httpguts.ValidHeaderFieldValue(part.literal) {
			return "the value holds a character that no header may hold (RFC 9110)"
		}
	}
	return ""
}

func (t text) hasSecret() bool {
	return slices.ContainsFunc(t, func(p part) bool { return p.secret != "" })
}

func (t *Template) fillHeaders(f *filling) (map[string]string, error) {
	filled := make(map[string]string, len(t.headers))
	for _, header := range t.headers {
		f.place = header.place
		value, given, err := header.value.fill(f, headerValueFault)
		switch {
		case err != nil:
			return nil, err
		case len(value) > MaxHeader:
			return nil, &Error{Detail: header.place.String() + " would have more than " + strconv.Itoa(MaxHeader) + " bytes: shorten the arguments"}
		case given:
			filled[header.name] = value
		}
	}
	return filled, nil
}

// headerValueFault: what is not printable ASCII is refused, though RFC 9110 lets more
// through, since servers differ in what they make of it.
func headerValueFault(value string) string {
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) {
		return "must be printable ASCII without line breaks"
	}
	if strings.TrimSpace(value) != value {
		return "must not begin or end with a space"
	}
	return ""
}
