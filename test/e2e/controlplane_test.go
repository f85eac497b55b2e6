// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
)

// startBound is how long building and starting everything may take, the control plane's binaries
// included.
const startBound = 20 * time.Minute

// The users of the control plane.
const (
	admin    = "admin"
	author   = "author"
	approver = "approver"
	// operatorUser is who the operator is to the API server.
	operatorUser = "system:serviceaccount:remit-system:remit-operator"
)

// controlPlane is a running Kubernetes with Remit's kinds, roles and admission policies.
type controlPlane struct {
	process *process
	ready   readyLine
	users   map[string]client.WithWatch
}

// readyLine is what the control plane prints when everything works.
type readyLine struct {
	Kubectl     string            `json:"kubectl"`
	Kubeconfigs map[string]string `json:"kubeconfigs"`
	AuditLog    string            `json:"auditLog"`
}

func startControlPlane(ctx context.Context, root, dir string) (*controlPlane, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer read.Close()
	args := []string{
		env.controlPlaneBinary(), "run", "--bin", filepath.Join(root, "bin"), "--dir", filepath.Join(dir, "cluster"),
		"--audit-log", filepath.Join(dir, "audit.log"), "--parent-pid", fmt.Sprint(os.Getpid()),
	}
	for _, manifests := range []string{"crd", "manager/namespace.yaml", "rbac", "admission", "demo/people"} {
		args = append(args, "--manifests", filepath.Join(root, "config", filepath.FromSlash(manifests)))
	}
	p, err := program{name: "controlplane", args: args, out: write}.start(dir)
	if err := errors.Join(err, write.Close()); err != nil {
		return nil, err
	}
	c := &controlPlane{process: p}
	if c.ready, err = awaitReady(ctx, p, read); err == nil {
		c.users, err = clients(c.ready.Kubeconfigs)
	}
	if err == nil {
		err = c.awaitPolicies(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return c, nil
}

func awaitReady(ctx context.Context, p *process, out *os.File) (readyLine, error) {
	lines := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(out).ReadString('\n') // an error leaves the line without its JSON
		lines <- line
	}()
	select {
	case line := <-lines:
		var ready readyLine
		if err := json.Unmarshal([]byte(strings.TrimPrefix(line, "ready ")), &ready); err != nil {
			<-p.ended
			return ready, fmt.Errorf("the control plane ended: %w\n%s", p.err, p.tail())
		}
		return ready, nil
	case <-ctx.Done():
		return readyLine{}, fmt.Errorf("the control plane was not ready in time: %w\n%s", ctx.Err(), p.tail())
	}
}

func clients(kubeconfigs map[string]string) (map[string]client.WithWatch, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	users := map[string]client.WithWatch{}
	for user, path := range kubeconfigs {
		config, err := clientcmd.BuildConfigFromFlags("", path)
		if err != nil {
			return nil, err
		}
		config.QPS = -1
		if users[user], err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
			return nil, err
		}
	}
	return users, nil
}

// kubectl runs the real one as a user and gives what it printed, on both outputs. The error is that
// of its exit status.
func kubectl(t *testing.T, user string, args ...string) (string, error) {
	t.Helper()
	args = append([]string{
		"--kubeconfig", env.ready.Kubeconfigs[user], "--cache-dir", filepath.Join(env.dir, "kubectl-"+user),
	}, args...)
	command := exec.CommandContext(t.Context(), env.ready.Kubectl, args...)
	command.Dir = env.root
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	err := command.Run()
	return out.String(), err
}

// mustKubectl is kubectl that must succeed.
func mustKubectl(t *testing.T, user string, args ...string) string {
	t.Helper()
	out, err := kubectl(t, user, args...)
	if err != nil {
		t.Fatalf("kubectl %s as %s: %v\n%s", strings.Join(args, " "), user, err, out)
	}
	return out
}
