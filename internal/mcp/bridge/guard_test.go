package bridge

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// A web page must not reach the bridge, neither by a name that it rebinds nor from its own origin.
func TestGuard(t *testing.T) {
	loopback := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}
	everywhere := &net.TCPAddr{IP: net.IPv6zero, Port: 8080}
	for _, row := range []struct {
		name         string
		bound        net.Addr
		allowed      []string
		host, origin string
		want         int
	}{
		{"loopback address", loopback, nil, "127.0.0.1:8080", "", 200},
		{"localhost", loopback, nil, "LocalHost:8080", "", 200},
		{"IPv6 loopback", loopback, nil, "[::1]:8080", "", 200},
		{"mapped loopback", loopback, nil, "[::ffff:127.0.0.1]:8080", "", 200},
		{"no port", loopback, nil, "localhost", "", 200},
		{"rebound name", loopback, nil, "evil.example:8080", "", 403},
		{"name that begins like loopback", loopback, nil, "127.0.0.1.evil.example", "", 403},
		{"no host", loopback, nil, "", "", 403},
		{"own origin", loopback, nil, "localhost:8080", "http://localhost:3000", 200},
		{"foreign origin", loopback, nil, "localhost:8080", "https://evil.example", 403},
		{"null origin", loopback, nil, "localhost:8080", "null", 403},
		{"allowed name on loopback", loopback, []string{"Bridge.example"}, "bridge.example:8080", "https://bridge.example", 200},
		{"in a cluster", everywhere, nil, "server.team.svc:8080", "", 200},
		{"in a cluster, from a browser", everywhere, nil, "server.team.svc:8080", "http://server.team.svc:8080", 403},
		{"in a cluster, listed", everywhere, []string{"server.team.svc"}, "server.team.svc:8080", "", 200},
		{"in a cluster, not listed", everywhere, []string{"server.team.svc"}, "other.team.svc:8080", "", 403},
	} {
		served := newGuard(row.bound, row.allowed)(func(http.ResponseWriter, *http.Request) {})
		req := httptest.NewRequest(http.MethodPost, "/mcp", nil)
		req.Host = row.host
		if row.origin != "" {
			req.Header.Set("Origin", row.origin)
		}
		w := httptest.NewRecorder()
		served.ServeHTTP(w, req)
		if w.Code != row.want {
			t.Errorf("%s: %d, want %d", row.name, w.Code, row.want)
		}
	}
}
