// SPDX-License-Identifier: Apache-2.0

// Package template makes requests out of the templates of HTTP tools. It is pure, and
// the one reader of templates: publication and execution both use it, so that what was
// published is what is sent.
//
// A template is taken apart once, before there are arguments: the URL into its origin,
// path segments and query parameters, the body into its JSON values. Arguments are put
// into these parts and each part is encoded for its place; no text with an argument in
// it is ever parsed again. So no argument can change the scheme, the host, the port, the
// number of path segments, the names of parameters and headers, or the shape of the body
// beyond the value that it stands for.
//
// In query values, header values and strings of the body, {name} stands for an argument
// and {secret:name} for a secret of the Grant; {{ and }} are plain braces. In a URL plain
// braces are %7B and %7D.
//
//   - Path: strings, numbers and booleans, never empty. What some server may read as a
//     separator or a dot segment is refused, not encoded, since servers decode more than
//     once (RFC 3986 section 7.3).
//   - Query: the same, percent-encoded. A value that is one placeholder alone takes an
//     array, and repeats its parameter.
//   - Headers: the same, of printable ASCII.
//   - Body: a string that is one placeholder alone becomes the argument, whatever its JSON
//     type. Within longer text the argument is a string, a number or a boolean.
//
// A parameter, header, member or element whose argument was not given is left out.
package template
