// SPDX-License-Identifier: Apache-2.0

package httptool

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit.dev/remit/api/v1alpha1"
)

// Issue 5: redirects stay within the origin, are few, and only of what may be repeated.
func TestRedirects(t *testing.T) {
	to := func(status int, location string) string { return reply(status, "Location: "+location+"\r\n", "") }
	for name, test := range map[string]struct {
		method     v1alpha1.HTTPMethod
		idempotent bool
		answers    []string
		lines      []string // of the requests
		err        v1alpha1.ErrorKind
		content    string
	}{
		"a path":         {"GET", true, []string{to(302, "/b?c=d"), ok("b")}, []string{"GET /a HTTP/1.1", "GET /b?c=d HTTP/1.1"}, "", "b"},
		"a relative one": {"GET", true, []string{to(308, "b"), ok("b")}, []string{"GET /a HTTP/1.1", "GET /b HTTP/1.1"}, "", "b"},
		"the same origin": {
			"HEAD", true, []string{to(307, "http://SHOP.example:PORT/b"), reply(204, "", "")},
			[]string{"HEAD /a HTTP/1.1", "HEAD /b HTTP/1.1"}, "", "HTTP 204",
		},
		"three": {
			"GET", true, []string{to(301, "/b"), to(303, "/c"), to(302, "/d"), ok("d")},
			[]string{"GET /a HTTP/1.1", "GET /b HTTP/1.1", "GET /c HTTP/1.1", "GET /d HTTP/1.1"}, "", "d",
		},
		"four": {
			"GET", true, []string{to(302, "/a")},
			[]string{"GET /a HTTP/1.1", "GET /a HTTP/1.1", "GET /a HTTP/1.1", "GET /a HTTP/1.1"}, v1alpha1.ErrorTool, "HTTP 302 Found",
		},
		"another host":       {"GET", true, []string{to(302, "http://evil.example:PORT/")}, []string{"GET /a HTTP/1.1"}, v1alpha1.ErrorTool, "sends on to http://evil.example:PORT"},
		"another host alone": {"GET", true, []string{to(302, "//evil.example/")}, []string{"GET /a HTTP/1.1"}, v1alpha1.ErrorTool, "sends on to http://evil.example"},
		"another port":       {"GET", true, []string{to(302, "http://shop.example/")}, []string{"GET /a HTTP/1.1"}, v1alpha1.ErrorTool, "sends on to http://shop.example."},
		"another scheme":     {"GET", true, []string{to(302, "https://shop.example:PORT/")}, []string{"GET /a HTTP/1.1"}, v1alpha1.ErrorTool, "sends on to https://shop.example:PORT"},
		"user information":   {"GET", true, []string{to(302, "http://u:p@shop.example:PORT/")}, []string{"GET /a HTTP/1.1"}, v1alpha1.ErrorTool, "sends on to something that is no http or https URL"},
		"no URL":             {"GET", true, []string{to(302, "http://[/")}, []string{"GET /a HTTP/1.1"}, v1alpha1.ErrorTool, "sends on to something that is no URL"},
		"a file":             {"GET", true, []string{to(302, "file:///etc/passwd")}, []string{"GET /a HTTP/1.1"}, v1alpha1.ErrorTool, "sends on to something that is no http or https URL"},
		"nowhere":            {"GET", true, []string{reply(302, "", "")}, []string{"GET /a HTTP/1.1"}, "", "HTTP 302 Found"},
		"POST, 307":          {"POST", true, []string{to(307, "/b")}, []string{"POST /a HTTP/1.1"}, v1alpha1.ErrorTool, "HTTP 307"},
		"POST, 302":          {"POST", false, []string{to(302, "/b")}, []string{"POST /a HTTP/1.1"}, v1alpha1.ErrorOutcomeUnknown, "HTTP 302 Found"},
		"POST, see other":    {"POST", false, []string{to(303, "/b")}, []string{"POST /a HTTP/1.1"}, "", "HTTP 303 See Other\nLocation: /b"},
		"PUT, see other":     {"PUT", true, []string{to(303, "/b")}, []string{"PUT /a HTTP/1.1"}, "", "HTTP 303 See Other\nLocation: /b"},
		"GET with an effect": {"GET", false, []string{to(307, "/b")}, []string{"GET /a HTTP/1.1"}, v1alpha1.ErrorTool, "HTTP 307"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, ok(""))
			for i, answer := range test.answers {
				test.answers[i] = strings.ReplaceAll(answer, "PORT", s.port)
			}
			s.answers = test.answers
			made := newSetting(s, test.method, "/a").withCredential()
			made.tool.HTTP.Query, made.tool.HTTP.Headers = nil, map[string]string{"X-Key": "{secret:key}"}
			outcome := made.call(t, test.idempotent, `{}`)
			if want := strings.ReplaceAll(test.content, "PORT", s.port); outcome.Error != test.err || !strings.Contains(outcome.Content, want) {
				t.Errorf("outcome %+v, want %q with %q", outcome, test.err, want)
			}
			var lines []string
			for _, request := range s.got() {
				got := readWire(t, request)
				lines = append(lines, got.Line)
				if got.Headers["Referer"] != nil || !cmp.Equal(got.Headers["Host"], []string{"shop.example:" + s.port}) ||
					!cmp.Equal(got.Headers["Authorization"], []string{"Bearer " + token}) || !cmp.Equal(got.Headers["X-Key"], []string{canary}) {
					t.Errorf("headers %v", got.Headers)
				}
			}
			if diff := cmp.Diff(test.lines, lines); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}
