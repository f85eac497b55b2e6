// SPDX-License-Identifier: Apache-2.0

// Package testenv starts a real API server with Remit's kinds, admission policies and roles of
// people installed, for tests. No controller runs in it, so a namespace that is deleted stays.
package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// The people and the operator, as config/rbac and config/demo know them.
const (
	// Authors is the group that may write Specs and Runs.
	Authors = "remit:authors"
	// Approvers is the group that may decide on pending calls.
	Approvers = "remit:approvers"
	// Operator is the user name of the operator's service account.
	Operator = "system:serviceaccount:remit-system:remit-operator"
)

// componentBound is how long etcd and the API server may each take to start or to stop.
const componentBound = 2 * time.Minute

// Env is a running API server.
type Env struct {
	// Config is an admin's.
	Config *rest.Config

	control envtest.Environment
	assets  string
	dir     string

	mu    sync.Mutex
	users map[string]*rest.Config
}

// Start starts etcd and the API server, installs test/testenv's kustomization and returns when its
// policies are in force. Stop must follow, unless there is an error.
func Start(ctx context.Context) (_ *Env, err error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	assets, err := findAssets(root)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "testenv-")
	if err != nil {
		return nil, err
	}
	e := &Env{assets: assets, dir: dir, users: map[string]*rest.Config{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.Stop())
		}
	}()
	if err := e.startControlPlane(); err != nil {
		return nil, err
	}
	if out, err := e.Kubectl(ctx, "apply", "--server-side", "-k", filepath.Join(root, "test", "testenv")); err != nil {
		return nil, fmt.Errorf("install test/testenv: %w\n%s", err, out)
	}
	if err := e.waitForPolicies(ctx); err != nil {
		return nil, err
	}
	return e, nil
}

func (e *Env) startControlPlane() error {
	e.control = envtest.Environment{
		ControlPlaneStartTimeout: componentBound,
		ControlPlaneStopTimeout:  componentBound,
	}
	// Given here, as envtest takes a variable that is set and empty for the working directory.
	e.control.ControlPlane.GetAPIServer().Path = filepath.Join(e.assets, "kube-apiserver")
	e.control.ControlPlane.Etcd = &envtest.Etcd{Path: filepath.Join(e.assets, "etcd")}
	e.control.ControlPlane.KubectlPath = filepath.Join(e.assets, "kubectl")
	policy := filepath.Join(e.dir, "audit-policy.yaml")
	if err := os.WriteFile(policy, auditPolicy, 0o600); err != nil {
		return err
	}
	e.control.ControlPlane.GetAPIServer().Configure().
		Set("audit-policy-file", policy).
		Set("audit-log-path", e.auditLog()).
		Set("audit-log-mode", "blocking").
		Set("audit-log-maxsize", "0")
	config, err := e.control.Start()
	if err != nil {
		return fmt.Errorf("start the API server of %s: %w", e.assets, err)
	}
	e.Config = config
	return os.WriteFile(e.kubeconfig(), e.control.KubeConfig, 0o600)
}

func (e *Env) auditLog() string   { return filepath.Join(e.dir, "audit.log") }
func (e *Env) kubeconfig() string { return filepath.Join(e.dir, "admin.kubeconfig") }

// Stop ends the API server and removes what it wrote.
func (e *Env) Stop() error {
	return errors.Join(e.control.Stop(), os.RemoveAll(e.dir))
}

// As is the configuration of a client that authenticates as user with a certificate of its own,
// not by impersonation. RBAC decides what the user may do. It panics when no certificate can be
// made, which means that the machine gives no random numbers.
func (e *Env) As(user string, groups ...string) *rest.Config {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := strings.Join(append([]string{user}, groups...), "\n")
	config, ok := e.users[key]
	if !ok {
		// Tests come in bursts, and nobody else has to be protected from them.
		added, err := e.control.AddUser(envtest.User{Name: user, Groups: groups}, &rest.Config{QPS: -1})
		if err != nil {
			panic(fmt.Sprintf("make a certificate for %q: %v", user, err))
		}
		config = added.Config()
		e.users[key] = config
	}
	return rest.CopyConfig(config)
}

// Namespace creates a namespace for one test, named after it, and returns its name.
func (e *Env) Namespace(t testing.TB) string {
	t.Helper()
	c, err := client.New(e.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: namespacePrefix(t.Name())}}
	if err := c.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	return ns.Name
}

// namespacePrefix makes the name of a test fit a DNS label, with room for a suffix.
func namespacePrefix(test string) string {
	label := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		default:
			return '-'
		}
	}, test)
	label = strings.TrimLeft(label[:min(len(label), 50)], "-")
	if label == "" {
		label = "test"
	}
	return label + "-"
}
