// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"remit.dev/remit/api/v1alpha1"
)

// hooks is an operator that serves webhooks, and a sender that trusts its certificate.
type hooks struct {
	*operator
	metrics metrics
	sender  *http.Client
}

func newHooks(t *testing.T) *hooks {
	t.Helper()
	dir, metricsAddress, address := t.TempDir(), freeAddress(t), freeAddress(t)
	trusted := certify(t, dir)
	h := &hooks{
		metrics: metrics{"http://" + metricsAddress + "/metrics"},
		sender: &http.Client{Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: trusted}, DisableKeepAlives: true}},
	}
	h.operator = ownOperator(t, "--metrics-bind-address", metricsAddress,
		"--webhook-bind-address", address, "--webhook-url", "https://"+address, "--webhook-cert-dir", dir)
	return h
}

// certify writes a certificate for 127.0.0.1 and its key into a directory.
func certify(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
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
	public := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
	for file, text := range map[string][]byte{
		"tls.crt": public, "tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	} {
		if err := os.WriteFile(filepath.Join(dir, file), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(public)
	return trusted
}

// send makes one request and gives the status code of its answer, of which no body tells more.
func (h *hooks) send(t *testing.T, method, url, body string) int {
	t.Helper()
	code, err := h.try(t, method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

func (h *hooks) try(t *testing.T, method, url, body string) (int, error) {
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := h.sender.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if len(answer) > 120 || bytes.Contains(answer, []byte("webhooks/")) {
		t.Errorf("%s is answered with %s", method, answer)
	}
	return response.StatusCode, err
}

// checkSend compares the status code of an answer.
func (h *hooks) checkSend(t *testing.T, what, method, url, body string, want int) {
	t.Helper()
	if got := h.send(t, method, url, body); got != want {
		t.Errorf("%s is answered with %d, want %d", what, got, want)
	}
}

// hookOf is the pending webhook of a Run, and its URL.
func hookOf(t *testing.T, run *v1alpha1.Run) (v1alpha1.PendingCall, string) {
	t.Helper()
	for _, pending := range run.Status.Pending {
		if pending.Kind != v1alpha1.PendingWebhook {
			continue
		}
		secret := &corev1.Secret{}
		key := types.NamespacedName{Namespace: run.Namespace, Name: pending.Webhook.SecretRef.Name}
		if err := env.users[admin].Get(t.Context(), key, secret); err != nil {
			t.Fatal(err)
		}
		return pending, string(secret.Data[v1alpha1.WebhookURLKey])
	}
	t.Fatalf("no webhook is pending\n%s", describe(run))
	return v1alpha1.PendingCall{}, ""
}

// tokenOf is the secret part of a URL.
func tokenOf(url string) string { return url[strings.LastIndex(url, "/")+1:] }

// checkUsed looks at a webhook that takes nothing any more: who knows the URL is told, and nobody else.
func (h *hooks) checkUsed(t *testing.T, url string) {
	t.Helper()
	h.checkSend(t, "another request", "POST", url, "late", http.StatusGone)
	wrong := strings.TrimSuffix(url, tokenOf(url)) + base64.RawURLEncoding.EncodeToString(make([]byte, 32))
	h.checkSend(t, "a wrong token", "POST", wrong, "late", http.StatusNotFound)
}
