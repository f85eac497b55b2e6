// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/version"
)

// assetsVariable is what envtest itself reads first.
const assetsVariable = "KUBEBUILDER_ASSETS"

// moduleRoot is the directory above the running test that holds go.mod.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no directory above the test holds go.mod: run it within the repository")
		}
		dir = parent
	}
}

// findAssets is the directory of the control plane's binaries: the one that KUBEBUILDER_ASSETS
// names, else the newest that `make controlplane` built.
func findAssets(root string) (string, error) {
	dir := os.Getenv(assetsVariable)
	if dir == "" {
		built, err := filepath.Glob(filepath.Join(root, "bin", "k8s", "v*"))
		if err != nil || len(built) == 0 {
			return "", errors.New("there is no control plane to test on: run `make controlplane`, " +
				"or set " + assetsVariable + " to a directory with kube-apiserver, etcd and kubectl")
		}
		dir = slices.MaxFunc(built, byVersion)
	}
	for _, name := range []string{"kube-apiserver", "etcd", "kubectl"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return "", fmt.Errorf("there is no control plane to test on, run `make controlplane`: %w", err)
		}
	}
	return dir, nil
}

func byVersion(a, b string) int {
	va, errA := version.ParseSemantic(filepath.Base(a))
	vb, errB := version.ParseSemantic(filepath.Base(b))
	switch {
	case errA != nil && errB != nil:
		return 0
	case errA != nil:
		return -1
	case errB != nil:
		return 1
	case va.LessThan(vb):
		return -1
	case vb.LessThan(va):
		return 1
	default:
		return 0
	}
}

// Kubectl runs kubectl as an admin and returns what it printed on standard output. The error holds
// what it printed on standard error, and wraps *exec.ExitError when it was not content.
func (e *Env) Kubectl(ctx context.Context, args ...string) (string, error) {
	args = append([]string{"--kubeconfig=" + e.kubeconfig(), "--cache-dir=" + filepath.Join(e.dir, "cache")}, args...)
	cmd := exec.CommandContext(ctx, filepath.Join(e.assets, "kubectl"), args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("kubectl: %w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	return stdout.String(), nil
}
