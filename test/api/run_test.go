// SPDX-License-Identifier: Apache-2.0

package api

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const aRun = `
apiVersion: remit.dev/v1alpha1
kind: Run
metadata: {name: teapot}
spec:
  specRef: {name: helpdesk}
  input: It broke.
  limits: {steps: 5, deadline: 10m, approvalExpiry: 1h}
`

// aParent is what makes a Run a subagent's.
const aParent = "{name: teapot, uid: u-1, callID: call-0000000000000001}"

const (
	refRule      = `spec: Invalid value: exactly one of specRef and versionRef must be set`
	pendingRule  = `spec.decisions: Forbidden: a decision must name a call that is pending in status.pending`
	partialRule  = `spec.decisions: Forbidden: one update must decide every call in status.pending, but for those of kind Webhook`
	changedRule  = `spec.decisions: Forbidden: a recorded decision never changes`
	subagentRule = `spec: Invalid value: subagent must be set exactly when parentRef is`
)

func TestRun(t *testing.T) {
	judge(t, aRun, []verdict{
		{name: "of a Spec"},
		{name: "of a Version", edits: edits{"spec.specRef": absent, "spec.versionRef": "{name: v-0123456789abcdef0123}"}},
		{name: "without input and limits", edits: edits{"spec.input": absent, "spec.limits": absent}},
		{name: "of neither", edits: edits{"spec.specRef": absent}, want: []string{refRule}},
		{name: "of both", edits: edits{"spec.versionRef": "{name: v-0123456789abcdef0123}"}, want: []string{refRule}},
		{name: "name at its longest", edits: edits{"metadata.name": text(63)}},
		{name: "name that is too long", edits: edits{"metadata.name": text(64)}, want: []string{`metadata: Invalid value: metadata.name must be at most 63 characters`}},
		{name: "empty input", edits: edits{"spec.input": "''"}, want: []string{`spec.input: Invalid value: "": spec.input in body should be at least 1 chars long`}},
		{name: "no limit at all", edits: edits{"spec.limits": "{}"}, want: []string{`spec.limits: Invalid value: 0: spec.limits in body should have at least 1 properties`}},
		{name: "too many steps", edits: edits{"spec.limits": "{steps: 501}"},
			want: []string{`spec.limits.steps: Invalid value: 501: spec.limits.steps in body should be less than or equal to 500`}},
		{name: "deadline of nothing", edits: edits{"spec.limits": "{deadline: 0m}"},
			want: []string{`spec.limits.deadline: Invalid value: "0m": deadline must be more than 0s and at most 168h`}},
		{name: "deadline too long", edits: edits{"spec.limits": "{deadline: 169h}"},
			want: []string{`spec.limits.deadline: Invalid value: "169h": deadline must be more than 0s and at most 168h`}},
		{name: "expiry too long", edits: edits{"spec.limits": "{approvalExpiry: 8761h}"},
			want: []string{`spec.limits.approvalExpiry: Invalid value: "8761h": approvalExpiry must be more than 0s and at most 8760h`}},
		{name: "expiry of nothing", edits: edits{"spec.limits": "{approvalExpiry: 0ms}"},
			want: []string{`spec.limits.approvalExpiry: Invalid value: "0ms": approvalExpiry must be more than 0s and at most 8760h`}},
		{name: "decided when created", edits: edits{"spec.decisions": "{call-0000000000000001: {approved: true}}"}, want: []string{pendingRule}},
		{name: "decided and pending when created", edits: edits{
			"spec.decisions": "{call-0000000000000001: {approved: true}}",
			"status":         "{pending: [{id: call-0000000000000001}]}",
		}, want: []string{pendingRule}},
		{name: "no decision yet", edits: edits{"spec.decisions": "{}"}},
		{name: "cancelled when created", edits: edits{"spec.cancel": "true"}},
		{name: "subagent without parent", edits: edits{"spec.subagent": "billing"}, want: []string{subagentRule}},
		{name: "parent without subagent", edits: edits{"spec.parentRef": aParent}, want: []string{subagentRule}},
		{name: "subagent that is no slug", edits: edits{"spec.parentRef": aParent, "spec.subagent": "Billing"},
			want: []string{`spec.subagent: Invalid value: "Billing": spec.subagent in body should match '^[a-z]([a-z0-9-]*[a-z0-9])?$'`}},
		{name: "parent of nothing", edits: edits{"spec.parentRef": "{}", "spec.subagent": "billing"}, want: []string{
			`spec.parentRef.callID: Required value`, `spec.parentRef.name: Required value`, `spec.parentRef.uid: Required value`,
		}},
		{name: "parent at its bounds", edits: edits{
			"spec.parentRef": "{name: '', uid: " + text(65) + ", callID: call-1}", "spec.subagent": "billing",
		}, want: []string{
			`spec.parentRef.callID: Invalid value: "call-1": spec.parentRef.callID in body should match '^call-[0-9a-f]{16}$'`,
			`spec.parentRef.name: Invalid value: "": spec.parentRef.name in body should be at least 1 chars long`,
			`spec.parentRef.uid: Too long: may not be more than 64 bytes`,
		}},
		{name: "spec of another type", edits: edits{"spec": "5"}, want: []string{`spec: Invalid value: "integer": spec in body must be of type object: "integer"`}},
		{name: "decisions of another type", edits: edits{"spec.decisions": "[1]"},
			want: []string{`spec.decisions: Invalid value: "array": spec.decisions in body must be of type object: "array"`}},
		{name: "decision of another type", edits: edits{"spec.decisions": "{call-0000000000000001: true}"},
			want: []string{`spec.decisions.call-0000000000000001: Invalid value: "boolean": spec.decisions.call-0000000000000001 in body must be of type object: "boolean"`}},
	})
}

func TestRunIsImmutable(t *testing.T) {
	ns := env.Namespace(t)
	full := parse(t, aRun)
	full.SetNamespace(ns)
	bare := edits{
		"metadata.name": "bare", "spec": "{versionRef: {name: v-0123456789abcdef0123}}",
	}.apply(t, full)
	cancelled := edits{"metadata.name": "cancelled", "spec.cancel": "true"}.apply(t, full)
	child := parse(t, aSubagentsRun)
	child.SetNamespace(ns)
	for _, u := range []*unstructured.Unstructured{full, bare, cancelled, child} {
		creator := admin
		if u == child {
			creator = operator(t)
		}
		if err := creator.Create(t.Context(), u); err != nil {
			t.Fatal(err)
		}
	}
	const (
		specRef         = `spec: Invalid value: specRef is immutable: create another Run`
		versionRef      = `spec: Invalid value: versionRef is immutable: create another Run`
		input           = `spec: Invalid value: input is immutable: create another Run`
		limits          = `spec: Invalid value: limits are immutable: create another Run`
		createdByGroups = `spec: Invalid value: createdByGroups are set when the Run is created and never change`
		createdBy       = `spec: Invalid value: createdBy is set when the Run is created and never changes`
		parentRef       = `spec: Invalid value: parentRef is immutable: create another Run`
		subagent        = `spec: Invalid value: subagent is immutable: create another Run`
		cancel          = `spec: Invalid value: a cancelled Run stays cancelled: create another Run`
		version         = "{name: v-0123456789abcdef0124}"
	)
	for _, tc := range []struct {
		name  string
		run   *unstructured.Unstructured
		edits edits
		want  []string
	}{
		{"nothing", full, edits{}, nil},
		{"label", full, edits{"metadata.labels": "{a: b}"}, nil},
		{"cancel", full, edits{"spec.cancel": "true"}, nil},
		{"specRef", full, edits{"spec.specRef": "{name: other}"}, []string{specRef}},
		{"specRef for versionRef", full, edits{"spec.specRef": absent, "spec.versionRef": version}, []string{specRef, versionRef}},
		{"versionRef", bare, edits{"spec.versionRef": version}, []string{versionRef}},
		{"versionRef for specRef", bare, edits{"spec.versionRef": absent, "spec.specRef": "{name: s}"}, []string{specRef, versionRef}},
		{"input", full, edits{"spec.input": "It did not break."}, []string{input}},
		{"input left out", full, edits{"spec.input": absent}, []string{input}},
		{"input put in", bare, edits{"spec.input": "It broke."}, []string{input}},
		{"limits", full, edits{"spec.limits": "{steps: 6, deadline: 10m, approvalExpiry: 1h}"}, []string{limits}},
		{"one limit left out", full, edits{"spec.limits": "{steps: 5, deadline: 10m}"}, []string{limits}},
		{"limits left out", full, edits{"spec.limits": absent}, []string{limits}},
		{"limits put in", bare, edits{"spec.limits": "{steps: 1}"}, []string{limits}},
		{"createdBy", full, edits{"spec.createdBy": "eve"}, []string{createdBy}},
		{"createdByGroups", full, edits{"spec.createdByGroups": "[admins]"}, []string{createdByGroups}},
		{"createdBy left out", full, edits{"spec.createdBy": absent}, []string{createdBy}},
		{"parentRef", child, edits{"spec.parentRef.uid": "u-2"}, []string{parentRef}},
		{"subagent", child, edits{"spec.subagent": "shipping"}, []string{subagent}},
		{"parentRef and subagent left out", child, edits{"spec.parentRef": absent, "spec.subagent": absent}, []string{parentRef, subagent}},
		{"parentRef and subagent put in", full, edits{"spec.parentRef": aParent, "spec.subagent": "billing"}, []string{parentRef, subagent}},
		{"cancel taken back", cancelled, edits{"spec.cancel": "false"}, []string{cancel}},
		{"cancel left out", cancelled, edits{"spec.cancel": absent}, []string{cancel}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			u := tc.edits.apply(t, tc.run)
			err := admin.Update(t.Context(), u, client.DryRunAll)
			if diff := cmp.Diff(tc.want, causes(t, err)); diff != "" {
				t.Errorf("causes (-want +got):\n%s", diff)
			}
		})
	}
}
