// SPDX-License-Identifier: Apache-2.0

package template

import "fmt"

// Kind is what is wrong with a template.
type Kind string

// The kinds of a Problem.
const (
	// URL: the URL cannot be requested, or would not say where it leads.
	URL Kind = "URL"
	// Header: a header is no header, or one that a tool may not set.
	Header Kind = "Header"
	// Body: the method takes no body.
	Body Kind = "Body"
	// Placeholder: a brace, a placeholder or a secret is where or what it may not be.
	Placeholder Kind = "Placeholder"
	// Syntax: the body is not JSON.
	Syntax Kind = "Syntax"
)

// Place is a place within an HTTPTool.
type Place struct {
	// Field is url, query, headers or body.
	Field string
	// Key is the name of the parameter or the header.
	Key string
	// Pointer is a JSON pointer (RFC 6901) within the body.
	Pointer string
}

// String names the place in a sentence.
func (p Place) String() string {
	switch p.Field {
	case fieldQuery:
		return "the query parameter " + quoted(p.Key)
	case fieldHeaders:
		return "the header " + quoted(p.Key)
	case fieldBody:
		if p.Pointer != "" {
			return "the body at " + quoted(p.Pointer)
		}
		return "the body"
	default:
		return "the path"
	}
}

const (
	fieldURL     = "url"
	fieldQuery   = "query"
	fieldHeaders = "headers"
	fieldBody    = "body"
)

// Problem is what keeps an HTTPTool from being a template.
type Problem struct {
	Kind  Kind
	Place Place
	// Detail says what is wrong and what to do.
	Detail string
}

// Problems are those of one HTTPTool, as an error.
type Problems []Problem

// Error gives the first of them, which is the only one for most tools.
func (p Problems) Error() string {
	if len(p) == 0 {
		return "no problem"
	}
	place, key := p[0].Place, ""
	if place.Key != "" {
		key = "[" + quoted(place.Key) + "]"
	}
	return fmt.Sprintf("http.%s%s%s: %s", place.Field, key, place.Pointer, p[0].Detail)
}

// Error is why a template cannot be filled. Its text holds no value of a secret.
type Error struct {
	Place Place
	// Argument is the one at fault, if it is one.
	Argument string
	// Secret is the one at fault, if it is one.
	Secret string
	// Detail says what is wrong and what to do.
	Detail string
}

// Error names the argument or the secret, and its place.
func (e *Error) Error() string {
	switch {
	case e.Argument != "":
		return fmt.Sprintf("argument %s, for %s, %s", quoted(e.Argument), e.Place, e.Detail)
	case e.Secret != "":
		return fmt.Sprintf("secret %s, for %s, %s", quoted(e.Secret), e.Place, e.Detail)
	default:
		return e.Detail
	}
}
