// SPDX-License-Identifier: Apache-2.0

package api

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"remit.dev/remit/api/v1alpha1"
)

// H2, H11 and H13: what a decision on each kind of item holds, and which of them one update has to decide.
func TestDecisionsByKind(t *testing.T) {
	const (
		answerRule   = `spec.decisions: Invalid value: approving a Question or a Webhook needs an answer, and nothing else takes one`
		receivedRule = `spec.decisions: Forbidden: a webhook that has had its request cannot be decided any more`
	)
	answered := map[string]any{"approved": true, "answer": "blue"}
	denied := map[string]any{"approved": false, "reason": "no"}
	deniedWithAnswer := map[string]any{"approved": false, "answer": "blue"}
	now := metav1.Now()
	received := &v1alpha1.PendingWebhookStatus{SecretRef: v1alpha1.NamedReference{Name: "url"}, TokenDigest: digest, ReceivedAt: &now, Body: "paid"}
	open := &v1alpha1.PendingWebhookStatus{SecretRef: v1alpha1.NamedReference{Name: "url"}, TokenDigest: digest}
	for name, test := range map[string]struct {
		kinds     [2]v1alpha1.PendingKind
		webhook   *v1alpha1.PendingWebhookStatus
		decisions map[string]any
		want      []string
	}{
		"a question is answered":        {[2]v1alpha1.PendingKind{"Question", "Tool"}, nil, map[string]any{first: answered, second: approve}, nil},
		"a question is denied":          {[2]v1alpha1.PendingKind{"Question", "Tool"}, nil, map[string]any{first: denied, second: approve}, nil},
		"a question without answer":     {[2]v1alpha1.PendingKind{"Question", "Tool"}, nil, map[string]any{first: approve, second: approve}, []string{answerRule}},
		"a denial with an answer":       {[2]v1alpha1.PendingKind{"Question", "Tool"}, nil, map[string]any{first: deniedWithAnswer, second: approve}, []string{answerRule}},
		"an answer to a tool":           {[2]v1alpha1.PendingKind{"Question", "Tool"}, nil, map[string]any{first: answered, second: answered}, []string{answerRule}},
		"an answer to a Run":            {[2]v1alpha1.PendingKind{"Run", "Tool"}, nil, map[string]any{first: answered, second: approve}, []string{answerRule}},
		"a question is left out":        {[2]v1alpha1.PendingKind{"Question", "Tool"}, nil, map[string]any{second: approve}, []string{partialRule}},
		"a webhook is left out":         {[2]v1alpha1.PendingKind{"Webhook", "Tool"}, open, map[string]any{second: approve}, nil},
		"a tool beside a webhook is":    {[2]v1alpha1.PendingKind{"Webhook", "Tool"}, open, map[string]any{first: answered}, []string{partialRule}},
		"a webhook is answered":         {[2]v1alpha1.PendingKind{"Webhook", "Tool"}, open, map[string]any{first: answered, second: approve}, nil},
		"a webhook without answer":      {[2]v1alpha1.PendingKind{"Webhook", "Tool"}, open, map[string]any{first: approve, second: approve}, []string{answerRule}},
		"a webhook with its request":    {[2]v1alpha1.PendingKind{"Webhook", "Tool"}, received, map[string]any{first: denied, second: approve}, []string{receivedRule}},
		"beside one with its request":   {[2]v1alpha1.PendingKind{"Webhook", "Tool"}, received, map[string]any{second: approve}, nil},
		"a webhook that is not offered": {[2]v1alpha1.PendingKind{"Webhook", "Tool"}, nil, map[string]any{first: denied, second: approve}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := suspended(t, env.Namespace(t), "teapot", first, second)
			r.Status.Pending[0].Kind, r.Status.Pending[1].Kind, r.Status.Pending[0].Webhook = test.kinds[0], test.kinds[1], test.webhook
			if err := admin.Status().Update(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			var got []string
			if err := routes(t)[0].write(t.Context(), approver(t), r, test.decisions); err != nil {
				got = causes(t, err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("causes (-want +got):\n%s", diff)
			}
		})
	}
}
