package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"time"
)

// Names of the key pairs in the pki directory, beside those named after a component.
const (
	clusterCA  = "ca"
	etcdCA     = "etcd-ca"
	etcdClient = "etcd-client"
	signingKey = "sa"
)

// credentials are what one start of a control plane lets in. All are new at every start.
type credentials struct {
	cluster *authority
	clients map[string]keyPair
	// admin and etcd authenticate the runner's own readiness checks.
	admin *tls.Config
	etcd  *tls.Config
}

// writeCredentials makes every key and certificate and writes those that a component reads.
// etcd has its own authority, since a certificate of the cluster's users must not open it.
func writeCredentials(l layout, now time.Time) (*credentials, error) {
	cluster, err := newAuthority("remit-controlplane", now)
	if err != nil {
		return nil, err
	}
	c := &credentials{cluster: cluster, clients: map[string]keyPair{}}
	for _, who := range identities {
		if c.clients[who.id], err = cluster.client(who.user, who.groups...); err != nil {
			return nil, err
		}
	}
	if c.admin, err = cluster.clientTLS(c.clients[adminID]); err != nil {
		return nil, err
	}
	if c.etcd, err = writeEtcdCredentials(l, now); err != nil {
		return nil, err
	}
	serving, err := cluster.server(apiserverName,
		[]string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"},
		[]net.IP{net.ParseIP(apiserverServiceIP)})
	if err != nil {
		return nil, err
	}
	signing, public, err := newSigningKey()
	if err != nil {
		return nil, err
	}
	return c, errors.Join(
		writeFile(l.cert(clusterCA), cluster.pem, 0o600),
		l.writePair(apiserverName, serving),
		writeFile(l.key(signingKey), signing, 0o600),
		writeFile(l.signingPublicKey(), public, 0o600),
	)
}

func writeEtcdCredentials(l layout, now time.Time) (*tls.Config, error) {
	ca, err := newAuthority("remit-controlplane-etcd", now)
	if err != nil {
		return nil, err
	}
	server, err := ca.server(etcdName, nil, nil, x509.ExtKeyUsageClientAuth)
	if err != nil {
		return nil, err
	}
	client, err := ca.client(apiserverName)
	if err != nil {
		return nil, err
	}
	err = errors.Join(
		writeFile(l.cert(etcdCA), ca.pem, 0o600),
		l.writePair(etcdName, server),
		l.writePair(etcdClient, client),
	)
	if err != nil {
		return nil, err
	}
	return ca.clientTLS(client)
}

// writeKubeconfigs writes one file per identity and returns their paths by id.
func (c *credentials) writeKubeconfigs(l layout, server string) (map[string]string, error) {
	paths := map[string]string{}
	for _, who := range identities {
		data, err := encodeKubeconfig(server, c.cluster.pem, who.id, c.clients[who.id])
		if err != nil {
			return nil, fmt.Errorf("kubeconfig of %s: %w", who.id, err)
		}
		paths[who.id] = l.kubeconfig(who.id)
		if err := writeFile(paths[who.id], data, 0o600); err != nil {
			return nil, err
		}
	}
	return paths, nil
}
