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
		"a brace in the name of a parameter": {
			breaks: withURL("https://shop/?{id}=1"),
			want: broken(`"https://shop/?{id}=1" has a brace in the name of a parameter: placeholders belong into values;` +
				` write other braces as %7B and %7D`),
			keeps: withURL("https://shop/?%7Bid%7D=1&flag&a="),
		},
		"a parameter twice": {
			breaks: withHTTP("", func(h *v1alpha1.HTTPTool) {
				h.URL, h.Query = "https://shop/?p=1", map[string]string{"p": "2"}
			}),
			want:  []finding{{Rule: "http_url", Path: "spec.tools[0].http.query[p]", Message: `"p" is in the URL too: keep one of them`}},
			keeps: withURL("https://shop/?p=1&p=2"),
		},
		"segments that servers resolve": {
			breaks: withURL("https://shop/a/%2e%2E/{id}"),
			want: broken(`"https://shop/a/%2e%2E/{id}" has a path segment that servers resolve or drop, such as .. and the like:` +
				` write the path that it leads to`),
			keeps: withURL("https://shop/a/group%2Fproject/..a/{id}/"),
		},
		"an empty segment": {
			breaks: withURL("https://shop//evil/{id}"),
			want: broken(`"https://shop//evil/{id}" has an empty path segment, which servers read in different ways:` +
				` remove a slash, or write it as %2F`),
			keeps: withURL("https://shop/evil%2F/{id}/"),
		},
		"a host that is not ASCII": {
			breaks: withURL("https://shöp/"),
			want:   broken(`the host "shöp" is not ASCII: write it as DNS has it, with labels that begin with xn--`),
			keeps:  withURL("https://xn--shp-sna/ü"),
		},
		"a port that is none": {
			breaks: withURL("https://shop:65536/"),
			want:   broken(`"https://shop:65536/" must be an absolute http or https URL`),
			keeps:  withURL("https://Shop.:8443/"),
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
				h.Query = map[string]string{"p": "{page}", "q": "{{ not one }}"}
			}),
		},
		"in the body": {
			breaks: withHTTP(schema, func(h *v1alpha1.HTTPTool) { h.Body = raw(`{"a": ["{id}", "no. {order}"]}`) }),
			want:   []finding{broken("body.a[1]", `{order} names no argument: add "order" to inputSchema.properties, or correct the name`)},
			keeps:  withHTTP(schema, func(h *v1alpha1.HTTPTool) { h.Body = raw(`{"a": ["{id}", "no. {{order}}"], "page": "{page}"}`) }),
		},
		"a stray brace": {
			breaks: withHTTP(schema, func(h *v1alpha1.HTTPTool) {
				h.Headers = map[string]string{"X-A": "}"}
				h.Body = raw(`{"query": "{ orders { id } }"}`)
			}),
			want: []finding{
				broken("body.query", `"{ orders { id } }" has a brace that belongs to no {placeholder}: a placeholder is a name of letters,`+
					` digits and _; write other braces as {{ and }}`),
				broken("headers[X-A]", `"}" has a brace that belongs to no {placeholder}: a placeholder is a name of letters, digits and _;`+
					` write other braces as {{ and }}`),
			},
			keeps: withHTTP(schema, func(h *v1alpha1.HTTPTool) { h.Body = raw(`{"query": "{{ orders {{ id }} }}"}`) }),
		},
		"in a name": {
			breaks: withHTTP(schema, func(h *v1alpha1.HTTPTool) {
				h.Query = map[string]string{"{id}": "1"}
				h.Body = raw(`{"{id}": 1}`)
			}),
			want: []finding{
				broken("body.{id}", `"{id}" is a name, and placeholders belong into values: write the name out, or its braces as {{ and }}`),
				broken("query[{id}]", `"{id}" is a name, and placeholders belong into values: write the name out, or its braces as {{ and }}`),
			},
			keeps: withHTTP(schema, func(h *v1alpha1.HTTPTool) { h.Body = raw(`{"{{id}}": 1}`) }),
		},
		"the path needs it": {
			breaks: withHTTP(schema, func(h *v1alpha1.HTTPTool) { h.URL = "https://shop/{page}" }),
			want:   []finding{broken("url", `the path needs {page}: add "page" to inputSchema.required`)},
			keeps:  withHTTP(schema, func(h *v1alpha1.HTTPTool) { h.URL = "https://shop/{id}?p={page}" }),
		},
		"A4 a secret in the path": {
			breaks: withHTTP(schema, func(h *v1alpha1.HTTPTool) { h.URL = "https://shop/{secret:key}/x" }),
			want:   []finding{broken("url", `{secret:key} is in the path, which servers and proxies log: put it into a header`)},
			keeps: withHTTP(schema, func(h *v1alpha1.HTTPTool) {
				h.URL = "https://shop/x?key={secret:key}"
				h.Query = map[string]string{"k": "{secret:key}"}
				h.Headers = map[string]string{"Authorization": "Token token={secret:key}"}
				h.Body = raw(`{"key": "{secret:key}"}`)
			}),
		},
		"A4 a secret without a name": {
			breaks: withHTTP(schema, func(h *v1alpha1.HTTPTool) { h.Query = map[string]string{"k": "{secret:My_Key}"} }),
			want: []finding{broken("query[k]", `"{secret:My_Key}" has a secret without a proper name: write lower-case letters, digits and dashes,`+
				` as in {secret:api-key}`)},
			keeps: withHTTP(schema, func(h *v1alpha1.HTTPTool) { h.Query = map[string]string{"k": "{secret:my-key}"} }),
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
				broken("Cookie", `Cookie is a credential: name it as {secret:NAME}, or remove it here and set the Grant's credential`),
				broken("authorization", `Authorization is a credential: name it as {secret:NAME}, or remove it here and set the Grant's credential`),
			},
			keeps: withHeaders(map[string]string{"Accept": "application/json", "Cookie": "session={secret:session}"}),
		},
		"headers that servers route by": {
			breaks: withHeaders(map[string]string{"x-http-method-override": "DELETE", "X-Original-URL": "/admin"}),
			want: []finding{
				broken("X-Original-URL", `X-Original-Url can change the method, the host or the path that a Grant permits: remove it`),
				broken("x-http-method-override", `X-Http-Method-Override can change the method, the host or the path that a Grant permits: remove it`),
			},
			keeps: withHeaders(map[string]string{"X-Original": "1"}),
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
			keeps: withBody("POST", `["id", null, 1.0]`),
		},
	})
}
