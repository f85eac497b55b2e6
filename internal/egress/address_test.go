// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"net/netip"
	"testing"

	"pgregory.net/rapid"
)

// N7, N8: what is refused by default. The rules come from the IANA special-purpose
// registries, not from the table under test.
func TestJudgeDefaults(t *testing.T) {
	for _, tc := range []struct {
		addr string
		want Rule
	}{
		{"8.8.8.8", RulePublic},
		{"1.1.1.1", RulePublic},
		{"172.15.255.255", RulePublic},
		{"172.32.0.0", RulePublic},
		{"100.63.255.255", RulePublic},
		{"100.128.0.0", RulePublic},
		{"2606:4700::1111", RulePublic},
		{"2a00:1450:4001::200e", RulePublic},
		{"64:ff9b::808:808", RulePublic},

		{"127.0.0.1", RuleLoopback},
		{"127.255.255.254", RuleLoopback},
		{"::1", RuleLoopback},
		{"0.0.0.0", RuleUnspecified},
		{"0.1.2.3", RuleUnspecified},
		{"::", RuleUnspecified},
		{"10.0.0.1", RulePrivate},
		{"172.16.0.1", RulePrivate},
		{"172.31.255.255", RulePrivate},
		{"192.168.1.1", RulePrivate},
		{"fc00::1", RulePrivate},
		{"fd12:3456::1", RulePrivate},
		{"100.64.0.1", RuleShared},
		{"100.127.255.255", RuleShared},
		{"169.254.1.1", RuleLinkLocal},
		{"fe80::1", RuleLinkLocal},
		{"febf::1", RuleLinkLocal},
		{"fec0::1", RuleLinkLocal},
		{"224.0.0.1", RuleMulticast},
		{"239.255.255.255", RuleMulticast},
		{"255.255.255.255", RuleMulticast},
		{"ff02::1", RuleMulticast},
		{"240.0.0.1", RuleReserved},
		{"192.0.0.8", RuleReserved},
		{"192.0.2.1", RuleDocumentation},
		{"198.51.100.1", RuleDocumentation},
		{"203.0.113.1", RuleDocumentation},
		{"2001:db8::1", RuleDocumentation},
		{"3fff::1", RuleDocumentation},
		{"198.18.0.1", RuleBenchmarking},
		{"198.19.255.255", RuleBenchmarking},
		{"2001:2::1", RuleBenchmarking},
		{"192.88.99.1", RuleTunnel},
		{"2002:7f00:1::", RuleTunnel},
		{"2001:0:4136:e378:8000:63bf:3fff:fdd2", RuleTunnel},
		{"2001:10::1", RuleReserved},
		{"100::1", RuleReserved},
		{"5f00::1", RuleReserved},

		{"::ffff:127.0.0.1", RuleLoopback},
		{"::ffff:10.0.0.1", RulePrivate},
		{"::ffff:8.8.8.8", RulePublic},
		{"::127.0.0.1", RuleReserved},
		{"::8.8.8.8", RuleReserved},
		{"::ffff:0:127.0.0.1", RuleReserved},
		{"64:ff9b::127.0.0.1", RuleLoopback},
		{"64:ff9b::10.0.0.1", RulePrivate},
		{"64:ff9b:1::8.8.8.8", RuleReserved},

		{"169.254.169.254", RuleMetadata},
		{"169.254.170.2", RuleMetadata},
		{"169.254.170.23", RuleMetadata},
		{"fd00:ec2::254", RuleMetadata},
		{"fd00:ec2::23", RuleMetadata},
		{"fd20:ce::254", RuleMetadata},
		{"100.100.100.200", RuleMetadata},
		{"192.0.0.192", RuleMetadata},
		{"168.63.129.16", RuleMetadata},
		{"::ffff:169.254.169.254", RuleMetadata},
		{"::169.254.169.254", RuleMetadata},
		{"::ffff:0:169.254.169.254", RuleMetadata},
		{"64:ff9b::169.254.169.254", RuleMetadata},
		{"64:ff9b:1::169.254.169.254", RuleMetadata},
		{"64:ff9b:1:a9fe:a9:fe00::", RuleMetadata},
		{"2002:a9fe:a9fe::1", RuleMetadata},

		{"fe80::1%eth0", RuleZone},
		{"2606:4700::1111%eth0", RuleZone},
	} {
		t.Run(tc.addr, func(t *testing.T) {
			got, allowed := judge(netip.MustParseAddr(tc.addr), nil)
			if got != tc.want || allowed != (tc.want == RulePublic) {
				t.Errorf("judge = %s, %v; want %s", got, allowed, tc.want)
			}
		})
	}
}

func TestJudgeAllow(t *testing.T) {
	for _, tc := range []struct {
		name, addr string
		allow      []string
		want       Rule
	}{
		{"a prefix lifts a private address", "10.1.2.3", []string{"10.1.0.0/16"}, RuleAllowed},
		{"and only in its range", "10.2.2.3", []string{"10.1.0.0/16"}, RulePrivate},
		{"IPv4 prefixes reach the mapped form", "::ffff:10.1.2.3", []string{"10.1.0.0/16"}, RuleAllowed},
		{"but not what NAT64 embeds", "64:ff9b::10.1.2.3", []string{"10.1.0.0/16"}, RulePrivate},
		{"loopback can be allowed", "127.0.0.1", []string{"127.0.0.0/8"}, RuleAllowed},
		{"metadata not by a range", "169.254.169.254", []string{"169.254.0.0/16"}, RuleMetadata},
		{"metadata not by everything", "169.254.169.254", []string{"0.0.0.0/0"}, RuleMetadata},
		{"mapped metadata not by everything", "::ffff:169.254.169.254", []string{"0.0.0.0/0", "::/0"}, RuleMetadata},
		{"NAT64 metadata not by everything", "64:ff9b::169.254.169.254", []string{"0.0.0.0/0", "::/0"}, RuleMetadata},
		{"Amazon IPv6 metadata not by fc00::/7", "fd00:ec2::254", []string{"fc00::/7"}, RuleMetadata},
		{"metadata by exactly itself", "169.254.169.254", []string{"169.254.169.254/32"}, RuleAllowed},
		{"IPv6 metadata by exactly itself", "fd00:ec2::254", []string{"fd00:ec2::254/128"}, RuleAllowed},
		{"a neighbour of metadata does not help", "169.254.169.254", []string{"169.254.169.253/32"}, RuleMetadata},
		{"a zone is refused whatever is allowed", "fe80::1%eth0", []string{"::/0"}, RuleZone},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var allow []netip.Prefix
			for _, prefix := range tc.allow {
				allow = append(allow, netip.MustParsePrefix(prefix))
			}
			got, allowed := judge(netip.MustParseAddr(tc.addr), allow)
			if got != tc.want || allowed != (tc.want == RuleAllowed) {
				t.Errorf("judge = %s, %v; want %s", got, allowed, tc.want)
			}
		})
	}
}

// The standard library's own predicates are the independent witness: what they call
// special is never permitted.
func TestJudgeNeverPermitsWhatTheStandardLibraryCallsSpecial(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "ipv4")
		v4 := netip.AddrFrom4([4]byte(raw))
		wide := rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "ipv6")
		for _, addr := range []netip.Addr{v4, netip.AddrFrom16(v4.As16()), netip.AddrFrom16([16]byte(wide))} {
			inner := addr.Unmap()
			special := inner.IsLoopback() || inner.IsPrivate() || inner.IsLinkLocalUnicast() || inner.IsMulticast() || inner.IsUnspecified()
			if _, allowed := judge(addr, nil); allowed && special {
				t.Fatalf("%s is permitted", addr)
			}
		}
	})
}

func TestParseHost(t *testing.T) {
	for _, tc := range []struct {
		host string
		want Rule
	}{
		{"example.com", ""},
		{"example.com.", ""},
		{"my_service.team-a.svc", ""},
		{"0x7f.example", ""},
		{"1.example", ""},
		{"127.0.0.1", ""},
		{"::1", ""},
		{"2130706433", RuleHost},
		{"0x7f000001", RuleHost},
		{"0X7F000001", RuleHost},
		{"0x7f.1", RuleHost},
		{"127.1", RuleHost},
		{"127.0.1", RuleHost},
		{"0177.0.0.1", RuleHost},
		{"017700000001", RuleHost},
		{"127.0.0.01", RuleHost},
		{"127.0.0.1.", RuleHost},
		{"0x", RuleHost},
		{"1.2.3.4.5", RuleHost},
		{"example.0x10", RuleHost},
		{"", RuleHost},
		{".", RuleHost},
		{"a b", RuleHost},
		{"a\x00b", RuleHost},
		{"a/b", RuleHost},
		{"user@host", RuleHost},
		{"１２７.0.0.1", RuleHost},
		{"ⓔxample.com", RuleHost},
		{"not-an-ip%eth0", RuleHost},
	} {
		t.Run(tc.host, func(t *testing.T) {
			if _, _, got := parseHost(tc.host); got != tc.want {
				t.Errorf("parseHost(%q) refuses by %q, want %q", tc.host, got, tc.want)
			}
		})
	}
}
