// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"remit.dev/remit/api/v1alpha1"
)

// parcels is a service with a plain HTTP API. It keeps what it was asked.
type parcels struct {
	url string

	mu    sync.Mutex
	asked []string
	keys  []string
}

func newParcels(t *testing.T) *parcels {
	t.Helper()
	p := &parcels{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // what is missing is seen by the test
		p.mu.Lock()
		p.asked = append(p.asked, r.Method+" "+r.RequestURI+" "+r.Header.Get("X-Token")+" "+string(body))
		p.keys = append(p.keys, r.Header.Get("Idempotency-Key"))
		p.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"parcel":"on its way","token":"`+r.Header.Get("X-Token")+`"}`)
	}))
	t.Cleanup(server.Close)
	p.url = server.URL
	return p
}

func (p *parcels) requests() ([]string, []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.asked), slices.Clone(p.keys)
}

func object(schema string) *apiextensionsv1.JSON { return &apiextensionsv1.JSON{Raw: []byte(schema)} }

// ownTools are a request that reads, one that has an effect, and a program.
func ownTools(url string) []v1alpha1.Tool {
	yes := true
	id := object(`{"type":"object","required":["id"],"properties":{"id":{"type":"string"}}}`)
	return []v1alpha1.Tool{
		{Name: "track", Kind: v1alpha1.ToolHTTP, Description: "Tracks a parcel.", InputSchema: id,
			Annotations: &v1alpha1.ToolAnnotations{ReadOnlyHint: &yes},
			HTTP: &v1alpha1.HTTPTool{Grant: "parcels", Method: "GET", URL: url + "/parcels/{id}",
				Headers: map[string]string{"X-Token": "{secret:token}"}}},
		{Name: "recall", Kind: v1alpha1.ToolHTTP, Description: "Recalls a parcel.", InputSchema: id,
			HTTP: &v1alpha1.HTTPTool{Grant: "parcels", Method: "POST", URL: url + "/recalls", Body: object(`{"parcel":"{id}"}`)}},
		{Name: "weigh", Kind: v1alpha1.ToolCode, Description: "Weighs parcels.",
			InputSchema: object(`{"type":"object","required":["grams"],"properties":{"grams":{"type":"array","items":{"type":"integer"}}}}`),
			Annotations: &v1alpha1.ToolAnnotations{ReadOnlyHint: &yes},
			Code:        &v1alpha1.CodeTool{Source: "def main(grams):\n  total = 0\n  for g in grams:\n    total += g\n  return {\"total\": total}\n"}},
	}
}

// A4, H39 to H42 and P28: a Spec's own requests and programs run through the same pipeline: secrets come
// from the Grant, what has an effect waits for a person, and a program cannot get round that.
func TestToolsOfASpec(t *testing.T) {
	const canary = "canary-parcel-token"
	useOperator(t)
	n := newTenant(t)
	service := newParcels(t)
	n.secret("parcels", canary)
	grant := &v1alpha1.Grant{ObjectMeta: n.meta("parcels"), Spec: v1alpha1.GrantSpec{HTTP: &v1alpha1.HTTPHosts{
		Hosts:   []string{strings.TrimPrefix(service.url, "http://")},
		Secrets: []v1alpha1.HTTPSecret{{Name: "token", SecretRef: v1alpha1.SecretKeyReference{Name: "parcels", Key: "key"}}},
	}}}
	n.create(admin, grant)
	n.scripted(`{"turns": [
		{"calls": [{"tool": "track", "arguments": {"id": "p-1"}}, {"tool": "weigh", "arguments": {"grams": [9007199254740993, 1]}}]},
		{"calls": [{"tool": "run_code", "arguments": {"code": "def main():\n  found = call(\"track\", id=\"p-2\")\n  tried = try_call(\"recall\", id=\"p-2\")\n  return {\"found\": found, \"ok\": tried.ok, \"error\": tried.error}\n"}}]},
		{"calls": [{"tool": "recall", "arguments": {"id": "p-3"}}]},
		{"text": "Recalled."}]}`)
	spec := n.unpublished()
	spec.Spec.Tools, spec.Spec.Sandbox.Enabled = ownTools(service.url), true
	spec.Spec.Builtins = []v1alpha1.Builtin{v1alpha1.BuiltinRunCode}
	n.create(author, spec)

	run := awaitSuspended(t, n.start("run"))
	if asked, _ := service.requests(); !cmp.Equal(asked, []string{"GET /parcels/p-1 " + canary + " ", "GET /parcels/p-2 " + canary + " "}) {
		t.Fatalf("asked before the approval: %q", asked)
	}
	if err := decide(t, approver, run, decisions(run, approved())); err != nil {
		t.Fatal(err)
	}
	run = awaitEnd(t, run)
	checkEnded(t, run, v1alpha1.RunComplete, v1alpha1.ReasonSucceeded)
	asked, keys := service.requests()
	if len(asked) != 3 || asked[2] != `POST /recalls  {"parcel":"p-3"}` || keys[2] == "" {
		t.Errorf("asked %q with the keys %q", asked, keys)
	}
	checkOwnResults(t, run)
	if out := mustKubectl(t, admin, "get", "run", run.Name, "-n", n.namespace, "-o", "yaml"); strings.Contains(out, canary) {
		t.Error("the secret is in the Run")
	}
}

func checkOwnResults(t *testing.T, run *v1alpha1.Run) {
	t.Helper()
	var contents []string
	var inner []v1alpha1.InnerCall
	for _, record := range run.Status.Log.Records {
		if record.Result != nil {
			contents = append(contents, record.Result.Content)
			inner = append(inner, record.Result.Inner...)
		}
	}
	if len(contents) != 4 || contents[1] != `{"total":9007199254740994}` || !strings.Contains(contents[2], `"ok":false`) {
		t.Errorf("results: %q", contents)
	}
	if len(inner) != 2 || inner[0].Tool != "track" || inner[0].Error != "" ||
		inner[1].Tool != "recall" || inner[1].Error != v1alpha1.ErrorApprovalRequiredInProgram {
		t.Errorf("the program's calls: %+v", inner)
	}
}
