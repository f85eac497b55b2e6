// SPDX-License-Identifier: Apache-2.0

package template

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"

	"remit.dev/remit/api/v1alpha1"
)

// The bounds of a template and of what is made of it, in bytes.
const (
	// MaxText bounds one value of query and headers, before it is filled.
	MaxText = 8 << 10
	// MaxURL bounds a filled URL. RFC 9110 section 4.1 wants servers to take 8000.
	MaxURL = 8 << 10
	// MaxHeader bounds the value of one filled header.
	MaxHeader = 8 << 10
	// MaxBody bounds a filled body.
	MaxBody = 1 << 20
	// MaxRequest bounds what all placeholders together stand for.
	MaxRequest = 1 << 20
)

// Template is a parsed HTTPTool. It is immutable.
type Template struct {
	// Method of the request.
	Method string
	// Origin is where each request goes.
	Origin Origin
	// Uses are the arguments that it names, one entry for each place.
	Uses []Use
	// Secrets are the names of the secrets that it needs, sorted.
	Secrets []string

	segments []segment
	query    []parameter
	headers  []header
	body     node
}

// Use is a placeholder of an argument.
type Use struct {
	Argument string
	Place    Place
	// Required says that there is no request without it.
	Required bool
}

// Request is a filled template.
type Request struct {
	Method string
	// URL may hold secrets in its query.
	URL *url.URL
	// Headers by their canonical names; the values may hold secrets.
	Headers map[string]string
	// Body is JSON, or nil where there is none.
	Body []byte
}

// Parse takes an HTTPTool apart. With problems, the template is what could be read and
// cannot be filled.
func Parse(tool *v1alpha1.HTTPTool) (*Template, Problems) {
	p := &parsing{secrets: map[string]bool{}}
	t := &Template{Method: string(tool.Method)}
	p.url(t, tool.URL)
	p.queryMap(t, tool.Query)
	p.headerMap(t, tool.Headers)
	if tool.Body != nil {
		p.wholeBody(t, tool.Body.Raw)
	}
	t.Uses, t.Secrets = p.uses, slices.Sorted(maps.Keys(p.secrets))
	return t, p.problems
}

// Fill gives the request for the arguments of one call, a JSON object, and the secrets by
// name. The error is an *Error.
func (t *Template) Fill(arguments json.RawMessage, secrets map[string]string) (*Request, error) {
	f, err := newFilling(arguments, secrets)
	if err != nil {
		return nil, err
	}
	request := &Request{Method: t.Method}
	if request.URL, err = t.fillURL(f); err != nil {
		return nil, err
	}
	if request.Headers, err = t.fillHeaders(f); err != nil {
		return nil, err
	}
	if request.Body, err = t.fillBody(f); err != nil {
		return nil, err
	}
	return request, nil
}

// parsing is what has been found so far.
type parsing struct {
	uses     []Use
	secrets  map[string]bool
	problems Problems
}

func (p *parsing) add(kind Kind, place Place, detail string) {
	p.problems = append(p.problems, Problem{kind, place, detail})
}

// text reads a text with placeholders and notes which it has.
func (p *parsing) text(place Place, whole string) (text, bool) {
	parts, fault := parseText(whole, doubled)
	if fault != "" {
		p.add(Placeholder, place, quoted(whole)+" "+fault)
		return nil, false
	}
	p.note(place, parts)
	return parts, true
}

// note keeps what a text needs.
func (p *parsing) note(place Place, parts text) {
	for _, part := range parts {
		switch {
		case part.argument != "":
			p.uses = append(p.uses, Use{Argument: part.argument, Place: place})
		case part.secret != "":
			p.secrets[part.secret] = true
		}
	}
}

// name reads a name, where placeholders do not belong.
func (p *parsing) name(place Place, whole string) (string, bool) {
	parts, fault := parseText(whole, doubled)
	if fault != "" {
		p.add(Placeholder, place, quoted(whole)+" "+fault)
		return "", false
	}
	plain, ok := parts.plain()
	if !ok {
		p.add(Placeholder, place, quoted(whole)+" is a name, and placeholders belong into values: write the name out, or its braces as {{ and }}")
	}
	return plain, ok
}
