package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// readCatalogue lists all tools and prompts of a server, page by page, within the bounds of this package.
func readCatalogue(ctx context.Context, s *session, cred Credential) (Catalogue, *failure) {
	b := newCatalogueBuilder(cred)
	b.describe(s)
	if f := b.pages(ctx, toolList(s, b)); f != nil {
		if b.declares.tools || f.kind != Rejected || f.code != jsonrpc.CodeMethodNotFound {
			return Catalogue{}, f
		}
		b.finding("the server declares no tools")
	}
	if b.declares.prompts {
		if f := b.pages(ctx, promptList(s, b)); f != nil && !b.without(f) {
			return Catalogue{}, f
		}
	}
	return b.done(), nil
}

// readTools lists the tools alone, for what the SDK learns from it.
func readTools(ctx context.Context, s *session, cred Credential) *failure {
	b := newCatalogueBuilder(cred)
	return b.pages(ctx, toolList(s, b))
}

// list is one list of a server, read in pages.
type list struct {
	method string
	ask    func(ctx context.Context, cursor string, limit int64) outcome
	// page adds what is on a page and returns the next cursor, or "" at the end or the bound.
	page func(json.RawMessage) (next string, err error)
}

func toolList(s *session, b *catalogueBuilder) list {
	return list{method: "tools/list", ask: s.listTools, page: b.toolPage}
}

// pages reads a list to its end or to a bound; beyond a bound, a finding says so.
func (b *catalogueBuilder) pages(ctx context.Context, l list) *failure {
	left := int64(MaxListBytes)
	cursors := map[string]bool{"": true}
	for cursor, page := "", 1; ; page++ {
		o := l.ask(ctx, cursor, left)
		if f := judge(o, ctx.Err(), b.cred); f != nil {
			return f
		}
		left -= int64(len(o.result))
		next, err := l.page(o.result)
		switch {
		case err != nil:
			return unusableList(l.method, o, err, b.cred)
		case next == "":
			return nil
		case cursors[next]:
			b.finding("%s repeats the cursor %s; the pages after it are left out", l.method, b.quote(next))
			return nil
		case page == MaxPages:
			b.finding("%s has more than %d pages; the rest is left out", l.method, MaxPages)
			return nil
		}
		cursors[next], cursor = true, next
	}
}

func unusableList(method string, o outcome, problem error, c Credential) *failure {
	return &failure{
		kind: Protocol, status: o.status, sent: true, retry: retryIdempotent, evict: true,
		detail: "the answer to " + method + " is not MCP: " + quote(problem.Error(), c),
	}
}

// decodePage reads one page of a list: its entries, and the next cursor, "" at the end.
func decodePage(raw json.RawMessage, member string) (entries []json.RawMessage, next string, err error) {
	var page map[string]json.RawMessage
	if err := decodeObject(raw, &page); err != nil {
		return nil, "", err
	}
	if err := json.Unmarshal(page[member], &entries); err != nil || entries == nil {
		return nil, "", fmt.Errorf("no list %q", member)
	}
	if cursor := page["nextCursor"]; !isNull(cursor) && json.Unmarshal(cursor, &next) != nil {
		return nil, "", errors.New("nextCursor is not a string")
	}
	return entries, next, nil
}

// catalogueBuilder collects tools, prompts and findings.
type catalogueBuilder struct {
	catalogue Catalogue
	declares  struct{ tools, prompts bool }
	tools     map[string]bool // the names seen
	prompts   map[string]bool
	cred      Credential
	dropped   int // findings beyond the bound
}

func newCatalogueBuilder(c Credential) *catalogueBuilder {
	return &catalogueBuilder{tools: map[string]bool{}, prompts: map[string]bool{}, cred: c}
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

// describe fills in what the handshake said of the server.
func (b *catalogueBuilder) describe(s *session) {
	info := s.sdk.InitializeResult()
	if info == nil {
		return
	}
	c := &b.catalogue
	c.ProtocolVersion = info.ProtocolVersion
	c.Instructions = truncate(strings.ToValidUTF8(info.Instructions, "?"), MaxDescription)
	if info.ServerInfo != nil {
		c.ServerName = truncate(strings.ToValidUTF8(info.ServerInfo.Name, "?"), MaxTitle)
		c.ServerVersion = truncate(strings.ToValidUTF8(info.ServerInfo.Version, "?"), MaxTitle)
	}
	b.declares.tools, b.declares.prompts = declared(info)
	c.ListChanged = announcedBy(info) != announced{}
}

// declared says which lists the server has.
func declared(info *sdk.InitializeResult) (tools, prompts bool) {
	if info.Capabilities == nil {
		return false, false
	}
	return info.Capabilities.Tools != nil, info.Capabilities.Prompts != nil
}

// toolPage adds the tools of one page.
func (b *catalogueBuilder) toolPage(raw json.RawMessage) (next string, err error) {
	entries, next, err := decodePage(raw, "tools")
	if err != nil {
		return "", err
	}
	for _, entry := range entries {
		if len(b.catalogue.Tools) == MaxTools {
			b.finding("the server has more than %d tools; the rest is left out", MaxTools)
			return "", nil
		}
		b.tool(entry)
	}
	return next, nil
}
