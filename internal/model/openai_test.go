// SPDX-License-Identifier: Apache-2.0

package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const testKey = "sk-test-0123456789abcdefghij"

func newTestOpenAI(t *testing.T, baseURL string, timeout time.Duration) *OpenAI {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	provider, err := NewOpenAI(OpenAIOptions{BaseURL: baseURL, Key: NewAPIKey(testKey + "\n"), Transport: transport, Timeout: timeout})
	if err != nil {
		t.Fatal(err)
	}
	return provider
}

// serve answers every request with one status and body.
func serve(t *testing.T, status int, header map[string]string, body string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		for name, value := range header {
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func completionBody(message, finish string) string {
	return fmt.Sprintf(`{"id":"c1","object":"chat.completion","created":1,"model":"served-model","choices":[{"index":0,"message":%s,"finish_reason":%q}],
		"usage":{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18}}`, message, finish)
}

func callBody(name, arguments string) string {
	quoted, _ := json.Marshal(arguments)
	return fmt.Sprintf(`{"id":"call_1","type":"function","function":{"name":%q,"arguments":%s}}`, name, quoted)
}

var hello = Request{Model: "m", Messages: []Message{{Role: RoleUser, Text: "hello"}}}

func TestOpenAICompletions(t *testing.T) {
	usage := Usage{InputTokens: 11, OutputTokens: 7}
	lookup := ToolCall{ID: "call_1", Name: "lookup", Arguments: `{"id":1}`}
	for _, tc := range []struct {
		name, body string
		want       Completion
	}{
		{
			"text",
			completionBody(`{"role":"assistant","content":"Hi."}`, "stop"),
			Completion{Model: "served-model", Text: "Hi.", Finish: FinishStop, Usage: usage},
		},
		{
			"issue 2: text and calls are both kept",
			completionBody(`{"role":"assistant","content":"I will look.","tool_calls":[`+callBody("lookup", `{"id":1}`)+`]}`, "tool_calls"),
			Completion{Model: "served-model", Text: "I will look.", Calls: []ToolCall{lookup}, Finish: FinishToolCalls, Usage: usage},
		},
		{
			"calls that the endpoint calls a stop",
			completionBody(`{"role":"assistant","content":null,"tool_calls":[`+callBody("lookup", `{"id":1}`)+`]}`, "stop"),
			Completion{Model: "served-model", Calls: []ToolCall{lookup}, Finish: FinishToolCalls, Usage: usage},
		},
		{
			"arguments that are not JSON are kept as written",
			completionBody(`{"role":"assistant","tool_calls":[`+callBody("lookup", `{"id": 1,`+"\n")+`]}`, "length"),
			Completion{Model: "served-model", Calls: []ToolCall{{ID: "call_1", Name: "lookup", Arguments: "{\"id\": 1,\n"}}, Finish: FinishLength, Usage: usage},
		},
		{
			"arguments as an object instead of its text",
			completionBody(`{"role":"assistant","tool_calls":[{"id":"call_1","type":"function","function":{"name":"lookup","arguments":{"id":1}}}]}`, "tool_calls"),
			Completion{Model: "served-model", Calls: []ToolCall{lookup}, Finish: FinishToolCalls, Usage: usage},
		},
		{
			"a call without id and type",
			completionBody(`{"role":"assistant","tool_calls":[{"function":{"name":"lookup","arguments":"{}"}}]}`, "tool_calls"),
			Completion{Model: "served-model", Calls: []ToolCall{{Name: "lookup", Arguments: "{}"}}, Finish: FinishToolCalls, Usage: usage},
		},
		{
			"content in parts",
			completionBody(`{"role":"assistant","content":[{"type":"thinking","thinking":[]},{"type":"text","text":"Hi"},{"type":"text","text":"."}]}`, "stop"),
			Completion{Model: "served-model", Text: "Hi.", Finish: FinishStop, Usage: usage},
		},
		{
			"a refusal",
			completionBody(`{"role":"assistant","content":null,"refusal":"I cannot help with that."}`, "stop"),
			Completion{Model: "served-model", Text: "I cannot help with that.", Finish: FinishRefused, Usage: usage},
		},
		{
			"withheld by a filter",
			completionBody(`{"role":"assistant","content":""}`, "content_filter"),
			Completion{Model: "served-model", Finish: FinishRefused, Usage: usage},
		},
		{
			"an unknown reason, and counts that cannot be",
			`{"choices":[{"message":{"content":"x"},"finish_reason":"eos"}],"usage":{"prompt_tokens":-5,"completion_tokens":9223372036854775807}}`,
			Completion{Text: "x", Finish: FinishOther, Usage: Usage{OutputTokens: 1 << 40}},
		},
		{
			"no usage, no model",
			`{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}`,
			Completion{Text: "x", Finish: FinishStop},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := newTestOpenAI(t, serve(t, 200, nil, tc.body)+"/v1", time.Minute).Complete(t.Context(), hello)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOpenAIFailures(t *testing.T) {
	calls := strings.TrimSuffix(strings.Repeat(callBody("f", "{}")+",", MaxCalls+1), ",")
	for _, tc := range []struct {
		name   string
		status int
		header map[string]string
		body   string
		want   *Error
	}{
		{"401", 401, nil, `{"error":{"message":"Incorrect API key provided: ` + testKey + `."}}`, &Error{Kind: KindUnauthorized, Status: 401, Detail: "Incorrect API key provided: [redacted]."}},
		{"401 quotes a part of the key", 401, nil, `{"error":{"message":"bad key sk-test-0123"}}`, &Error{Kind: KindUnauthorized, Status: 401, Detail: "bad key [redacted]"}},
		{"401 strews characters into the key", 401, nil, `{"error":{"message":"bad key sk-test-\u00000123\u200b456789abcdefghij"}}`, &Error{Kind: KindUnauthorized, Status: 401, Detail: "bad key [redacted]"}},
		{"402", 402, nil, `{"error":{"message":"no balance"}}`, &Error{Kind: KindForbidden, Status: 402, Detail: "no balance"}},
		{"403", 403, nil, `{"error":{"message":"not yours"}}`, &Error{Kind: KindForbidden, Status: 403, Detail: "not yours"}},
		{"404", 404, nil, `{"error":"model \"m\" not found"}`, &Error{Kind: KindNotFound, Status: 404, Detail: `model "m" not found`}},
		{"404 page", 404, map[string]string{"Content-Type": "text/html; charset=utf-8"}, "<html>no", &Error{Kind: KindNotFound, Status: 404, Detail: "the body is an HTML page"}},
		{"400", 400, nil, `{"error":{"message":"context too long"}}`, &Error{Kind: KindRejected, Status: 400, Detail: "context too long"}},
		{"422", 422, nil, `{"detail":"bad field"}`, &Error{Kind: KindRejected, Status: 422, Detail: "bad field"}},
		{"429 with seconds", 429, map[string]string{"Retry-After": "7"}, `{"error":{"message":"slow down"}}`, &Error{Kind: KindRateLimited, Status: 429, Detail: "slow down", RetryAfter: 7 * time.Second}},
		{"429 with a date", 429, map[string]string{"Retry-After": "Wed, 21 Oct 2015 07:28:09 GMT", "Date": "Wed, 21 Oct 2015 07:28:00 GMT"}, ``, &Error{Kind: KindRateLimited, Status: 429, RetryAfter: 9 * time.Second}},
		{"429 with a past date", 429, map[string]string{"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT", "Date": "Wed, 21 Oct 2015 07:29:00 GMT"}, ``, &Error{Kind: KindRateLimited, Status: 429}},
		{"429 with nonsense", 429, map[string]string{"Retry-After": "-1e99"}, ``, &Error{Kind: KindRateLimited, Status: 429}},
		{"429 for ages", 429, map[string]string{"Retry-After": "2000000000"}, ``, &Error{Kind: KindRateLimited, Status: 429, RetryAfter: 24 * time.Hour}},
		{"408", 408, nil, ``, &Error{Kind: KindTimeout, Status: 408}},
		{"500", 500, nil, `{"error":{"message":"boom\u001b[31m\n\n  twice"}}`, &Error{Kind: KindServer, Status: 500, Detail: "boom[31m twice"}},
		{"503 of no known shape", 503, nil, `overloaded`, &Error{Kind: KindServer, Status: 503, Detail: "overloaded"}},
		{"500 at length", 500, nil, strings.Repeat("é", 100_000), &Error{Kind: KindServer, Status: 500, Detail: strings.Repeat("é", 511) + "…"}},
		{"redirect", 307, map[string]string{"Location": "https://elsewhere.test/v1?token=secret"}, ``, &Error{Kind: KindRedirect, Status: 307, Detail: "to https://elsewhere.test"}},
		{"redirect nowhere", 302, nil, ``, &Error{Kind: KindRedirect, Status: 302}},
		{"204", 204, nil, ``, &Error{Kind: KindBadResponse, Detail: "the body is empty"}},
		{"garbage", 200, nil, "\x00\x01garbage\x7f", &Error{Kind: KindBadResponse, Detail: `the body is not a JSON object; it begins with "garbage"`}},
		{"an HTML page", 200, map[string]string{"Content-Type": "text/html"}, "<html>\n<p>", &Error{Kind: KindBadResponse, Detail: `the body is not a JSON object; it begins with "<html> <p>"`}},
		{"a stream", 200, map[string]string{"Content-Type": "text/event-stream"}, "data: {}\n\n", &Error{Kind: KindBadResponse, Detail: `the body is not a JSON object; it begins with "data: {}"`}},
		{"JSON cut off", 200, nil, `{"choices":[`, &Error{Kind: KindBadResponse, Detail: `the body is not a JSON object; it begins with "{\"choices\":["`}},
		{"another JSON", 200, nil, `{"error":"` + testKey + `"}`, &Error{Kind: KindBadResponse, Detail: `the body has no choices; it begins with "{\"error\":\"[redacted]\"}"`}},
		{"content that is a number", 200, nil, completionBody(`{"content":5}`, "stop"), &Error{Kind: KindBadResponse, Detail: "the message's content is neither a string nor a list of parts"}},
		{"a call of another type", 200, nil, completionBody(`{"tool_calls":[{"id":"1","type":"custom","custom":{"name":"x","input":"y"}}]}`, "stop"), &Error{Kind: KindBadResponse, Detail: `tool call 0 is of type "custom", not function`}},
		{"a call without a name", 200, nil, completionBody(`{"tool_calls":[`+callBody("", "{}")+`]}`, "stop"), &Error{Kind: KindBadResponse, Detail: "tool call 0 names no function"}},
		{"too many calls", 200, nil, completionBody(`{"tool_calls":[`+calls+`]}`, "stop"), &Error{Kind: KindTooLarge, Detail: "65 tool calls, more than 64"}},
		{"too long a name", 200, nil, completionBody(`{"tool_calls":[`+callBody(strings.Repeat("n", MaxName+1), "{}")+`]}`, "stop"), &Error{Kind: KindTooLarge, Detail: "the name of tool call 0 is 257 bytes long, more than 256"}},
		{"too long arguments", 200, nil, completionBody(`{"tool_calls":[`+callBody("f", strings.Repeat("a", MaxArguments+1))+`]}`, "stop"), &Error{Kind: KindTooLarge, Detail: "the arguments of tool call 0 are 65537 bytes long, more than 65536"}},
		{"too long arguments together", 200, nil, completionBody(`{"tool_calls":[`+strings.TrimSuffix(strings.Repeat(callBody("f", strings.Repeat("a", MaxArguments))+",", 5), ",")+`]}`, "stop"), &Error{Kind: KindTooLarge, Detail: "the arguments of all tool calls are 327680 bytes long, more than 196608"}},
		{"too long a text", 200, nil, completionBody(`{"content":"`+strings.Repeat("a", MaxText+1)+`"}`, "stop"), &Error{Kind: KindTooLarge, Detail: "the text is 131073 bytes long, more than 131072"}},
		{"too long a body", 200, nil, strings.Repeat(" ", maxBody+1), &Error{Kind: KindTooLarge, Detail: "the body is longer than 4194304 bytes"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := newTestOpenAI(t, serve(t, tc.status, tc.header, tc.body), time.Minute).Complete(t.Context(), hello)
			var failure *Error
			if !errors.As(err, &failure) {
				t.Fatalf("error = %v, want an *Error", err)
			}
			if diff := cmp.Diff(tc.want, failure); diff != "" {
				t.Error(diff)
			}
			if strings.Contains(err.Error(), testKey) {
				t.Errorf("the error holds the key: %v", err)
			}
		})
	}
}

func TestOpenAIRetriesNothing(t *testing.T) {
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		w.Header().Set("X-Should-Retry", "true")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer server.Close()
	if _, err := newTestOpenAI(t, server.URL, time.Minute).Complete(t.Context(), hello); err == nil {
		t.Error("no error")
	}
	if n := requests.Load(); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

// A redirect's target gets neither a request nor the key.
func TestOpenAIFollowsNoRedirect(t *testing.T) {
	var requests atomic.Int64
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	defer target.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		base := serve(t, status, map[string]string{"Location": target.URL}, "")
		var failure *Error
		if _, err := newTestOpenAI(t, base, time.Minute).Complete(t.Context(), hello); !errors.As(err, &failure) || failure.Kind != KindRedirect {
			t.Errorf("%d: error = %v, want kind Redirect", status, err)
		}
	}
	if requests.Load() != 0 {
		t.Error("the target was asked")
	}
}

func TestOpenAIConnectionFailures(t *testing.T) {
	released := make(chan struct{})
	hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		select {
		case <-released:
		case <-r.Context().Done():
		}
	}))
	defer hanging.Close()
	defer close(released)
	closing := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer closing.Close()
	cutting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		io.WriteString(w, `{"choices":`)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}))
	defer cutting.Close()
	down := httptest.NewServer(http.NotFoundHandler())
	down.Close()

	for _, tc := range []struct {
		name, url string
		timeout   time.Duration
		want      Kind
	}{
		{"says nothing", hanging.URL, 50 * time.Millisecond, KindTimeout},
		{"closes", closing.URL, time.Minute, KindUnreachable},
		{"breaks off", cutting.URL, time.Minute, KindUnreachable},
		{"is down", down.URL, time.Minute, KindUnreachable},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := newTestOpenAI(t, tc.url, tc.timeout).Complete(t.Context(), hello)
			var failure *Error
			if !errors.As(err, &failure) || failure.Kind != tc.want || failure.Detail == "" {
				t.Errorf("error = %#v, want kind %s", err, tc.want)
			}
		})
	}
	t.Run("the caller gives up", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		transport := roundTripper(func(r *http.Request) (*http.Response, error) {
			cancel()
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		provider, err := NewOpenAI(OpenAIOptions{BaseURL: "http://model.test", Transport: transport})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := provider.Complete(ctx, hello); !errors.Is(err, context.Canceled) {
			t.Errorf("error = %v, want context.Canceled", err)
		}
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestOpenAIRefusedByEgress(t *testing.T) {
	transport := newGuardedTransport()
	provider, err := NewOpenAI(OpenAIOptions{BaseURL: "http://169.254.169.254/v1", Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	var failure *Error
	if _, err := provider.Complete(t.Context(), hello); !errors.As(err, &failure) || failure.Kind != KindDenied {
		t.Errorf("error = %v, want kind Denied", err)
	}
}

// What a condition says must not change from one attempt to the next, nor hold a path of the endpoint.
func TestOpenAIConnectionErrorsAreStable(t *testing.T) {
	remote := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 443}
	reset := &net.OpError{Op: "read", Net: "tcp", Source: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 45678}, Addr: remote, Err: errors.New("connection reset by peer")}
	for _, tc := range []struct {
		err  error
		want *Error
	}{
		{reset, &Error{Kind: KindUnreachable, Detail: "read tcp 192.0.2.1:443: connection reset by peer"}},
		{fmt.Errorf("wrapped: %w", reset), &Error{Kind: KindUnreachable, Detail: "read tcp 192.0.2.1:443: connection reset by peer"}},
		{&net.DNSError{Name: "model.test", IsNotFound: true, Err: "no such host", Server: "10.0.0.1:53"}, &Error{Kind: KindUnreachable, Detail: `the host "model.test" does not exist`}},
		{&net.DNSError{Name: "model.test", IsTimeout: true, Err: "read udp 10.0.0.1:45678->10.0.0.2:53: i/o timeout"}, &Error{Kind: KindTimeout, Detail: `looking up the host "model.test" took too long`}},
		{&net.DNSError{Name: "model.test", IsTemporary: true, Err: "server misbehaving"}, &Error{Kind: KindUnreachable, Detail: `looking up the host "model.test" failed`}},
		{errors.New("odd"), &Error{Kind: KindUnreachable, Detail: "odd"}},
	} {
		transport := roundTripper(func(*http.Request) (*http.Response, error) { return nil, tc.err })
		provider, err := NewOpenAI(OpenAIOptions{BaseURL: "https://model.test/secret-path", Transport: transport})
		if err != nil {
			t.Fatal(err)
		}
		_, err = provider.Complete(t.Context(), hello)
		failure, ok := errors.AsType[*Error](err)
		if !ok {
			t.Fatalf("error = %v, want an *Error", err)
		}
		if diff := cmp.Diff(tc.want, failure); diff != "" {
			t.Error(diff)
		}
	}
}

func TestNewOpenAIRefuses(t *testing.T) {
	for _, tc := range []struct{ name, base, key string }{
		{"empty", "", ""},
		{"relative", "/v1", ""},
		{"no host", "https:///v1", ""},
		{"a scheme that is not HTTP", "file:///etc/passwd", ""},
		{"not a URL", "http://[", ""},
		{"credentials in the URL", "https://user:hunter2@model.test", ""},
		{"a query", "https://model.test/v1?key=hunter2", ""},
		{"a fragment", "https://model.test/v1#hunter2", ""},
		{"a key that breaks the header", "https://model.test", "hunter2\r\nX-Other: 1"},
		{"a key that is not ASCII", "https://model.test", "hunter2é"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := NewOpenAI(OpenAIOptions{BaseURL: tc.base, Key: NewAPIKey(tc.key), Transport: http.DefaultTransport})
			if err == nil || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error = %v, want one without the secret", err)
			}
		})
	}
	if _, err := NewOpenAI(OpenAIOptions{BaseURL: "https://model.test"}); err == nil {
		t.Error("no transport: no error")
	}
}

func TestAPIKeyHidesItself(t *testing.T) {
	key := NewAPIKey(testKey)
	encoded, err := json.Marshal(map[string]any{"key": key, "options": OpenAIOptions{Key: key}.Key})
	if err != nil {
		t.Fatal(err)
	}
	provider, err := NewOpenAI(OpenAIOptions{BaseURL: "https://model.test", Key: key, Transport: http.DefaultTransport})
	if err != nil {
		t.Fatal(err)
	}
	for _, shown := range []string{
		fmt.Sprint(key), fmt.Sprintf("%+v %#v %q %s", key, key, key, key), fmt.Sprintf("%+v", OpenAIOptions{Key: key}),
		string(encoded), key.LogValue().String(), fmt.Sprintf("%v", provider.key),
	} {
		if strings.Contains(shown, testKey) {
			t.Errorf("shown: %s", shown)
		}
	}
}
