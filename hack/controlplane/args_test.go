package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// flagMap turns --name=value into an entry and --name into one with the value true.
func flagMap(t *testing.T, args []string) map[string]string {
	t.Helper()
	flags := map[string]string{}
	for _, arg := range args {
		name, value, valued := strings.Cut(arg, "=")
		if !strings.HasPrefix(name, "--") {
			t.Fatalf("%q is no flag", arg)
		}
		if !valued {
			value = "true"
		}
		if _, twice := flags[name]; twice {
			t.Errorf("%s is given twice", name)
		}
		flags[name] = value
	}
	return flags
}

func wantFlags(t *testing.T, args []string, want map[string]string) {
	t.Helper()
	flags := flagMap(t, args)
	got := map[string]string{}
	for name := range want {
		if value, ok := flags[name]; ok {
			got[name] = value
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("flags (-want +got):\n%s", diff)
	}
}

func TestEtcdArgs(t *testing.T) {
	wantFlags(t, etcdArgs(layout{dir: "/d"}, 1001, 1002), map[string]string{
		"--data-dir":              "/d/etcd",
		"--listen-client-urls":    "https://127.0.0.1:1001",
		"--advertise-client-urls": "https://127.0.0.1:1001",
		"--listen-peer-urls":      "https://127.0.0.1:1002",
		"--initial-cluster":       "etcd=https://127.0.0.1:1002",
		"--client-cert-auth":      "true",
		"--peer-client-cert-auth": "true",
		"--trusted-ca-file":       "/d/pki/etcd-ca.crt",
		"--peer-trusted-ca-file":  "/d/pki/etcd-ca.crt",
		"--unsafe-no-fsync":       "true",
	})
}

func TestAPIServerArgs(t *testing.T) {
	args := apiserverArgs(layout{dir: "/d"}, 1003, 1001, "/a/audit.log")
	wantFlags(t, args, map[string]string{
		"--secure-port":                      "1003",
		"--bind-address":                     "127.0.0.1",
		"--authorization-mode":               "RBAC",
		"--client-ca-file":                   "/d/pki/ca.crt",
		"--etcd-servers":                     "https://127.0.0.1:1001",
		"--etcd-cafile":                      "/d/pki/etcd-ca.crt",
		"--service-account-key-file":         "/d/pki/sa.pub",
		"--service-account-signing-key-file": "/d/pki/sa.key",
		"--audit-log-path":                   "/a/audit.log",
		"--audit-policy-file":                "/d/audit-policy.yaml",
		"--audit-log-mode":                   "blocking",
	})
	for name := range flagMap(t, args) {
		if strings.Contains(name, "admission") {
			t.Errorf("%s changes the default admission", name)
		}
	}
	for name := range flagMap(t, apiserverArgs(layout{dir: "/d"}, 1003, 1001, "")) {
		if strings.Contains(name, "audit") {
			t.Errorf("%s without an audit log", name)
		}
	}
}

func TestControllerManagerArgs(t *testing.T) {
	wantFlags(t, controllerManagerArgs(layout{dir: "/d"}), map[string]string{
		"--kubeconfig":                       "/d/controller-manager.kubeconfig",
		"--leader-elect":                     "false",
		"--use-service-account-credentials":  "true",
		"--service-account-private-key-file": "/d/pki/sa.key",
		"--controllers": "clusterrole-aggregation-controller,garbage-collector-controller,namespace-controller," +
			"resourcequota-controller,serviceaccount-controller,serviceaccount-token-controller," +
			"validatingadmissionpolicy-status-controller",
	})
}

func TestApplyArgs(t *testing.T) {
	plain, kustomized := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(kustomized, "kustomization.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string][]string{plain: {"-f", plain}, kustomized: {"-k", kustomized}} {
		args := applyArgs(layout{dir: "/d"}, path, isKustomization(path))
		if diff := cmp.Diff(want, args[len(args)-2:]); diff != "" {
			t.Errorf("apply %s (-want +got):\n%s", path, diff)
		}
		wantFlags(t, args[:len(args)-2][:2], map[string]string{"--kubeconfig": "/d/admin.kubeconfig"})
	}
}

func TestOnlyCRDs(t *testing.T) {
	got := onlyCRDs([]string{
		"namespace/remit-system",
		"customresourcedefinition.apiextensions.k8s.io/runs.remit.dev",
		"run.remit.dev/customresourcedefinition.apiextensions.k8s.io",
	})
	want := []string{"customresourcedefinition.apiextensions.k8s.io/runs.remit.dev"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("CRDs (-want +got):\n%s", diff)
	}
}

// Options survive the way to the process in the background.
func TestRunOptionsRoundTrip(t *testing.T) {
	want := runOptions{
		dir:       "/d d",
		bin:       "/bin dir",
		auditLog:  "/a=b.log",
		manifests: []string{t.TempDir(), t.TempDir()},
		parentPID: 17,
	}
	got, err := parseRunOptions("run", want.args())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(runOptions{})); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
}
