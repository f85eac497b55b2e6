// SPDX-License-Identifier: Apache-2.0

package octool

import (
	"net/netip"
	"regexp"
	"strings"
	"time"
)

// fits tells whether a cell is what its column says. Null fits every kind.
func (k ColumnKind) fits(c Cell) bool {
	if c.IsNull() {
		return true
	}
	switch k {
	case KindNumber:
		_, finite := c.Float64()
		return c.kind == TypeInteger || c.kind == TypeFloat && finite
	case KindInteger:
		return c.kind == TypeInteger && isSafeInteger(c.text)
	case KindBoolean:
		return c.kind == TypeBoolean
	case KindBigInteger:
		_, ok := c.decimal()
		return ok
	default:
		return c.kind == TypeString && k.fitsText(c.text)
	}
}

func (k ColumnKind) fitsText(text string) bool {
	switch k {
	case KindTimestamp:
		return isTimestamp(text)
	case KindIP:
		_, ok := parseAddress(text)
		return ok
	case KindFQDN:
		return isFQDN(text)
	case KindMAC:
		return isMAC(text)
	case KindIPBlock:
		return isIPBlock(text)
	default:
		return true
	}
}

// timestampForm is that of RFC 3339, section 5.6, which time.Parse takes too
// loosely. What the digits may be is for time.Parse.
var timestampForm = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// isTimestamp takes RFC 3339, and a leap second only where there can be one.
func isTimestamp(text string) bool {
	if !timestampForm.MatchString(text) {
		return false
	}
	const second = len("2006-01-02T15:04:")
	leap := text[second:second+2] == "60"
	if leap {
		text = text[:second] + "59" + text[second+2:]
	}
	t, err := time.Parse(time.RFC3339, text)
	return err == nil && (!leap || t.UTC().Format(time.TimeOnly) == "23:59:59")
}

// parseAddress reads an IP address, an IPv6 one perhaps with a zone.
func parseAddress(text string) (netip.Addr, bool) {
	address, err := netip.ParseAddr(text)
	return address, err == nil && !strings.Contains(address.Zone(), "%")
}

// isIPBlock takes an address, an address with the length of a prefix, the bits
// beyond which may be set, or the first and last address of a range.
func isIPBlock(text string) bool {
	if strings.Contains(text, "/") {
		_, err := netip.ParsePrefix(text)
		return err == nil
	}
	first, last, isRange := strings.Cut(text, "-")
	from, ok := parseAddress(first)
	if !ok || !isRange {
		return ok
	}
	to, ok := parseAddress(last)
	return ok && from.Zone() == "" && to.Zone() == "" && from.Is4() == to.Is4() && from.Compare(to) <= 0
}

// isFQDN takes labels of 1 to 63 letters, digits and inner hyphens, of 253
// characters together, with a dot at the end or without.
func isFQDN(text string) bool {
	name := strings.TrimSuffix(text, ".")
	if len(name) > 253 {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if len(label) == 0 || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for i := range len(label) {
			if c := label[i]; c != '-' && !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'z') {
				return false
			}
		}
	}
	return true
}

// isMAC takes six or eight pairs of hexadecimal digits, joined by : or by -.
func isMAC(text string) bool {
	const six, eight = len("00:00:00:00:00:00"), len("00:00:00:00:00:00:00:00")
	if len(text) != six && len(text) != eight {
		return false
	}
	join := text[2]
	if join != ':' && join != '-' {
		return false
	}
	for i := range len(text) {
		if i%3 == 2 {
			if text[i] != join {
				return false
			}
		} else if c := text[i]; !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'f') {
			return false
		}
	}
	return true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
