// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

const (
	// maxTransports bounds the transports that are kept, and with them the idle
	// connections. The least recently used goes first; requests in flight on it finish.
	maxTransports = 1024

	// idleTimeout is shorter than the five seconds after which many servers, those of Node among them, close an idle
	// connection: a request that meets the closing could not be known to be unsent.
	idleTimeout         = 4 * time.Second
	tlsHandshakeTimeout = 10 * time.Second
	// headerTimeout is long, since a model or a tool answers when it is done; a
	// caller's context is the usual bound.
	headerTimeout       = 10 * time.Minute
	maxHeaderBytes      = 256 << 10
	maxIdleConns        = 64
	maxIdleConnsPerHost = 16
)

func newTransportCache() *lru.Cache[string, *http.Transport] {
	// The only error is a size that is not positive, which a constant rules out.
	cache, _ := lru.NewWithEvict(maxTransports, func(_ string, evicted *http.Transport) { evicted.CloseIdleConnections() })
	return cache
}

// Transport gives the transport of a scope: every connection through the Guard, no
// proxy whatever the environment says. The same scope gets the same transport, so that
// connections are reused; two scopes never share one, so that neither a tenant's
// connection nor what its prefixes allow reaches another. It must not be changed by the
// caller.
func (g *Guard) Transport(scope Scope) http.RoundTripper {
	key := scope.key()
	if transport, ok := g.transports.Get(key); ok {
		return transport
	}
	transport := &http.Transport{
		Proxy:                  nil,
		DialContext:            g.Dialer(scope),
		TLSClientConfig:        g.trusting(scope.CABundle),
		TLSHandshakeTimeout:    tlsHandshakeTimeout,
		ResponseHeaderTimeout:  headerTimeout,
		IdleConnTimeout:        idleTimeout,
		MaxIdleConns:           maxIdleConns,
		MaxIdleConnsPerHost:    maxIdleConnsPerHost,
		MaxResponseHeaderBytes: maxHeaderBytes,
		ForceAttemptHTTP2:      true,
	}
	if earlier, ok, _ := g.transports.PeekOrAdd(key, transport); ok {
		return earlier
	}
	return transport
}

// CloseIdleConnections closes the connections of every scope that no request is using.
func (g *Guard) CloseIdleConnections() {
	for _, transport := range g.transports.Values() {
		transport.CloseIdleConnections()
	}
}

// RefuseRedirect is a http.Client's CheckRedirect that follows none, with a
// *RedirectRefused. A redirect could carry a credential to a host that it was not meant
// for.
func RefuseRedirect(next *http.Request, via []*http.Request) error {
	refused := &RedirectRefused{To: shorten(next.URL.Host)}
	if len(via) > 0 {
		refused.From = shorten(via[len(via)-1].URL.Host)
	}
	return refused
}

// trusting gives the TLS configuration with the authorities of a bundle.
func (g *Guard) trusting(bundle string) *tls.Config {
	config := g.tls.Clone()
	if bundle == "" {
		return config
	}
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	config.RootCAs = x509.NewCertPool()
	config.RootCAs.AppendCertsFromPEM([]byte(bundle))
	return config
}

// key tells scopes apart: the tenant, whether a secret is in the clear, whom it
// trusts, then the prefixes in order. A line break is in none of them.
func (s Scope) key() string {
	parts := make([]string, 0, len(s.Allow))
	for _, prefix := range s.Allow {
		parts = append(parts, prefix.Masked().String())
	}
	slices.Sort(parts)
	trust := sha256.Sum256([]byte(s.CABundle))
	return s.Tenant + "\n" + strconv.FormatBool(s.Plaintext) + "\n" + hex.EncodeToString(trust[:]) + "\n" + strings.Join(slices.Compact(parts), "\n")
}
