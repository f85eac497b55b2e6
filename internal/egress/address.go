// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"net/netip"
	"slices"
)

// Rule names why an address was permitted or refused. It is bounded to the constants
// below and safe as a metric label.
type Rule string

const (
	// RulePublic permits a globally reachable address.
	RulePublic Rule = "public"
	// RuleAllowed permits an address because a configured prefix contains it.
	RuleAllowed Rule = "allowed"

	// RuleMetadata refuses an address where a cloud hands out machine or workload
	// credentials.
	RuleMetadata Rule = "metadata"
	// RuleLoopback refuses 127.0.0.0/8 and ::1.
	RuleLoopback Rule = "loopback"
	// RuleLinkLocal refuses 169.254.0.0/16, fe80::/10 and the old site-local fec0::/10.
	RuleLinkLocal Rule = "link-local"
	// RulePrivate refuses RFC 1918 and unique local IPv6 addresses.
	RulePrivate Rule = "private"
	// RuleShared refuses the carrier-grade NAT range of RFC 6598.
	RuleShared Rule = "shared"
	// RuleMulticast refuses multicast and broadcast.
	RuleMulticast Rule = "multicast"
	// RuleUnspecified refuses the unspecified address and the rest of 0.0.0.0/8.
	RuleUnspecified Rule = "unspecified"
	// RuleDocumentation refuses the ranges kept for documentation.
	RuleDocumentation Rule = "documentation"
	// RuleBenchmarking refuses the ranges kept for benchmarks.
	RuleBenchmarking Rule = "benchmarking"
	// RuleTunnel refuses 6to4 and Teredo, which carry an IPv4 address of the sender's
	// choice inside an IPv6 one.
	RuleTunnel Rule = "tunnel"
	// RuleReserved refuses every other address that is not globally reachable.
	RuleReserved Rule = "reserved"
	// RuleZone refuses an IPv6 address with a zone, which only means something on one link.
	RuleZone Rule = "zone"
	// RuleHost refuses a host that is neither a name nor a canonical address, such as
	// 2130706433 or 0x7f.1, which resolvers read differently from one another.
	RuleHost Rule = "host"
	// RuleNetwork refuses every network but TCP.
	RuleNetwork Rule = "network"
	// RulePlaintext refuses a public address to what would carry a secret there without
	// TLS.
	RulePlaintext Rule = "plaintext"
)

type specialRange struct {
	prefix netip.Prefix
	rule   Rule
}

// The IANA special-purpose address registries (RFC 6890 and its updates), without the
// entries that are globally reachable. An address takes the rule of the first range
// that contains it.
var specialRanges = []specialRange{
	{netip.MustParsePrefix("0.0.0.0/8"), RuleUnspecified},
	{netip.MustParsePrefix("10.0.0.0/8"), RulePrivate},
	{netip.MustParsePrefix("100.64.0.0/10"), RuleShared},
	{netip.MustParsePrefix("127.0.0.0/8"), RuleLoopback},
	{netip.MustParsePrefix("169.254.0.0/16"), RuleLinkLocal},
	{netip.MustParsePrefix("172.16.0.0/12"), RulePrivate},
	{netip.MustParsePrefix("192.0.0.0/24"), RuleReserved},
	{netip.MustParsePrefix("192.0.2.0/24"), RuleDocumentation},
	{netip.MustParsePrefix("192.88.99.0/24"), RuleTunnel},
	{netip.MustParsePrefix("192.168.0.0/16"), RulePrivate},
	{netip.MustParsePrefix("198.18.0.0/15"), RuleBenchmarking},
	{netip.MustParsePrefix("198.51.100.0/24"), RuleDocumentation},
	{netip.MustParsePrefix("203.0.113.0/24"), RuleDocumentation},
	{netip.MustParsePrefix("224.0.0.0/4"), RuleMulticast},
	{netip.MustParsePrefix("255.255.255.255/32"), RuleMulticast},
	{netip.MustParsePrefix("240.0.0.0/4"), RuleReserved},

	{netip.MustParsePrefix("::/128"), RuleUnspecified},
	{netip.MustParsePrefix("::1/128"), RuleLoopback},
	{netip.MustParsePrefix("2001::/32"), RuleTunnel},
	{netip.MustParsePrefix("2001:2::/48"), RuleBenchmarking},
	{netip.MustParsePrefix("2001::/23"), RuleReserved},
	{netip.MustParsePrefix("2001:db8::/32"), RuleDocumentation},
	{netip.MustParsePrefix("2002::/16"), RuleTunnel},
	{netip.MustParsePrefix("3fff::/20"), RuleDocumentation},
	{netip.MustParsePrefix("fc00::/7"), RulePrivate},
	{netip.MustParsePrefix("fe80::/10"), RuleLinkLocal},
	{netip.MustParsePrefix("fec0::/10"), RuleLinkLocal},
	{netip.MustParsePrefix("ff00::/8"), RuleMulticast},
}

var (
	globalUnicast  = netip.MustParsePrefix("2000::/3")
	compatible     = netip.MustParsePrefix("::/96")
	translated     = netip.MustParsePrefix("::ffff:0:0:0/96")
	nat64          = netip.MustParsePrefix("64:ff9b::/96")
	nat64LocalUse  = netip.MustParsePrefix("64:ff9b:1::/48")
	sixToFour      = netip.MustParsePrefix("2002::/16")
	metadataServer = []netip.Addr{
		netip.MustParseAddr("169.254.169.254"), // most clouds
		netip.MustParseAddr("169.254.170.2"),   // Amazon ECS task credentials
		netip.MustParseAddr("169.254.170.23"),  // Amazon EKS pod identity
		netip.MustParseAddr("fd00:ec2::254"),   // Amazon EC2
		netip.MustParseAddr("fd00:ec2::23"),    // Amazon EKS pod identity
		netip.MustParseAddr("fd20:ce::254"),    // Google Cloud
		netip.MustParseAddr("100.100.100.200"), // Alibaba Cloud
		netip.MustParseAddr("192.0.0.192"),     // Oracle Cloud
		netip.MustParseAddr("168.63.129.16"),   // Azure, in a public range
	}
)

// judge says whether addr may be dialled, and by which rule. Prefixes in allow lift
// every refusal but that of a metadata address, which only a prefix of that single
// address lifts.
func judge(addr netip.Addr, allow []netip.Prefix) (Rule, bool) {
	if addr.Zone() != "" {
		return RuleZone, false
	}
	addr = addr.Unmap()
	if isMetadata(addr) {
		exact := slices.ContainsFunc(allow, func(p netip.Prefix) bool { return p.IsSingleIP() && p.Addr() == addr })
		if exact {
			return RuleAllowed, true
		}
		return RuleMetadata, false
	}
	if slices.ContainsFunc(allow, func(p netip.Prefix) bool { return p.Contains(addr) }) {
		return RuleAllowed, true
	}
	if rule, special := specialRule(addr); special {
		return rule, false
	}
	return RulePublic, true
}

// specialRule gives the refusing rule of an address that is not globally reachable. An
// address behind the well-known NAT64 prefix is what it embeds: networks without IPv4
// reach all of it that way.
func specialRule(addr netip.Addr) (Rule, bool) {
	for _, special := range specialRanges {
		if special.prefix.Contains(addr) {
			return special.rule, true
		}
	}
	if nat64.Contains(addr) {
		return specialRule(lastFour(addr))
	}
	if addr.Is6() && !globalUnicast.Contains(addr) {
		return RuleReserved, true
	}
	return "", false
}

func isMetadata(addr netip.Addr) bool {
	if slices.Contains(metadataServer, addr) {
		return true
	}
	return slices.ContainsFunc(embedded(addr), func(inner netip.Addr) bool { return slices.Contains(metadataServer, inner) })
}

// embedded gives the IPv4 addresses that an IPv6 address may stand for on a network
// that translates or tunnels.
func embedded(addr netip.Addr) []netip.Addr {
	bytes := addr.As16()
	switch {
	case !addr.Is6():
		return nil
	case compatible.Contains(addr), translated.Contains(addr), nat64.Contains(addr):
		return []netip.Addr{lastFour(addr)}
	case sixToFour.Contains(addr):
		return []netip.Addr{netip.AddrFrom4([4]byte(bytes[2:6]))}
	case nat64LocalUse.Contains(addr):
		// RFC 6052 section 2.2: a /48 prefix splits the address around the reserved
		// octet, a /96 one keeps it whole.
		return []netip.Addr{lastFour(addr), netip.AddrFrom4([4]byte{bytes[6], bytes[7], bytes[9], bytes[10]})}
	}
	return nil
}

func lastFour(addr netip.Addr) netip.Addr {
	bytes := addr.As16()
	return netip.AddrFrom4([4]byte(bytes[12:16]))
}
