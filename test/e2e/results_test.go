// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/base64"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"remit.dev/remit/api/v1alpha1"
)

const (
	toolHosts = `{"name":"hosts","description":"Lists hosts. Not for networks.","inputSchema":{"type":"object","additionalProperties":false,` +
		`"properties":{"cursor":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null}}},"annotations":{"readOnlyHint":true},` +
		`"outputSchema":{"type":"object","properties":{"columns":{},"rows":{},"row_count":{},"truncated":{},"next_cursor":{}},"required":["columns","rows"]}}`
	toolKeys = `{"name":"keys","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},"outputSchema":{"type":"object","properties":` +
		`{"records":{"type":"array","items":{"type":"object","properties":{"key":{"type":"string","x-sensitivity":"secret"}}}},"count":{},"truncated":{}}}}`
	toolPlot = `{"name":"plot","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`
)

// K10, K46, K60 and K64 through the operator: a table of two pages is one, a marked field is in no log, and
// a picture is put aside under a name that tells nothing.
func TestResultsOfTools(t *testing.T) {
	const canary = "canary-of-a-key"
	useOperator(t)
	n := newTenant(t)
	fake := newFakeServer(t, "["+toolHosts+","+toolKeys+","+toolPlot+"]")
	fake.call = func(call toolCall) string {
		switch {
		case call.Tool == "plot":
			return `{"content":[{"type":"text","text":"a plot"},{"type":"image","mimeType":"image/png","data":"` + base64.StdEncoding.EncodeToString([]byte("png")) + `"}]}`
		case call.Tool == "keys":
			return `{"content":[{"type":"text","text":"` + canary + `"}],"structuredContent":{"records":[{"key":"` + canary + `"}],"count":1,"truncated":false}}`
		case strings.Contains(call.Arguments, "cursor"):
			return `{"content":[],"structuredContent":{"columns":["host","size"],"column_kinds":["fqdn","big_integer"],"rows":[["b.example",7]],"row_count":1,"truncated":false}}`
		default:
			return `{"content":[],"structuredContent":{"columns":["host","size"],"column_kinds":["fqdn","big_integer"],` +
				`"rows":[["a.example","18446744073709551616"]],"row_count":1,"truncated":true,"next_cursor":"p2"}}`
		}
	}
	n.catalogued("desk", fake.url)
	n.granted("desk")
	n.scripted("turns:\n- calls: [{tool: desk__hosts}, {tool: desk__keys}, {tool: desk__plot}]\n- text: Done.\n")
	spec := n.unpublished("desk")
	spec.Spec.MCP[0].MaxPages = 2
	n.create(author, spec)
	run := awaitEnd(t, n.start("run"))
	checkEnded(t, run, v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)

	shown, err := exec.CommandContext(t.Context(), env.remit, "log", "run", "--namespace", n.namespace, "--kubeconfig", env.ready.Kubeconfigs[author]).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, shown)
	}
	for _, text := range []string{
		"  host                       size\n  a.example  18446744073709551616\n  b.example                     7\n",
		"  key\n  [redacted]\n", "a plot\n", "image/png, 3 bytes",
	} {
		if !strings.Contains(string(shown), text) {
			t.Errorf("the log does not show %q:\n%s", text, shown)
		}
	}
	if strings.Contains(string(shown)+fmt.Sprintf("%+v", run), canary) {
		t.Error("the marked field is in the Run")
	}
	checkArtifact(t, n, run)
}

func checkArtifact(t *testing.T, n *tenant, run *v1alpha1.Run) {
	t.Helper()
	for _, record := range run.Status.Log.Records {
		if record.Result == nil || len(record.Result.Artifacts) == 0 {
			continue
		}
		reference := record.Result.Artifacts[0].Reference
		stored := &corev1.ConfigMap{}
		if err := env.users[admin].Get(t.Context(), types.NamespacedName{Namespace: n.namespace, Name: reference}, stored); err != nil {
			t.Fatal(err)
		}
		if string(stored.BinaryData[v1alpha1.ArtifactKey]) != "png" || strings.Contains(reference, n.namespace) || stored.OwnerReferences[0].Name != run.Name {
			t.Errorf("the artifact %s: %+v", reference, stored)
		}
		return
	}
	t.Error("there is no artifact")
}
