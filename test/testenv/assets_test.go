// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// binaries puts what looks like a control plane into a directory.
func binaries(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"kube-apiserver", "etcd", "kubectl"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFindAssets(t *testing.T) {
	root, own := t.TempDir(), filepath.Join(t.TempDir(), "own")
	built := func(version string) string { return filepath.Join(root, "bin", "k8s", version) }
	find := func(variable string) string {
		t.Setenv(assetsVariable, variable)
		dir, err := findAssets(root)
		if err != nil {
			// Whoever reads nothing else of it has to learn what to do.
			if !strings.Contains(err.Error(), "run `make controlplane`") {
				t.Errorf("the error does not say what to do: %v", err)
			}
			return ""
		}
		return dir
	}
	want := func(when, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: got %q, want %q", when, got, want)
		}
	}
	want("nothing is built", find(""), "")
	for _, version := range []string{"v1.9.0", "v1.37.2", "v1.37.10"} {
		binaries(t, built(version))
	}
	want("several are built", find(""), built("v1.37.10"))
	want("the user's own are missing", find(own), "")
	binaries(t, own)
	want("the user's own are there", find(own), own)
	if err := os.Remove(filepath.Join(built("v1.37.10"), "etcd")); err != nil {
		t.Fatal(err)
	}
	want("the newest is incomplete", find(""), "")
}

func TestNamespacePrefix(t *testing.T) {
	for name, want := range map[string]string{
		"TestRun/a_Spec (P33)":   "testrun-a-spec--p33--",
		strings.Repeat("a", 60):  strings.Repeat("a", 50) + "-",
		"Ωmega":                  "mega-",
		strings.Repeat("é", 100): "test-",
	} {
		if got := namespacePrefix(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
