// SPDX-License-Identifier: Apache-2.0

package model

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit.dev/remit/internal/egress"
)

func newGuardedTransport() http.RoundTripper {
	return egress.New(egress.Options{}).Transport(egress.Scope{Tenant: "team-a"})
}

// capture answers every request with a short reply and keeps the last one.
func capture(t *testing.T) (url string, request *http.Request, body *[]byte) {
	t.Helper()
	request, body = &http.Request{}, new([]byte)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*body, _ = io.ReadAll(r.Body)
		*request = *r
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, completionBody(`{"content":"ok"}`, "stop"))
	}))
	t.Cleanup(server.Close)
	return server.URL, request, body
}

func decode(t *testing.T, text string) any {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return value
}

func TestOpenAIRequest(t *testing.T) {
	temperature, topP, limit, seed := 0.2, 0.9, int64(500), int64(7)
	request := Request{
		Model:  "small",
		System: "Be brief.",
		Messages: []Message{
			{Role: RoleUser, Text: "Refund 1001 <now>"},
			{Role: RoleAssistant, Text: "Looking.", Calls: []ToolCall{{ID: "a", Name: "lookup", Arguments: `{"id":1001}`}, {ID: "b", Name: "lookup", Arguments: ` {"id": oops`}}},
			{Role: RoleTool, CallID: "a", Text: `{"state":"shipped"}`},
			{Role: RoleTool, CallID: "b", IsError: true},
			{Role: RoleAssistant, Calls: []ToolCall{{ID: "c", Name: "list"}}},
			{Role: RoleTool, CallID: "c", Text: "", IsError: false},
			{Role: RoleAssistant, Text: ""},
		},
		Tools: []ToolDefinition{
			{Name: "lookup", Description: "Look an order up.", InputSchema: json.RawMessage(`{"type":"object","properties":{"z":{"maximum":12345678901234567890},"a":{}},"x-note":"<b>"}`)},
			{Name: "list"},
		},
		Parameters: Parameters{Temperature: &temperature, TopP: &topP, MaxOutputTokens: &limit, Seed: &seed},
	}
	url, got, body := capture(t)
	if _, err := newTestOpenAI(t, url+"/base/v1", time.Minute).Complete(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	if got.Method != http.MethodPost || got.URL.Path != "/base/v1/chat/completions" || got.Header.Get("Authorization") != "Bearer "+testKey {
		t.Errorf("%s %s with %q", got.Method, got.URL, got.Header.Get("Authorization"))
	}
	want := decode(t, `{
		"model": "small", "temperature": 0.2, "top_p": 0.9, "max_completion_tokens": 500, "seed": 7,
		"messages": [
			{"role": "system", "content": "Be brief."},
			{"role": "user", "content": "Refund 1001 <now>"},
			{"role": "assistant", "content": "Looking.", "tool_calls": [
				{"id": "a", "type": "function", "function": {"name": "lookup", "arguments": "{\"id\":1001}"}},
				{"id": "b", "type": "function", "function": {"name": "lookup", "arguments": "{\"invalid_arguments\":\" {\\\"id\\\": oops\"}"}}
			]},
			{"role": "tool", "tool_call_id": "a", "content": "{\"state\":\"shipped\"}"},
			{"role": "tool", "tool_call_id": "b", "content": "The call failed. The tool gave no reason."},
			{"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": {"name": "list", "arguments": "{}"}}]},
			{"role": "tool", "tool_call_id": "c", "content": ""},
			{"role": "assistant", "content": ""}
		],
		"tools": [
			{"type": "function", "function": {"name": "lookup", "description": "Look an order up.", "parameters":
				{"type": "object", "properties": {"z": {"maximum": 12345678901234567890}, "a": {}}, "x-note": "<b>"}}},
			{"type": "function", "function": {"name": "list", "parameters": {"type": "object", "properties": {}}}}
		]
	}`)
	if diff := cmp.Diff(want, decode(t, string(*body))); diff != "" {
		t.Error(diff)
	}
	// As given: neither the order of keys nor the digits of numbers change.
	if !strings.Contains(string(*body), `"properties":{"z":{"maximum":12345678901234567890},"a":{}}`) {
		t.Errorf("the schema has changed in %s", *body)
	}
}

func TestOpenAIMinimalRequest(t *testing.T) {
	url, _, body := capture(t)
	if _, err := newTestOpenAI(t, url, time.Minute).Complete(t.Context(), hello); err != nil {
		t.Fatal(err)
	}
	if want := `{"messages":[{"content":"hello","role":"user"}],"model":"m"}`; string(*body) != want {
		t.Errorf("got  %s\nwant %s", *body, want)
	}
}

func TestOpenAIRefusesToSend(t *testing.T) {
	infinite := math.Inf(1)
	for name, request := range map[string]Request{
		"schema that is no JSON":   {Tools: []ToolDefinition{{Name: "t", InputSchema: json.RawMessage(`{"type":`)}}},
		"schema that is no object": {Tools: []ToolDefinition{{Name: "t", InputSchema: json.RawMessage(`true`)}}},
		"unknown role":             {Messages: []Message{{Role: "System"}}},
		"infinite parameter":       {Parameters: Parameters{Temperature: &infinite}},
	} {
		t.Run(name, func(t *testing.T) {
			url, _, body := capture(t)
			_, err := newTestOpenAI(t, url, time.Minute).Complete(t.Context(), request)
			var failure *Error
			if !errors.As(err, &failure) || failure.Kind != KindRejected || failure.Detail == "" {
				t.Errorf("error = %v, want kind Rejected", err)
			}
			if *body != nil {
				t.Errorf("sent %s", *body)
			}
		})
	}
}

func TestOpenAICredential(t *testing.T) {
	for _, tc := range []struct{ name, key, header, wantHeader, want string }{
		{"a bearer token", "k1", "", "Authorization", "Bearer k1"},
		{"a header of its own", "k1", "api-key", "Api-Key", "k1"},
		{"another scheme", "Basic dTpw", "Authorization", "Authorization", "Basic dTpw"},
		{"none", "", "", "Authorization", ""},
		{"none for a header", "", "api-key", "Api-Key", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			url, request, _ := capture(t)
			provider, err := NewOpenAI(OpenAIOptions{BaseURL: url, Key: NewAPIKey(tc.key), Header: tc.header, Transport: &http.Transport{DisableKeepAlives: true}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := provider.Complete(t.Context(), hello); err != nil {
				t.Fatal(err)
			}
			if got := request.Header.Get(tc.wantHeader); got != tc.want {
				t.Errorf("%s: %q, want %q", tc.wantHeader, got, tc.want)
			}
			if tc.wantHeader != "Authorization" && request.Header.Get("Authorization") != "" {
				t.Error("the key is sent as a bearer token too")
			}
		})
	}
}

// Nothing of what the SDK's own client would take from the environment reaches the
// endpoint.
func TestOpenAIIgnoresTheEnvironment(t *testing.T) {
	for name, value := range map[string]string{
		"OPENAI_API_KEY": "canary", "OPENAI_ADMIN_KEY": "canary", "OPENAI_ORG_ID": "canary", "OPENAI_PROJECT_ID": "canary",
		"OPENAI_WEBHOOK_SECRET": "canary", "OPENAI_CUSTOM_HEADERS": "X-Canary: canary", "OPENAI_BASE_URL": "http://canary.invalid",
	} {
		t.Setenv(name, value)
	}
	url, request, body := capture(t)
	provider, err := NewOpenAI(OpenAIOptions{BaseURL: url, Transport: &http.Transport{DisableKeepAlives: true}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := provider.Complete(t.Context(), hello); err != nil {
		t.Fatal(err)
	}
	if got := request.Header.Get("Authorization"); got != "" {
		t.Errorf("Authorization = %q, want none", got)
	}
	for name, values := range request.Header {
		if strings.Contains(strings.ToLower(name+strings.Join(values, " ")), "canary") {
			t.Errorf("%s: %v", name, values)
		}
	}
	if strings.Contains(string(*body), "canary") {
		t.Errorf("body %s", *body)
	}
}

// Whatever an endpoint answers, it is a completion within the bounds or an *Error.
func FuzzReadCompletion(f *testing.F) {
	f.Add([]byte(completionBody(`{"content":"Hi","tool_calls":[`+callBody("f", "{}")+`]}`, "stop")))
	f.Add([]byte(`{"choices":[{"message":{"content":[{"type":"text","text":"a"}],"tool_calls":[{"function":{"name":{},"arguments":[]}}]}}]}`))
	f.Add([]byte(`{"choices":{"0":{}},"usage":[]}`))
	f.Add([]byte(`{"choices":[null,1,"x"],"usage":{"prompt_tokens":1e400}}`))
	f.Add([]byte("{\"choices\":[{\"message\":{\"content\":\"\xff\"}}]}"))
	f.Fuzz(func(t *testing.T, body []byte) {
		completion, err := readCompletion(body)
		if err != nil {
			if _, ok := errors.AsType[*Error](err); !ok {
				t.Fatalf("error = %v", err)
			}
			return
		}
		if len(completion.Calls) > MaxCalls || len(completion.Text) > MaxText || completion.Usage.InputTokens < 0 || completion.Usage.OutputTokens < 0 {
			t.Fatalf("out of bounds: %+v", completion)
		}
		for _, call := range completion.Calls {
			if call.Name == "" {
				t.Fatalf("a call without a name: %+v", completion)
			}
		}
		if strings.ToValidUTF8(completion.Text, "") != completion.Text {
			t.Fatalf("text is not UTF-8: %q", completion.Text)
		}
	})
}
