// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
)

func TestTransportReaches(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }))
	defer server.Close()
	guard := loopbackGuard("api.test")
	defer guard.CloseIdleConnections()
	body, err := get(t, &http.Client{Transport: guard.Transport(Scope{})}, "http://api.test:"+portOf(t, server))
	if err != nil || body != "hello" {
		t.Errorf("got %q, %v", body, err)
	}
}

func TestTransportSpeaksTLSAndHTTP2(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Proto) }))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	guard := New(Options{
		Allow:    []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")},
		Resolver: &answers{byName: map[string][]string{"example.com": {"127.0.0.1"}, "other.test": {"127.0.0.1"}}},
		TLS:      &tls.Config{RootCAs: roots},
	})
	defer guard.CloseIdleConnections()
	client := &http.Client{Transport: guard.Transport(Scope{})}
	// The certificate is checked against the name that was asked for, not the address
	// that was dialled.
	if body, err := get(t, client, "https://example.com:"+portOf(t, server)); err != nil || body != "HTTP/2.0" {
		t.Errorf("got %q, %v; want HTTP/2.0", body, err)
	}
	var wrongName x509.HostnameError
	if _, err := get(t, client, "https://other.test:"+portOf(t, server)); !errors.As(err, &wrongName) {
		t.Errorf("error = %v, want a x509.HostnameError", err)
	}
}

// Issue 4: none of these connects, though most of them end at a listener on this machine.
func TestTransportRefusesEveryWayIn(t *testing.T) {
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	defer server.Close()
	guard := New(Options{Resolver: HostileNames(), Observe: func(decision Decision) {
		if decision.Allowed {
			t.Errorf("%s is allowed at %s", decision.Host, decision.Address)
		}
	}})
	client := &http.Client{Transport: guard.Transport(Scope{})}
	for _, host := range HostileHosts {
		_, err := get(t, client, "http://"+host+":"+portOf(t, server)+"/")
		if _, ok := errors.AsType[*Denied](err); !ok {
			t.Errorf("%s: error = %v, want a *Denied", host, err)
		}
	}
	if n := requests.Load(); n != 0 {
		t.Errorf("%d requests arrived", n)
	}
}

// N8: an answer that changes between an early check and the connection reaches nothing.
func TestTransportChecksAgainAtTheConnection(t *testing.T) {
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	defer server.Close()
	guard := New(Options{Resolver: &answers{byName: map[string][]string{"rebind.test": {"8.8.8.8", "127.0.0.1"}}}})
	if err := guard.Check(t.Context(), Scope{}, "rebind.test"); err != nil {
		t.Fatal(err)
	}
	_, err := get(t, &http.Client{Transport: guard.Transport(Scope{})}, "http://rebind.test:"+portOf(t, server))
	if _, ok := errors.AsType[*Denied](err); !ok || requests.Load() != 0 {
		t.Errorf("error = %v after %d requests, want a *Denied", err, requests.Load())
	}
}

func TestTransportIgnoresProxiesOfTheEnvironment(t *testing.T) {
	var proxied atomic.Int64
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { proxied.Add(1) }))
	defer proxy.Close()
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
		t.Setenv(name, proxy.URL)
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "direct") })
	plain, secure := httptest.NewServer(handler), httptest.NewTLSServer(handler)
	defer plain.Close()
	defer secure.Close()
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	guard := New(Options{
		Allow:    []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")},
		Resolver: &answers{byName: map[string][]string{"example.com": {"127.0.0.1"}}},
		TLS:      &tls.Config{RootCAs: roots},
	})
	defer guard.CloseIdleConnections()
	for _, url := range []string{"http://example.com:" + portOf(t, plain), "https://example.com:" + portOf(t, secure)} {
		body, err := get(t, &http.Client{Transport: guard.Transport(Scope{})}, url)
		if err != nil || body != "direct" || proxied.Load() != 0 {
			t.Errorf("%s: got %q, %v, and %d requests at the proxy", url, body, err, proxied.Load())
		}
	}
}

func TestRedirects(t *testing.T) {
	var inner atomic.Int64
	secret := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { inner.Add(1) }))
	defer secret.Close()
	outer := httptest.NewServer(http.RedirectHandler("http://internal.test:"+portOf(t, secret)+"/latest", http.StatusTemporaryRedirect))
	defer outer.Close()
	// internal.test resolves to 127.0.0.2, which is not permitted.
	guard := New(Options{
		Allow:    []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")},
		Resolver: &answers{byName: map[string][]string{"api.test": {"127.0.0.1"}, "internal.test": {"127.0.0.2"}}},
	})
	defer guard.CloseIdleConnections()
	url := "http://api.test:" + portOf(t, outer)

	_, err := get(t, &http.Client{Transport: guard.Transport(Scope{})}, url)
	var denied *Denied
	if !errors.As(err, &denied) || denied.Host != "internal.test" {
		t.Errorf("followed: error = %v, want a *Denied for internal.test", err)
	}
	_, err = get(t, &http.Client{Transport: guard.Transport(Scope{}), CheckRedirect: RefuseRedirect}, url)
	var refused *RedirectRefused
	if !errors.As(err, &refused) || !strings.HasPrefix(refused.To, "internal.test:") || !strings.HasPrefix(refused.From, "api.test:") {
		t.Errorf("not followed: error = %v, want a *RedirectRefused", err)
	}
	if inner.Load() != 0 {
		t.Error("the redirect's target was reached")
	}
}

// N7: tenants do not share a connection, nor does one scope use what another one allows.
func TestTransportsAreApart(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.RemoteAddr) }))
	defer server.Close()
	guard := loopbackGuard("api.test")
	defer guard.CloseIdleConnections()
	url := "http://api.test:" + portOf(t, server)
	peer := func(scope Scope) string {
		body, err := get(t, &http.Client{Transport: guard.Transport(scope)}, url)
		if err != nil {
			t.Fatal(err)
		}
		return body
	}
	allow := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	a, again, b, wider := peer(Scope{Tenant: "a"}), peer(Scope{Tenant: "a"}), peer(Scope{Tenant: "b"}), peer(Scope{Tenant: "a", Allow: allow})
	if a != again {
		t.Error("one scope does not reuse its connection")
	}
	if a == b || a == wider {
		t.Errorf("scopes share a connection: %s, %s, %s", a, b, wider)
	}
	allow[0] = netip.MustParsePrefix("0.0.0.0/0")
	if guard.Transport(Scope{Tenant: "a", Allow: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}) == guard.Transport(Scope{Tenant: "a", Allow: allow}) {
		t.Error("changing a scope's prefixes after the fact changes its transport")
	}
}

func TestTransportsAreBounded(t *testing.T) {
	guard := New(Options{})
	for i := range maxTransports + 10 {
		guard.Transport(Scope{Tenant: fmt.Sprintf("tenant-%d", i)})
	}
	if got := guard.transports.Len(); got != maxTransports {
		t.Errorf("%d transports are kept, want %d", got, maxTransports)
	}
}

// N7: a response whose length can be read two ways is refused.
func TestAmbiguousFramingIsRefused(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 5\r\n\r\nhello")
	}()
	guard := loopbackGuard()
	if body, err := get(t, &http.Client{Transport: guard.Transport(Scope{})}, "http://"+listener.Addr().String()); err == nil {
		t.Errorf("got %q, want an error", body)
	}
}
