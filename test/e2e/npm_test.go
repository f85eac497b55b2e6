// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"remit.dev/remit/api/v1alpha1"
)

// npmServer is the program of an MCP server that npm has installed. Where there is none the test is
// skipped, or fails where CI is set.
func npmServer(t *testing.T, name string) []string {
	t.Helper()
	missing := t.Skipf
	if os.Getenv("CI") != "" {
		missing = t.Fatalf
	}
	node, err := exec.LookPath("node")
	if err != nil {
		missing("the MCP servers of npm are not tested: there is no node (%v)", err)
	}
	script := filepath.Join(env.root, "test", "e2e", "node_modules", "@modelcontextprotocol", name, "dist", "index.js")
	if _, err := os.Stat(script); err != nil {
		missing("the MCP servers of npm are not tested: run `make npm` first (%v)", err)
	}
	return []string{node, script}
}

// bridged serves a program over HTTP with the bridge subcommand, until the end of the test, with the
// environment for the child and no other.
func bridged(t *testing.T, environment, command []string) (url string) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	args := []string{env.remit, "bridge", "--listen", "127.0.0.1:0"}
	for _, variable := range environment {
		args = append(args, "--env", variable)
	}
	args = append(append(args, "--"), command...)
	p, err := program{name: "bridge", args: args, environment: []string{"CANARY=of-the-bridge"}, out: write}.start(t.TempDir())
	write.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the bridge's log:\n%s", p.tail())
		}
	})
	line, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		t.Fatalf("the bridge said nothing: %v\n%s", err, p.tail())
	}
	return strings.TrimSpace(line)
}

// The servers of npm, each over stdio behind the bridge: what they offer is in the catalogue, with every
// hint in the state in which it came.
func TestNpmServers(t *testing.T) {
	for _, row := range []struct {
		name        string
		environment func(dir string) []string
		args        func(dir string) []string
		tools       int
		check       func(*testing.T, *v1alpha1.MCPServer)
	}{
		{name: "server-everything", args: func(string) []string { return []string{"stdio"} }, tools: 13, check: checkEverything},
		{name: "server-memory", environment: func(dir string) []string {
			return []string{"MEMORY_FILE_PATH=" + filepath.Join(dir, "memory.json")}
		}, tools: 9, check: checkMemory},
		{name: "server-filesystem", args: func(dir string) []string { return []string{dir} }, tools: 14, check: checkFilesystem},
	} {
		t.Run(row.name, func(t *testing.T) {
			command := npmServer(t, row.name)
			useOperator(t)
			dir, environment := t.TempDir(), []string(nil)
			if row.args != nil {
				command = append(command, row.args(dir)...)
			}
			if row.environment != nil {
				environment = row.environment(dir)
			}
			n := newTenant(t)
			server := awaitServer(t, n.catalogued("npm", bridged(t, environment, command)), v1alpha1.ReasonDiscovered)
			if len(server.Status.Tools) != row.tools || *server.Status.ToolCount != int32(row.tools) {
				t.Errorf("%d tools, toolCount %d; want %d: %v", len(server.Status.Tools), *server.Status.ToolCount, row.tools, toolNames(server))
			}
			if len(server.Status.Findings) > 0 {
				t.Errorf("findings: %q", server.Status.Findings)
			}
			row.check(t, server)
			checkToolFindings(t, row.name, server)
		})
	}
}

// checkToolFindings compares what is found of each tool with a list that was looked at by people: server, tool,
// rule, how often, and the first place.
func checkToolFindings(t *testing.T, name string, server *v1alpha1.MCPServer) {
	t.Helper()
	golden, err := os.ReadFile(filepath.Join("testdata", "npm-findings.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for line := range strings.Lines(string(golden)) {
		if strings.HasPrefix(line, name+" ") {
			want = append(want, strings.TrimSpace(line))
		}
	}
	for _, tool := range server.Status.Tools {
		for _, f := range tool.Findings {
			got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %s %d %s", name, tool.Name, f.Rule, f.Count, f.Path)))
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the findings of the tools (-want +got):\n%s", diff)
	}
}

// checkEverything: each of its tools sends all four hints.
func checkEverything(t *testing.T, server *v1alpha1.MCPServer) {
	for _, tool := range server.Status.Tools {
		if a := tool.Annotations; a == nil || a.ReadOnlyHint == nil || a.DestructiveHint == nil || a.IdempotentHint == nil || a.OpenWorldHint == nil {
			t.Errorf("%s: a hint is missing: %+v", tool.Name, a)
		}
	}
}

// checkMemory: the three tools that delete are destructive, and no other.
func checkMemory(t *testing.T, server *v1alpha1.MCPServer) {
	want := []string{"delete_entities", "delete_observations", "delete_relations"}
	if diff := cmp.Diff(want, ofClass(server, v1alpha1.ClassDestructive)); diff != "" {
		t.Errorf("the destructive tools (-want +got):\n%s", diff)
	}
}

// checkFilesystem: ten tools only read and say nothing more.
func checkFilesystem(t *testing.T, server *v1alpha1.MCPServer) {
	yes := true
	reads := 0
	for _, tool := range server.Status.Tools {
		if tool.Class != v1alpha1.ClassReadOnly {
			continue
		}
		reads++
		if diff := cmp.Diff(&v1alpha1.CataloguedAnnotations{ReadOnlyHint: &yes}, tool.Annotations); diff != "" {
			t.Errorf("%s: the hints (-want +got):\n%s", tool.Name, diff)
		}
		if !tool.Idempotent {
			t.Errorf("%s only reads and is not idempotent (P15)", tool.Name)
		}
	}
	if reads != 10 {
		t.Errorf("%d tools only read, want 10", reads)
	}
}

func ofClass(server *v1alpha1.MCPServer, class v1alpha1.ToolClass) []string {
	var names []string
	for _, tool := range server.Status.Tools {
		if tool.Class == class {
			names = append(names, tool.Name)
		}
	}
	return slices.Sorted(slices.Values(names))
}

// The bridge gives the child exactly the environment that it was told (N1): one of npm's servers tells
// what it has, to a Run.
func TestNpmServerHasExactlyItsEnvironment(t *testing.T) {
	command := append(npmServer(t, "server-everything"), "stdio")
	useOperator(t)
	n := newTenant(t)
	url := bridged(t, []string{"GREETING=hello", "EMPTY="}, command)
	awaitServer(t, n.catalogued("npm", url), v1alpha1.ReasonDiscovered)
	n.granted("npm")
	n.scripted(`{"turns": [{"calls": [{"tool": "npm__get-env"}]}, {"text": "I see."}]}`)
	n.agent("npm")
	run := awaitEnd(t, n.start("run"))
	checkEnded(t, run, v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)

	var got map[string]string
	for _, record := range run.Status.Log.Records {
		if record.Result != nil {
			if err := json.Unmarshal([]byte(record.Result.Content), &got); err != nil {
				t.Fatalf("%v: %+v", err, record.Result)
			}
		}
	}
	delete(got, "__CF_USER_TEXT_ENCODING") // macOS itself adds it (N3)
	if diff := cmp.Diff(map[string]string{"GREETING": "hello", "EMPTY": ""}, got); diff != "" {
		t.Errorf("the child's environment (-want +got):\n%s", diff)
	}
}

// A Run reads and writes through one of npm's servers, and waits before it deletes.
func TestNpmServerIsUsedByARun(t *testing.T) {
	command := npmServer(t, "server-filesystem")
	useOperator(t)
	dir := t.TempDir()
	note := filepath.Join(dir, "note.txt")
	if err := os.WriteFile(note, []byte("remember the milk"), 0o600); err != nil {
		t.Fatal(err)
	}
	n := newTenant(t)
	awaitServer(t, n.catalogued("files", bridged(t, nil, append(command, dir))), v1alpha1.ReasonDiscovered)
	n.granted("files")
	n.scripted(fmt.Sprintf(`{"turns": [
		{"calls": [{"tool": "files__read_text_file", "arguments": {"path": %q}}]},
		{"when": "remember the milk", "calls": [{"tool": "files__write_file", "arguments": {"path": %q, "content": "done"}}]},
		{"text": "It is noted."}]}`, note, note))
	n.agent("files")

	run := awaitSuspended(t, n.start("run"))
	if text, err := os.ReadFile(note); err != nil || string(text) != "remember the milk" {
		t.Fatalf("the file holds %q before the decision (%v)", text, err)
	}
	if pending := run.Status.Pending[0]; pending.Tool != "files__write_file" || pending.Class != v1alpha1.ClassDestructive {
		t.Errorf("pending: %+v", pending)
	}
	if err := decide(t, approver, run, decisions(run, approved())); err != nil {
		t.Fatal(err)
	}
	run = awaitEnd(t, run)
	checkEnded(t, run, v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
	if text, err := os.ReadFile(note); err != nil || string(text) != "done" {
		t.Errorf("the file holds %q after the decision (%v)", text, err)
	}
	if complete := condition(run.Status.Conditions, v1alpha1.ConditionApproved); complete.Status != metav1.ConditionTrue {
		t.Errorf("Approved is %+v", complete)
	}
}
