// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// moduleRoot is the directory above the test that holds go.mod.
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

// build makes the binaries once for all tests. The operator has the race detector if the tests do.
func (e *environment) build(ctx context.Context) error {
	e.remit, e.helpdesk = filepath.Join(e.dir, "remit"), filepath.Join(e.dir, "helpdesk")
	operator := []string{"build", "-o", e.remit, "./cmd/remit"}
	if raceDetector {
		operator = []string{"build", "-race", "-o", e.remit, "./cmd/remit"}
	}
	for _, args := range [][]string{
		{"build", "-C", "hack/controlplane", "-trimpath", "-o", e.controlPlaneBinary(), "."},
		{"build", "-o", e.helpdesk, "./demo/helpdesk"},
		operator,
	} {
		command := exec.CommandContext(ctx, "go", args...)
		command.Dir = e.root
		if out, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("go %v: %w\n%s", args, err, out)
		}
	}
	return nil
}

func (e *environment) controlPlaneBinary() string {
	return filepath.Join(e.root, "bin", "controlplane")
}
