// SPDX-License-Identifier: Apache-2.0

package httptool

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/credentials"
	"remit.dev/remit/internal/egress"
	"remit.dev/remit/internal/engine"
	"remit.dev/remit/internal/pipeline"
)

const (
	canary = `cana/ry+<&"4f1d` // with what each encoding writes differently
	token  = "token-77aa"
	key    = "0123456789abcdef"
	// hangUp is an answer that closes the connection, and silence one that never comes.
	hangUp  = "hang up"
	silence = "silence"
)

// server speaks HTTP/1.1 as it is on the wire, and keeps what it is sent.
type server struct {
	port string

	mu       sync.Mutex
	requests []string
	answers  []string
}

// serve answers with each answer in turn, with the last one for ever.
func serve(t *testing.T, answers ...string) *server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{answers: answers}
	_, s.port, _ = net.SplitHostPort(listener.Addr().String())
	var connections sync.WaitGroup
	connections.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Go(func() { s.talk(conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		connections.Wait()
	})
	return s
}

func (s *server) talk(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	reader := bufio.NewReader(conn)
	for {
		request, err := readRequest(reader)
		if err != nil {
			return
		}
		switch answer := s.take(request); answer {
		case hangUp:
			return
		case silence:
			_, _ = reader.ReadByte() // until the other side gives up
			return
		default:
			if _, err := io.WriteString(conn, answer); err != nil || strings.Contains(answer, "Connection: close") {
				return
			}
		}
	}
}

func (s *server) take(request string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, request)
	answer := s.answers[0]
	if len(s.answers) > 1 {
		s.answers = s.answers[1:]
	}
	return answer
}

func (s *server) got() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// readRequest reads one request, byte for byte.
func readRequest(reader *bufio.Reader) (string, error) {
	var raw strings.Builder
	length := 0
	for {
		line, err := reader.ReadString('\n')
		raw.WriteString(line)
		if err != nil {
			return "", err
		}
		if name, value, ok := strings.Cut(line, ":"); ok && strings.EqualFold(name, "Content-Length") {
			if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
				return "", err
			}
		}
		if line == "\r\n" {
			break
		}
	}
	body := make([]byte, length)
	_, err := io.ReadFull(reader, body)
	raw.Write(body)
	return raw.String(), err
}

// wire is a request as a server that takes it literally reads it.
type wire struct {
	Line    string
	Headers map[string][]string
	Body    string
}

func readWire(t *testing.T, raw string) wire {
	t.Helper()
	head, body, ok := strings.Cut(raw, "\r\n\r\n")
	if !ok {
		t.Fatalf("no request: %q", raw)
	}
	lines := strings.Split(head, "\r\n")
	read := wire{Line: lines[0], Headers: map[string][]string{}, Body: body}
	for _, line := range lines[1:] {
		name, value, ok := strings.Cut(line, ": ")
		if !ok {
			t.Errorf("header line %q", line)
		}
		name = textproto.CanonicalMIMEHeaderKey(name)
		read.Headers[name] = append(read.Headers[name], value)
	}
	return read
}

func reply(status int, headers, body string) string {
	return fmt.Sprintf("HTTP/1.1 %d x\r\n%sContent-Length: %d\r\n\r\n%s", status, headers, len(body), body)
}

func ok(body string) string { return reply(200, "Content-Type: text/plain\r\n", body) }

// names resolves every name to this machine.
type names struct{}

func (names) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
}

// setting is what a test starts from: a tool of shop.example at a server, under a Grant
// that permits all of it.
type setting struct {
	tool  v1alpha1.Tool
	grant v1alpha1.Grant
	// pauses are those between attempts.
	pauses []time.Duration
	jitter func() float64
	sleep  func(context.Context, time.Duration) error
	reader client.Reader
}

var epoch = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

func newSetting(s *server, method v1alpha1.HTTPMethod, path string) *setting {
	host := "shop.example:" + s.port
	made := &setting{
		tool: v1alpha1.Tool{Name: "order", Attempts: 1, Timeout: metav1.Duration{Duration: time.Minute}, HTTP: &v1alpha1.HTTPTool{
			Grant: "shop", Method: method, URL: "http://" + host + path,
		}},
		grant: v1alpha1.Grant{ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "team"}, Spec: v1alpha1.GrantSpec{HTTP: &v1alpha1.HTTPHosts{
			Hosts: []string{host}, Secrets: []v1alpha1.HTTPSecret{{Name: "key", SecretRef: v1alpha1.SecretKeyReference{Name: "shop", Key: "key"}}},
		}}},
	}
	made.reader = secrets()
	made.sleep = func(_ context.Context, delay time.Duration) error {
		made.pauses = append(made.pauses, delay)
		return nil
	}
	return made
}

// secrets are those of the API server.
var secrets = sync.OnceValue(func() client.Reader {
	labelled := map[string]string{v1alpha1.CredentialLabel: "true"}
	return fake.NewClientBuilder().WithObjects(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "shop", Labels: labelled},
		Data:       map[string][]byte{"key": []byte(canary + "\n"), "token": []byte(token)},
	}, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "unlabelled"}, Data: map[string][]byte{"key": []byte(canary)},
	}, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "elsewhere", Labels: labelled,
			Annotations: map[string]string{v1alpha1.HostsAnnotation: "other.example"}},
		Data: map[string][]byte{"key": []byte(canary)},
	}).Build()
})

func (s *setting) withCredential() *setting {
	s.grant.Spec.Credential = &v1alpha1.Credential{Type: v1alpha1.CredentialBearer, SecretRef: v1alpha1.SecretKeyReference{Name: "shop", Key: "token"}}
	return s
}

func (s *setting) body(text string) *setting {
	s.tool.HTTP.Body = &apiextensionsv1.JSON{Raw: []byte(text)}
	return s
}

func (s *setting) executor(t *testing.T) *Tool {
	t.Helper()
	guard := egress.New(egress.Options{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, Resolver: names{}})
	t.Cleanup(guard.CloseIdleConnections)
	client := NewClient(Options{
		Guard: guard, Credentials: credentials.New(credentials.Options{Reader: s.reader, Guard: guard}),
		Now: func() time.Time { return epoch }, Sleep: s.sleep, Jitter: s.jitter,
	})
	made, err := client.Tool(&s.tool, &s.grant)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// call makes one call, with a key of its own.
func (s *setting) call(t *testing.T, idempotent bool, arguments string) engine.Outcome {
	t.Helper()
	answer := s.executor(t).Execute(t.Context(), pipeline.Invocation{Arguments: []byte(arguments), IdempotencyKey: key, Idempotent: idempotent})
	withoutSecrets(t, answer.Content)
	return answer.Outcome
}

// withoutSecrets: nothing that comes out of a call holds a secret, in any encoding.
func withoutSecrets(t *testing.T, text string) {
	t.Helper()
	for _, secret := range []string{"4f1d", token} { // the part of the canary that every encoding leaves as it is
		if strings.Contains(text, secret) {
			t.Errorf("a secret is in %q", text)
		}
	}
}
