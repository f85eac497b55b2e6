package mcp

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// FuzzAnswer throws hostile answers at the transport. Whatever comes, the SDK is shown messages that it can
// read, at most one of them an answer to its request, and what was recorded decodes or is refused.
func FuzzAnswer(f *testing.F) {
	const list, call = "tools/list", "tools/call"
	for _, seed := range []struct {
		method, contentType, body string
		status                    int
	}{
		{list, "application/json", `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":"x"}}]}}`, 200},
		{list, "application/json", `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","inputSchema":{"properties":{"r":{"type":"string","x-mcp-header":"R"}}}}],"nextCursor":"x"}}`, 200},
		{list, "text/event-stream", "id: 1\nretry: 5\ndata:\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\ndata: \"result\":{\"tools\":[null,1,{}]}}\n\n", 200},
		{call, "text/event-stream", "data: {\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"roots/list\"}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[]}}\n\ndata: more", 200},
		{call, "text/event-stream", "event: x\ndata: {}\n\n\r\n:c\nid: \x00\ndata: [", 200},
		{call, "text/event-stream; charset=utf-8", `data: {"jsonrpc":"2.0","id":2,"result":{}}`, 200},
		{call, "application/json", `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no session","data":[]}}`, 400},
		{call, "application/json", `{"jsonrpc":"2.0","id":1.0,"Result":{"content":[{"type":"text","text":"\ud800"}]}}`, 200},
		{call, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":1e3,"message":"x"}}`, 404},
		{call, "application/json", strings.Repeat(`{"jsonrpc":`, 50), 200},
		{call, "application/json", `{"jsonrpc":"2.0","id":1,"result":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}`, 200},
		{call, "text/html", "<html>", 302},
		{call, "", "", 202},
	} {
		f.Add(seed.method, seed.contentType, []byte(seed.body), seed.status)
	}
	f.Fuzz(func(t *testing.T, method, contentType string, body []byte, status int) {
		if method != list {
			method = call
		}
		base := roundTripFunc(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {contentType}, "Location": {string(body)}},
				Body: io.NopCloser(bytes.NewReader(body)), Request: r}, nil
		})
		transport := newSessionTransport(base, Target{})
		defer transport.abort()
		ex := &exchange{limit: 1 << 16}
		req, err := http.NewRequestWithContext(withExchange(t.Context(), ex), http.MethodPost, "http://server.example/mcp",
			strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{}}`))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := transport.RoundTrip(req)
		if err != nil {
			t.Fatalf("the transport failed although the server answered: %v", err)
		}
		defer resp.Body.Close()
		shown, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatalf("the SDK could not read the answer: %v", err)
		}
		checkShown(t, resp, shown)
		checkRecorded(t, method, ex.outcome())
	})
}

func checkShown(t *testing.T, resp *http.Response, shown []byte) {
	t.Helper()
	messages := [][]byte{shown}
	if mediaType(resp) == eventStream {
		messages = nil
		for events := newEventReader(bytes.NewReader(shown), 1<<20); ; {
			ev, err := events.next()
			if err != nil {
				break
			}
			if len(ev.data) > 0 {
				messages = append(messages, ev.data)
			}
		}
	}
	answers := 0
	for _, data := range messages {
		message, err := jsonrpc.DecodeMessage(data)
		if err != nil {
			t.Fatalf("the SDK is shown %q: %v", data, err)
		}
		if response, ok := message.(*jsonrpc.Response); ok {
			answers++
			if response.ID.Raw() != int64(1) {
				t.Fatalf("the SDK is shown an answer to another request: %q", data)
			}
		}
	}
	if answers > 1 || (mediaType(resp) != eventStream && answers != 1) {
		t.Fatalf("the SDK is shown %d answers: %q", answers, shown)
	}
}

func checkRecorded(t *testing.T, method string, o outcome) {
	t.Helper()
	if f := judge(o, nil, Credential{}); f != nil {
		if len(f.detail) > 3*MaxDetail {
			t.Fatalf("a detail of %d bytes", len(f.detail))
		}
		return
	}
	if !json.Valid(o.result) {
		t.Fatalf("recorded %q", o.result)
	}
	if method == "tools/call" {
		_, _ = decodeResult(o.result)
		return
	}
	b := newCatalogueBuilder(Credential{})
	if _, err := b.toolPage(o.result); err != nil {
		return
	}
	for _, tool := range b.done().Tools {
		if !validName(tool.Name) || len(tool.Digest) != 64 || len(tool.InputSchema) > MaxSchemaBytes {
			t.Fatalf("catalogued %+v", tool)
		}
		if (tool.Unusable == "") != json.Valid(tool.InputSchema) {
			t.Fatalf("usable with a schema that is none, or the reverse: %+v", tool)
		}
	}
	if _, err := b.promptPage(o.result); err != nil {
		return
	}
	for _, prompt := range b.done().Prompts {
		if !validName(prompt.Name) || len(prompt.Digest) != 64 || len(prompt.Arguments) > MaxPromptArguments {
			t.Fatalf("catalogued %+v", prompt)
		}
	}
}
