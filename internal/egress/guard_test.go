// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var errDialled = errors.New("dialled")

// answers is a Resolver that gives each lookup of a name its next answer, the last one
// for ever.
type answers struct {
	mu      sync.Mutex
	byName  map[string][]string
	lookups []string
}

func (a *answers) LookupNetIP(_ context.Context, network, host string) ([]netip.Addr, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lookups = append(a.lookups, network+" "+host)
	left := a.byName[host]
	if len(left) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if len(left) > 1 {
		a.byName[host] = left[1:]
	}
	var addrs []netip.Addr
	for addr := range strings.FieldsSeq(left[0]) {
		addrs = append(addrs, netip.MustParseAddr(addr))
	}
	return addrs, nil
}

type recorder struct {
	mu        sync.Mutex
	decisions []Decision
}

func (r *recorder) observe(d Decision) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.decisions = append(r.decisions, d)
}

// newTestGuard dials nothing: it records where to.
func newTestGuard(resolver Resolver, allow ...netip.Prefix) (*Guard, *recorder, *[]string) {
	seen, dialled := &recorder{}, &[]string{}
	guard := New(Options{Allow: allow, Resolver: resolver, Observe: seen.observe})
	guard.dial = func(_ context.Context, _, address string) (net.Conn, error) {
		*dialled = append(*dialled, address)
		return nil, errDialled
	}
	return guard, seen, dialled
}

func TestDialRefuses(t *testing.T) {
	resolver := func() *answers {
		return &answers{byName: map[string][]string{
			"private.test":  {"10.0.0.1"},
			"mixed.test":    {"8.8.8.8 127.0.0.1"},
			"mapped.test":   {"::ffff:127.0.0.1"},
			"metadata.test": {"169.254.169.254"},
			"localhost":     {"::1 127.0.0.1"},
		}}
	}
	for _, tc := range []struct {
		network, address string
		want             *Denied
	}{
		{"tcp", "127.0.0.1:80", &Denied{Host: "127.0.0.1", Address: netip.MustParseAddr("127.0.0.1"), Rule: RuleLoopback}},
		{"tcp", "[::1]:80", &Denied{Host: "::1", Address: netip.MustParseAddr("::1"), Rule: RuleLoopback}},
		{"tcp", "[::ffff:7f00:1]:80", &Denied{Host: "::ffff:7f00:1", Address: netip.MustParseAddr("::ffff:127.0.0.1"), Rule: RuleLoopback}},
		{"tcp", "2130706433:80", &Denied{Host: "2130706433", Rule: RuleHost}},
		{"tcp", "0x7f.1:80", &Denied{Host: "0x7f.1", Rule: RuleHost}},
		{"tcp", "private.test:80", &Denied{Host: "private.test", Address: netip.MustParseAddr("10.0.0.1"), Rule: RulePrivate}},
		{"tcp", "mixed.test:80", &Denied{Host: "mixed.test", Address: netip.MustParseAddr("127.0.0.1"), Rule: RuleLoopback}},
		{"tcp", "mapped.test:80", &Denied{Host: "mapped.test", Address: netip.MustParseAddr("::ffff:127.0.0.1"), Rule: RuleLoopback}},
		{"tcp", "metadata.test:80", &Denied{Host: "metadata.test", Address: netip.MustParseAddr("169.254.169.254"), Rule: RuleMetadata}},
		{"tcp", "localhost:80", &Denied{Host: "localhost", Address: netip.MustParseAddr("::1"), Rule: RuleLoopback}},
		{"udp", "8.8.8.8:53", &Denied{Host: "8.8.8.8", Rule: RuleNetwork}},
		{"unix", "x:1", &Denied{Host: "x", Rule: RuleNetwork}},
	} {
		t.Run(tc.network+" "+tc.address, func(t *testing.T) {
			guard, seen, dialled := newTestGuard(resolver())
			_, err := guard.DialContext(t.Context(), Scope{Tenant: "team-a"}, tc.network, tc.address)
			var denied *Denied
			if !errors.As(err, &denied) {
				t.Fatalf("error = %v, want a *Denied", err)
			}
			tc.want.Tenant = "team-a"
			if diff := cmp.Diff(tc.want, denied, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
				t.Error(diff)
			}
			if len(*dialled) != 0 {
				t.Errorf("dialled %v", *dialled)
			}
			if len(seen.decisions) != 1 || seen.decisions[0].Allowed || seen.decisions[0].Tenant != "team-a" {
				t.Errorf("observed %+v, want one refusal of team-a", seen.decisions)
			}
		})
	}
}

// N7, N8: the name is resolved once, and what was checked is what is dialled, whatever
// the next answer would be.
func TestDialGoesToTheCheckedAddress(t *testing.T) {
	resolver := &answers{byName: map[string][]string{"rebind.test": {"8.8.8.8 2606:4700::1111", "127.0.0.1"}}}
	guard, seen, dialled := newTestGuard(resolver)
	_, err := guard.DialContext(t.Context(), Scope{Tenant: "team-a"}, "tcp", "rebind.test:443")
	if !errors.Is(err, errDialled) {
		t.Fatalf("error = %v, want the dialler's", err)
	}
	if diff := cmp.Diff([]string{"8.8.8.8:443", "[2606:4700::1111]:443"}, *dialled); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"ip rebind.test"}, resolver.lookups); diff != "" {
		t.Error(diff)
	}
	want := []Decision{
		{Tenant: "team-a", Host: "rebind.test", Port: 443, Address: netip.MustParseAddr("8.8.8.8"), Allowed: true, Rule: RulePublic},
		{Tenant: "team-a", Host: "rebind.test", Port: 443, Address: netip.MustParseAddr("2606:4700::1111"), Allowed: true, Rule: RulePublic},
	}
	if diff := cmp.Diff(want, seen.decisions, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Error(diff)
	}
	// The second connection sees the changed answer, and is refused: no decision
	// outlives its connection.
	var denied *Denied
	if _, err := guard.DialContext(t.Context(), Scope{}, "tcp", "rebind.test:443"); !errors.As(err, &denied) {
		t.Errorf("error = %v, want a *Denied", err)
	}
}

func TestDialMalformed(t *testing.T) {
	guard, seen, dialled := newTestGuard(&answers{})
	for _, address := range []string{"", "host", "host:http", "host:-1", "host:65536", "gone.test:80"} {
		if _, err := guard.DialContext(t.Context(), Scope{}, "tcp", address); err == nil {
			t.Errorf("%q: no error", address)
		}
	}
	if len(*dialled) != 0 || len(seen.decisions) != 0 {
		t.Errorf("dialled %v, observed %v; want neither", *dialled, seen.decisions)
	}
}

func TestDialTriesABoundedNumberOfAddresses(t *testing.T) {
	resolver := &answers{byName: map[string][]string{"many.test": {strings.Repeat("8.8.8.8 ", 50)}}}
	guard, _, dialled := newTestGuard(resolver)
	if _, err := guard.DialContext(t.Context(), Scope{}, "tcp4", "many.test:1"); !errors.Is(err, errDialled) {
		t.Fatal(err)
	}
	if len(*dialled) != maxAttempts {
		t.Errorf("dialled %d addresses, want %d", len(*dialled), maxAttempts)
	}
}

// N9: what a scope allows is not allowed without it.
func TestScopeAllows(t *testing.T) {
	guard, _, _ := newTestGuard(&answers{byName: map[string][]string{"mcp.team-a.svc": {"10.96.0.7"}}})
	if err := guard.Check(t.Context(), Scope{Tenant: "team-a", Allow: ClusterInternal()}, "mcp.team-a.svc"); err != nil {
		t.Error(err)
	}
	var denied *Denied
	if err := guard.Check(t.Context(), Scope{Tenant: "team-a"}, "mcp.team-a.svc"); !errors.As(err, &denied) {
		t.Errorf("error = %v, want a *Denied", err)
	}
	for _, host := range []string{"127.0.0.1", "169.254.1.1", "100.100.100.200", "fd00:ec2::254"} {
		if err := guard.Check(t.Context(), Scope{Allow: ClusterInternal()}, host); !errors.As(err, &denied) {
			t.Errorf("%s: error = %v, want a *Denied", host, err)
		}
	}
}

// RFC 6749 section 3.2, RFC 6750 section 5.3: a secret without TLS stays in ranges that the
// operator named.
func TestPlaintextScope(t *testing.T) {
	allow := []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}
	names := &answers{byName: map[string][]string{"in.test": {"10.1.0.1"}, "out.test": {"8.8.8.8"}, "both.test": {"10.1.0.1 8.8.8.8"}}}
	for _, tc := range []struct {
		url    string
		secret bool
		host   string
		want   Rule
	}{
		{"http://out.test", true, "out.test", RulePlaintext},
		{"http://out.test", false, "out.test", ""},
		{"https://out.test", true, "out.test", ""},
		{"HTTPS://out.test", true, "out.test", ""},
		{"http://in.test", true, "in.test", ""},
		{"http://both.test", true, "both.test", RulePlaintext},
		{"httpsish://out.test", true, "out.test", RulePlaintext},
		{"http://127.0.0.1", true, "127.0.0.1", RuleLoopback},
	} {
		guard, _, _ := newTestGuard(names, allow...)
		err := guard.Check(t.Context(), For("team-a", tc.url, tc.secret), tc.host)
		var denied *Denied
		switch {
		case tc.want == "" && err != nil:
			t.Errorf("%s: %v", tc.url, err)
		case tc.want != "" && (!errors.As(err, &denied) || denied.Rule != tc.want || denied.Tenant != "team-a"):
			t.Errorf("%s: error = %v, want rule %s", tc.url, err, tc.want)
		}
	}
	guard, _, _ := newTestGuard(names)
	if guard.Transport(For("team-a", "http://x", true)) == guard.Transport(For("team-a", "http://x", false)) {
		t.Error("a connection made without a secret serves requests with one")
	}
}

func TestDeniedSaysWhatToDo(t *testing.T) {
	guard, _, _ := newTestGuard(&answers{byName: map[string][]string{"private.test": {"10.0.0.1"}}})
	for host, want := range map[string]string{
		"private.test":    `egress to "private.test" refused: 10.0.0.1 is a private address; a platform administrator can allow its range in the operator's configuration`,
		"169.254.169.254": `egress to "169.254.169.254" refused: 169.254.169.254 is a metadata address; only a prefix of exactly this address in the operator's configuration allows it`,
		"0x7f.1":          `egress to "0x7f.1" refused: the host is neither a name nor an address in its usual form; write it as one`,
	} {
		if err := guard.Check(t.Context(), Scope{}, host); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// loopbackGuard permits 127.0.0.1, where httptest listens, and resolves every given
// name to it.
func loopbackGuard(names ...string) *Guard {
	resolver := &answers{byName: map[string][]string{}}
	for _, name := range names {
		resolver.byName[name] = []string{"127.0.0.1"}
	}
	return New(Options{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, Resolver: resolver})
}

func portOf(t *testing.T, server *httptest.Server) string {
	t.Helper()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func get(t *testing.T, client *http.Client, url string) (string, error) {
	t.Helper()
	response, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}
