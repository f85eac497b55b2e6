// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

const (
	namespace = "helpdesk"
	runName   = "broken-teapot"

	readyTimeout   = 3 * time.Minute
	suspendTimeout = "90s"
)

// demo is everything that runs, in the order in which it was started.
type demo struct {
	ctx       context.Context
	root      string
	bin       string
	dir       string
	ledger    string
	processes []*process

	kubectl     string
	kubeconfigs map[string]string
}

func newDemo(ctx context.Context) (*demo, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(root, "config", "demo")); err != nil {
		return nil, fmt.Errorf("run the demo from the repository's root: %w", err)
	}
	dir, err := os.MkdirTemp("", "remit-demo-")
	if err != nil {
		return nil, err
	}
	return &demo{ctx: ctx, root: root, bin: filepath.Join(root, "bin"), dir: dir, ledger: filepath.Join(dir, "ledger.jsonl")}, nil
}

// close stops everything, the newest first, and removes what was written.
func (d *demo) close() error {
	var errs []error
	for _, v := range slices.Backward(d.processes) {
		errs = append(errs, v.stop())
	}
	return errors.Join(append(errs, os.RemoveAll(d.dir))...)
}

// interrupted tells the end of the demo's own context from other failures.
func (d *demo) interrupted(err error) error {
	if err != nil && d.ctx.Err() != nil {
		return d.ctx.Err()
	}
	return err
}

func say(format string, args ...any) { fmt.Printf("\n==> "+format+"\n", args...) }

// build makes the binaries; the control plane takes some minutes the first time.
func (d *demo) build() error {
	say("Building (the control plane takes about five minutes the first time, and nothing after that)")
	for _, step := range [][]string{
		{"go", "build", "-C", "hack/controlplane", "-trimpath", "-o", filepath.Join(d.bin, "controlplane"), "."},
		{filepath.Join(d.bin, "controlplane"), "build", "--bin", d.bin},
		{"make", "--no-print-directory", "build"}, // so that it is built once for both
		{"go", "build", "-o", filepath.Join(d.bin, "helpdesk"), "./demo/helpdesk"},
	} {
		fmt.Println("   ", strings.ReplaceAll(strings.Join(step, " "), d.root+string(filepath.Separator), ""))
		command := exec.CommandContext(d.ctx, step[0], step[1:]...)
		command.Dir = d.root
		command.Stderr = os.Stderr
		command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
		command.WaitDelay = stopTimeout
		if err := command.Run(); err != nil {
			return fmt.Errorf("%s: %w", step[0], err)
		}
	}
	return nil
}

// readyLine is what the control plane prints when everything works.
type readyLine struct {
	Server      string            `json:"server"`
	Version     string            `json:"version"`
	Kubectl     string            `json:"kubectl"`
	Kubeconfigs map[string]string `json:"kubeconfigs"`
}

func (d *demo) startControlPlane() error {
	say("Starting a control plane on loopback, with the CRDs, the admission policies and the samples of the platform team")
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close()
	command := []string{filepath.Join(d.bin, "controlplane"), "run", "--bin", d.bin, "--dir", filepath.Join(d.dir, "cluster"),
		"--parent-pid", fmt.Sprint(os.Getpid())}
	for _, manifests := range []string{"crd", "manager/namespace.yaml", "rbac", "admission", "demo"} {
		command = append(command, "--manifests", filepath.Join(d.root, "config", filepath.FromSlash(manifests)))
	}
	p, err := start("controlplane", d.dir, nil, write, command...)
	if closeErr := write.Close(); err != nil || closeErr != nil {
		return errors.Join(err, closeErr)
	}
	d.processes = append(d.processes, p)
	ready, err := d.awaitReady(p, read)
	if err != nil {
		return err
	}
	d.kubectl, d.kubeconfigs = ready.Kubectl, ready.Kubeconfigs
	fmt.Printf("    Kubernetes %s at %s\n", ready.Version, ready.Server)
	return nil
}

func (d *demo) awaitReady(p *process, out io.Reader) (readyLine, error) {
	lines := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(out).ReadString('\n') // an error leaves the line without its JSON
		lines <- line
	}()
	timer := time.NewTimer(readyTimeout)
	defer timer.Stop()
	select {
	case line := <-lines:
		var ready readyLine
		if err := json.Unmarshal([]byte(strings.TrimPrefix(line, "ready ")), &ready); err != nil {
			<-p.ended
			return readyLine{}, p.failed()
		}
		return ready, nil
	case <-timer.C:
		return readyLine{}, fmt.Errorf("the control plane was not ready within %s", readyTimeout)
	case <-d.ctx.Done():
		return readyLine{}, d.ctx.Err()
	}
}

func (d *demo) startHelpDesk() error {
	say("Starting the help-desk MCP server and the operator")
	address := filepath.Join(d.dir, "helpdesk.url")
	p, err := start("helpdesk", d.dir, nil, nil, filepath.Join(d.bin, "helpdesk"),
		"--listen", "127.0.0.1:0", "--ledger", d.ledger, "--addr-file", address)
	if err != nil {
		return err
	}
	d.processes = append(d.processes, p)
	url, err := p.waitForFile(d.ctx, address, readyTimeout)
	if err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"transport": map[string]any{
		"http": map[string]string{"url": strings.TrimSpace(url)}}}})
	if err != nil {
		return err
	}
	return d.kubectlQuietly("admin", "patch", "mcpserver", "helpdesk", "-n", "catalogue", "--type=merge", "-p", string(patch))
}

// startOperator runs it as its own service account, with that one's rights alone.
func (d *demo) startOperator() error {
	p, err := start("operator", d.dir, []string{"KUBECONFIG=" + d.kubeconfigs["operator"]}, nil,
		filepath.Join(d.bin, "remit"), "operator", "--identity", "demo", "--egress-allow", "127.0.0.0/8",
		"--metrics-bind-address", "0", "--health-probe-bind-address", "0")
	if err != nil {
		return err
	}
	d.processes = append(d.processes, p)
	return nil
}

func (d *demo) applySamples() error {
	say("The platform team's objects are there:")
	if err := d.kubectlAs("admin", "wait", "--for=condition=Ready", "grant/desk", "-n", namespace, "--timeout="+suspendTimeout); err != nil {
		return err
	}
	if err := d.kubectlAs("admin", "get", "mcpservers,grants", "-A"); err != nil {
		return err
	}
	say("The author applies a Spec and a Run:")
	return d.kubectlAs("author", "apply", "-k", filepath.Join("config", "samples", "agent"))
}

func (d *demo) waitForSuspension() error {
	if err := d.kubectlQuietly("author", "wait", "--for=jsonpath={.status.phase}=Suspended", "run/"+runName, "-n", namespace,
		"--timeout="+suspendTimeout); err != nil {
		return errors.Join(err, d.kubectlAs("author", "get", "runs", "-n", namespace, "-o", "wide"))
	}
	say("The Run has looked the order up, and stops before the refund:")
	if err := d.kubectlAs("author", "get", "runs", "-n", namespace); err != nil {
		return err
	}
	return d.showPending()
}

// pendingCall is what a person reads of a call that waits.
type pendingCall struct{ ID, Tool, Class, Arguments, Reason, ExpiresAt string }

func (d *demo) pending() ([]pendingCall, error) {
	command := exec.CommandContext(d.ctx, d.kubectl, "--kubeconfig", d.kubeconfigs["author"],
		"get", "run", runName, "-n", namespace, "-o", "jsonpath={.status.pending}")
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("read the pending calls: %w", err)
	}
	var pending []pendingCall
	return pending, json.Unmarshal(out, &pending)
}

func (d *demo) showPending() error {
	pending, err := d.pending()
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "\nCALL\tTOOL\tCLASS\tARGUMENTS\tEXPIRES")
	for _, call := range pending {
		var arguments bytes.Buffer
		if err := json.Compact(&arguments, []byte(call.Arguments)); err != nil {
			return err
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", call.ID, call.Tool, call.Class, &arguments, call.ExpiresAt)
	}
	return table.Flush()
}

// patch is the one command that approves what waits.
func (d *demo) patch() ([]string, error) {
	pending, err := d.pending()
	if err != nil {
		return nil, err
	}
	decisions := map[string]map[string]bool{}
	for _, call := range pending {
		decisions[call.ID] = map[string]bool{"approved": true}
	}
	body, err := json.Marshal(map[string]any{"spec": map[string]any{"decisions": decisions}})
	if err != nil {
		return nil, err
	}
	return []string{"patch", "run", runName, "-n", namespace, "--type=merge", "-p", string(body)}, nil
}

func (d *demo) approve() error {
	patch, err := d.patch()
	if err != nil {
		return err
	}
	say("The author may not approve:")
	if err := d.refused("author", patch); err != nil {
		return err
	}
	say("The approver may:\n    kubectl %s", quoted(patch))
	return d.kubectlAs("approver", patch...)
}

// refused shows that a command of that user is refused.
func (d *demo) refused(user string, args []string) error {
	out, err := exec.CommandContext(d.ctx, d.kubectl, append([]string{"--kubeconfig", d.kubeconfigs[user]}, args...)...).CombinedOutput()
	fmt.Print(string(out))
	if err == nil {
		return fmt.Errorf("the user %s was not refused", user)
	}
	return d.ctx.Err()
}

func (d *demo) askForApproval() error {
	patch, err := d.patch()
	if err != nil {
		return err
	}
	say("To approve it, run this in another terminal (with author.kubeconfig it is refused; Ctrl-C ends the demo):\n\n    %s --kubeconfig %s %s",
		d.kubectl, d.kubeconfigs["approver"], quoted(patch))
	return nil
}

// showEnd waits for the end of the Run and shows it.
func (d *demo) showEnd() error {
	if err := d.kubectlQuietly("author", "wait", "--for=jsonpath={.status.completedAt}", "run/"+runName, "-n", namespace,
		"--timeout=24h"); err != nil {
		return err
	}
	say("The Run has ended:")
	if err := d.kubectlAs("author", "get", "run", runName, "-n", namespace); err != nil {
		return err
	}
	fmt.Println()
	if err := d.kubectlAs("author", "get", "run", runName, "-n", namespace, "-o", "custom-columns="+
		"TOOL:.status.decided[*].tool,APPROVED:.status.decided[*].approved,BY:.status.decided[*].by,OUTPUT:.status.output"); err != nil {
		return err
	}
	return d.checkLedger()
}

// checkLedger reads the server's own record: whatever was decided, the refund was
// never made twice, and it was made if it was approved.
func (d *demo) checkLedger() error {
	approved, err := exec.CommandContext(d.ctx, d.kubectl, "--kubeconfig", d.kubeconfigs["author"],
		"get", "run", runName, "-n", namespace, "-o", "jsonpath={.status.phase} {.status.decided[*].approved}").Output()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(d.ledger)
	if err != nil {
		return err
	}
	refunds := 0
	for line := range bytes.Lines(text) {
		var entry struct{ Tool, Phase string }
		if err := json.Unmarshal(line, &entry); err != nil {
			return fmt.Errorf("the server's ledger: %w", err)
		}
		if entry.Tool == "refund_order" && entry.Phase == "begin" {
			refunds++
		}
	}
	say("By the server's own ledger the number of refunds made is %d", refunds)
	expected := 0
	if string(approved) == "Complete true" {
		expected = 1
	}
	if refunds != expected {
		return fmt.Errorf("the Run ended as %q with %d refunds, not %d", approved, refunds, expected)
	}
	return nil
}

func (d *demo) kubectlAs(user string, args ...string) error {
	command := exec.CommandContext(d.ctx, d.kubectl, append([]string{"--kubeconfig", d.kubeconfigs[user]}, args...)...)
	command.Dir = d.root
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("kubectl %s: %w", args[0], err)
	}
	return nil
}

func (d *demo) kubectlQuietly(user string, args ...string) error {
	out, err := exec.CommandContext(d.ctx, d.kubectl, append([]string{"--kubeconfig", d.kubeconfigs[user]}, args...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("kubectl %s: %w\n%s", args[0], err, out)
	}
	return nil
}

// quoted writes arguments as a shell takes them.
func quoted(args []string) string {
	words := make([]string, 0, len(args))
	for _, arg := range args {
		if strings.ContainsAny(arg, `{}" `) {
			arg = "'" + arg + "'"
		}
		words = append(words, arg)
	}
	return strings.Join(words, " ")
}
