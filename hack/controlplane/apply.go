package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// kustomizationNames are the file names that kubectl takes for a kustomization.
var kustomizationNames = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

func isKustomization(path string) bool {
	for _, name := range kustomizationNames {
		if info, err := os.Stat(filepath.Join(path, name)); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return false
}

// apply applies one manifest and waits until the custom resources that it defines are served, so
// that the next manifest may use them.
func (cp *controlPlane) apply(ctx context.Context, path string) error {
	out, err := cp.kubectl(ctx, applyArgs(cp.layout, path, isKustomization(path)))
	if err != nil {
		return fmt.Errorf("apply %s: %w", path, err)
	}
	applied := strings.Fields(out)
	cp.log.printf("applied %d objects of %s", len(applied), path)
	crds := onlyCRDs(applied)
	if len(crds) == 0 {
		return nil
	}
	if _, err := cp.kubectl(ctx, establishedArgs(cp.layout, crds)); err != nil {
		return fmt.Errorf("apply %s: wait for its custom resources: %w", path, err)
	}
	return nil
}

func onlyCRDs(names []string) []string {
	var crds []string
	for _, name := range names {
		if strings.HasPrefix(name, "customresourcedefinition.apiextensions.k8s.io/") {
			crds = append(crds, name)
		}
	}
	return crds
}

// kubectl runs kubectl and returns its standard output; an error holds what it complained about.
func (cp *controlPlane) kubectl(ctx context.Context, args []string) (string, error) {
	cmd := exec.CommandContext(ctx, cp.assets.path(kubectlName), args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Env = componentEnv()
	cmd.SysProcAttr = childAttr()
	cmd.Cancel = func() error { return signalGroup(cmd.Process, syscall.SIGTERM) }
	cmd.WaitDelay = interruptGrace
	if err := spawn(cmd.Start); err != nil {
		return "", ended(ctx, err)
	}
	if err := cmd.Wait(); err != nil {
		return "", ended(ctx, fmt.Errorf("%w\n%s", err, strings.TrimSpace(stderr.String())))
	}
	return stdout.String(), nil
}
