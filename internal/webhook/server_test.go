// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
)

// certify writes a certificate for 127.0.0.1 into a directory, as a Secret that is mounted
// there has it, and gives those who trust it.
func certify(t *testing.T, dir string, serial int64) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	for file, block := range map[string]*pem.Block{
		"tls.crt": {Type: "CERTIFICATE", Bytes: certificate}, "tls.key": {Type: "PRIVATE KEY", Bytes: private},
	} {
		text := pem.EncodeToMemory(block)
		pool.AppendCertsFromPEM(text)
		// Renamed into place, so that nobody reads a half.
		half := filepath.Join(dir, file+".new")
		if err := os.WriteFile(half, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(half, filepath.Join(dir, file)); err != nil {
			t.Fatal(err)
		}
	}
	return pool
}

// serve runs a server until the end of the test, and gives its address.
func serve(t *testing.T, o Options, change func(*Server)) string {
	t.Helper()
	o.Logger, o.Observe = logr.Discard(), func(int) {}
	server, err := NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(server)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

func clientFor(config *tls.Config) *http.Client {
	return &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true, ForceAttemptHTTP2: true}}
}

func post(t *testing.T, client *http.Client, url, body string) (*http.Response, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err == nil {
		t.Cleanup(func() { response.Body.Close() })
	}
	return response, err
}

func TestTLS(t *testing.T) {
	dir := t.TempDir()
	pool := certify(t, dir, 1)
	var got receiver
	address := serve(t, Options{CertDir: dir, Receiver: &got}, nil)

	response, err := post(t, clientFor(&tls.Config{RootCAs: pool}), "https://"+address+goodPath, `{"a":1}`)
	if err != nil {
		t.Fatal(err)
	}
	checkAnswer(t, response, 202)
	if response.ProtoMajor != 1 || response.TLS.Version < tls.VersionTLS12 {
		t.Errorf("it speaks %s, TLS %x", response.Proto, response.TLS.Version)
	}
	if len(got.deliveries) != 1 || got.deliveries[0].Body != `{"a":1}` {
		t.Errorf("received were %v", got.deliveries)
	}
	if _, err := post(t, clientFor(&tls.Config{RootCAs: pool, MaxVersion: tls.VersionTLS11}), "https://"+address+goodPath, ""); err == nil {
		t.Error("it speaks TLS 1.1")
	}
	response, err = post(t, http.DefaultClient, "http://"+address+goodPath, "")
	if err != nil || response.StatusCode != http.StatusBadRequest {
		t.Errorf("it answers plain HTTP with %v, %v", response, err)
	}
	if len(got.deliveries) != 1 {
		t.Errorf("received were %v", got.deliveries)
	}
}

// A certificate that is replaced is served, without a restart.
func TestCertificateIsReplaced(t *testing.T) {
	dir := t.TempDir()
	certify(t, dir, 1)
	address := serve(t, Options{CertDir: dir, Receiver: &receiver{}}, func(s *Server) { s.certificates.WithWatchInterval(10 * time.Millisecond) })
	client := clientFor(&tls.Config{RootCAs: certify(t, dir, 2)})
	for deadline := time.Now().Add(time.Minute); ; {
		response, err := post(t, client, "https://"+address+goodPath, "")
		if err == nil {
			checkAnswer(t, response, 202)
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

func TestNoCertificate(t *testing.T) {
	if _, err := NewServer(Options{CertDir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "tls.crt") {
		t.Errorf("%v", err)
	}
}

// Behind a proxy, where TLS has ended.
func TestPlainHTTP(t *testing.T) {
	address := serve(t, Options{Receiver: &receiver{}}, nil)
	response, err := post(t, http.DefaultClient, "http://"+address+goodPath, "{}")
	if err != nil {
		t.Fatal(err)
	}
	checkAnswer(t, response, 202)
}

// raw sends bytes and reads the status line of what comes back.
func raw(t *testing.T, address, text string) string {
	t.Helper()
	connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	// What is refused halfway is not read to its end.
	_, _ = io.Copy(connection, strings.NewReader(text))
	line, _, err := bufio.NewReader(connection).ReadLine()
	if err != nil {
		return err.Error()
	}
	return string(line)
}

func TestBoundsOfTheServer(t *testing.T) {
	var got receiver
	address := serve(t, Options{Receiver: &got}, nil)
	impatient := serve(t, Options{Receiver: &got}, func(s *Server) {
		s.http.ReadTimeout, s.http.ReadHeaderTimeout = 50*time.Millisecond, 50*time.Millisecond
	})
	begin := "POST " + goodPath + " HTTP/1.1\r\nHost: h\r\nContent-Type: text/plain\r\n"
	chunk := "1000\r\n" + strings.Repeat("x", 0x1000) + "\r\n"
	const (
		tooLarge       = "HTTP/1.1 413 Request Entity Too Large"
		headerTooLarge = "HTTP/1.1 431 Request Header Fields Too Large"
		notAllowed     = "HTTP/1.1 405 Method Not Allowed"
	)
	for name, test := range map[string]struct{ address, text, want string }{
		"a header that never ends": {impatient, begin, "EOF"},
		"a body that never ends":   {impatient, begin + "Content-Length: 10\r\n\r\nabc", "HTTP/1.1 408 Request Timeout"},
		"a large header":           {address, begin + "X: " + strings.Repeat("x", 32<<10) + "\r\n\r\n", headerTooLarge},
		"a long path":              {address, "POST /" + strings.Repeat("x", 32<<10) + " HTTP/1.1\r\n\r\n", headerTooLarge},
		"a large announced body":   {address, begin + "Expect: 100-continue\r\nContent-Length: 1000000\r\n\r\n", tooLarge},
		"a large body in chunks":   {address, begin + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat(chunk, 5) + "0\r\n\r\n", tooLarge},
		"a chunk that is none":     {address, begin + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", "HTTP/1.1 400 Bad Request"},
		"a path with a scheme":     {address, "POST http://h" + goodPath + "x HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 404 Not Found"},
		"CONNECT":                  {address, "CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n", notAllowed},
		"OPTIONS of everything":    {address, "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", notAllowed},
	} {
		t.Run(name, func(t *testing.T) {
			if line := raw(t, test.address, test.text); line != test.want {
				t.Errorf("the answer is %q, want %q", line, test.want)
			}
		})
	}
	if len(got.deliveries) != 0 {
		t.Errorf("received were %v", got.deliveries)
	}
}

// A sender that writes all it has before it reads is told why it is refused, on a connection that is
// closed then.
func TestRefusedSenderReadsWhy(t *testing.T) {
	address := serve(t, Options{Receiver: &receiver{}}, nil)
	body := strings.Repeat("x", 200<<10)
	for name, test := range map[string]struct{ path, contentType, want string }{
		"too large": {goodPath, "text/plain", "HTTP/1.1 413 Request Entity Too Large"},
		"unknown":   {"/", "text/plain", "HTTP/1.1 404 Not Found"},
	} {
		t.Run(name, func(t *testing.T) {
			for range 20 {
				line := raw(t, address, fmt.Sprintf("POST %s HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s",
					test.path, test.contentType, len(body), body))
				if line != test.want {
					t.Fatalf("the answer is %q, want %q", line, test.want)
				}
			}
		})
	}
}

// A request that is being answered when the server stops is answered.
func TestShutdownAnswers(t *testing.T) {
	held := blocked{arrived: make(chan struct{}), open: make(chan struct{})}
	server, err := NewServer(Options{Receiver: held, Observe: func(int) {}, Logger: logr.Discard()})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended, code := make(chan error, 1), make(chan string, 1)
	go func() { ended <- server.serve(ctx, listener) }()
	go func() {
		code <- raw(t, listener.Addr().String(), fmt.Sprintf("POST %s HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n", goodPath))
	}()
	<-held.arrived
	cancel()
	close(held.open)
	if got := <-code; got != "HTTP/1.1 202 Accepted" {
		t.Errorf("the answer is %q", got)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestStartListens(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	server, err := NewServer(Options{Address: taken.Addr().String(), Logger: logr.Discard()})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(t.Context()); err == nil || !strings.Contains(err.Error(), taken.Addr().String()) {
		t.Errorf("on an address that is taken: %v", err)
	}
	if server.NeedLeaderElection() {
		t.Error("it waits for a leader")
	}
}
