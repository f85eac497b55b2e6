package mcp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// F5, G7: every hint keeps its three states from the wire to the model, and so does the object itself.
func TestAnnotationsKeepThreeStates(t *testing.T) {
	rows := []struct {
		name string
		sent string // the annotations member, with its comma
		want Annotations
	}{
		{"absent", ``, Annotations{}},
		{"null", `,"annotations":null`, Annotations{}},
		{"empty", `,"annotations":{}`, Annotations{Present: true}},
		{"title alone", `,"annotations":{"title":"Delete user"}`, Annotations{Present: true, Title: "Delete user"}},
		{"all true", `,"annotations":{"readOnlyHint":true,"destructiveHint":true,"idempotentHint":true,"openWorldHint":true}`,
			Annotations{Present: true, ReadOnly: new(true), Destructive: new(true), Idempotent: new(true), OpenWorld: new(true)}},
		{"all false", `,"annotations":{"readOnlyHint":false,"destructiveHint":false,"idempotentHint":false,"openWorldHint":false}`,
			Annotations{Present: true, ReadOnly: new(false), Destructive: new(false), Idempotent: new(false), OpenWorld: new(false)}},
		{"one set", `,"annotations":{"readOnlyHint":true}`, Annotations{Present: true, ReadOnly: new(true)}},
		{"null hint", `,"annotations":{"readOnlyHint":null}`, Annotations{Present: true}},
		{"malformed hints", `,"annotations":{"readOnlyHint":"true","destructiveHint":0,"openWorldHint":false,"title":1}`,
			Annotations{Present: true, OpenWorld: new(false), Malformed: []string{"title", "readOnlyHint", "destructiveHint"}}},
		{"another case", `,"annotations":{"ReadOnlyHint":true}`, Annotations{Present: true}},
		{"not an object", `,"annotations":[true]`, Annotations{Present: true, Malformed: []string{"annotations"}}},
	}
	var tools []string
	for i, row := range rows {
		tools = append(tools, fmt.Sprintf(`{"name":"t%d","inputSchema":{"type":"object"}%s}`, i, row.sent))
	}
	for _, stream := range []bool{false, true} {
		t.Run(fmt.Sprintf("stream=%v", stream), func(t *testing.T) {
			server := newFake(t)
			server.tools = "[" + strings.Join(tools, ",") + "]"
			server.on = streamed(server, stream)
			catalogue, err := newTestClient(t, Options{}).Discover(t.Context(), server.target())
			if err != nil {
				t.Fatal(err)
			}
			if len(catalogue.Tools) != len(rows) {
				t.Fatalf("%d tools, want %d; findings %q", len(catalogue.Tools), len(rows), catalogue.Findings)
			}
			for i, row := range rows {
				if diff := cmp.Diff(row.want, catalogue.Tools[i].Annotations); diff != "" {
					t.Errorf("%s (-want +got):\n%s", row.name, diff)
				}
			}
		})
	}
}

// streamed answers tools/list as a stream, after a comment, a notification and a multi-line event.
func streamed(server *fake, stream bool) func(http.ResponseWriter, *http.Request, request) bool {
	if !stream {
		return nil
	}
	return func(w http.ResponseWriter, _ *http.Request, m request) bool {
		if m.Method != "tools/list" {
			return false
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, ": comment\r\n\r\nid: 1\r\ndata\r\n\r\n")
		fmt.Fprint(w, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{}}\n\n")
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\ndata:\"result\":{\"tools\":%s}}\n\n", m.ID, server.tools)
		return true
	}
}

// A definition that breaks a bound or a rule costs itself and nothing else, and a finding says so.
func TestDiscoverFindings(t *testing.T) {
	schema := `"inputSchema":{"type":"object"}`
	server := newFake(t)
	server.tools = `[
		{"name":"good",` + schema + `,"_meta":{"k":[1]}},
		{"name":"good",` + schema + `,"description":"again"},
		{"name":"",` + schema + `},
		{"name":"with space",` + schema + `},
		{"name":"` + strings.Repeat("n", MaxToolName+1) + `",` + schema + `},
		{"name":7,` + schema + `},
		"not an object", null,
		{"name":"no_schema"},
		{"name":"schema_list","inputSchema":[]},
		{"name":"output_string",` + schema + `,"outputSchema":"x"},
		{"name":"title_number",` + schema + `,"title":1},
		{"name":"meta_list",` + schema + `,"_meta":[]},
		{"name":"deep","inputSchema":` + strings.Repeat(`{"a":`, MaxDepth+1) + `1` + strings.Repeat(`}`, MaxDepth+1) + `},
		{"name":"big","inputSchema":{"a":"` + strings.Repeat("x", MaxSchemaBytes) + `"}},
		{"name":"long",` + schema + `,"description":"` + strings.Repeat("é", MaxDescription) + `"},
		{"name":"meta_big",` + schema + `,"_meta":{"a":"` + strings.Repeat("x", MaxMetaBytes) + `"}},
		{"name":"hint",` + schema + `,"annotations":{"readOnlyHint":1}}
	]`
	catalogue, err := newTestClient(t, Options{}).Discover(t.Context(), server.target())
	if err != nil {
		t.Fatal(err)
	}
	want := []Tool{
		{Name: "good", Meta: map[string]json.RawMessage{"k": json.RawMessage("[1]")}},
		{Name: "no_schema", Unusable: "it has no inputSchema, so its arguments could not be checked"},
		{Name: "schema_list", Unusable: "inputSchema is not a JSON object"},
		{Name: "big", Unusable: "inputSchema is over 262144 bytes"},
		{Name: "long", Description: strings.Repeat("é", (MaxDescription-3)/2) + "…"},
		{Name: "meta_big"},
		{Name: "hint", Annotations: Annotations{Present: true, Malformed: []string{"readOnlyHint"}}},
	}
	if diff := cmp.Diff(want, catalogue.Tools, cmpopts.IgnoreFields(Tool{}, "Digest", "InputSchema")); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	findings := []string{
		`tool "good" is defined more than once; the first definition counts`,
		`a tool is left out: its name "" is not 1 to 128 printable ASCII characters without spaces`,
		`a tool is left out: its name "with space" is not 1 to 128 printable ASCII characters without spaces`,
		`a tool is left out: its name "` + strings.Repeat("n", MaxToolName+1) + `" is not 1 to 128 printable ASCII characters without spaces`,
		`a tool is left out: its name "" is not 1 to 128 printable ASCII characters without spaces`,
		`a tool is left out: its definition is not a JSON object`,
		`a tool is left out: its definition is not a JSON object`,
		`tool "output_string" is left out: outputSchema is not a JSON object`,
		`tool "title_number" is left out: title is not a string`,
		`tool "meta_list" is left out: _meta is not a JSON object`,
		`tool "deep" is left out: inputSchema nests deeper than 100 levels`,
		`tool "long": its description is cut to 16384 bytes`,
		`tool "meta_big": its _meta is over 65536 bytes and is left out`,
		`tool "hint": readOnlyHint is malformed and counted as unset`,
	}
	if diff := cmp.Diff(findings, catalogue.Findings); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

// pages makes a server that answers tools/list with page(cursor).
func pages(t *testing.T, page func(cursor string) (tools []string, next string)) *fake {
	server := newFake(t)
	server.on = func(w http.ResponseWriter, _ *http.Request, m request) bool {
		if m.Method != "tools/list" {
			return false
		}
		var params struct {
			Cursor string `json:"cursor"`
		}
		_ = json.Unmarshal(m.Params, &params)
		tools, next := page(params.Cursor)
		reply(w, m, fmt.Sprintf(`{"tools":[%s],"nextCursor":%q}`, strings.Join(tools, ","), next))
		return true
	}
	return server
}

func manyTools(prefix string, n int) []string {
	tools := make([]string, n)
	for i := range tools {
		tools[i] = fmt.Sprintf(`{"name":"%s%d","inputSchema":{"type":"object"}}`, prefix, i)
	}
	return tools
}

// Pages, tools and bytes are bounded, and a server that repeats its cursor is not followed for ever.
func TestDiscoverBounds(t *testing.T) {
	for _, row := range []struct {
		name    string
		page    func(cursor string) ([]string, string)
		tools   int
		finding string
		kind    ErrorKind
	}{
		{"three pages", func(c string) ([]string, string) {
			return manyTools("p"+c, 5), map[string]string{"": "a", "a": "b"}[c]
		}, 15, "", ""},
		{"repeated cursor", func(c string) ([]string, string) { return manyTools("p"+c, 5), "again" },
			10, `tools/list repeats the cursor "again"; the pages after it are left out`, ""},
		{"endless pages", func(c string) ([]string, string) { return manyTools("p"+c+"_", 1), c + "x" },
			MaxPages, "tools/list has more than 64 pages; the rest is left out", ""},
		{"too many tools", func(c string) ([]string, string) { return manyTools("p", MaxTools+1), "more" },
			MaxTools, "the server has more than 2000 tools; the rest is left out", ""},
		{"exactly the most tools", func(string) ([]string, string) { return manyTools("p", MaxTools), "" }, MaxTools, "", ""},
		{"too many bytes", func(c string) ([]string, string) {
			return []string{`{"name":"t` + c + `","inputSchema":{},"x":"` + strings.Repeat("x", MaxListBytes/2) + `"}`}, c + "x"
		}, 0, "", TooLarge},
	} {
		t.Run(row.name, func(t *testing.T) {
			catalogue, err := newTestClient(t, Options{}).Discover(t.Context(), pages(t, row.page).target())
			if kindOf(err) != row.kind {
				t.Fatalf("got error %v, want kind %q", err, row.kind)
			}
			if len(catalogue.Tools) != row.tools {
				t.Errorf("%d tools, want %d", len(catalogue.Tools), row.tools)
			}
			var findings []string
			if row.finding != "" {
				findings = []string{row.finding}
			}
			if diff := cmp.Diff(findings, catalogue.Findings); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFindingsAreBounded(t *testing.T) {
	server := newFake(t)
	server.tools = "[" + strings.TrimSuffix(strings.Repeat("null,", 250), ",") + "]"
	catalogue, err := newTestClient(t, Options{}).Discover(t.Context(), server.target())
	if err != nil {
		t.Fatal(err)
	}
	if n := len(catalogue.Findings); n != MaxFindings {
		t.Fatalf("%d findings, want %d", n, MaxFindings)
	}
	if last := catalogue.Findings[MaxFindings-1]; last != "and 151 more findings" {
		t.Errorf("the last finding is %q", last)
	}
}

// The digest follows what is said, not how it is written down.
func TestDigest(t *testing.T) {
	digest := func(definition string) string {
		t.Helper()
		b := newCatalogueBuilder(Credential{})
		b.tool(json.RawMessage(definition))
		if len(b.catalogue.Tools) != 1 {
			t.Fatalf("%s: %q", definition, b.catalogue.Findings)
		}
		return b.catalogue.Tools[0].Digest
	}
	base := digest(`{"name":"t","description":"d","inputSchema":{"type":"object","properties":{"a":{"type":"string"},"b":{}}},"annotations":{"readOnlyHint":true}}`)
	if len(base) != 64 {
		t.Errorf("digest %q is not 64 hex digits", base)
	}
	same := map[string]string{
		"key order": `{"annotations":{"readOnlyHint":true},"inputSchema":{"properties":{"b":{},"a":{"type":"string"}},"type":"object"},"description":"d","name":"t"}`,
		"spaces":    `{ "name" : "t", "description":"d", "inputSchema":{"type":"object","properties":{"a":{"type":"string"},"b":{}}},"annotations":{"readOnlyHint":true} }`,
		"escapes":   `{"name":"\u0074","description":"d","inputSchema":{"type":"object","properties":{"a":{"type":"string"},"b":{}}},"annotations":{"readOnlyHint":true}}`,
		"icons":     `{"name":"t","icons":[{"src":"x"}],"description":"d","inputSchema":{"type":"object","properties":{"a":{"type":"string"},"b":{}}},"annotations":{"readOnlyHint":true}}`,
	}
	for name, definition := range same {
		if digest(definition) != base {
			t.Errorf("%s changes the digest", name)
		}
	}
	others := map[string]string{
		"name":              `{"name":"u","description":"d","inputSchema":{"type":"object","properties":{"a":{"type":"string"},"b":{}}},"annotations":{"readOnlyHint":true}}`,
		"description":       `{"name":"t","description":"D","inputSchema":{"type":"object","properties":{"a":{"type":"string"},"b":{}}},"annotations":{"readOnlyHint":true}}`,
		"schema":            `{"name":"t","description":"d","inputSchema":{"type":"object","properties":{"a":{"type":"number"},"b":{}}},"annotations":{"readOnlyHint":true}}`,
		"hint false":        `{"name":"t","description":"d","inputSchema":{"type":"object","properties":{"a":{"type":"string"},"b":{}}},"annotations":{"readOnlyHint":false}}`,
		"hint unset":        `{"name":"t","description":"d","inputSchema":{"type":"object","properties":{"a":{"type":"string"},"b":{}}},"annotations":{}}`,
		"annotations unset": `{"name":"t","description":"d","inputSchema":{"type":"object","properties":{"a":{"type":"string"},"b":{}}}}`,
		"hint malformed":    `{"name":"t","description":"d","inputSchema":{"type":"object","properties":{"a":{"type":"string"},"b":{}}},"annotations":{"readOnlyHint":"true"}}`,
		"title":             `{"name":"t","title":"","description":"d","inputSchema":{"type":"object","properties":{"a":{"type":"string"},"b":{}}},"annotations":{"readOnlyHint":true}}`,
		"output schema":     `{"name":"t","outputSchema":{},"description":"d","inputSchema":{"type":"object","properties":{"a":{"type":"string"},"b":{}}},"annotations":{"readOnlyHint":true}}`,
		"meta":              `{"name":"t","_meta":{},"description":"d","inputSchema":{"type":"object","properties":{"a":{"type":"string"},"b":{}}},"annotations":{"readOnlyHint":true}}`,
	}
	seen := map[string]string{base: "the base"}
	for name, definition := range others {
		d := digest(definition)
		if before, ok := seen[d]; ok {
			t.Errorf("%s has the digest of %s", name, before)
		}
		seen[d] = name
	}
}

// What is said of the server itself, and a server without tools.
func TestDiscoverServerInfo(t *testing.T) {
	server := newFake(t)
	server.on = func(w http.ResponseWriter, _ *http.Request, m request) bool {
		switch m.Method {
		case "initialize":
			reply(w, m, `{"protocolVersion":"2025-06-18","capabilities":{"prompts":{}},"instructions":"be kind","serverInfo":{"name":"n","version":"v"}}`)
		case "tools/list":
			rpcFail(w, m, http.StatusOK, -32601, "Method not found")
		case "prompts/list":
			reply(w, m, `{"prompts":[]}`)
		default:
			return false
		}
		return true
	}
	got, err := newTestClient(t, Options{}).Discover(t.Context(), server.target())
	want := Catalogue{
		ServerName: "n", ServerVersion: "v", ProtocolVersion: "2025-06-18", Instructions: "be kind",
		Findings: []string{"the server declares no tools"},
	}
	if err != nil || !cmp.Equal(want, got) {
		t.Errorf("error %v; (-want +got):\n%s", err, cmp.Diff(want, got))
	}
}

// E7: a session that goes stale between two pages starts the listing over, since cursors belong to it.
func TestDiscoverStartsOverOnANewSession(t *testing.T) {
	server := pages(t, func(cursor string) ([]string, string) {
		return manyTools("p"+cursor, 2), map[string]string{"": "a"}[cursor]
	})
	inner := server.on
	server.on = func(w http.ResponseWriter, r *http.Request, m request) bool {
		if m.Method == "tools/list" && m.session == "s1" && strings.Contains(string(m.Params), "cursor") {
			http.NotFound(w, r)
			return true
		}
		return inner(w, r, m)
	}
	catalogue, err := newTestClient(t, Options{}).Discover(t.Context(), server.target())
	if err != nil || len(catalogue.Tools) != 4 || len(catalogue.Findings) != 0 {
		t.Errorf("got %d tools, findings %q, error %v; want 4 tools", len(catalogue.Tools), catalogue.Findings, err)
	}
	if n := server.count("initialize"); n != 2 {
		t.Errorf("%d handshakes, want 2", n)
	}
}

// BenchmarkDiscover reads a catalogue as large as one gets, with ordinary tools.
func BenchmarkDiscover(b *testing.B) {
	tools := make([]string, MaxTools)
	for i := range tools {
		tools[i] = fmt.Sprintf(`{"name":"resource_operation_%d","description":"Changes an ordinary resource of a service.",
			"inputSchema":{"type":"object","properties":{"id":{"type":"string","minLength":1},"count":{"type":"integer","minimum":1}},
			"required":["id"],"additionalProperties":false},"annotations":{"readOnlyHint":false,"destructiveHint":true}}`, i)
	}
	page := json.RawMessage(`{"tools":[` + strings.Join(tools, ",") + `]}`)
	b.SetBytes(int64(len(page)))
	for b.Loop() {
		builder := newCatalogueBuilder(Credential{})
		if _, err := builder.toolPage(page); err != nil || len(builder.done().Tools) != MaxTools {
			b.Fatal(err)
		}
	}
}
