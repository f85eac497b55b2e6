package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

const (
	// certLifetime is long for a cluster that is thrown away; every start makes new certificates.
	certLifetime = 365 * 24 * time.Hour
	// clockSkew is how much the reader's clock may be behind.
	clockSkew = 5 * time.Minute
)

// keyPair is a certificate and its private key, both in PEM.
type keyPair struct {
	cert []byte
	key  []byte
}

// authority signs certificates. Its key is never written down.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
	now  time.Time
}

func newAuthority(name string, now time.Time) (*authority, error) {
	template, err := newTemplate(pkix.Name{CommonName: name}, now)
	if err != nil {
		return nil, err
	}
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.MaxPathLenZero = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &authority{cert: cert, key: key, pem: encodePEM("CERTIFICATE", der), now: now}, nil
}

// server issues a certificate for a server on loopback that is also known under names. Usages
// beyond server authentication are for servers that call each other.
func (a *authority) server(commonName string, names []string, ips []net.IP, usages ...x509.ExtKeyUsage) (keyPair, error) {
	template, err := newTemplate(pkix.Name{CommonName: commonName}, a.now)
	if err != nil {
		return keyPair{}, err
	}
	template.DNSNames = append([]string{"localhost"}, names...)
	template.IPAddresses = append([]net.IP{net.IPv4(127, 0, 0, 1)}, ips...)
	template.ExtKeyUsage = append([]x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, usages...)
	return a.issue(template)
}

// client issues a certificate that authenticates user, a member of groups.
func (a *authority) client(user string, groups ...string) (keyPair, error) {
	template, err := newTemplate(pkix.Name{CommonName: user, Organization: groups}, a.now)
	if err != nil {
		return keyPair{}, err
	}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.issue(template)
}

func (a *authority) issue(template *x509.Certificate) (keyPair, error) {
	template.KeyUsage = x509.KeyUsageDigitalSignature
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keyPair{}, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return keyPair{}, fmt.Errorf("certificate for %s: %w", template.Subject, err)
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return keyPair{}, err
	}
	return keyPair{cert: encodePEM("CERTIFICATE", der), key: keyPEM}, nil
}

// clientTLS trusts a and presents pair.
func (a *authority) clientTLS(pair keyPair) (*tls.Config, error) {
	cert, err := tls.X509KeyPair(pair.cert, pair.key)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	return &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS13}, nil
}

// newSigningKey makes the key that signs the tokens of service accounts.
func newSigningKey() (private, public []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, nil, err
	}
	private, err = encodeKey(key)
	return private, encodePEM("PUBLIC KEY", der), err
}

func newTemplate(subject pkix.Name, now time.Time) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      subject,
		NotBefore:    now.Add(-clockSkew),
		NotAfter:     now.Add(certLifetime),
	}, nil
}

// encodeKey writes SEC 1, the form of an EC key that every component reads.
func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return encodePEM("EC PRIVATE KEY", der), nil
}

func encodePEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
