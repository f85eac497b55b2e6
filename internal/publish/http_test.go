// SPDX-License-Identifier: Apache-2.0

package publish_test

import (
	"testing"

	"remit.dev/remit/api/v1alpha1"
)

func withHTTP(schema string, change func(*v1alpha1.HTTPTool)) func(*agent) {
	return func(a *agent) {
		tool := httpTool("order", "POST")
		if schema != "" {
			tool.InputSchema = raw(schema)
		}
		change(tool.HTTP)
		a.Tools = []v1alpha1.Tool{tool}
	}
}

func withURL(url string) func(*agent) {
	const schema = `{"type": "object", "properties": {"id": {}, "page": {}}, "required": ["id"]}`
	return withHTTP(schema, func(h *v1alpha1.HTTPTool) { h.URL = url })
}

func TestHTTPURL(t *testing.T) {
	broken := func(message string) []finding {
		return []finding{{Rule: "http_url", Path: "spec.tools[0].http.url", Message: message}}
	}
	runRuleTests(t, map[string]ruleTest{
		"no host": {
			breaks: withURL("https:///orders"),
			want:   broken(`"https:///orders" must be an absolute http or https URL`),
			keeps:  withURL("http://shop"),
		},
		"another scheme": {
			breaks: withURL("file://shop/etc/passwd"),
			want:   broken(`"file://shop/etc/passwd" must be an absolute http or https URL`),
			keeps:  withURL("https://[::1]:8443/orders"),
		},
		"not a URL": {
			breaks: withURL("https://shop/%zz"),
			want:   broken(`not a URL: invalid URL escape "%zz"`),
			keeps:  withURL("https://shop/%7Bx%7D"),
		},
		"A4 credentials": {
			breaks: withURL("https://user:secret@shop/orders"),
			want:   broken(`a URL may not hold credentials: remove what is before the @ and put it into the Grant's Secret`),
			keeps:  withURL("https://shop/@user"),
		},
		"a fragment": {
			breaks: withURL("https://shop/orders#top"),
			want:   broken(`"https://shop/orders#top" has a fragment, which is never sent: remove what follows the #`),
			keeps:  withURL("https://shop/orders%23top"),
		},
		"a placeholder in the host": {
			breaks: withURL("https://{id}.shop/orders"),
			want:   broken(`placeholders belong into the path and the query, not into the host "{id}.shop"`),
			keeps:  withURL("https://shop/{id}.json?page={page}"),
		},
		"stray braces": {
			breaks: withURL("https://shop/{id}/{order id}"),
			want: broken(`"https://shop/{id}/{order id}" has a brace that belongs to no {placeholder}: a placeholder is a name of letters,` +
				` digits and _; write other braces as %7B and %7D`),
			keeps: withURL("https://shop/{id}/{id}"),
		},
	})
}

func TestHTTPPlaceholders(t *testing.T) {
	const schema = `{"type": "object", "properties": {"id": {"type": "string"}, "page": {}}, "required": ["id"]}`
	broken := func(path, message string) finding {
		return finding{Rule: "http_placeholder", Path: "spec.tools[0].http." + path, Message: message}
	}
	runRuleTests(t, map[string]ruleTest{
		"names no argument": {
			breaks: withHTTP(schema, func(h *v1alpha1.HTTPTool) {
				h.URL = "https://shop/{order}"
				h.Query = map[string]string{"p": "{pages}"}
				h.Headers = map[string]string{"X-Trace": "a-{trace}"}
			}),
			want: []finding{
				broken("headers[X-Trace]", `{trace} names no argument: add "trace" to inputSchema.properties, or correct the name`),
				broken("query[p]", `{pages} names no argument: add "pages" to inputSchema.properties, or correct the name`),
				broken("url", `{order} names no argument: add "order" to inputSchema.properties, or correct the name`),
			},
			keeps: withHTTP(schema, func(h *v1alpha1.HTTPTool) {
				h.URL = "https://shop/{id}"
				h.Query = map[string]string{"p": "{page}", "q": "{ not one }"}
			}),
		},
		"the path needs it": {
			breaks: withHTTP(schema, func(h *v1alpha1.HTTPTool) { h.URL = "https://shop/{page}" }),
			want:   []finding{broken("url", `the path needs {page}: add "page" to inputSchema.required`)},
			keeps:  withHTTP(schema, func(h *v1alpha1.HTTPTool) { h.URL = "https://shop/{id}?p={page}" }),
		},
		"without an input schema there are no arguments": {
			breaks: withHTTP("", func(h *v1alpha1.HTTPTool) { h.URL = "https://shop/{id}" }),
			want:   []finding{broken("url", `{id} names no argument: add "id" to inputSchema.properties, or correct the name`)},
			keeps:  withHTTP("", func(h *v1alpha1.HTTPTool) { h.URL = "https://shop/" }),
		},
	})
}

func TestHTTPHeaders(t *testing.T) {
	withHeaders := func(headers map[string]string) func(*agent) {
		return withHTTP("", func(h *v1alpha1.HTTPTool) { h.Headers = headers })
	}
	broken := func(name, message string) finding {
		return finding{Rule: "http_header", Path: "spec.tools[0].http.headers[" + name + "]", Message: message}
	}
	runRuleTests(t, map[string]ruleTest{
		"A4 credentials": {
			breaks: withHeaders(map[string]string{"authorization": "Bearer x", "Cookie": "x"}),
			want: []finding{
				broken("Cookie", `Cookie is a credential: remove it here and put it into the Grant's Secret`),
				broken("authorization", `Authorization is a credential: remove it here and put it into the Grant's Secret`),
			},
			keeps: withHeaders(map[string]string{"Accept": "application/json"}),
		},
		"P28 headers that Remit sends": {
			breaks: withHeaders(map[string]string{"Idempotency-Key": "1", "host": "x"}),
			want: []finding{
				broken("Idempotency-Key", `Idempotency-Key is set when the request is sent: remove it`),
				broken("host", `Host is set when the request is sent: remove it`),
			},
			keeps: withHeaders(map[string]string{"If-Match": "*"}),
		},
		"one header twice": {
			breaks: withHeaders(map[string]string{"X-A": "1", "x-a": "2"}),
			want:   []finding{broken("x-a", `"X-A" and "x-a" are one header: keep one of them`)},
			keeps:  withHeaders(map[string]string{"X-A": "1", "x-b": "2"}),
		},
		"no header": {
			breaks: withHeaders(map[string]string{"X A": "1", "X-B": "1\r\nX-C: 2"}),
			want: []finding{
				broken("X A", `"X A" is not a name of a header (RFC 9110)`),
				broken("X-B", `the value holds a character that no header may hold (RFC 9110)`),
			},
			keeps: withHeaders(map[string]string{"X-A": "ü"}),
		},
	})
}

func TestHTTPBody(t *testing.T) {
	withBody := func(method v1alpha1.HTTPMethod, body string) func(*agent) {
		return withHTTP("", func(h *v1alpha1.HTTPTool) { h.Method, h.Body = method, raw(body) })
	}
	runRuleTests(t, map[string]ruleTest{
		"a GET has none": {
			breaks: withBody("GET", `{}`),
			want:   []finding{{Rule: "http_body", Path: "spec.tools[0].http.body", Message: `a GET request has no body: use query, or another method`}},
			keeps:  withBody("DELETE", `{}`),
		},
		"no canonical form": {
			breaks: withBody("POST", `{"a": [{"b": 1e999}]}`),
			want: []finding{{
				Rule: "not_canonical", Path: "spec.tools[0].http.body.a[0].b", Message: `1e999 is beyond the range of a 64-bit float; write it as a string`,
			}},
			keeps: withBody("POST", `["{id}", null, 1.0]`),
		},
	})
}
