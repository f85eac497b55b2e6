// SPDX-License-Identifier: Apache-2.0

package httptool

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit.dev/remit/api/v1alpha1"
)

// Issue 5, the template injection suite: each payload in each place of one template, at a
// server that takes what arrives literally. Either nothing arrives, or a request that
// differs from the harmless one in the encoded value alone.
func TestInjection(t *testing.T) {
	payloads := map[string]string{
		"CRLF":                  "1\r\nX-Evil: 1",
		"CRLF and a request":    "1 HTTP/1.1\r\nHost: evil.example\r\n\r\nGET /admin HTTP/1.1",
		"bare LF":               "1\nX-Evil: 1",
		"bare CR":               "1\rX-Evil: 1",
		"encoded CRLF":          "1%0d%0aX-Evil: 1",
		"NUL":                   "1\x00",
		"line separator":        "1\u2028X-Evil: 1\u2029",
		"next line":             "1\u0085X-Evil: 1",
		"bytes of CRLF":         "1\u010d\u010aX-Evil: 1", // whose last bytes are CR and LF
		"traversal":             "../../admin",
		"traversal at the end":  "x/..",
		"dots":                  "..",
		"encoded traversal":     "%2e%2e%2fadmin",
		"encoded dots":          "%2e%2E",
		"double encoding":       "%252e%252e%252fadmin",
		"overlong encoding":     "..%c0%afadmin",
		"backslashes":           `..\..\admin`,
		"dots and a parameter":  "..;/admin",
		"full-width traversal":  "．．／admin",
		"empty segments":        "//evil.example/",
		"user information":      "@evil.example/",
		"user and password":     "user:pass@evil.example",
		"another port":          ":8080/",
		"another scheme":        "https://evil.example/",
		"a host in backslashes": `\\evil.example`,
		"fragment":              "1#admin",
		"a query":               "1?admin=true",
		"another parameter":     "1&admin=true",
		"a semicolon":           "1;admin=true",
		"an encoded parameter":  "1%26admin=true",
		"plus and space":        "1+ 1",
		"closing quote":         `","admin":true,"x":"`,
		"escaped quote":         `\",\"admin\":true`,
		"unicode escape":        `\u0022,\u0022admin\u0022:true`,
		"a backslash":           `\`,
		"a second object":       `"}{"admin":true}`,
		"script":                "</script><!--",
		"a placeholder":         "{note}",
		"a secret":              "{secret:key}",
		"a doubled brace":       "{{secret:key}}",
	}
	for name, payload := range payloads {
		for _, place := range []string{"id", "q", "tag", "reason", "note"} {
			t.Run(name+" in "+place, func(t *testing.T) {
				s := serve(t, ok("done"))
				outcome := injectionSetting(s).call(t, false, arguments(t, place, payload))
				requests := s.got()
				if outcome.Error == v1alpha1.ErrorInvalidArguments {
					if len(requests) > 0 || !strings.Contains(outcome.Content, `argument "`+place+`"`) {
						t.Errorf("refused with %q after %d requests", outcome.Content, len(requests))
					}
					if place == "q" || place == "tag" || place == "note" {
						t.Error("refused where every text can be encoded")
					}
					return
				}
				if outcome.Error != "" || len(requests) != 1 {
					t.Fatalf("outcome %+v after %d requests", outcome, len(requests))
				}
				checkHarmless(t, s, readWire(t, requests[0]), place, payload)
			})
		}
	}
}

func injectionSetting(s *server) *setting {
	made := newSetting(s, "POST", "/v1/orders/{id}/notes?fixed=1&q={q}")
	made.tool.HTTP.Query = map[string]string{"tag": "{tag}"}
	made.tool.HTTP.Headers = map[string]string{"X-Reason": "why {reason}", "X-Key": "{secret:key}"}
	return made.body(`{"admin": false, "note": "{note}", "text": "note: {note}"}`).withCredential()
}

func arguments(t *testing.T, place, payload string) string {
	t.Helper()
	args := map[string]string{"id": "7", "q": "x", "tag": "y", "reason": "because", "note": "n"}
	args[place] = payload
	text, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// checkHarmless compares with what the same call is without the payload. Its decoding is
// that of the standard library, its encoding that of the server's eye: the request line and
// the headers are compared as bytes.
func checkHarmless(t *testing.T, s *server, got wire, place, payload string) {
	t.Helper()
	method, rest, _ := strings.Cut(got.Line, " ")
	target, version, _ := strings.Cut(rest, " ")
	if method != "POST" || version != "HTTP/1.1" || strings.ContainsFunc(target, func(r rune) bool { return r <= ' ' || r > '~' }) {
		t.Errorf("request line %q", got.Line)
	}
	path, query, _ := strings.Cut(target, "?")
	id, segments := "7", strings.Split(path, "/")
	if place == "id" {
		id = payload
	}
	if len(segments) != 5 || segments[1] != "v1" || segments[2] != "orders" || segments[4] != "notes" {
		t.Errorf("path %q", path)
	} else if plain, err := url.PathUnescape(segments[3]); err != nil || plain != id {
		t.Errorf("segment %q, want %q", segments[3], id)
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	want := url.Values{"fixed": {"1"}, "q": {"x"}, "tag": {"y"}}
	if want.Has(place) {
		want.Set(place, payload)
	}
	if diff := cmp.Diff(want, values); diff != "" {
		t.Errorf("query %q (-want +got):\n%s", query, diff)
	}
	headers := map[string][]string{
		"Host": {"shop.example:" + s.port}, "User-Agent": {userAgent}, "Accept": {accept}, "Accept-Encoding": {"gzip"},
		"Content-Type": {"application/json"}, "Content-Length": got.Headers["Content-Length"], "Idempotency-Key": {key},
		"Authorization": {"Bearer " + token}, "X-Key": {canary}, "X-Reason": {"why because"},
	}
	if place == "reason" {
		headers["X-Reason"] = []string{"why " + payload}
	}
	if diff := cmp.Diff(headers, got.Headers); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	note := "n"
	if place == "note" {
		note = payload
	}
	var body map[string]any
	if err := json.Unmarshal([]byte(got.Body), &body); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"admin": false, "note": note, "text": "note: " + note}, body); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	if strings.Count(got.Body, `"admin"`) != 1 {
		t.Errorf("body %q", got.Body)
	}
}

// Issue 5: values of other types than text, where they stand for a whole value.
func TestInjectionByType(t *testing.T) {
	for name, test := range map[string]struct{ note, want string }{
		"an object":                {`{"admin":true}`, `{"admin":false,"note":{"admin":true}}`},
		"an object with two names": {`{"a":1,"a":2}`, `{"admin":false,"note":{"a":2}}`},
		"a long number":            {`12345678901234567890.10`, `{"admin":false,"note":12345678901234567890.10}`},
		"null":                     {`null`, `{"admin":false,"note":null}`},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, ok("done"))
			made := newSetting(s, "POST", "/").body(`{"admin": false, "note": "{note}"}`)
			if outcome := made.call(t, false, `{"note": `+test.note+`}`); outcome.Error != "" {
				t.Fatal(outcome)
			}
			if got := readWire(t, s.got()[0]); got.Body != test.want {
				t.Errorf("body %q, want %q", got.Body, test.want)
			}
		})
	}
}

// A4: the author's placeholder is resolved, one in an argument is text, and one in an answer
// stays as the server wrote it.
func TestSecretPlaceholders(t *testing.T) {
	s := serve(t, ok("try {secret:key}"))
	made := newSetting(s, "POST", "/?k={secret:key}&a={a}").body(`["{secret:key}", "{a}", "-{a}"]`)
	outcome := made.call(t, false, `{"a": "{secret:key}"}`)
	if outcome.Error != "" || outcome.Content != "try {secret:key}" {
		t.Errorf("outcome %+v", outcome)
	}
	got := readWire(t, s.got()[0])
	if want := "POST /?k=" + url.QueryEscape(canary) + "&a=%7Bsecret%3Akey%7D HTTP/1.1"; got.Line != want {
		t.Errorf("line %q, want %q", got.Line, want)
	}
	var body []string
	if err := json.Unmarshal([]byte(got.Body), &body); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{canary, "{secret:key}", "-{secret:key}"}, body); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	if names := slices.Sorted(maps.Keys(got.Headers)); slices.Contains(names, "Authorization") {
		t.Errorf("headers %v without a credential", names)
	}
}
