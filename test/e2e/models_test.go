// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"remit.dev/remit/api/v1alpha1"
)

// A model endpoint that gives nothing usable fails the Run with a reason that says what to do, after
// the list of models was gone through twice (P9) and not once more.
func TestModelEndpointThatFails(t *testing.T) {
	status := func(code int, body string) func(int, http.ResponseWriter, *http.Request) {
		return func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			fmt.Fprint(w, body)
		}
	}
	for _, row := range []struct {
		name    string
		answer  func(int, http.ResponseWriter, *http.Request)
		failure string
	}{
		{"401", status(http.StatusUnauthorized, `{"error":{"message":"Incorrect API key provided"}}`),
			"the endpoint does not accept the credential (HTTP 401): Incorrect API key provided; " +
				"check the Secret that the Grant's credential names."},
		{"429", status(http.StatusTooManyRequests, `{"error":{"message":"slow down"}}`),
			"the endpoint limits the rate of requests (HTTP 429): slow down; " +
				"wait, raise the quota of the key, or add another model to the Spec."},
		{"500", status(http.StatusInternalServerError, `{"error":{"message":"out of memory"}}`),
			"the endpoint failed (HTTP 500): out of memory; " +
				"see the endpoint's own logs or status page, or add another model to the Spec."},
		{"garbage", status(http.StatusOK, "<html>It works!</html>"),
			`the endpoint answered with something that is not a completion: the body is not a JSON object; it begins with "<html>It works!</html>"; ` +
				"check that the Grant's endpoint is the base URL of an OpenAI-compatible API."},
		{"nothing", func(_ int, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
			"the endpoint did not answer in time: no answer within 10s; " +
				"check that the endpoint is up, or lower the model's maxOutputTokens."},
		{"a reply without text and calls (I15)", func(_ int, w http.ResponseWriter, _ *http.Request) { completes(w, says("")) },
			"the model gave a useless reply: the reply has neither text nor tool calls; " +
				"change the model's parameters or choose another model."},
	} {
		t.Run(row.name, func(t *testing.T) {
			useOperator(t)
			n := newTenant(t)
			endpoint := newEndpoint(t, row.answer)
			n.openAI("model", endpoint.url, "")
			n.agent()

			run := awaitEnd(t, n.start("run"))
			complete := condition(run.Status.Conditions, v1alpha1.ConditionComplete)
			got := []string{string(run.Status.Phase), string(complete.Status), complete.Reason, complete.Message}
			want := []string{"Failed", "False", v1alpha1.ReasonModelUnavailable,
				`No model is available after 2 attempts. Grant "model", model "small": ` + row.failure}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if stalled := condition(run.Status.Conditions, v1alpha1.ConditionStalled); stalled.Status != metav1.ConditionTrue {
				t.Errorf("the Run is not Stalled: %+v", stalled)
			}
			if asked := len(endpoint.requests()); asked != 2 {
				t.Errorf("the endpoint was asked %d times, want 2", asked)
			}
		})
	}
}

// A model that cannot be reached at all, and one whose credential is not there, are said to be just
// that, without a request.
func TestModelThatCannotBeAsked(t *testing.T) {
	useOperator(t)
	n := newTenant(t)
	address := freeAddress(t)
	n.openAI("model", "http://"+address+"/v1", "")
	locked := n.endpointGrant("locked", "http://"+address+"/v1")
	locked.Spec.Credential = bearer("locked")
	n.create(admin, locked)
	spec := n.unpublished()
	spec.Spec.Models = append(spec.Spec.Models, v1alpha1.Model{Grant: "locked", Model: "large"})
	n.create(author, spec)

	missing := fmt.Sprintf("Secret %q in namespace %q does not exist: create it with the label %s=true",
		"locked", n.namespace, v1alpha1.CredentialLabel)
	granted := awaitGrant(t, locked, v1alpha1.ReasonCredentialMissing)
	if got := condition(granted.Status.Conditions, v1alpha1.ConditionReady).Message; got != missing {
		t.Errorf("the Grant says %q, want %q", got, missing)
	}
	run := awaitEnd(t, n.start("run"))
	complete := condition(run.Status.Conditions, v1alpha1.ConditionComplete)
	if complete.Reason != v1alpha1.ReasonModelUnavailable {
		t.Errorf("the reason is %q", complete.Reason)
	}
	for _, part := range []string{
		`Grant "model", model "small": the endpoint cannot be reached: `, "check the host and port of the Grant's endpoint",
		`Grant "locked", model "large": the model cannot be used: ` + missing,
	} {
		if !strings.Contains(complete.Message, part) {
			t.Errorf("the message lacks %q: %s", part, complete.Message)
		}
	}
}

// The second model takes over from the first, and the log says why (I16).
func TestModelFailover(t *testing.T) {
	useOperator(t)
	n := newTenant(t)
	first := newEndpoint(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "out of memory", http.StatusInternalServerError)
	})
	second := newEndpoint(t, func(_ int, w http.ResponseWriter, _ *http.Request) { completes(w, says("Hello.")) })
	n.openAI("model", first.url, "")
	n.openAI("spare", second.url, "")
	spec := n.unpublished()
	spec.Spec.Models = append(spec.Spec.Models, v1alpha1.Model{Grant: "spare", Model: "large"})
	n.create(author, spec)

	run := awaitEnd(t, n.start("run"))
	want := &v1alpha1.MessageRecord{
		Grant: "spare", Model: "large", Text: "Hello.", Usage: v1alpha1.Usage{InputTokens: 11, OutputTokens: 7},
		Attempts: []v1alpha1.ModelAttempt{{Grant: "model", Model: "small", Kind: "Server", Detail: "the endpoint failed (HTTP 500): " +
			"out of memory; see the endpoint's own logs or status page, or add another model to the Spec"}},
	}
	if diff := cmp.Diff(want, messages(run)[0]); diff != "" {
		t.Errorf("the first message (-want +got):\n%s", diff)
	}
	if run.Status.Phase != v1alpha1.RunComplete || run.Status.Output != "Hello." {
		t.Errorf("the Run is %s with the output %q", run.Status.Phase, run.Status.Output)
	}
	if asked := []int{len(first.requests()), len(second.requests())}; !cmp.Equal(asked, []int{1, 1}) {
		t.Errorf("the endpoints were asked %v times, want once each", asked)
	}
}

// An OpenAI endpoint from end to end: the key comes from a labelled Secret and shows nowhere, a reply
// that holds text and tool calls keeps both, and a call that failed without a word does not reach the
// model as an empty result.
func TestModelOpenAI(t *testing.T) {
	useOperator(t)
	const canary = "sk-canary-4f1d7c02b9e8a6"
	n := newTenant(t)
	server := newFakeServer(t, twoTools)
	server.call = func(call toolCall) string {
		if call.Arguments == `{"order":"A-2"}` {
			return `{"content":[],"isError":true}`
		}
		return `{"content":[{"type":"text","text":"It was delivered."}]}`
	}
	endpoint := newEndpoint(t, func(asked int, w http.ResponseWriter, r *http.Request) {
		switch asked {
		case 1:
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"error":{"message":"Incorrect API key provided: %s"}}`, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		case 2:
			completes(w, `{"role":"assistant","content":"Let me look.","tool_calls":[`+
				`{"id":"x","type":"function","function":{"name":"desk__find","arguments":"{\"order\":\"A-1\"}"}},`+
				`{"id":"x","type":"function","function":{"name":"desk__find","arguments":"{\"order\":\"A-2\"}"}}]}`)
		default:
			completes(w, says("It was delivered, one way or the other."))
		}
	})
	n.catalogued("desk", server.url)
	n.granted("desk")
	n.openAI("model", endpoint.url, canary)
	n.agent("desk")

	run := awaitEnd(t, n.start("run"))
	if run.Status.Phase != v1alpha1.RunComplete || run.Status.Output != "It was delivered, one way or the other." {
		t.Fatalf("the Run did not end as it should\n%s", describe(run))
	}
	requests := endpoint.requests()
	if len(requests) != 3 {
		t.Fatalf("the endpoint was asked %d times, want 3", len(requests))
	}
	for i, request := range requests {
		if request.Path != "/v1/chat/completions" || request.Authorization != "Bearer "+canary || request.Model != "small" {
			t.Errorf("request %d: %s, %q, model %q", i+1, request.Path, request.Authorization, request.Model)
		}
	}
	var offered []string
	for _, tool := range requests[0].Tools {
		offered = append(offered, tool.Function.Name)
	}
	if diff := cmp.Diff([]string{"desk__find", "desk__wipe"}, offered); diff != "" {
		t.Errorf("the tools that the model was offered (-want +got):\n%s", diff)
	}
	checkConversation(t, run, requests[2].Messages)
	checkHidden(t, n, canary)
}

// checkConversation looks at what the model reads after its tools were called.
func checkConversation(t *testing.T, run *v1alpha1.Run, got []chatMessage) {
	t.Helper()
	calls := messages(run)[0].Calls
	asked := chatMessage{Role: "assistant", Content: "Let me look.", ToolCalls: make([]chatCall, 2)}
	for i, arguments := range []string{`{"order":"A-1"}`, `{"order":"A-2"}`} {
		asked.ToolCalls[i].ID = string(calls[i].ID)
		asked.ToolCalls[i].Function.Name = "desk__find"
		asked.ToolCalls[i].Function.Arguments = arguments
	}
	want := []chatMessage{
		{Role: "system", Content: "You work at a help desk."},
		{Role: "user", Content: "My teapot arrived in pieces."},
		asked,
		{Role: "tool", ToolCallID: string(calls[0].ID), Content: "It was delivered."},
		{Role: "tool", ToolCallID: string(calls[1].ID), Content: `{"error":{"kind":"tool_error","message":"the tool gave no message"}}`},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what the model reads (-want +got):\n%s", diff)
	}
	if messages(run)[0].Text != "Let me look." {
		t.Errorf("the log does not keep the text beside the calls: %+v", messages(run)[0])
	}
	if calls[0].ID == calls[1].ID {
		t.Errorf("two calls to which the model gave one id share %s", calls[0].ID)
	}
}

// checkHidden looks for a secret in everything that people may read.
func checkHidden(t *testing.T, n *tenant, secret string) {
	t.Helper()
	for what, text := range map[string]string{
		"objects": mustKubectl(t, admin, "get", "remit,configmaps", "-n", n.namespace, "-o", "yaml", "--show-managed-fields"),
		"events":  mustKubectl(t, admin, "get", "events", "-n", n.namespace, "-o", "yaml"),
		"logs":    linesAbout(t, secret),
	} {
		if strings.Contains(text, secret) {
			t.Errorf("the %s hold the secret:\n%s", what, text)
		}
	}
	audit, err := os.ReadFile(env.ready.AuditLog)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(audit), secret) {
		t.Error("the audit log holds the secret")
	}
}

// messages are the messages of the model in a Run's log.
func messages(run *v1alpha1.Run) []*v1alpha1.MessageRecord {
	var list []*v1alpha1.MessageRecord
	for i := range run.Status.Log.Records {
		if message := run.Status.Log.Records[i].Message; message != nil {
			list = append(list, message)
		}
	}
	return list
}
