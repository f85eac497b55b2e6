package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// binDir makes a directory with executable files of these names.
func binDir(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestUserAssets(t *testing.T) {
	complete := binDir(t, allBinaries...)
	envtest := binDir(t, envtestBinaries...)
	partial := binDir(t, etcdName, kubectlName)
	ours, unbuilt := binDir(t, allBinaries...), t.TempDir()
	tests := map[string]struct {
		named, ours string
		want        assets
		wantOK      bool
		wantLog     string
	}{
		"not set":  {"", ours, assets{}, false, ""},
		"complete": {complete, ours, assets{complete, filepath.Join(complete, controllerName)}, true, ""},
		"without controller manager, ours is built": {envtest, ours,
			assets{envtest, filepath.Join(ours, controllerName)}, true, "has no kube-controller-manager: using " + ours},
		"without controller manager, ours is not built": {envtest, unbuilt,
			assets{envtest, ""}, true, "nothing collects garbage"},
		"without API server": {partial, ours, assets{}, false, "lacks kube-apiserver: using " + ours},
		"no such directory":  {"/no/such", ours, assets{}, false, "lacks etcd, kube-apiserver, kubectl"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			log, out := testLogger(t)
			got, ok, err := userAssets(tt.named, tt.ours, log)
			if err != nil || ok != tt.wantOK {
				t.Fatalf("ok %t, error %v, want ok %t", ok, err, tt.wantOK)
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(assets{})); diff != "" {
				t.Errorf("assets (-want +got):\n%s", diff)
			}
			if !strings.Contains(out.String(), tt.wantLog) || (tt.wantLog == "") != (out.Len() == 0) {
				t.Errorf("log %q, want %q", out.String(), tt.wantLog)
			}
		})
	}
}

func TestEnvPrintsALineForTheShell(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "it's a dir")
	if err := os.Rename(binDir(t, envtestBinaries...), dir); err != nil {
		t.Fatal(err)
	}
	cmd := program(t, "env", "--bin", t.TempDir())
	cmd.Env = append(cmd.Env, assetsVariable+"="+dir)
	line, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	got, err := exec.Command("sh", "-c", string(line)+`printf %s "$KUBEBUILDER_ASSETS"`).Output()
	if err != nil || string(got) != dir {
		t.Errorf("the shell makes %q of %q, error %v, want %q", got, line, err, dir)
	}
}

func TestEnvWithoutBinaries(t *testing.T) {
	cmd := program(t, "env", "--bin", t.TempDir())
	cmd.Env = append(cmd.Env, assetsVariable+"=")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err == nil || len(out) > 0 || !strings.Contains(stderr.String(), `run "controlplane build" first`) {
		t.Errorf("error %v, stdout %q, stderr %q: want nothing to evaluate and what to do", err, out, stderr.String())
	}
}

func TestRepositoryBin(t *testing.T) {
	root := t.TempDir()
	deep := filepath.Join(root, "a", "b")
	module := filepath.Join(root, "hack", "controlplane")
	for _, dir := range []string{deep, module} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(deep)
	if got, err := repositoryBin(); err == nil {
		t.Errorf("bin %q outside a repository", got)
	}
	if err := os.WriteFile(filepath.Join(module, "go.mod"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := repositoryBin()
	if err != nil {
		t.Fatal(err)
	}
	want, err := filepath.EvalSymlinks(root)
	if err != nil {
		t.Fatal(err)
	}
	if resolved, _ := filepath.EvalSymlinks(filepath.Dir(got)); resolved != want || filepath.Base(got) != "bin" {
		t.Errorf("bin %q, want bin in %q", got, want)
	}
}
