package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// readCatalogue lists all tools of a server, page by page, within the bounds of this package.
func readCatalogue(ctx context.Context, s *session, cred Credential) (Catalogue, *failure) {
	b := catalogueBuilder{seen: map[string]bool{}, cred: cred}
	declaresTools := s.describe(&b.catalogue)
	left := int64(MaxListBytes)
	cursors := map[string]bool{"": true}
	for cursor, page := "", 1; ; page++ {
		o := s.listTools(ctx, cursor, left)
		if f := judge(o, ctx.Err(), cred); f != nil {
			if !declaresTools && f.kind == Rejected && f.code == jsonrpc.CodeMethodNotFound {
				b.finding("the server declares no tools")
				return b.done(), nil
			}
			return Catalogue{}, f
		}
		left -= int64(len(o.result))
		next, err := b.page(o.result)
		if err != nil {
			return Catalogue{}, unusableList(o, err, cred)
		}
		switch {
		case next == "" || b.full:
			return b.done(), nil
		case cursors[next]:
			b.finding("tools/list repeats the cursor %s; the pages after it are left out", b.quote(next))
			return b.done(), nil
		case page == MaxPages:
			b.finding("tools/list has more than %d pages; the rest is left out", MaxPages)
			return b.done(), nil
		}
		cursors[next], cursor = true, next
	}
}

func unusableList(o outcome, problem error, c Credential) *failure {
	return &failure{
		kind: Protocol, status: o.status, sent: true, retry: retryIdempotent, evict: true,
		detail: "the answer to tools/list is not MCP: " + quote(problem.Error(), c),
	}
}

// catalogueBuilder collects tools and findings.
type catalogueBuilder struct {
	catalogue Catalogue
	seen      map[string]bool
	cred      Credential
	full      bool
	dropped   int // findings beyond the bound
}

func (b *catalogueBuilder) quote(text string) string { return strconv.Quote(quote(text, b.cred)) }

func (b *catalogueBuilder) finding(format string, args ...any) {
	if len(b.catalogue.Findings) >= MaxFindings-1 {
		b.dropped++
		return
	}
	b.catalogue.Findings = append(b.catalogue.Findings, fmt.Sprintf(format, args...))
}

func (b *catalogueBuilder) done() Catalogue {
	if b.dropped > 0 {
		b.catalogue.Findings = append(b.catalogue.Findings, fmt.Sprintf("and %d more findings", b.dropped))
	}
	return b.catalogue
}

// page adds the tools of one page and returns the next cursor.
func (b *catalogueBuilder) page(raw json.RawMessage) (next string, err error) {
	var page struct {
		Tools      []json.RawMessage `json:"tools"`
		NextCursor *string           `json:"nextCursor"`
	}
	if err := decodeObject(raw, &page); err != nil {
		return "", err
	}
	if page.Tools == nil {
		return "", errors.New("no tools member")
	}
	for _, tool := range page.Tools {
		if len(b.catalogue.Tools) == MaxTools {
			b.finding("the server has more than %d tools; the rest is left out", MaxTools)
			b.full = true
			break
		}
		b.tool(tool)
	}
	if page.NextCursor == nil {
		return "", nil
	}
	return *page.NextCursor, nil
}

// tool adds one tool, or a finding on why it is left out. One bad tool never costs the others.
func (b *catalogueBuilder) tool(raw json.RawMessage) {
	var members map[string]json.RawMessage
	if err := decodeObject(raw, &members); err != nil {
		b.finding("a tool is left out: its definition is not a JSON object")
		return
	}
	var name string
	if json.Unmarshal(members["name"], &name) != nil || !validToolName(name) {
		b.finding("a tool is left out: its name %s is not 1 to %d printable ASCII characters without spaces", b.quote(name), MaxToolName)
		return
	}
	if b.seen[name] {
		b.finding("tool %q is defined more than once; the first definition counts", name)
		return
	}
	b.seen[name] = true
	tool, err := decodeTool(name, members)
	if err != nil {
		b.finding("tool %q is left out: %v", name, err)
		return
	}
	if len(tool.Description) > MaxDescription {
		tool.Description = truncate(tool.Description, MaxDescription)
		b.finding("tool %q: its description is cut to %d bytes", name, MaxDescription)
	}
	if len(members["_meta"]) > MaxMetaBytes {
		tool.Meta = nil
		b.finding("tool %q: its _meta is over %d bytes and is left out", name, MaxMetaBytes)
	}
	if bad := tool.Annotations.Malformed; len(bad) > 0 {
		b.finding("tool %q: %s malformed and counted as unset", name, isOrAre(bad))
	}
	b.catalogue.Tools = append(b.catalogue.Tools, tool)
}

func isOrAre(names []string) string {
	if len(names) == 1 {
		return names[0] + " is"
	}
	return strings.Join(names, ", ") + " are"
}

// validToolName is looser than what the specification recommends and tight enough for logs, status keys
// and messages.
func validToolName(name string) bool {
	if name == "" || len(name) > MaxToolName {
		return false
	}
	for i := range len(name) {
		if name[i] <= ' ' || name[i] > '~' {
			return false
		}
	}
	return true
}

// decodeTool reads a definition whose name is known to be good.
func decodeTool(name string, members map[string]json.RawMessage) (Tool, error) {
	for _, member := range digestMembers {
		if checkDepth(members[member], MaxDepth) != nil {
			return Tool{}, fmt.Errorf("%s nests deeper than %d levels", member, MaxDepth)
		}
	}
	tool := Tool{Name: name, Annotations: decodeAnnotations(members["annotations"])}
	var err error
	if tool.Title, err = stringMember(members, "title"); err != nil {
		return Tool{}, err
	}
	tool.Title = truncate(tool.Title, MaxTitle)
	if tool.Description, err = stringMember(members, "description"); err != nil {
		return Tool{}, err
	}
	if tool.InputSchema, err = schemaMember(members, "inputSchema"); err != nil {
		return Tool{}, err
	}
	if tool.InputSchema == nil {
		return Tool{}, errors.New("it has no inputSchema, so its arguments could not be checked")
	}
	if tool.OutputSchema, err = schemaMember(members, "outputSchema"); err != nil {
		return Tool{}, err
	}
	if raw := members["_meta"]; !isNull(raw) && json.Unmarshal(raw, &tool.Meta) != nil {
		return Tool{}, errors.New("_meta is not a JSON object")
	}
	tool.Digest, err = digestTool(members)
	return tool, err
}

// stringMember is a member that is a string, "" when it is absent or null.
func stringMember(members map[string]json.RawMessage, name string) (text string, err error) {
	if raw := members[name]; !isNull(raw) && json.Unmarshal(raw, &text) != nil {
		return "", fmt.Errorf("%s is not a string", name)
	}
	return text, nil
}

// schemaMember is a member that is a JSON object within the bounds, nil when it is absent or null.
func schemaMember(members map[string]json.RawMessage, name string) (json.RawMessage, error) {
	raw := members[name]
	switch {
	case isNull(raw):
		return nil, nil
	case raw[0] != '{':
		return nil, fmt.Errorf("%s is not a JSON object", name)
	case len(raw) > MaxSchemaBytes:
		return nil, fmt.Errorf("%s is over %d bytes", name, MaxSchemaBytes)
	}
	return raw, nil
}
