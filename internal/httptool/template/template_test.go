// SPDX-License-Identifier: Apache-2.0

package template_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/httptool/template"
)

type stringMap = map[string]string

// request is a filled template as it goes over the wire.
type request struct {
	Target  string
	Headers stringMap
	Body    string
}

func parse(t *testing.T, tool v1alpha1.HTTPTool) *template.Template {
	t.Helper()
	parsed, problems := template.Parse(&tool)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return parsed
}

func tool(url string, query, headers stringMap, body string) v1alpha1.HTTPTool {
	made := v1alpha1.HTTPTool{Grant: "shop", Method: "POST", URL: url, Query: query, Headers: headers}
	if body != "" {
		made.Body = &apiextensionsv1.JSON{Raw: []byte(body)}
	}
	return made
}

func fill(parsed *template.Template, arguments string) (request, error) {
	filled, err := parsed.Fill([]byte(arguments), stringMap{"key": "s3cr&t\""})
	if err != nil {
		return request{}, err
	}
	return request{Target: filled.URL.String(), Headers: filled.Headers, Body: string(filled.Body)}, nil
}

// A4: each kind of value in each place.
func TestFill(t *testing.T) {
	const origin = "https://shop.example"
	for name, test := range map[string]struct {
		tool      v1alpha1.HTTPTool
		arguments string
		want      request
	}{
		"path": {
			tool(origin+"/orders/{id}/v{n}:cancel/{ok}", nil, nil, ""), `{"id": "ä 1?#&=+", "n": 12345678901234567890, "ok": true}`,
			request{Target: origin + "/orders/%C3%A4%201%3F%23%26%3D%2B/v12345678901234567890:cancel/true"},
		},
		"the author's own encoding stays": {
			tool(origin+"/group%2Fproject/%7Bx%7D/{id}/ü|/", nil, nil, ""), `{"id": "1"}`,
			request{Target: origin + "/group%2Fproject/%7Bx%7D/1/%C3%BC%7C/"},
		},
		"no path": {tool(origin+"?a={a}", nil, nil, ""), `{"a": 1}`, request{Target: origin + "?a=1"}},
		"an origin in another spelling": {
			tool("https://SHOP.example.:443/x", nil, nil, ""), `{}`, request{Target: origin + "/x"},
		},
		"an address": {tool("http://[::1]:8080/x", nil, nil, ""), `{}`, request{Target: "http://[::1]:8080/x"}},
		"query": {
			tool(origin+"/?b=a%20b&flag&e=&q={q}", stringMap{"a": "{{{q}}}", "z": "{n}-{b}"}, nil, ""),
			`{"q": "x&y=z#", "n": 1e21, "b": false}`,
			request{Target: origin + "/?b=a+b&flag&e=&q=x%26y%3Dz%23&a=%7Bx%26y%3Dz%23%7D&z=1e21-false"},
		},
		"an array repeats its parameter": {
			tool(origin+"/", stringMap{"id": "{ids}", "no": "{none}"}, nil, ""), `{"ids": ["a&b", 2, true], "none": []}`,
			request{Target: origin + "/?id=a%26b&id=2&id=true"},
		},
		"what is not given is left out": {
			tool(origin+"/?a={a}", stringMap{"b": "x{b}", "c": "1"}, stringMap{"X-A": "{a}", "X-B": "-{b}"}, `{"a": "{a}", "b": "-{b}", "c": ["{a}", 1, "-{b}"], "d": {"a": "{a}"}}`),
			`{"b": null}`,
			request{Target: origin + "/?c=1", Body: `{"c":[1],"d":{}}`},
		},
		"no body": {tool(origin+"/", nil, nil, `"{a}"`), `{}`, request{Target: origin + "/"}},
		"headers": {
			tool(origin+"/", nil, stringMap{"x-a": "a={a}; {{b}}", "X-E": "{e}"}, ""), `{"a": "1; x", "e": ""}`,
			request{Target: origin + "/", Headers: stringMap{"X-A": "a=1; x; {b}", "X-E": ""}},
		},
		"body values keep their type": {
			tool(origin+"/", nil, nil, `["{s}", "{n}", "{o}", "{l}", "{t}", "{z}", "{{s}}", 1.50, null]`),
			`{"s": "1", "n": 9007199254740993, "o": {"a": [0.10]}, "l": [], "t": true, "z": null}`,
			request{Target: origin + "/", Body: `["1",9007199254740993,{"a":[0.10]},[],true,null,"{s}",1.50,null]`},
		},
		"body text": {
			tool(origin+"/", nil, nil, `{"{{k}}": "<{s}> {n} {b}"}`), `{"s": "a\"b\\\n\u0000", "n": 0.1, "b": false}`,
			request{Target: origin + "/", Body: `{"{k}":"<a\"b\\\n\u0000> 0.1 false"}`},
		},
		"secrets": {
			tool(origin+"/?k={secret:key}", stringMap{"l": "x{secret:key}"}, stringMap{"X-K": "Token {secret:key}"}, `{"k": "{secret:key}", "l": "-{secret:key}"}`), `{}`,
			request{
				Target: origin + "/?k=s3cr%26t%22&l=xs3cr%26t%22", Headers: stringMap{"X-K": `Token s3cr&t"`},
				Body: `{"k":"s3cr&t\"","l":"-s3cr&t\""}`,
			},
		},
		"an argument is never a placeholder": {
			tool(origin+"/?a={a}", nil, stringMap{"X-A": "{a}{b}"}, `["{a}", "-{a}{b}"]`), `{"a": "{secret:key}", "b": "{a}"}`,
			request{
				Target: origin + "/?a=%7Bsecret%3Akey%7D", Headers: stringMap{"X-A": "{secret:key}{a}"},
				Body: `["{secret:key}","-{secret:key}{a}"]`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := fill(parse(t, test.tool), test.arguments)
			if err != nil {
				t.Fatal(err)
			}
			if test.want.Headers == nil {
				test.want.Headers = stringMap{}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Issue 5: what an argument may not be, by its place; the message names it.
func TestFillRefuses(t *testing.T) {
	quoted := func(value string) string { return fmt.Sprintf(`{"a": %q}`, value) }
	path := func(url string) v1alpha1.HTTPTool { return tool("https://shop.example"+url, nil, nil, "") }
	header := tool("https://shop.example/", nil, stringMap{"X-A": "x {a}"}, "")
	query := tool("https://shop.example/", stringMap{"q": "{a}"}, nil, "")
	const separator = ", for the path, must not hold a slash"
	for name, test := range map[string]struct {
		tool      v1alpha1.HTTPTool
		arguments string
		want      string
	}{
		"an empty segment":          {path("/x/{a}/y"), quoted(""), "for the path, must not be empty"},
		"a missing segment":         {path("/x/{a}/y"), `{}`, "for the path, must not be empty"},
		"null in the path":          {path("/x/{a}/y"), `{"a": null}`, "for the path, must not be empty"},
		"an array in the path":      {path("/x/{a}"), `{"a": [1]}`, "for the path, must be a string, a number or a boolean, not an array"},
		"an object in the path":     {path("/x/{a}"), `{"a": {}}`, "not an object"},
		"a slash":                   {path("/x/{a}"), quoted("../y"), separator},
		"a backslash":               {path("/x/{a}"), quoted(`..\y`), separator},
		"an encoded slash":          {path("/x/{a}"), quoted("..%2Fy"), separator},
		"double encoding":           {path("/x/{a}"), quoted("%252e%252e"), separator},
		"an overlong slash":         {path("/x/{a}"), quoted("..%c0%af"), separator},
		"a full-width slash":        {path("/x/{a}"), quoted("．．／y"), separator},
		"a line break in the path":  {path("/x/{a}"), quoted("a\nb"), "a control character"},
		"a NUL in the path":         {path("/x/{a}"), `{"a": "a\u0000"}`, "a control character"},
		"a dot":                     {path("/x/{a}"), quoted("."), "must not make a path segment that servers resolve or drop"},
		"dots":                      {path("/x/{a}"), quoted(".."), "servers resolve"},
		"dots with a space":         {path("/x/{a}"), quoted(".. "), "servers resolve"},
		"dots with a parameter":     {path("/x/{a}"), quoted("..;v=1"), "servers resolve"},
		"a parameter alone":         {path("/x/{a}"), quoted(";v=1"), "servers resolve"},
		"a two-dot leader":          {path("/x/{a}"), quoted("‥"), "servers resolve"},
		"dots in two parts":         {path("/x/.{a}"), quoted("."), "servers resolve"},
		"dots out of two arguments": {path("/x/{a}{a}"), quoted("."), "servers resolve"},
		"dots after a literal":      {path("/x/y%2F{a}"), quoted(".."), "servers resolve"},
		"a line break in a header":  {header, quoted("1\r\nX-Evil: 1"), `for the header "X-A", must be printable ASCII without line breaks`},
		"a bare CR in a header":     {header, quoted("1\rX"), "printable ASCII"},
		"a NUL in a header":         {header, `{"a": "\u0000"}`, "printable ASCII"},
		"a tab in a header":         {header, quoted("a\tb"), "printable ASCII"},
		"not ASCII in a header":     {header, quoted("ü"), "printable ASCII"},
		"NEL in a header":           {header, quoted("a\u0085b"), "printable ASCII"},
		"a space at the end":        {header, quoted("a "), "must not begin or end with a space"},
		"an array in a header":      {header, `{"a": ["x"]}`, "not an array"},
		"a long header":             {header, quoted(strings.Repeat("a", template.MaxHeader)), "bytes: shorten the arguments"},
		"an object in a query":      {query, `{"a": {"b": 1}}`, `for the query parameter "q", must be a string, a number or a boolean, not an object`},
		"an array of arrays":        {query, `{"a": [1, [2]]}`, "must be an array of strings, numbers and booleans: element 1 is an array"},
		"null in an array":          {query, `{"a": [null]}`, "element 0 is null"},
		"an array within text":      {tool("https://shop.example/", stringMap{"q": "x{a}"}, nil, ""), `{"a": [1]}`, "not an array"},
		"a long URL":                {query, quoted(strings.Repeat("a", template.MaxURL)), "the URL would have more than"},
		"an object within text":     {tool("https://shop.example/", nil, nil, `{"x": ["-{a}"]}`), `{"a": {}}`, `for the body at "/x/0", must be a string`},
		"a body that grows": {
			tool("https://shop.example/", nil, nil, "["+strings.Repeat(`"{a}",`, 2000)+"1]"), quoted(strings.Repeat("a", 1000)),
			"the request would have more than",
		},
		"a body that escaping makes long": {
			tool("https://shop.example/", nil, nil, `["{a}"]`), `{"a": "` + strings.Repeat(`\u0000`, template.MaxBody/7) + "xxxxxx" + strings.Repeat("\u2028", 30000) + `"}`,
			"the body would have more than",
		},
		"arguments that are no object": {query, `[]`, "the arguments are not a JSON object"},
		"a secret that is not there":   {tool("https://shop.example/", stringMap{"q": "{secret:other}"}, nil, ""), `{}`, `secret "other", for the query parameter "q", is not there`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := fill(parse(t, test.tool), test.arguments)
			if failure, ok := errors.AsType[*template.Error](err); !ok || !strings.Contains(failure.Error(), test.want) {
				t.Errorf("got %+v, %v; want an *Error with %q", got, err, test.want)
			}
		})
	}
}

// The rules of publication that its own tests do not show.
func TestParseProblems(t *testing.T) {
	for name, test := range map[string]struct {
		tool v1alpha1.HTTPTool
		want string
	}{
		"a control character":        {tool("https://shop/a\nb", nil, nil, ""), "http.url: not a URL: it holds a control character"},
		"no scheme":                  {tool("shop/a", nil, nil, ""), `http.url: "shop/a" must be an absolute http or https URL`},
		"a host with a backslash":    {tool(`https://shop\.evil/`, nil, nil, ""), "http.url: not a URL"},
		"credentials with a brace":   {tool("https://{a}@evil/", nil, nil, ""), "http.url: a URL may not hold credentials"},
		"a placeholder for the port": {tool("https://shop:{port}/", nil, nil, ""), "not into the host"},
		"a percent sign beside one":  {tool("https://shop/%25{a}", nil, nil, ""), "has a %25 beside a placeholder"},
		"half an escape":             {tool("https://shop/?q=%{a}", nil, nil, ""), `not a URL: invalid URL escape "%"`},
		"a long text":                {tool("https://shop/", stringMap{"q": strings.Repeat("a", template.MaxText+1)}, nil, ""), `http.query["q"]: the text has more than`},
		"a long header":              {tool("https://shop/", nil, stringMap{"X": strings.Repeat("a", template.MaxText+1)}, ""), `http.headers["X"]: the text has more than`},
		"not JSON":                   {tool("https://shop/", nil, nil, `{`), "http.body: not JSON"},
		"two values":                 {tool("https://shop/", nil, nil, `1 2`), "http.body: not one JSON value"},
		"in the body":                {tool("https://shop/", nil, nil, `{"a/b": ["{"]}`), "http.body/a~1b/0: "},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := template.Parse(&test.tool)
			if len(problems) != 1 || !strings.Contains(problems.Error(), test.want) {
				t.Errorf("got %v, want one with %q", problems, test.want)
			}
		})
	}
}

func TestUses(t *testing.T) {
	parsed := parse(t, tool("https://shop/{a}?q={b}", stringMap{"r": "{secret:two}"}, stringMap{"X": "{c}{secret:one}"}, `[["-{d}"]]`))
	want := []template.Use{
		{Argument: "a", Place: template.Place{Field: "url"}, Required: true},
		{Argument: "b", Place: template.Place{Field: "url"}},
		{Argument: "c", Place: template.Place{Field: "headers", Key: "X"}},
		{Argument: "d", Place: template.Place{Field: "body", Pointer: "/0/0"}},
	}
	if diff := cmp.Diff(want, parsed.Uses); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"one", "two"}, parsed.Secrets); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
