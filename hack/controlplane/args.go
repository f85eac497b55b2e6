package main

import (
	"fmt"
	"strings"
)

const (
	loopback = "127.0.0.1"
	// serviceRange holds the cluster's virtual addresses; apiserverServiceIP is its first.
	serviceRange       = "10.0.0.0/24"
	apiserverServiceIP = "10.0.0.1"
	issuer             = "https://kubernetes.default.svc"
)

// controllers are those that do work in a cluster without nodes. The rest would make pods that no
// kubelet runs, and cost start-up time.
var controllers = []string{
	"clusterrole-aggregation-controller",
	"garbage-collector-controller",
	"namespace-controller",
	"resourcequota-controller",
	"serviceaccount-controller",
	"serviceaccount-token-controller",
	"validatingadmissionpolicy-status-controller",
}

func loopbackURL(port int) string { return fmt.Sprintf("https://%s:%d", loopback, port) }

// etcdArgs close etcd to everybody without a certificate of its own authority: who reaches etcd
// is past RBAC, and loopback is open to every user of the machine.
func etcdArgs(l layout, clientPort, peerPort int) []string {
	client, peer := loopbackURL(clientPort), loopbackURL(peerPort)
	return []string{
		"--name=" + etcdName,
		"--data-dir=" + l.etcdData(),
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=" + etcdName + "=" + peer,
		"--client-cert-auth",
		"--trusted-ca-file=" + l.cert(etcdCA),
		"--cert-file=" + l.cert(etcdName),
		"--key-file=" + l.key(etcdName),
		"--peer-client-cert-auth",
		"--peer-trusted-ca-file=" + l.cert(etcdCA),
		"--peer-cert-file=" + l.cert(etcdName),
		"--peer-key-file=" + l.key(etcdName),
		// Data may be lost when the machine crashes, never when only the processes do.
		"--unsafe-no-fsync",
	}
}

// apiserverArgs leave admission at its defaults, which in this version include the validating and
// the mutating admission policies. auditLog may be empty.
func apiserverArgs(l layout, port, etcdPort int, auditLog string) []string {
	args := []string{
		fmt.Sprintf("--secure-port=%d", port),
		"--bind-address=" + loopback,
		"--advertise-address=" + loopback,
		// A loopback address is no valid endpoint, and nothing here looks for one.
		"--endpoint-reconciler-type=none",
		"--authorization-mode=RBAC",
		"--client-ca-file=" + l.cert(clusterCA),
		"--tls-cert-file=" + l.cert(apiserverName),
		"--tls-private-key-file=" + l.key(apiserverName),
		"--etcd-servers=" + loopbackURL(etcdPort),
		"--etcd-cafile=" + l.cert(etcdCA),
		"--etcd-certfile=" + l.cert(etcdClient),
		"--etcd-keyfile=" + l.key(etcdClient),
		"--service-cluster-ip-range=" + serviceRange,
		"--service-account-issuer=" + issuer,
		"--service-account-key-file=" + l.signingPublicKey(),
		"--service-account-signing-key-file=" + l.key(signingKey),
		"--profiling=false",
	}
	if auditLog != "" {
		args = append(args,
			"--audit-policy-file="+l.auditPolicy(),
			"--audit-log-path="+auditLog,
			// Blocking and unrotated, so that a test can count what it caused.
			"--audit-log-mode=blocking",
			"--audit-log-maxsize=0",
		)
	}
	return args
}

func controllerManagerArgs(l layout) []string {
	return []string{
		"--kubeconfig=" + l.kubeconfig(controllerID),
		"--controllers=" + strings.Join(controllers, ","),
		"--use-service-account-credentials",
		"--service-account-private-key-file=" + l.key(signingKey),
		"--root-ca-file=" + l.cert(clusterCA),
		// There is one replica, and nobody asks it for metrics.
		"--leader-elect=false",
		"--secure-port=0",
		"--profiling=false",
	}
}

// applyArgs apply one manifest. The manifests win over what somebody changed by hand, so that a
// control plane can be started again on its data.
func applyArgs(l layout, path string, kustomized bool) []string {
	how := "-f"
	if kustomized {
		how = "-k"
	}
	return append(kubectlArgs(l), "apply", "--server-side", "--force-conflicts",
		"--field-manager=controlplane", "--output=name", how, path)
}

// establishedArgs wait until the API server serves the custom resources of crds.
func establishedArgs(l layout, crds []string) []string {
	args := append(kubectlArgs(l), "wait", "--for=condition=Established", fmt.Sprintf("--timeout=%s", startBound))
	return append(args, crds...)
}

func kubectlArgs(l layout) []string {
	return []string{"--kubeconfig=" + l.kubeconfig(adminID), "--cache-dir=" + l.kubectlCache()}
}
