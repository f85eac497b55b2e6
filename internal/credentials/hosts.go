// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"remit.dev/remit/api/v1alpha1"
)

const (
	// maxHosts bounds the entries of a Secret's hosts, and maxHostsShown the bytes of them
	// that a message quotes.
	maxHosts      = 64
	maxHostsShown = 256
)

// place is a host and a port as they are compared. The port is 0 in an entry without one.
type place struct {
	host string
	port uint16
}

// mayGoTo checks a URL against the hosts that the Secret names, if it names any.
func (s *secret) mayGoTo(to string) error {
	listed, limited := s.stored.Annotations[v1alpha1.HostsAnnotation]
	if !limited {
		return nil
	}
	permitted, err := parseHosts(listed)
	if err != nil {
		return s.refused("annotation %s of %s: %v: write hosts such as api.example.com or mcp.example.com:8443, separated by commas",
			v1alpha1.HostsAnnotation, s, err)
	}
	destination, usual, err := placeOf(to)
	if err != nil {
		return s.refused("%s may not be sent to a URL that is not http or https with a host", s)
	}
	for _, entry := range permitted {
		if entry.host == destination.host && (entry.port == destination.port || entry.port == 0 && destination.port == usual) {
			return nil
		}
	}
	return s.refused("%s may not be sent to %q: its annotation %s permits %s; add the host there, or change the URL",
		s, destination.String(usual), v1alpha1.HostsAnnotation, shortened(strings.Join(strings.Fields(listed), " ")))
}

// parseHosts reads the annotation. A list that cannot be read permits nothing: what it was
// meant to keep out is not known.
func parseHosts(text string) ([]place, error) {
	entries := strings.Split(text, ",")
	if len(entries) > maxHosts {
		return nil, fmt.Errorf("has more than %d entries", maxHosts)
	}
	places := make([]place, 0, len(entries))
	for i, entry := range entries {
		parsed, ok := parsePlace(strings.TrimSpace(entry))
		if !ok {
			return nil, fmt.Errorf("entry %d, %s, is neither a host nor a host with a port", i+1, strconv.Quote(shortened(strings.TrimSpace(entry))))
		}
		places = append(places, parsed)
	}
	return places, nil
}

// hostName is a DNS name as URLs have it, in lower case; resolvers take the underscore.
var hostName = regexp.MustCompile(`^[a-z0-9_]([a-z0-9._-]{0,251}[a-z0-9_])?$`)

func parsePlace(entry string) (place, bool) {
	host, port := entry, ""
	if end := strings.LastIndexByte(entry, ':'); end >= 0 && !strings.HasSuffix(entry, "]") {
		host, port = entry[:end], entry[end+1:]
	}
	var number uint64
	if port != "" || len(host) < len(entry) {
		var err error
		if number, err = strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
			return place{}, false
		}
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		inner, closed := strings.CutSuffix(inner, "]")
		addr, err := netip.ParseAddr(inner)
		return place{canonicalHost(inner), uint16(number)}, closed && err == nil && addr.Is6()
	}
	host = canonicalHost(host)
	return place{host, uint16(number)}, hostName.MatchString(host)
}

// placeOf is where a URL leads, and the port that its scheme has by itself.
func placeOf(to string) (destination place, usual uint16, err error) {
	parsed, err := url.Parse(to)
	if err != nil || parsed.Hostname() == "" {
		return place{}, 0, fmt.Errorf("no host")
	}
	switch parsed.Scheme {
	case "https":
		usual = 443
	case "http":
		usual = 80
	default:
		return place{}, 0, fmt.Errorf("scheme %q", parsed.Scheme)
	}
	destination = place{canonicalHost(parsed.Hostname()), usual}
	if text := parsed.Port(); text != "" {
		port, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			return place{}, 0, err
		}
		destination.port = uint16(port)
	}
	return destination, usual, nil
}

// canonicalHost gives a host the one form in which it is compared: names in lower case
// without the final dot, addresses as netip writes them, IPv4 out of its mapped form.
func canonicalHost(host string) string {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().String()
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// String is the place as somebody would write it into the annotation.
func (p place) String(usual uint16) string {
	host := p.host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if p.port == usual {
		return host
	}
	return host + ":" + strconv.Itoa(int(p.port))
}

func shortened(text string) string {
	if len(text) > maxHostsShown {
		return strings.ToValidUTF8(text[:maxHostsShown], "") + "…"
	}
	return text
}
