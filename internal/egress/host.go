// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"net/netip"
	"strings"
)

// maxHost is the longest host that is looked up, in bytes: a DNS name's limit (RFC
// 1035) and a final dot.
const maxHost = 254

// parseHost reads a host as an address, or as a name when ok is false. The rule is set
// for a host that is neither: empty, overlong, with bytes no name has, or in one of the
// numeric forms that inet_aton takes and a DNS client does not.
func parseHost(host string) (addr netip.Addr, ok bool, rule Rule) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr, true, ""
	}
	if host == "" || len(host) > maxHost || strings.ContainsFunc(host, notInName) {
		return netip.Addr{}, false, RuleHost
	}
	trimmed := strings.TrimSuffix(host, ".")
	last := trimmed[strings.LastIndexByte(trimmed, '.')+1:]
	if isNumber(last) {
		return netip.Addr{}, false, RuleHost
	}
	return netip.Addr{}, false, ""
}

func notInName(r rune) bool {
	return r <= ' ' || r >= 0x7f || strings.ContainsRune(`%/\:?#@[]<>^|"`, r)
}

// isNumber follows the URL Standard's "ends in a number" check for a host's last label.
// No top-level domain is one.
func isNumber(label string) bool {
	if rest, hex := strings.CutPrefix(strings.ToLower(label), "0x"); hex {
		return strings.Trim(rest, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// shorten keeps an error or a log line from carrying a host of any length.
func shorten(host string) string {
	if len(host) > maxHost {
		return host[:maxHost] + "…"
	}
	return host
}
