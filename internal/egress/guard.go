// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

const (
	// dialTimeout bounds resolving a host and trying its addresses.
	dialTimeout = 15 * time.Second
	// addressTimeout bounds the attempt on one address, so that a dead one does not use
	// up the whole.
	addressTimeout = 5 * time.Second
	// maxAttempts is how many addresses of one host are tried.
	maxAttempts = 8
)

// Resolver looks a host up. *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Decision is what was decided about one connection.
type Decision struct {
	// Tenant is the namespace that wanted the connection; empty for the operator itself.
	Tenant string
	// Host and Port are as asked for.
	Host string
	Port uint16
	// Address is the address about to be dialled, or the one that was refused; zero
	// when the host itself was refused.
	Address netip.Addr
	Allowed bool
	Rule    Rule
}

// Options configure a Guard. The zero value refuses everything that is not public.
type Options struct {
	// Allow lifts the refusal of the addresses in these prefixes, for every tenant.
	// IPv4 in its IPv6-mapped form is matched as IPv4. A metadata address needs a
	// prefix of its full length.
	Allow []netip.Prefix
	// Resolver defaults to net.DefaultResolver.
	Resolver Resolver
	// Observe is told of every decision before the dial, from many goroutines at once.
	// Nil means nobody is.
	Observe func(Decision)
	// TLS is the base of every transport's TLS configuration, for instance with an
	// added root. Nil means the defaults.
	TLS *tls.Config
}

// Scope is on whose behalf a connection is made, and what it may reach beyond the
// Guard's own configuration.
type Scope struct {
	// Tenant is the namespace; empty for the operator itself.
	Tenant string
	// Allow adds to Options.Allow. Only what the platform team wrote may end up here,
	// never what a tenant did.
	Allow []netip.Prefix
	// Plaintext says that a secret is sent without TLS. Then only an address that a
	// prefix allows is dialled, which says that the network is the operator's own.
	Plaintext bool
	// CABundle is PEM with the authorities to trust in place of Options.TLS's; empty
	// means those. A bundle without a certificate trusts nobody.
	CABundle string
}

// For is the scope of a tenant's requests to one URL: Plaintext when they carry a
// secret and the URL is not https.
func For(tenant, url string, secret bool) Scope {
	return Scope{Tenant: tenant, Plaintext: secret && !strings.HasPrefix(strings.ToLower(url), "https:")}
}

// ClusterInternal lists the ranges that clusters give to Pods and Services: private,
// unique local and shared addresses, with neither loopback nor link-local ones.
func ClusterInternal() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("10.0.0.0/8"),
		netip.MustParsePrefix("172.16.0.0/12"),
		netip.MustParsePrefix("192.168.0.0/16"),
		netip.MustParsePrefix("100.64.0.0/10"),
		netip.MustParsePrefix("fc00::/7"),
	}
}

// Guard decides on and makes connections. It is safe for concurrent use.
type Guard struct {
	allow      []netip.Prefix
	resolver   Resolver
	observe    func(Decision)
	tls        *tls.Config
	dial       func(ctx context.Context, network, address string) (net.Conn, error)
	transports *lru.Cache[string, *http.Transport]
}

// New makes a Guard.
func New(options Options) *Guard {
	guard := &Guard{
		allow:      slices.Clone(options.Allow),
		resolver:   options.Resolver,
		observe:    options.Observe,
		tls:        options.TLS.Clone(),
		dial:       (&net.Dialer{}).DialContext,
		transports: newTransportCache(),
	}
	if guard.resolver == nil {
		guard.resolver = net.DefaultResolver
	}
	if guard.observe == nil {
		guard.observe = func(Decision) {}
	}
	return guard
}

// Check resolves host and judges every address it has, without connecting: for saying
// early that a destination is not reachable. It is no permission: DialContext decides
// again. The error is a *Denied or the resolver's own.
func (g *Guard) Check(ctx context.Context, scope Scope, host string) error {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	_, err := g.resolve(ctx, scope, "tcp", host)
	return err
}

// Dialer gives DialContext bound to a scope, in the shape that http.Transport takes.
func (g *Guard) Dialer(scope Scope) func(ctx context.Context, network, address string) (net.Conn, error) {
	scope.Allow = slices.Clone(scope.Allow)
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		return g.DialContext(ctx, scope, network, address)
	}
}

// DialContext resolves the host of address once, checks every address it has, and
// connects to the first of them that answers. One refused address refuses the host,
// with a *Denied.
func (g *Guard) DialContext(ctx context.Context, scope Scope, network, address string) (net.Conn, error) {
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("egress: %w", err)
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("egress to %q: the port %q is not a number from 0 to 65535", shorten(host), shorten(service))
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()

	decision := Decision{Tenant: scope.Tenant, Host: shorten(host), Port: uint16(port)}
	checked, err := g.resolve(ctx, scope, network, host)
	if err != nil {
		g.observeDenial(decision, err)
		return nil, err
	}
	return g.dialFirst(ctx, checked[:min(len(checked), maxAttempts)], decision)
}

// checkedAddress is an address that judge permitted.
type checkedAddress struct {
	addr netip.Addr
	rule Rule
}

func (g *Guard) resolve(ctx context.Context, scope Scope, network, host string) ([]checkedAddress, error) {
	lookup, ok := map[string]string{"tcp": "ip", "tcp4": "ip4", "tcp6": "ip6"}[network]
	if !ok {
		return nil, &Denied{Tenant: scope.Tenant, Host: shorten(host), Rule: RuleNetwork}
	}
	addr, isAddress, refused := parseHost(host)
	if refused != "" {
		return nil, &Denied{Tenant: scope.Tenant, Host: shorten(host), Rule: refused}
	}
	addrs := []netip.Addr{addr}
	if !isAddress {
		var err error
		if addrs, err = g.resolver.LookupNetIP(ctx, lookup, host); err != nil {
			return nil, fmt.Errorf("egress to %q: %w", host, err)
		}
		if len(addrs) == 0 {
			return nil, fmt.Errorf("egress to %q: %w", host, &net.DNSError{Err: "no address", Name: host, IsNotFound: true})
		}
	}
	allow := slices.Concat(g.allow, scope.Allow)
	checked := make([]checkedAddress, 0, len(addrs))
	for _, addr := range addrs {
		rule, allowed := judge(addr, allow)
		if rule == RulePublic && scope.Plaintext {
			rule, allowed = RulePlaintext, false
		}
		if !allowed {
			return nil, &Denied{Tenant: scope.Tenant, Host: shorten(host), Address: addr, Rule: rule}
		}
		checked = append(checked, checkedAddress{addr: addr.Unmap(), rule: rule})
	}
	return checked, nil
}

// observeDenial passes on a refusal; a lookup that failed is no decision.
func (g *Guard) observeDenial(decision Decision, err error) {
	if denied, ok := errors.AsType[*Denied](err); ok {
		decision.Address, decision.Rule = denied.Address, denied.Rule
		g.observe(decision)
	}
}

// dialFirst returns the first connection that comes about, or the first error.
func (g *Guard) dialFirst(ctx context.Context, checked []checkedAddress, decision Decision) (net.Conn, error) {
	var first error
	for _, candidate := range checked {
		decision.Address, decision.Rule, decision.Allowed = candidate.addr, candidate.rule, true
		g.observe(decision)
		conn, err := g.dialOne(ctx, netip.AddrPortFrom(candidate.addr, decision.Port))
		if err == nil {
			return conn, nil
		}
		if first == nil {
			first = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, fmt.Errorf("egress to %q: %w", decision.Host, first)
}

func (g *Guard) dialOne(ctx context.Context, address netip.AddrPort) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, addressTimeout)
	defer cancel()
	return g.dial(ctx, "tcp", address.String())
}
