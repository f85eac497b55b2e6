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

// prompting makes a server that declares prompts and answers prompts/list with answer(cursor).
func prompting(t *testing.T, answer func(w http.ResponseWriter, m request, cursor string)) *fake {
	server := newFake(t)
	server.on = func(w http.ResponseWriter, _ *http.Request, m request) bool {
		switch m.Method {
		case "initialize":
			reply(w, m, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{}},"serverInfo":{"name":"fake","version":"1"}}`)
		case "prompts/list":
			var params struct {
				Cursor string `json:"cursor"`
			}
			_ = json.Unmarshal(m.Params, &params)
			answer(w, m, params.Cursor)
		default:
			return false
		}
		return true
	}
	return server
}

// M11, M12: prompts are listed with a digest where the server declares that it has some, page by page.
func TestPrompts(t *testing.T) {
	server := prompting(t, func(w http.ResponseWriter, m request, cursor string) {
		if cursor == "" {
			reply(w, m, `{"nextCursor":"two","prompts":[
				{"name":"greet","title":"Greet","description":"says hello","arguments":[
					{"name":"who","title":"Who","description":"whom","required":true},{"name":"how"}]}]}`)
			return
		}
		reply(w, m, `{"prompts":[{"name":"bye","arguments":null}]}`)
	})
	catalogue, err := newTestClient(t, Options{}).Discover(t.Context(), server.target())
	if err != nil {
		t.Fatal(err)
	}
	want := []Prompt{
		{Name: "greet", Title: "Greet", Description: "says hello", Arguments: []PromptArgument{
			{Name: "who", Title: "Who", Description: "whom", Required: true}, {Name: "how"}}},
		{Name: "bye"},
	}
	if diff := cmp.Diff(want, catalogue.Prompts, cmpopts.IgnoreFields(Prompt{}, "Digest")); diff != "" {
		t.Errorf("prompts (-want +got):\n%s", diff)
	}
	if len(catalogue.Findings) != 0 {
		t.Errorf("findings: %q", catalogue.Findings)
	}
}

// A server that does not declare prompts is not asked for them: some of the real ones answer with an error.
func TestPromptsAreNotAskedOfAServerWithoutThem(t *testing.T) {
	server := newFake(t)
	catalogue, err := newTestClient(t, Options{}).Discover(t.Context(), server.target())
	if err != nil || catalogue.Prompts != nil || len(catalogue.Findings) != 0 {
		t.Errorf("got %+v, %v", catalogue, err)
	}
	if n := server.count("prompts/list"); n != 0 {
		t.Errorf("asked %d times", n)
	}
}

// M12: the digest follows the definition and nothing else, and is never that of a tool.
func TestPromptDigest(t *testing.T) {
	digest := func(definition string) string {
		t.Helper()
		b := newCatalogueBuilder(Credential{})
		b.prompt(json.RawMessage(definition))
		if len(b.catalogue.Prompts) != 1 {
			t.Fatalf("%s: %q", definition, b.catalogue.Findings)
		}
		return b.catalogue.Prompts[0].Digest
	}
	base := digest(`{"name":"p","description":"d","arguments":[{"name":"a"}]}`)
	if other := digest(`{"arguments":[ {"name":"a"} ],"icons":[],"description":"d","name":"p"}`); other != base {
		t.Error("the order of keys, or an icon, changes the digest")
	}
	for _, definition := range []string{
		`{"name":"q","description":"d","arguments":[{"name":"a"}]}`,
		`{"name":"p","description":"e","arguments":[{"name":"a"}]}`,
		`{"name":"p","title":"","description":"d","arguments":[{"name":"a"}]}`,
		`{"name":"p","description":"d","arguments":[{"name":"a","required":true}]}`,
		`{"name":"p","description":"d","arguments":[{"name":"a"}],"_meta":{}}`,
	} {
		if digest(definition) == base {
			t.Errorf("%s has the digest of another prompt", definition)
		}
	}
	b := newCatalogueBuilder(Credential{})
	b.tool(json.RawMessage(`{"name":"p","inputSchema":{}}`))
	b.prompt(json.RawMessage(`{"name":"p","inputSchema":{}}`))
	if b.catalogue.Tools[0].Digest == b.catalogue.Prompts[0].Digest {
		t.Error("a tool and a prompt have one digest")
	}
}

// A prompt that breaks a rule costs itself and nothing else; a list that is none costs the prompts alone.
func TestPromptFindings(t *testing.T) {
	many := make([]string, MaxPrompts+1)
	for i := range many {
		many[i] = fmt.Sprintf(`{"name":"p%d"}`, i)
	}
	arguments := strings.TrimSuffix(strings.Repeat(`{"name":"a"},`, MaxPromptArguments+1), ",")
	for _, row := range []struct {
		name    string
		answer  func(w http.ResponseWriter, m request)
		prompts int
		want    []string
	}{
		{"bad prompts", func(w http.ResponseWriter, m request) {
			reply(w, m, `{"prompts":[null,{"name":""},{"name":"a b"},{"name":"twice"},{"name":"twice"},{"name":"title","title":1},
				{"name":"arguments","arguments":{}},{"name":"many","arguments":[`+arguments+`]},{"name":"unnamed","arguments":[{}]},
				{"name":"required","arguments":[{"name":"a","required":"yes"}]},
				{"name":"deep","_meta":`+strings.Repeat("[", MaxDepth+1)+strings.Repeat("]", MaxDepth+1)+`}]}`)
		}, 1, []string{
			`a prompt is left out: its definition is not a JSON object`,
			`a prompt is left out: its name "" is not 1 to 128 printable ASCII characters without spaces`,
			`a prompt is left out: its name "a b" is not 1 to 128 printable ASCII characters without spaces`,
			`prompt "twice" is defined more than once; the first definition counts`,
			`prompt "title" is left out: title is not a string`,
			`prompt "arguments" is left out: arguments is not a list of JSON objects`,
			`prompt "many" is left out: it has more than 64 arguments`,
			`prompt "unnamed" is left out: arguments[0]: it has no name`,
			`prompt "required" is left out: arguments[0]: required is not a boolean`,
			`prompt "deep" is left out: _meta nests deeper than 100 levels`,
		}},
		{"too many", func(w http.ResponseWriter, m request) {
			reply(w, m, `{"prompts":[`+strings.Join(many, ",")+`]}`)
		}, MaxPrompts, []string{"the server has more than 256 prompts; the rest is left out"}},
		{"not known after all", func(w http.ResponseWriter, m request) {
			rpcFail(w, m, http.StatusOK, -32601, "Method not found")
		}, 0, []string{"the prompts are left out: Method not found"}},
		{"no list", func(w http.ResponseWriter, m request) { reply(w, m, `{"prompts":{}}`) },
			0, []string{`the prompts are left out: the answer to prompts/list is not MCP: no list "prompts"`}},
	} {
		t.Run(row.name, func(t *testing.T) {
			server := prompting(t, func(w http.ResponseWriter, m request, _ string) { row.answer(w, m) })
			server.tools = `[{"name":"tool","inputSchema":{}}]`
			catalogue, err := newTestClient(t, Options{}).Discover(t.Context(), server.target())
			if err != nil || len(catalogue.Tools) != 1 || len(catalogue.Prompts) != row.prompts {
				t.Fatalf("%d tools, %d prompts, error %v; want 1 and %d", len(catalogue.Tools), len(catalogue.Prompts), err, row.prompts)
			}
			if diff := cmp.Diff(row.want, catalogue.Findings); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

// A session that is lost while the prompts are read is no matter of the prompts (E7).
func TestPromptsOnALostSession(t *testing.T) {
	asked := 0
	server := prompting(t, func(w http.ResponseWriter, m request, _ string) {
		if asked++; asked == 1 {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		reply(w, m, `{"prompts":[{"name":"p"}]}`)
	})
	catalogue, err := newTestClient(t, Options{}).Discover(t.Context(), server.target())
	if err != nil || len(catalogue.Prompts) != 1 || server.count("initialize") != 2 {
		t.Errorf("got %+v, %v after %d handshakes", catalogue, err, server.count("initialize"))
	}
}
