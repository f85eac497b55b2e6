// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"encoding/json"
	"errors"
	"maps"
	"net/textproto"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"remit.dev/remit/api/v1alpha1"
)

func checkHTTP(v *validation, tool *field.Path, t *v1alpha1.Tool) {
	path, request := tool.Child("http"), t.HTTP
	checkURL(v, path.Child("url"), request.URL)
	checkHeaders(v, path.Child("headers"), request.Headers)
	if request.Body != nil {
		checkFreeForm(v, path.Child("body"), request.Body.Raw)
		if onlyReads(request.Method) {
			v.add(RuleHTTPBody, path.Child("body"), "a %s request has no body: use query, or another method", request.Method)
		}
	}
	args := argumentsOf(t)
	route, query, _ := strings.Cut(request.URL, "?")
	checkPlaceholders(v, path.Child("url"), route, args, true)
	checkPlaceholders(v, path.Child("url"), query, args, false)
	for _, name := range slices.Sorted(maps.Keys(request.Query)) {
		checkPlaceholders(v, path.Child("query").Key(name), request.Query[name], args, false)
	}
	for _, name := range slices.Sorted(maps.Keys(request.Headers)) {
		checkPlaceholders(v, path.Child("headers").Key(name), request.Headers[name], args, false)
	}
}

// placeholder stands for an argument of the call.
var placeholder = regexp.MustCompile(`\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// checkURL: the host is what a Grant permits, so no argument may change it, and
// a credential in it would be part of a Version for ever.
func checkURL(v *validation, path *field.Path, text string) {
	parsed, err := url.Parse(placeholder.ReplaceAllString(text, "x"))
	if err != nil {
		// Around it the error repeats the URL, which may hold a password.
		if inner, ok := errors.AsType[*url.Error](err); ok {
			err = inner.Err
		}
		v.add(RuleHTTPURL, path, "not a URL: %s", shorten(err.Error(), maxQuoted))
		return
	}
	if parsed.User != nil {
		v.add(RuleHTTPURL, path, "a URL may not hold credentials: remove what is before the @ and put it into the Grant's Secret")
		return
	}
	if parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Hostname() == "" {
		v.add(RuleHTTPURL, path, "%s must be an absolute http or https URL", quoted(text))
	}
	if parsed.Fragment != "" || strings.HasSuffix(text, "#") {
		v.add(RuleHTTPURL, path, "%s has a fragment, which is never sent: remove what follows the #", quoted(text))
	}
	_, afterScheme, _ := strings.Cut(text, "://")
	authority, rest := afterScheme, ""
	if i := strings.IndexAny(afterScheme, "/?#"); i >= 0 {
		authority, rest = afterScheme[:i], afterScheme[i:]
	}
	if strings.ContainsAny(authority, "{}") {
		v.add(RuleHTTPURL, path, "placeholders belong into the path and the query, not into the host %s", quoted(authority))
	}
	if strings.ContainsAny(placeholder.ReplaceAllString(rest, ""), "{}") {
		v.add(RuleHTTPURL, path, "%s has a brace that belongs to no {placeholder}: a placeholder is a name of letters, digits and _; write other braces as %%7B and %%7D", quoted(text))
	}
}

// credentialHeaders come from the Secret of the Grant.
var credentialHeaders = []string{"Authorization", "Cookie", "Proxy-Authorization"}

// reservedHeaders are those of the connection, and those that Remit sends.
var reservedHeaders = []string{
	"Connection", "Content-Length", "Expect", "Host", "Idempotency-Key", "Keep-Alive",
	"Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

func checkHeaders(v *validation, path *field.Path, headers map[string]string) {
	seen := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		path, canonicalName := path.Key(name), textproto.CanonicalMIMEHeaderKey(name)
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			v.add(RuleHTTPHeader, path, "%s is not a name of a header (RFC 9110)", quoted(name))
		case slices.Contains(credentialHeaders, canonicalName):
			v.add(RuleHTTPHeader, path, "%s is a credential: remove it here and put it into the Grant's Secret", canonicalName)
		case slices.Contains(reservedHeaders, canonicalName):
			v.add(RuleHTTPHeader, path, "%s is set when the request is sent: remove it", canonicalName)
		case seen[canonicalName] != "":
			v.add(RuleHTTPHeader, path, "%s and %s are one header: keep one of them", quoted(seen[canonicalName]), quoted(name))
		case !httpguts.ValidHeaderFieldValue(headers[name]):
			v.add(RuleHTTPHeader, path, "the value holds a character that no header may hold (RFC 9110)")
		}
		seen[canonicalName] = name
	}
}

// arguments are those of a tool, as its input schema lists them.
type arguments struct {
	Properties map[string]json.RawMessage `json:"properties"`
	Required   []string                   `json:"required"`
}

// argumentsOf reads what it can: an invalid schema has its own findings.
func argumentsOf(tool *v1alpha1.Tool) arguments {
	var args arguments
	if tool.InputSchema != nil && json.Unmarshal(tool.InputSchema.Raw, &args) != nil {
		return arguments{}
	}
	return args
}

func checkPlaceholders(v *validation, path *field.Path, text string, args arguments, required bool) {
	for _, match := range placeholder.FindAllStringSubmatch(text, -1) {
		name := match[1]
		if _, ok := args.Properties[name]; !ok {
			v.add(RuleHTTPPlaceholder, path, "{%s} names no argument: add %s to inputSchema.properties, or correct the name",
				shorten(name, maxQuoted), quoted(name))
			continue
		}
		if required && !slices.Contains(args.Required, name) {
			v.add(RuleHTTPPlaceholder, path, "the path needs {%s}: add %s to inputSchema.required", shorten(name, maxQuoted), quoted(name))
		}
	}
}
