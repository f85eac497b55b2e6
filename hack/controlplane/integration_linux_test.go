package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// testPlane is a control plane that the program runs below one directory.
type testPlane struct {
	dir    string
	assets string
	info   readyInfo
}

// newTestPlane needs the real binaries: without them the test is skipped, in CI it fails.
func newTestPlane(t *testing.T) *testPlane {
	t.Helper()
	assets := os.Getenv(assetsVariable)
	if assets == "" {
		dir, err := binariesDir("")
		if err != nil {
			t.Fatal(err)
		}
		assets = dir
	}
	if gone := missing(assets, allBinaries...); len(gone) > 0 {
		const format = "%s lacks %s: run \"controlplane build\" first"
		if os.Getenv("CI") != "" {
			t.Fatalf(format, assets, strings.Join(gone, ", "))
		}
		t.Skipf(format, assets, strings.Join(gone, ", "))
	}
	return &testPlane{dir: filepath.Join(t.TempDir(), "cp"), assets: assets}
}

func (p *testPlane) program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := program(t, args...)
	cmd.Env = append(cmd.Env, assetsVariable+"="+p.assets)
	return cmd
}

// run starts a runner in the foreground and returns when it is ready.
func (p *testPlane) run(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := p.program(t, append([]string{"run", "--dir", p.dir}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		_ = cmd.Wait()
		t.Fatalf("run: %v\n%s", err, stderr.String())
	}
	p.info = parseReady(t, line)
	return cmd
}

// start starts a runner in the background.
func (p *testPlane) start(t *testing.T) (readyInfo, string) {
	t.Helper()
	cmd := p.program(t, "start", "--dir", p.dir)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("start: %v\n%s", err, stderr.String())
	}
	return parseReady(t, string(out)), stderr.String()
}

func parseReady(t *testing.T, line string) readyInfo {
	t.Helper()
	data, ok := strings.CutPrefix(line, "ready ")
	if !ok {
		t.Fatalf("line %q, want one that begins with ready", line)
	}
	var info readyInfo
	if err := json.Unmarshal([]byte(data), &info); err != nil {
		t.Fatalf("line %q: %v", line, err)
	}
	return info
}

func (p *testPlane) tryKubectl(id string, args ...string) (string, error) {
	cmd := exec.Command(p.info.Kubectl, append([]string{"--kubeconfig", p.info.Kubeconfigs[id]}, args...)...)
	cmd.Env = componentEnv()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (p *testPlane) kubectl(t *testing.T, id string, args ...string) string {
	t.Helper()
	out, err := p.tryKubectl(id, args...)
	if err != nil {
		t.Fatalf("kubectl %s as %s: %v\n%s", strings.Join(args, " "), id, err, out)
	}
	return out
}

// processes returns the command lines of all live processes that name the plane's directory, by
// process id. A zombie has none.
func (p *testPlane) processes(t *testing.T) map[int][]string {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	found := map[int][]string{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(data, []byte(p.dir)) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			t.Fatal(err)
		}
		found[pid] = strings.Split(string(data), "\x00")
	}
	return found
}

const crdManifest = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.remit.dev}
spec:
  group: remit.dev
  scope: Namespaced
  names: {kind: Widget, listKind: WidgetList, plural: widgets, singular: widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object}}
`

const widgetManifest = `
apiVersion: remit.dev/v1
kind: Widget
metadata: {name: first, namespace: default}
`

// writeManifests makes a kustomization that defines a kind, and a file that uses it.
func writeManifests(t *testing.T) (kustomization, file string) {
	t.Helper()
	dir := t.TempDir()
	kustomization, file = filepath.Join(dir, "config"), filepath.Join(dir, "widget.yaml")
	if err := os.Mkdir(kustomization, 0o755); err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string]string{
		filepath.Join(kustomization, "kustomization.yaml"): "resources: [crd.yaml]\n",
		filepath.Join(kustomization, "crd.yaml"):           crdManifest,
		file:                                               widgetManifest,
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return kustomization, file
}

// The first lifetime is in the foreground, and ends with a SIGTERM.
func TestRun(t *testing.T) {
	p := newTestPlane(t)
	auditLog := filepath.Join(t.TempDir(), "audit.log")
	kustomization, file := writeManifests(t)
	runner := p.run(t, "--audit-log", auditLog, "--manifests", kustomization, "--manifests", file)

	t.Run("ready", func(t *testing.T) {
		if got := p.kubectl(t, "admin", "get", "--raw", "/readyz"); got != "ok" {
			t.Errorf("readyz: %q", got)
		}
		p.kubectl(t, "admin", "get", "serviceaccount", "default")
	})
	t.Run("version", p.testVersion)
	t.Run("identities", p.testIdentities)
	t.Run("manifests", func(t *testing.T) {
		if got := p.kubectl(t, "admin", "get", "widgets", "--output=name"); got != "widget.remit.dev/first\n" {
			t.Errorf("widgets: %q", got)
		}
	})
	t.Run("admission policies", func(t *testing.T) {
		got := p.kubectl(t, "admin", "api-resources", "--api-group=admissionregistration.k8s.io", "--output=name")
		for _, want := range []string{"mutatingadmissionpolicies.", "validatingadmissionpolicies."} {
			if !strings.Contains(got, want) {
				t.Errorf("the API server serves no %s:\n%s", want, got)
			}
		}
	})
	t.Run("garbage collection", p.testGarbageCollection)
	t.Run("namespaces end", func(t *testing.T) {
		p.kubectl(t, "admin", "create", "namespace", "short-lived")
		p.kubectl(t, "admin", "delete", "namespace", "short-lived", "--timeout=1m")
	})
	t.Run("audit log", func(t *testing.T) { p.testAuditLog(t, auditLog) })
	t.Run("etcd is closed to users", p.testEtcdIsClosed)
	t.Run("SIGTERM", func(t *testing.T) { p.testTerminate(t, runner) })
}

func (p *testPlane) testVersion(t *testing.T) {
	got := p.kubectl(t, "admin", "version")
	var versions []string
	for line := range strings.Lines(got) {
		if name, version, _ := strings.Cut(strings.TrimSpace(line), ": "); name != "Kustomize Version" {
			versions = append(versions, version)
		}
	}
	// Exactly two lines: a complaint about the skew would be a third.
	if diff := cmp.Diff([]string{p.info.Version, p.info.Version}, versions); diff != "" {
		t.Errorf("kubectl version (-want +got):\n%s\n%s", diff, got)
	}
	if os.Getenv(assetsVariable) == "" && p.info.Version != "v1.37.2" {
		t.Errorf("version %s, want v1.37.2", p.info.Version)
	}
}

func (p *testPlane) testIdentities(t *testing.T) {
	for id, want := range map[string]string{
		"author":   `User "author" cannot list resource "secrets"`,
		"approver": `User "approver" cannot list resource "secrets"`,
		"operator": `User "system:serviceaccount:remit-system:remit-operator" cannot list resource "secrets"`,
	} {
		out, err := p.tryKubectl(id, "get", "secrets")
		if err == nil || !strings.Contains(out, "Forbidden") || !strings.Contains(out, want) {
			t.Errorf("%s lists secrets: error %v, output %q", id, err, out)
		}
	}
	p.kubectl(t, "admin", "get", "secrets")
}

func (p *testPlane) testGarbageCollection(t *testing.T) {
	p.kubectl(t, "admin", "create", "configmap", "owner")
	uid := p.kubectl(t, "admin", "get", "configmap", "owner", "--output=jsonpath={.metadata.uid}")
	p.kubectl(t, "admin", "create", "configmap", "dependent")
	p.kubectl(t, "admin", "patch", "configmap", "dependent", "--type=merge", "--patch",
		`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"owner","uid":"`+uid+`"}]}}`)
	p.kubectl(t, "admin", "delete", "configmap", "owner")
	p.kubectl(t, "admin", "wait", "--for=delete", "configmap/dependent", "--timeout=1m")
}

// Each write to Remit's group is one event, so that a test can count writes.
func (p *testPlane) testAuditLog(t *testing.T, path string) {
	p.kubectl(t, "admin", "label", "widget", "first", "seen=yes")
	p.kubectl(t, "admin", "create", "rolebinding", "unlogged", "--clusterrole=view", "--user=nobody")
	var writes []string
	eventually(t, "the audit log has the write", func() bool {
		writes = nil
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			var event struct {
				Stage, Verb string
				ObjectRef   struct{ APIGroup, Resource, Name string }
			}
			if json.Unmarshal(line, &event) != nil {
				return false // still being written
			}
			ref := event.ObjectRef
			if event.Verb == "patch" && ref.Resource == "widgets" || ref.APIGroup == "rbac.authorization.k8s.io" {
				writes = append(writes, event.Stage+" "+ref.Resource+" "+ref.Name)
			}
		}
		return len(writes) >= 2
	})
	// The first is the manifest's, which is applied on the server.
	if diff := cmp.Diff([]string{"ResponseComplete widgets first", "ResponseComplete widgets first"}, writes); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// Loopback is open to every user of the machine, and whoever reaches etcd is past RBAC.
func (p *testPlane) testEtcdIsClosed(t *testing.T) {
	var address string
	for _, args := range p.processes(t) {
		for _, arg := range args {
			if url, ok := strings.CutPrefix(arg, "--listen-client-urls=https://"); ok {
				address = url
			}
		}
	}
	if address == "" {
		t.Fatal("no etcd found")
	}
	data, err := os.ReadFile(p.info.Kubeconfigs["admin"])
	if err != nil {
		t.Fatal(err)
	}
	var config kubeconfig
	if err := json.Unmarshal(data, &config); err != nil {
		t.Fatal(err)
	}
	cert, err := tls.X509KeyPair(config.Users[0].User.Cert, config.Users[0].User.Key)
	if err != nil {
		t.Fatal(err)
	}
	for name, certs := range map[string][]tls.Certificate{"nobody": nil, "the admin": {cert}} {
		probe := newProbe(&tls.Config{InsecureSkipVerify: true, Certificates: certs}, "https://"+address)
		if body, err := probe.get(t.Context(), "/health"); err == nil {
			t.Errorf("etcd answers %s: %s", name, body)
		}
	}
}

func (p *testPlane) testTerminate(t *testing.T, runner *exec.Cmd) {
	var components []string
	for _, args := range p.processes(t) {
		components = append(components, filepath.Base(args[0]))
	}
	if len(components) != 4 {
		t.Errorf("processes %v, want the runner and three components", components)
	}
	if err := runner.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := runner.Wait(); err != nil {
		t.Errorf("run: %v", err)
	}
	if left := p.processes(t); len(left) > 0 {
		t.Errorf("processes left: %v", left)
	}
	// etcd's last words show that it was not killed.
	if log := tail(layout{dir: p.dir}.log(etcdName)); !strings.Contains(log, "closed etcd server") {
		t.Errorf("etcd did not end by itself:\n%s", log)
	}
	if _, err := os.Stat(layout{dir: p.dir}.readyFile()); err == nil {
		t.Error("the file that says ready is still there")
	}
}

// The second lifetime is in the background: twice started, killed, started again, stopped.
func TestStartStop(t *testing.T) {
	p := newTestPlane(t)
	t.Cleanup(func() {
		if out, err := p.program(t, "stop", "--dir", p.dir).CombinedOutput(); err != nil {
			t.Errorf("stop: %v\n%s", err, out)
		}
	})
	first, _ := p.start(t)
	p.info = first
	p.kubectl(t, "admin", "create", "configmap", "kept")

	again, said := p.start(t)
	if diff := cmp.Diff(first, again); diff != "" || !strings.Contains(said, "runs already") {
		t.Errorf("second start (-first +second):\n%s\nit says %q", diff, said)
	}
	out, err := p.program(t, "status", "--dir", p.dir).Output()
	if err != nil {
		t.Errorf("status: %v", err)
	}
	if diff := cmp.Diff(first, parseReady(t, string(out))); diff != "" {
		t.Errorf("status (-started +got):\n%s", diff)
	}
	if out, err := p.program(t, "run", "--dir", p.dir).CombinedOutput(); err == nil || !strings.Contains(string(out), "runs there already") {
		t.Errorf("run in a directory in use: error %v\n%s", err, out)
	}

	if err := syscall.Kill(first.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a killed runner takes its components along", func() bool { return len(p.processes(t)) == 0 })

	third, _ := p.start(t)
	p.info = third
	p.kubectl(t, "admin", "get", "configmap", "kept")
	if out, err := p.program(t, "stop", "--dir", p.dir).CombinedOutput(); err != nil {
		t.Errorf("stop: %v\n%s", err, out)
	}
	if left := p.processes(t); len(left) > 0 {
		t.Errorf("processes left: %v", left)
	}
}

// A manifest that the API server refuses stops everything, with the server's words.
func TestRunWithABadManifest(t *testing.T) {
	p := newTestPlane(t)
	_, file := writeManifests(t)
	cmd := p.program(t, "run", "--dir", p.dir, "--manifests", file)
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "apply "+file) || !strings.Contains(string(out), `no matches for kind "Widget"`) {
		t.Errorf("error %v, output:\n%s", err, out)
	}
	if left := p.processes(t); len(left) > 0 {
		t.Errorf("processes left: %v", left)
	}
}

// A component that dies ends the run with the end of its log; the parent's end ends it too.
func TestRunEnds(t *testing.T) {
	p := newTestPlane(t)
	t.Run("with a component", func(t *testing.T) {
		cmd := p.program(t, "run", "--dir", p.dir)
		stderr, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "etcd runs", func() bool { return p.killComponent(t, etcdName) })
		out, _ := io.ReadAll(stderr)
		if err := cmd.Wait(); err == nil || !strings.Contains(string(out), "etcd ended: signal: killed; the end of") {
			t.Errorf("error %v, output:\n%s", err, out)
		}
	})
	t.Run("with its parent", func(t *testing.T) {
		ctx, endParent := context.WithCancel(t.Context())
		parent := exec.CommandContext(ctx, "sleep", "1000")
		if err := parent.Start(); err != nil {
			t.Fatal(err)
		}
		runner := p.run(t, "--parent-pid", strconv.Itoa(parent.Process.Pid))
		endParent()
		_ = parent.Wait()
		if err := runner.Wait(); err != nil {
			t.Errorf("run: %v", err)
		}
	})
	if left := p.processes(t); len(left) > 0 {
		t.Errorf("processes left: %v", left)
	}
}

// killComponent kills a component by its program's name and reports whether there was one.
func (p *testPlane) killComponent(t *testing.T, name string) bool {
	t.Helper()
	for pid, args := range p.processes(t) {
		if filepath.Base(args[0]) == name {
			return syscall.Kill(pid, syscall.SIGKILL) == nil
		}
	}
	return false
}
