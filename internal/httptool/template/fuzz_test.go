// SPDX-License-Identifier: Apache-2.0

package template_test

import (
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/httptool/template"
)

var percent = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

const goodURL = "https://shop.example/v1/{a}/x-{a}.json?fixed=1&q={a}"

var fuzzSeeds = []string{
	"x", "", ".", "..", "...", "../../admin", `..\..\admin`, "%2e%2e%2fadmin", "%252e%252e%252f", "..%c0%af", "..;/admin", "．．／", "‥",
	"@evil.example", "//evil.example", `\\evil.example`, ":8080", "user:pass@evil.example", "#x", "?x=1", "a&fixed=2", "a;fixed=2",
	"1\r\nX-Evil: 1", "1\r\n\r\nGET /admin HTTP/1.1", "\u0000", "\u0085", "\u2028", "ü",
	`","admin":true,"x":"`, `\u0022,\u0022admin\u0022:true`, `\`, "</script>", "{a}", "{secret:key}", "{{a}}", "}", "\xff",
}

// FuzzTemplate: whatever the arguments are, a request goes to the origin of the template,
// to as many path segments, with the parameters and headers that it names, and its body
// differs from the template in placeholders alone (issue 5).
func FuzzTemplate(f *testing.F) {
	for _, seed := range fuzzSeeds {
		f.Add(goodURL, "pre {a}", `{"a": "{a}", "any": ["{any}", "<{a}>", 1.50]}`, seed, `{"a": ["`+"x"+`"]}`)
		f.Add("https://shop.example/?q={a}", "pre {a}", `{"a": "{a}", "b": "<{a}>"}`, seed, `{}`)
		f.Add(goodURL, seed, `["{any}"]`, "1", `{"admin": true, "admin": false}`)
		f.Add("https://shop.example/"+seed+"/{a}", "{a}", `"{any}"`, "x", `1e400`)
	}
	f.Add("https://shop.example/y%25{a}", "", "1", "2fadmin", `1`)
	f.Add("http://shop:80/%2e{a}/%25{a}?{a}", "{secret:key}", `{"{a}": "{any}"}`, ".", `null`)
	f.Fuzz(func(t *testing.T, url, value, body, a, any string) {
		tool := v1alpha1.HTTPTool{
			Method: "POST", URL: url, Query: stringMap{"query": value}, Headers: stringMap{"X-A": value},
			Body: &apiextensionsv1.JSON{Raw: []byte(body)},
		}
		parsed, problems := template.Parse(&tool)
		if len(problems) > 0 || slices.ContainsFunc(parsed.Uses, func(u template.Use) bool { return u.Argument != "a" && u.Argument != "any" }) {
			return
		}
		if !json.Valid([]byte(any)) {
			any = "[]"
		}
		text, _ := json.Marshal(a)
		got := mustFill(t, parsed, `{"a": `+string(text)+`, "any": `+any+`}`)
		plain := mustFill(t, parsed, `{"a": "x", "any": "x"}`)
		if got == nil || plain == nil {
			return
		}
		sameTarget(t, plain.URL, got.URL)
		if any != "null" && !reflect.DeepEqual(slices.Sorted(maps.Keys(plain.Headers)), slices.Sorted(maps.Keys(got.Headers))) {
			t.Errorf("headers %v, want those of %v", got.Headers, plain.Headers)
		}
		for _, value := range got.Headers {
			if strings.ContainsAny(value, "\r\n\x00") {
				t.Errorf("header value %q", value)
			}
		}
		if got.Body != nil && any != "null" {
			sameShape(t, decode(t, []byte(body)), decode(t, got.Body))
		}
	})
}

func mustFill(t *testing.T, parsed *template.Template, arguments string) *template.Request {
	filled, err := parsed.Fill([]byte(arguments), stringMap{"key": "k"})
	if err == nil {
		return filled
	}
	if _, ok := errors.AsType[*template.Error](err); !ok {
		t.Fatalf("error %v is no *Error", err)
	}
	return nil
}

// sameTarget compares what a server makes of two URLs.
func sameTarget(t *testing.T, want, got *url.URL) {
	t.Helper()
	read, err := url.Parse(got.String())
	if err != nil {
		t.Fatal(err)
	}
	if read.Scheme != want.Scheme || read.Host != want.Host || read.User != nil || read.Fragment != "" || read.Opaque != "" {
		t.Errorf("%q does not go to %s", got, want.Host)
	}
	if strings.ContainsFunc(got.RequestURI(), func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		t.Errorf("request target %q", got.RequestURI())
	}
	wanted, sent := lenientSegments(want), lenientSegments(got)
	if len(wanted) != len(sent) {
		t.Errorf("segments %q, want as many as %q", sent, wanted)
	}
	parameters, err := url.ParseQuery(got.RawQuery)
	if err != nil {
		t.Fatal(err)
	}
	for name := range parameters {
		if !want.Query().Has(name) && name != "query" {
			t.Errorf("parameter %q is not in %q", name, want.RawQuery)
		}
	}
}

// lenientSegments reads a path as the most lenient server would: decoded until nothing
// changes, backslashes as slashes, compatibility characters as ASCII, path parameters cut
// off, dot segments resolved.
func lenientSegments(u *url.URL) []string {
	text := u.EscapedPath()
	for {
		decoded := percent.ReplaceAllStringFunc(text, func(escape string) string {
			plain, _ := url.PathUnescape(escape)
			return plain
		})
		decoded = strings.ReplaceAll(norm.NFKC.String(decoded), `\`, "/")
		if decoded == text {
			break
		}
		text = decoded
	}
	pieces := strings.Split(text, "/")
	for i, piece := range pieces {
		pieces[i], _, _ = strings.Cut(piece, ";")
	}
	return strings.Split(path.Clean(strings.Join(pieces, "/")), "/")
}

func decode(t *testing.T, raw []byte) any {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("%q: %v", raw, err)
	}
	return value
}

// sameShape walks a template and what was made of it.
func sameShape(t *testing.T, want, got any) {
	t.Helper()
	switch want := want.(type) {
	case string:
		_, isText := got.(string)
		if want != "{any}" && want != "{a}" && !isText {
			t.Errorf("%q became %v", want, got)
		}
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			t.Errorf("%v became %v", want, got)
			return
		}
		for i := range want {
			sameShape(t, want[i], list[i])
		}
	case map[string]any:
		members, ok := got.(map[string]any)
		if !ok || len(members) != len(want) {
			t.Errorf("%v became %v", want, got)
			return
		}
		for key := range want {
			name := strings.NewReplacer("{{", "{", "}}", "}").Replace(key)
			if _, ok := members[name]; !ok {
				t.Errorf("member %q is gone from %v", name, got)
				continue
			}
			sameShape(t, want[key], members[name])
		}
	default:
		if !reflect.DeepEqual(want, got) {
			t.Errorf("%v became %v", want, got)
		}
	}
}
