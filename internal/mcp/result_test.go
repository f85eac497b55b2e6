package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDecodeResult(t *testing.T) {
	for _, row := range []struct {
		name string
		raw  string
		want Result
		err  string
	}{
		{"every type", `{"content":[
			{"type":"text","text":"hello","annotations":{"audience":["user"]}},
			{"type":"image","data":"aGk=","mimeType":"image/png"},
			{"type":"audio","data":"aGk=","mimeType":"audio/wav"},
			{"type":"resource_link","uri":"file:///a","name":"a","description":"d","mimeType":"text/plain"},
			{"type":"resource","resource":{"uri":"file:///b","mimeType":"text/plain","text":"b"}},
			{"type":"resource","resource":{"uri":"file:///c","blob":"aGk="}}
		]}`, Result{Content: []Content{
			{Type: ContentText, Text: "hello"},
			{Type: ContentImage, Data: "aGk=", MIMEType: "image/png"},
			{Type: ContentAudio, Data: "aGk=", MIMEType: "audio/wav"},
			{Type: ContentResourceLink, URI: "file:///a", Name: "a", Description: "d", MIMEType: "text/plain"},
			{Type: ContentResource, URI: "file:///b", MIMEType: "text/plain", Text: "b"},
			{Type: ContentResource, URI: "file:///c", Data: "aGk="},
		}}, ""},
		{"a type of the future", `{"content":[{"type":"hologram","x":1}]}`,
			Result{Content: []Content{{Type: "hologram", Raw: json.RawMessage(`{"type":"hologram","x":1}`)}}}, ""},
		{"structured, digits kept", `{"content":[],"structuredContent":{"id":9007199254740993,"n":1.0}}`,
			Result{Structured: json.RawMessage(`{"id":9007199254740993,"n":1.0}`)}, ""},
		{"structured null", `{"content":[],"structuredContent":null}`, Result{}, ""},
		{"error with its text", `{"content":[{"type":"text","text":"no such order"}],"isError":true}`,
			Result{Content: []Content{{Type: ContentText, Text: "no such order"}}, IsError: true}, ""},
		{"empty", `{}`, Result{}, ""},
		{"not an object", `[]`, Result{}, "not a JSON object"},
		{"content null block", `{"content":[null]}`, Result{}, "content[0]: not a JSON object"},
		{"no type", `{"content":[{"text":"x"}]}`, Result{}, "content[0]: a content block without a type"},
		{"resource without one", `{"content":[{"type":"resource"}]}`, Result{}, "content[0]: a resource block without a resource"},
		{"too many", `{"content":[` + strings.Repeat(`{"type":"text"},`, MaxContent) + `{"type":"text"}]}`, Result{},
			"the answer is too large: over 1000 content blocks"},
		{"input required", `{"resultType":"input_required"}`, Result{}, errInputRequired.Error()},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := decodeResult(json.RawMessage(row.raw))
			message := ""
			if err != nil {
				message = err.Error()
			}
			if message != row.err {
				t.Errorf("got error %q, want %q", message, row.err)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
