package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var testNow = time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)

func parseCert(t *testing.T, data []byte) *x509.Certificate {
	t.Helper()
	block, rest := pem.Decode(data)
	if block == nil || block.Type != "CERTIFICATE" || len(rest) != 0 {
		t.Fatalf("not one PEM certificate: %q", data)
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func verify(cert, ca *x509.Certificate, usage x509.ExtKeyUsage, name string) error {
	roots := x509.NewCertPool()
	roots.AddCert(ca)
	_, err := cert.Verify(x509.VerifyOptions{
		Roots:       roots,
		KeyUsages:   []x509.ExtKeyUsage{usage},
		DNSName:     name,
		CurrentTime: testNow,
	})
	return err
}

func newTestAuthority(t *testing.T) *authority {
	t.Helper()
	ca, err := newAuthority("test-ca", testNow)
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

func TestAuthority(t *testing.T) {
	cert := parseCert(t, newTestAuthority(t).pem)
	if !cert.IsCA || !cert.BasicConstraintsValid || cert.MaxPathLen != 0 {
		t.Errorf("CA %t, constraints %t, path length %d: want a CA of leaves only",
			cert.IsCA, cert.BasicConstraintsValid, cert.MaxPathLen)
	}
	if err := cert.CheckSignatureFrom(cert); err != nil {
		t.Errorf("not signed by itself: %v", err)
	}
	if key, ok := cert.PublicKey.(*ecdsa.PublicKey); !ok || key.Curve != elliptic.P256() {
		t.Errorf("public key is %T, want ECDSA on P-256", cert.PublicKey)
	}
}

func TestClientCertificate(t *testing.T) {
	ca := newTestAuthority(t)
	pair, err := ca.client("alice", "one", "two")
	if err != nil {
		t.Fatal(err)
	}
	cert := parseCert(t, pair.cert)
	if diff := cmp.Diff([]string{"one", "two"}, cert.Subject.Organization); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	if cert.Subject.CommonName != "alice" {
		t.Errorf("user %q, want alice", cert.Subject.CommonName)
	}
	if err := verify(cert, ca.cert, x509.ExtKeyUsageClientAuth, ""); err != nil {
		t.Errorf("as client: %v", err)
	}
	if err := verify(cert, ca.cert, x509.ExtKeyUsageServerAuth, ""); err == nil {
		t.Error("a client's certificate passes for a server's")
	}
	if err := verify(cert, newTestAuthority(t).cert, x509.ExtKeyUsageClientAuth, ""); err == nil {
		t.Error("another authority accepts the certificate")
	}
	if _, err := tls.X509KeyPair(pair.cert, pair.key); err != nil {
		t.Errorf("certificate and key: %v", err)
	}
}

func TestServerCertificate(t *testing.T) {
	ca := newTestAuthority(t)
	pair, err := ca.server("srv", []string{"kubernetes.default.svc"}, []net.IP{net.ParseIP("10.0.0.1")})
	if err != nil {
		t.Fatal(err)
	}
	cert := parseCert(t, pair.cert)
	for _, name := range []string{"127.0.0.1", "10.0.0.1", "localhost", "kubernetes.default.svc"} {
		if err := verify(cert, ca.cert, x509.ExtKeyUsageServerAuth, name); err != nil {
			t.Errorf("as server %s: %v", name, err)
		}
	}
	if err := verify(cert, ca.cert, x509.ExtKeyUsageServerAuth, "example.com"); err == nil {
		t.Error("the certificate is good for example.com")
	}
	if err := verify(cert, ca.cert, x509.ExtKeyUsageClientAuth, ""); err == nil {
		t.Error("a server's certificate passes for a client's")
	}
	if cert.NotBefore.After(testNow) || cert.NotAfter.Sub(testNow) != certLifetime {
		t.Errorf("valid from %s to %s at %s", cert.NotBefore, cert.NotAfter, testNow)
	}
}

func newTestCredentials(t *testing.T) (layout, *credentials) {
	t.Helper()
	l := layout{dir: filepath.Join(t.TempDir(), "cp")}
	if err := l.create(); err != nil {
		t.Fatal(err)
	}
	creds, err := writeCredentials(l, testNow)
	if err != nil {
		t.Fatal(err)
	}
	return l, creds
}

func TestIdentities(t *testing.T) {
	_, creds := newTestCredentials(t)
	type subject struct {
		User   string
		Groups []string
	}
	got := map[string]subject{}
	for id, pair := range creds.clients {
		cert := parseCert(t, pair.cert)
		got[id] = subject{cert.Subject.CommonName, cert.Subject.Organization}
	}
	want := map[string]subject{
		"admin":              {"admin", []string{"system:masters"}},
		"author":             {"author", []string{"remit:authors"}},
		"approver":           {"approver", []string{"remit:approvers"}},
		"controller-manager": {"system:kube-controller-manager", nil},
		"operator": {"system:serviceaccount:remit-system:remit-operator",
			[]string{"system:serviceaccounts", "system:serviceaccounts:remit-system"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("identities (-want +got):\n%s", diff)
	}
}

// Whoever reaches etcd is past RBAC, so no user's certificate may open it.
func TestEtcdTrustsNoUser(t *testing.T) {
	l, creds := newTestCredentials(t)
	data, err := os.ReadFile(l.cert(etcdCA))
	if err != nil {
		t.Fatal(err)
	}
	ca := parseCert(t, data)
	for id, pair := range creds.clients {
		if err := verify(parseCert(t, pair.cert), ca, x509.ExtKeyUsageClientAuth, ""); err == nil {
			t.Errorf("etcd would let %s in", id)
		}
	}
	data, err = os.ReadFile(l.cert(etcdClient))
	if err != nil {
		t.Fatal(err)
	}
	if err := verify(parseCert(t, data), ca, x509.ExtKeyUsageClientAuth, ""); err != nil {
		t.Errorf("etcd would not let the API server in: %v", err)
	}
}

func TestFilesAreTheOwners(t *testing.T) {
	l, creds := newTestCredentials(t)
	if _, err := creds.writeKubeconfigs(l, "https://127.0.0.1:1"); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(l.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		want := os.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", path, got, want)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
