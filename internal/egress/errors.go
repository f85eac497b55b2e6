// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"fmt"
	"net/netip"
)

// Denied is the error of a connection that was refused. Match it with errors.As.
type Denied struct {
	// Tenant is the namespace that wanted the connection; empty for the operator itself.
	Tenant string
	// Host is the host as it was asked for, at most maxHost bytes of it.
	Host string
	// Address is the address that was refused; the zero Addr when the host itself was.
	Address netip.Addr
	// Rule is why.
	Rule Rule
}

// Error names the host, the address, the rule and who can lift it.
func (e *Denied) Error() string {
	switch e.Rule {
	case RuleNetwork:
		return fmt.Sprintf("egress to %q refused: only TCP is dialled", e.Host)
	case RuleHost:
		return fmt.Sprintf("egress to %q refused: the host is neither a name nor an address in its usual form; write it as one", e.Host)
	case RuleZone:
		return fmt.Sprintf("egress to %q refused: an address with a zone means something on one link only; give the address without it", e.Host)
	case RulePlaintext:
		return fmt.Sprintf("egress to %q refused: %s is a public address, and a secret would travel there without TLS; use https", e.Host, e.Address)
	case RuleMetadata:
		return fmt.Sprintf("egress to %q refused: %s is a metadata address; only a prefix of exactly this address in the operator's configuration allows it", e.Host, e.Address)
	default:
		return fmt.Sprintf("egress to %q refused: %s is a %s address; a platform administrator can allow its range in the operator's configuration", e.Host, e.Address, e.Rule)
	}
}

// RedirectRefused is the error of a request that was answered with a redirect.
type RedirectRefused struct {
	// From and To are the hosts of the request and of the place it was sent on to.
	From, To string
}

// Error names both hosts and says what to do.
func (e *RedirectRefused) Error() string {
	return fmt.Sprintf("%q redirects to %q, and redirects are not followed: configure the final URL", e.From, e.To)
}
