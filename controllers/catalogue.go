// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"strings"
	"unicode"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"

	"remit.dev/remit/internal/mcp"
	"remit.dev/remit/internal/schema"
)

const (
	// maxCatalogues bounds the catalogues that are kept in memory.
	maxCatalogues = 512
	// maxVerdicts bounds the definitions of which it is known whether they are usable.
	maxVerdicts = 16384
)

// Catalogue keeps the whole definitions of the servers' tools, which are too large
// for a status. It is safe for concurrent use.
type Catalogue struct {
	client *mcp.Client
	kept   *lru.Cache[string, mcp.Catalogue]
	// verdicts says of a definition, by its digest, why it is unusable, or nothing.
	verdicts *lru.Cache[string, string]
	asking   singleflight.Group
}

// NewCatalogue makes an empty Catalogue.
func NewCatalogue(client *mcp.Client) *Catalogue {
	kept, err := lru.New[string, mcp.Catalogue](maxCatalogues)
	if err != nil {
		panic(err) // the size is a positive constant
	}
	verdicts, err := lru.New[string, string](maxVerdicts)
	if err != nil {
		panic(err) // the size is a positive constant
	}
	return &Catalogue{client: client, kept: kept, verdicts: verdicts}
}

// unusable says why no call of the tool can be judged, or nothing. A definition that
// does not change is looked at once.
func (c *Catalogue) unusable(tool *mcp.Tool) string {
	if verdict, ok := c.verdicts.Get(tool.Digest); ok {
		return verdict
	}
	verdict := tool.Unusable
	if verdict == "" {
		if _, err := schema.Compile(tool.InputSchema); err != nil {
			verdict = "inputSchema: " + err.Error()
		}
	}
	verdict = bounded(onOneLine(verdict), maxUnusable)
	c.verdicts.Add(tool.Digest, verdict)
	return verdict
}

// onOneLine makes text that quotes a server fit to be shown.
func onOneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
}

// Refresh asks the server, whatever is kept. A failure leaves what is kept as it is.
func (c *Catalogue) Refresh(ctx context.Context, target mcp.Target) (mcp.Catalogue, error) {
	answer, err, _ := c.asking.Do(target.Server, func() (any, error) {
		catalogue, err := c.client.Discover(ctx, target)
		if err == nil {
			c.kept.Add(target.Server, catalogue)
		}
		return catalogue, err
	})
	if err != nil {
		return mcp.Catalogue{}, err
	}
	return answer.(mcp.Catalogue), nil
}

// Kept gives what the server last offered, if it was asked before. The server is
// "namespace/name" of its MCPServer.
func (c *Catalogue) Kept(server string) (mcp.Catalogue, bool) {
	return c.kept.Get(server)
}

// Forget drops what is kept of a server.
func (c *Catalogue) Forget(server string) { c.kept.Remove(server) }
