// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"

	"remit.dev/remit/internal/mcp"
)

// maxCatalogues bounds the catalogues that are kept in memory.
const maxCatalogues = 512

// Catalogue keeps the whole definitions of the servers' tools, which are too large
// for a status. It is safe for concurrent use.
type Catalogue struct {
	client *mcp.Client
	kept   *lru.Cache[string, mcp.Catalogue]
	asking singleflight.Group
}

// NewCatalogue makes an empty Catalogue.
func NewCatalogue(client *mcp.Client) *Catalogue {
	kept, err := lru.New[string, mcp.Catalogue](maxCatalogues)
	if err != nil {
		panic(err) // the size is a positive constant
	}
	return &Catalogue{client: client, kept: kept}
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
