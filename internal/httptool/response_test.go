// SPDX-License-Identifier: Apache-2.0

package httptool

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strings"
	"testing"

	"remit.dev/remit/api/v1alpha1"
)

// Issue 5: what a call gives back for what a server answers.
func TestAnswers(t *testing.T) {
	typed := func(contentType, body string) string { return reply(200, "Content-Type: "+contentType+"\r\n", body) }
	for name, test := range map[string]struct {
		method  v1alpha1.HTTPMethod
		answer  string
		err     v1alpha1.ErrorKind
		content string
	}{
		"JSON":                {"GET", typed("application/json; charset=utf-8", `{"a": "ü"}`), "", `{"a": "ü"}`},
		"a kind of JSON":      {"GET", typed("Application/Problem+JSON", `{}`), "", `{}`},
		"XML":                 {"GET", typed("application/atom+xml", `<a/>`), "", `<a/>`},
		"Latin-1":             {"GET", typed("text/plain; charset=ISO-8859-1", "\xfcber"), "", "über"},
		"UTF-16":              {"GET", typed("text/plain; charset=utf-16le", "a\x00b\x00"), "", "ab"},
		"UTF-16 JSON":         {"GET", typed("application/json; charset=utf-16be", "\x00{\x00}"), "", "{}"},
		"a byte order mark":   {"GET", typed("text/csv", "\xef\xbb\xbfa,b"), "", "a,b"},
		"HTML's own encoding": {"GET", typed("text/html", "<meta charset=windows-1252>\x80"), "", "<meta charset=windows-1252>€"},
		"broken UTF-8":        {"GET", typed("application/json", "\"\xff\""), "", "\"\uFFFD\""},
		"a broken type":       {"GET", typed("text/plain; charset", "a"), "", "a"},
		"no type, text":       {"GET", reply(200, "", "just text"), "", "just text"},
		"no type, no text":    {"GET", reply(200, "", "\x89PNG\r\n\x1a\n\x00"), v1alpha1.ErrorBadResult, "its answer is image/png, which is not text. It is left out."},
		"an image":            {"POST", typed("image/png", "\x89PNG"), v1alpha1.ErrorBadResult, "accepted the call, and its answer is image/png, which is not text"},
		"a compression":       {"GET", reply(200, "Content-Type: text/plain\r\nContent-Encoding: br\r\n", "xx"), v1alpha1.ErrorBadResult, "is compressed with br, which was not asked for"},
		"nothing":             {"DELETE", reply(204, "", ""), "", "HTTP 204 No Content"},
		"created":             {"POST", reply(201, "Location: /orders/5\r\n", ""), "", "HTTP 201 Created\nLocation: /orders/5\nContent-Length: 0"},
		"HEAD":                {"HEAD", "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 9\r\nETag: \"1\"\r\n\r\n", "", "HTTP 200 OK\nContent-Type: text/plain\nContent-Length: 9\nETag: \"1\""},
		"not modified":        {"GET", "HTTP/1.1 304 x\r\n\r\n", "", "HTTP 304 Not Modified"},
		"choices":             {"GET", reply(300, "Content-Type: text/plain\r\n", "a or b"), "", "HTTP 300 Multiple Choices\nContent-Type: text/plain\nContent-Length: 6\n\na or b"},
		"an error":            {"GET", reply(422, "Content-Type: application/json\r\n", `{"detail": "no"}`), v1alpha1.ErrorTool, "HTTP 422 Unprocessable Entity from GET http://shop.example:PORT\n\n{\"detail\": \"no\"}"},
		"an error, no text":   {"GET", reply(500, "Content-Type: image/png\r\n", "x"), v1alpha1.ErrorTool, "The answer is image/png, which is not text. It is left out."},
		"forbidden":           {"GET", reply(403, "Content-Type: text/plain\r\n", "no"), v1alpha1.ErrorTool, "HTTP 403 Forbidden"},
		"unauthorized":        {"GET", reply(401, "Content-Type: text/plain\r\n", "who?"), v1alpha1.ErrorUnauthorized, "refused the credential.\n\nwho?"},
		"an unknown status":   {"GET", reply(299, "", ""), "", "HTTP 299"},
		"after hints":         {"GET", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + ok("a"), "", "a"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, test.answer)
			outcome := newSetting(s, test.method, "/").call(t, false, `{}`)
			want := strings.ReplaceAll(test.content, "PORT", s.port)
			if outcome.Error != test.err || !strings.Contains(outcome.Content, want) {
				t.Errorf("outcome %+v, want %q with %q", outcome, test.err, want)
			}
			if test.err == "" && !strings.HasPrefix(outcome.Content, want) {
				t.Errorf("content %q, want %q first", outcome.Content, want)
			}
		})
	}
}

func TestAnswersAreBounded(t *testing.T) {
	long := strings.Repeat("ü", maxResponse)
	t.Run("text", func(t *testing.T) {
		outcome := newSetting(serve(t, ok(long)), "GET", "/").call(t, false, `{}`)
		text, notice, _ := strings.Cut(outcome.Content, "\n")
		if outcome.Error != "" || len(text) != maxResponse || notice != "[Cut: the answer has more than 1048576 bytes.]" {
			t.Errorf("%d bytes, then %q", len(text), notice)
		}
	})
	t.Run("an error", func(t *testing.T) {
		outcome := newSetting(serve(t, reply(500, "Content-Type: text/plain\r\n", long)), "GET", "/").call(t, false, `{}`)
		if len(outcome.Content) > maxErrorText+200 || !strings.HasSuffix(outcome.Content, "\n[Cut: the answer has more than 8192 bytes.]") {
			t.Errorf("%d bytes", len(outcome.Content))
		}
	})
	t.Run("a decompression bomb", func(t *testing.T) {
		var packed bytes.Buffer
		writer := gzip.NewWriter(&packed)
		zeros := make([]byte, 1<<20)
		for range 6 {
			if _, err := writer.Write(zeros); err != nil {
				t.Fatal(err)
			}
		}
		if err := writer.Close(); err != nil {
			t.Fatal(err)
		}
		answer := reply(200, "Content-Type: text/plain\r\nContent-Encoding: gzip\r\n", packed.String())
		outcome := newSetting(serve(t, answer), "GET", "/").call(t, false, `{}`)
		if outcome.Error != "" || len(outcome.Content) > maxResponse+100 {
			t.Errorf("%q, %d bytes", outcome.Error, len(outcome.Content))
		}
	})
	t.Run("headers", func(t *testing.T) {
		answer := reply(201, "Location: /"+strings.Repeat("x", 100<<10)+"\r\n", "")
		if outcome := newSetting(serve(t, answer), "POST", "/").call(t, false, `{}`); len(outcome.Content) > 2*maxFact {
			t.Errorf("%d bytes", len(outcome.Content))
		}
		answer = reply(200, "X: "+strings.Repeat("x", 1<<20)+"\r\n", "")
		if outcome := newSetting(serve(t, answer), "POST", "/").call(t, false, `{}`); outcome.Error != v1alpha1.ErrorOutcomeUnknown {
			t.Errorf("%+v", outcome)
		}
	})
}

// A4, issue 5: a server that echoes the secrets it was sent, in every place and encoding
// that comes out of a call.
func TestSecretsAreRedacted(t *testing.T) {
	inJSON, _ := json.Marshal(canary)
	plainJSON := `{"key": "` + strings.ReplaceAll(canary, `"`, `\"`) + `"}`
	forms := map[string]string{
		"plain": canary, "JSON": string(inJSON), "plain JSON": plainJSON, "PHP's JSON": strings.ReplaceAll(plainJSON, "/", `\/`),
		"a query": url.QueryEscape(canary), "a path": url.PathEscape(canary), "lower-case escapes": strings.ToLower(url.QueryEscape(canary)),
		"HTML": html.EscapeString(canary), "the credential": "Bearer " + token, "the token": "<" + token + ">",
	}
	for name, form := range forms {
		text := "Content-Type: text/plain\r\n"
		for place, answer := range map[string]string{
			"a body":            ok(form),
			"an error":          reply(500, text, form),
			"a refusal":         reply(401, text, form),
			"a broken body":     fmt.Sprintf("HTTP/1.1 500 x\r\n%sContent-Length: 9999\r\nConnection: close\r\n\r\n%s", text, form),
			"a content type":    reply(200, "Content-Type: image/"+form+"\r\n", "x"),
			"a content coding":  reply(200, text+"Content-Encoding: "+form+"\r\n", "x"),
			"a redirect's path": reply(201, "Location: /"+form+"\r\n", ""),
			"a redirect's host": reply(302, "Location: http://"+form+".example/\r\n", ""),
			"an entity tag":     reply(204, "ETag: "+form+"\r\n", ""),
			"a status line":     "HTTP/1.1 500 " + form + "\r\nContent-Length: 0\r\n\r\n",
			"no HTTP":           form + "\r\nConnection: close\r\n\r\n",
		} {
			t.Run(name+" in "+place, func(t *testing.T) {
				made := newSetting(serve(t, answer), "POST", "/?k={secret:key}").withCredential()
				for _, idempotent := range []bool{true, false} {
					outcome := made.call(t, idempotent, `{}`) // which looks for the secrets
					if place == "a body" && !strings.Contains(outcome.Content, redacted) {
						t.Errorf("content %q", outcome.Content)
					}
				}
			})
		}
	}
}

// A secret across the bound of an answer is not cut in two.
func TestSecretsAreRedactedAtTheBound(t *testing.T) {
	for _, before := range []int{1, 7, len(canary) - 1} {
		made := newSetting(serve(t, ok(strings.Repeat("x", maxResponse-before)+canary)), "POST", "/?k={secret:key}")
		if outcome := made.call(t, false, `{}`); strings.Contains(outcome.Content, "xca") || outcome.Error != "" {
			t.Errorf("%d bytes before the bound: %q", before, outcome.Content[maxResponse-9:])
		}
	}
}

// A4: what keeps a secret from being sent is said without it.
func TestSecretsThatCannotBeSent(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*setting)
		err    v1alpha1.ErrorKind
		want   string
	}{
		"not in the Grant": {
			func(s *setting) { s.grant.Spec.HTTP.Secrets = nil },
			v1alpha1.ErrorToolUnavailable, `Grant "shop" has no secret "key": ask the platform team to add it to spec.http.secrets, or correct {secret:key}`,
		},
		"no such Secret": {
			func(s *setting) { s.grant.Spec.HTTP.Secrets[0].SecretRef.Name = "gone" },
			v1alpha1.ErrorUnauthorized, `secret "key" of Grant "shop": Secret "gone" in namespace "team" does not exist`,
		},
		"no such key": {
			func(s *setting) { s.grant.Spec.HTTP.Secrets[0].SecretRef.Key = "gone" },
			v1alpha1.ErrorUnauthorized, `has no key "gone"`,
		},
		"without the label": {
			func(s *setting) { s.grant.Spec.HTTP.Secrets[0].SecretRef.Name = "unlabelled" },
			v1alpha1.ErrorUnauthorized, `is not labelled remit.dev/credential=true`,
		},
		"for another host": {
			func(s *setting) { s.grant.Spec.HTTP.Secrets[0].SecretRef.Name = "elsewhere" },
			v1alpha1.ErrorUnauthorized, `may not be sent to "shop.example:`,
		},
		"in a namespace of its own": {
			func(s *setting) { s.grant.Namespace = "other" },
			v1alpha1.ErrorUnauthorized, `Secret "shop" in namespace "other" does not exist`,
		},
		"as the credential's header": {
			func(s *setting) {
				s.withCredential().tool.HTTP.Headers = map[string]string{"authorization": "Token {secret:key}"}
			},
			v1alpha1.ErrorUnauthorized, "the tool sets the header Authorization, which the credential of Grant \"shop\" sets too",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, ok("done"))
			made := newSetting(s, "POST", "/?k={secret:key}")
			test.change(made)
			outcome := made.call(t, true, `{}`)
			if outcome.Error != test.err || !strings.Contains(outcome.Content, test.want) || len(s.got()) > 0 {
				t.Errorf("outcome %+v after %d requests, want %s with %q", outcome, len(s.got()), test.err, test.want)
			}
		})
	}
}
