package bridge

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// newGuard returns a wrapper that refuses requests a web page may have caused: by DNS rebinding, which
// shows in Host, or across origins, which shows in Origin.
func newGuard(bound net.Addr, allowed []string) func(http.HandlerFunc) http.Handler {
	onLoopback := isLoopbackHost(bound.String())
	lower := make([]string, len(allowed))
	for i, name := range allowed {
		lower[i] = strings.ToLower(name)
	}
	listed := func(hostport string) bool {
		return isLoopbackHost(hostport) || slices.Contains(lower, strings.ToLower(hostOnly(hostport)))
	}
	return func(next http.HandlerFunc) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if (onLoopback || len(lower) > 0) && !listed(r.Host) {
				refuse(w, http.StatusForbidden, codeBadRequest, "the Host header names another host")
				return
			}
			if origin := r.Header.Get("Origin"); origin != "" {
				from, err := url.Parse(origin)
				if err != nil || from.Host == "" || !listed(from.Host) {
					refuse(w, http.StatusForbidden, codeBadRequest, "requests from this origin are not allowed")
					return
				}
			}
			next(w, r)
		})
	}
}

func hostOnly(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.Trim(hostport, "[]")
}

func isLoopbackHost(hostport string) bool {
	host := hostOnly(hostport)
	if strings.EqualFold(host, "localhost") {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback()
}
