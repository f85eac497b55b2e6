// SPDX-License-Identifier: Apache-2.0

package template

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// parameter is one parameter of a query.
type parameter struct {
	name  string
	value text
	// bare is a name without an equals sign.
	bare  bool
	place Place
}

// queryText reads the query of a URL. It is decoded first, and encoded as a whole when it
// is sent.
func (p *parsing) queryText(t *Template, whole, query string) {
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue
		}
		name, value, valued := strings.Cut(pair, "=")
		if strings.ContainsAny(name, "{}") {
			p.add(URL, urlPlace, quoted(whole)+" has a brace in the name of a parameter: placeholders belong into values; write other braces as %7B and %7D")
			return
		}
		parts, fault := parseText(value, escaped)
		if fault != "" {
			p.add(URL, urlPlace, quoted(whole)+" "+fault)
			return
		}
		p.note(urlPlace, parts)
		decoded, err := url.QueryUnescape(name)
		for i := range parts {
			if err == nil {
				parts[i].literal, err = url.QueryUnescape(parts[i].literal)
			}
		}
		if err != nil {
			p.add(URL, urlPlace, "not a URL: "+shortened(err.Error()))
			return
		}
		t.query = append(t.query, parameter{name: decoded, value: parts, bare: !valued, place: Place{Field: fieldQuery, Key: decoded}})
	}
}

func (p *parsing) queryMap(t *Template, query map[string]string) {
	inURL := len(t.query)
	for _, key := range slices.Sorted(maps.Keys(query)) {
		place := Place{Field: fieldQuery, Key: key}
		if len(query[key]) > MaxText {
			p.add(Placeholder, place, tooLongText)
			continue
		}
		name, ok := p.name(place, key)
		if !ok {
			continue
		}
		if slices.ContainsFunc(t.query[:inURL], func(q parameter) bool { return q.name == name }) {
			p.add(URL, place, quoted(name)+" is in the URL too: keep one of them")
			continue
		}
		if parts, ok := p.text(place, query[key]); ok {
			t.query = append(t.query, parameter{name: name, value: parts, place: place})
		}
	}
}

var tooLongText = "the text has more than " + strconv.Itoa(MaxText) + " bytes: shorten it"

func (t *Template) fillQuery(f *filling) (string, error) {
	var out strings.Builder
	for _, q := range t.query {
		f.place = q.place
		values, err := q.values(f)
		if err != nil {
			return "", err
		}
		for _, value := range values {
			if out.Len() > 0 {
				out.WriteByte('&')
			}
			out.WriteString(url.QueryEscape(q.name))
			if !q.bare {
				out.WriteString("=" + url.QueryEscape(value))
			}
			if out.Len() > MaxURL {
				return "", tooLongURL()
			}
		}
	}
	return out.String(), nil
}

// values are as many as the parameter is repeated, none when it is left out.
func (q parameter) values(f *filling) ([]string, error) {
	name, alone := q.value.alone()
	list, isList := f.arguments[name].value.([]any)
	if !alone || !isList {
		value, given, err := q.value.fill(f, anything)
		if err != nil || !given {
			return nil, err
		}
		return []string{value}, nil
	}
	values := make([]string, 0, len(list))
	for i, element := range list {
		value, ok := scalarText(element)
		if !ok {
			return nil, f.refuse(name, "must be an array of strings, numbers and booleans: element %d is %s", i, typeOf(element))
		}
		values = append(values, value)
	}
	return values, f.take(f.arguments[name].size)
}
