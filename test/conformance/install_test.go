// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// architectures are Go's names of those that Node.js is packaged for, and the package's.
var architectures = map[string]string{"amd64": "x64", "arm64": "arm64"}

// suite is the command that runs the conformance suite, as package-lock.json pins it. It is installed once, in
// the user's cache. Where that cannot be done the test is skipped, or fails where CI is set.
func suite(t *testing.T) []string {
	t.Helper()
	missing := t.Skipf
	if os.Getenv("CI") != "" {
		missing = t.Fatalf
	}
	dir, err := installed(t)
	if err != nil {
		missing("the conformance suite is not run: %v", err)
	}
	modules := filepath.Join(dir, "node_modules")
	node := filepath.Join(modules, "node-"+runtime.GOOS+"-"+architectures[runtime.GOARCH], "bin", "node")
	if _, err := os.Stat(node); err != nil {
		missing("the conformance suite is not run: npm has no Node.js for this machine (%v)", err)
	}
	return []string{node, filepath.Join(modules, "@modelcontextprotocol", "conformance", "dist", "index.js")}
}

// installed is a directory with what package-lock.json names. Its name is the digest of that file, and it gets
// its place when it is complete.
func installed(t *testing.T) (string, error) {
	t.Helper()
	lock, err := os.ReadFile("package-lock.json")
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(lock)
	dir := filepath.Join(cache, "remit", "conformance-"+hex.EncodeToString(sum[:8]))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o750); err != nil {
		return "", err
	}
	made, err := os.MkdirTemp(filepath.Dir(dir), "installing-") //nolint:usetesting // it is renamed, within a file system
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(made)
	for _, name := range []string{"package.json", "package-lock.json"} {
		text, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(made, name), text, 0o600); err != nil {
			return "", err
		}
	}
	install := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", made)
	if output, err := install.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm cannot install it: %w\n%s", err, output)
	}
	if err := os.Rename(made, dir); err != nil && !os.IsExist(err) {
		return "", err
	}
	return dir, nil
}
