// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"remit.dev/remit/api/v1alpha1"
)

// The samples, from end to end, with the real kubectl and nothing else: a Spec becomes a Version, its
// Run looks an order up through a Grant, stops ahead of the refund, is approved by one patch, and ends.
func TestSamples(t *testing.T) {
	useOperator(t)
	h := startHelpdesk(t)
	s := newSamples(t, h.url)
	s.apply(t)

	run := awaitSuspended(t, &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Namespace: "helpdesk", Name: "broken-teapot"}})
	version := mustKubectl(t, author, "get", "spec", "helpdesk", "-n", "helpdesk", "-o", "jsonpath={.status.version}")
	if run.Status.Version != version || !strings.HasPrefix(version, "v-") {
		t.Errorf("the Run executes %q, the Spec is %q", run.Status.Version, version)
	}
	checkLedger(t, h, "lookup_order")
	checkPending(t, run)

	patch := approval(t, run)
	out, err := kubectl(t, author, patch...)
	const mayNot = `user "author" may not approve: the verb "approve" on runs.remit.dev/approval in namespace "helpdesk" is required`
	if err == nil || !strings.Contains(out, "Error from server (Forbidden)") || !strings.Contains(out, mayNot) {
		t.Errorf("the author's patch: %v\n%s", err, out)
	}
	checkLedger(t, h, "lookup_order")
	mustKubectl(t, approver, patch...)

	mustKubectl(t, author, "wait", "--for=condition=Complete", "run/broken-teapot", "-n", "helpdesk", "--timeout", patience.String())
	checkLedger(t, h, "lookup_order", "refund_order")
	s.checkEnd(t)
	s.checkUnchanged(t)
	checkWorkflowSample(t)
	checkLedger(t, h, "lookup_order", "refund_order", "lookup_order", "refund_order")
}

// checkWorkflowSample runs the agent whose calls are written down, up to its approved end.
func checkWorkflowSample(t *testing.T) {
	t.Helper()
	mustKubectl(t, author, "apply", "-k", filepath.Join(env.root, "config", "samples", "workflow"))
	run := awaitSuspended(t, &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Namespace: "helpdesk", Name: "refund-of-a-1001"}})
	const want = "{\n  \"cents\": 4200,\n  \"order_id\": \"A-1001\",\n  \"reason\": \"The teapot arrived broken.\"\n}"
	if pending := run.Status.Pending[0]; pending.StepID != "refund" || pending.Arguments != want {
		t.Errorf("pending: %+v", pending)
	}
	mustKubectl(t, approver, approval(t, run)...)
	run = awaitEnd(t, run)
	checkEnded(t, run, v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
	if run.Status.Output != "The refund of 42.00 is on its way." {
		t.Errorf("the Run says %q", run.Status.Output)
	}
}

// checkLedger compares the tools that the server was asked for, in order.
func checkLedger(t *testing.T, h *helpdesk, tools ...string) {
	t.Helper()
	var begun []string
	for _, e := range h.entries(t) {
		if e.Phase == "begin" {
			begun = append(begun, e.Tool)
		}
	}
	if diff := cmp.Diff(tools, begun); diff != "" {
		t.Errorf("the server's ledger (-want +got):\n%s", diff)
	}
}

// checkPending compares what people see of the call that waits.
func checkPending(t *testing.T, run *v1alpha1.Run) {
	t.Helper()
	pending := run.Status.Pending[0]
	want := v1alpha1.PendingCall{
		ID: pending.ID, Kind: v1alpha1.PendingTool, Tool: "desk__refund_order", Class: v1alpha1.ClassDestructive,
		Arguments:       "{\n  \"cents\": 4200,\n  \"order_id\": \"A-1001\",\n  \"reason\": \"The teapot arrived broken.\"\n}",
		ArgumentsDigest: pending.ArgumentsDigest, DefinitionDigest: pending.DefinitionDigest,
		Reason: pending.Reason, RequestedAt: pending.RequestedAt, ExpiresAt: pending.ExpiresAt,
	}
	if diff := cmp.Diff([]v1alpha1.PendingCall{want}, run.Status.Pending); diff != "" {
		t.Errorf("status.pending (-want +got):\n%s", diff)
	}
	if !strings.Contains(pending.Reason, "@destructive") {
		t.Errorf("the reason does not name the selector: %q", pending.Reason)
	}
	if out := mustKubectl(t, author, "get", "runs", "-n", "helpdesk"); !strings.Contains(out, "desk__refund_order") {
		t.Errorf("kubectl get does not show what waits:\n%s", out)
	}
}

// approval is the one command that approves what waits. It says that somebody else decided.
func approval(t *testing.T, run *v1alpha1.Run) []string {
	t.Helper()
	forged := approved()
	forged.By = "somebody-else"
	body, err := json.Marshal(map[string]any{"spec": map[string]any{"decisions": decisions(run, forged)}})
	if err != nil {
		t.Fatal(err)
	}
	return []string{"patch", "run", run.Name, "-n", run.Namespace, "--type=merge", "-p", string(body)}
}

// samples are those of the repository, with the server's address changed by overlays.
type samples struct {
	platform string
	agent    string
}

func newSamples(t *testing.T, url string) samples {
	t.Helper()
	dir := t.TempDir()
	write := func(name, content string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := samples{platform: filepath.Join(dir, "platform"), agent: filepath.Join(env.root, "config", "samples", "agent")}
	base, err := filepath.Rel(s.platform, filepath.Join(env.root, "config", "samples", "platform"))
	if err != nil {
		t.Fatal(err)
	}
	write("platform/kustomization.yaml", fmt.Sprintf(`
resources: [%q]
patches:
- target: {kind: MCPServer, name: helpdesk}
  patch: '[{"op": "replace", "path": "/spec/transport/http/url", "value": %q}]'
`, base, url))
	return s
}

// apply applies everything, and takes it away again at the end of the test. What an earlier run of the
// test has left behind goes first, since the names are fixed.
func (s samples) apply(t *testing.T) {
	t.Helper()
	mustKubectl(t, admin, "wait", "--for=delete", "namespace/helpdesk", "namespace/catalogue", "--timeout", patience.String())
	t.Cleanup(func() {
		for _, name := range []string{"helpdesk", "catalogue"} {
			deleteNamespace(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		}
	})
	mustKubectl(t, admin, "apply", "-k", s.platform)
	mustKubectl(t, author, "apply", "-k", s.agent)
}

// checkEnd looks at the ended Run as its author does.
func (s samples) checkEnd(t *testing.T) {
	t.Helper()
	out := mustKubectl(t, author, "get", "run", "broken-teapot", "-n", "helpdesk", "-o",
		"jsonpath={.status.phase}|{.status.steps}|{.status.decided[*].by}|{.spec.createdBy}|{.status.output}")
	const want = "Complete|3|approver|author|I am sorry about the teapot. 42.00 are on their way back to you."
	if out != want {
		t.Errorf("the Run ended as\n%s, want\n%s", out, want)
	}
}

// checkUnchanged applies every sample again: nothing changes, and there is no difference.
func (s samples) checkUnchanged(t *testing.T) {
	t.Helper()
	for dir, user := range map[string]string{s.platform: admin, s.agent: author} {
		out := strings.TrimSpace(mustKubectl(t, user, "apply", "-k", dir))
		for line := range strings.Lines(out) {
			if !strings.HasSuffix(strings.TrimSpace(line), " unchanged") {
				t.Errorf("applied again: %s", line)
			}
		}
		if out, err := kubectl(t, user, "diff", "-k", dir); err != nil || out != "" {
			t.Errorf("kubectl diff: %v\n%s", err, out)
		}
	}
}
