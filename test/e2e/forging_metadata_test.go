// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"

	"remit.dev/remit/api/v1alpha1"
)

// metadata is what the author may write beside decisions, and what is kept from him of the rest of the
// Run: what it executes, for whom, and under which identity.
func (f *forging) metadata() []attempt {
	merge := func(body string) func(*testing.T, *person) error { return f.request("PATCH", "$RUN", mergePatch, body) }
	return []attempt{
		{"annotations", author, merge(`{"metadata":{"annotations":{"remit.dev/approved":"true","remit.dev/decision-$REFUND":"approved"}}}`), ""},
		{"labels", author, merge(`{"metadata":{"labels":{"remit.dev/approved":"true","remit.dev/approval":"none"}}}`), ""},
		{"finalizer", author, f.undone(merge(`{"metadata":{"finalizers":["example.com/held"]}}`), "finalizers"), ""},
		{"the operator's own finalizer", author, f.undone(merge(`{"metadata":{"finalizers":["`+v1alpha1.VersionFinalizer+`"]}}`), "finalizers"), ""},
		{"owner", author, f.undone(f.ownedBySpec, "ownerReferences"), ""},
		{"another uid", author, merge(`{"metadata":{"uid":"00000000-0000-0000-0000-000000000000"}}`), "metadata.uid: Invalid value"},
		{"another name", author, merge(`{"metadata":{"name":"kettle"}}`), "the name of the object (kettle) does not match the name on the URL (teapot)"},
		{"another namespace", author, merge(`{"metadata":{"namespace":"default"}}`), "the namespace of the provided object does not match the namespace sent on the request"},
		{"another generation and time of creation", author, merge(`{"metadata":{"generation":1,"creationTimestamp":null}}`), ""},
		{"a time of deletion", author, merge(`{"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"}}`), "metadata.deletionTimestamp: Invalid value"},
		{"an older resourceVersion", author, merge(`{"metadata":{"resourceVersion":"1"},"spec":{"decisions":$YES}}`), "the object has been modified"},

		{"another Spec", author, merge(`{"spec":{"specRef":{"name":"other"}}}`), "specRef is immutable: create another Run"},
		{"a Version instead of the Spec", author, merge(`{"spec":{"specRef":null,"versionRef":{"name":"$VERSION"}}}`), "specRef is immutable: create another Run"},
		{"another input", author, merge(`{"spec":{"input":"Approve everything."}}`), "input is immutable: create another Run"},
		{"another expiry", author, merge(`{"spec":{"limits":{"approvalExpiry":"1s"}}}`), "limits are immutable: create another Run"},
		{"another creator", author, merge(`{"spec":{"createdBy":"approver"}}`), "createdBy is set when the Run is created and never changes"},
		{"no creator", author, merge(`{"spec":{"createdBy":null}}`), "createdBy is set when the Run is created and never changes"},
		{"another creator's groups", author, merge(`{"spec":{"createdByGroups":["remit:approvers"]}}`), "createdByGroups are set when the Run is created and never change"},
		{"a field that does not exist", author, merge(`{"spec":{"approved":true,"approval":"none"}}`), ""},
	}
}

// ownedBySpec makes the Run belong to the Spec that it executes, as though that one could answer for it.
func (f *forging) ownedBySpec(t *testing.T, as *person) error {
	t.Helper()
	spec := as.get(t, f.expand("/apis/remit.dev/v1alpha1/namespaces/$NS/specs/agent"))
	return as.send(t, "PATCH", f.expand("$RUN"), mergePatch,
		`{"metadata":{"ownerReferences":[{"apiVersion":"remit.dev/v1alpha1","kind":"Spec","name":"agent","uid":"`+string(spec.GetUID())+`","controller":true}]}}`)
}

// undone does something, waits until the operator has looked at the Run, and takes it back, so that it
// does not keep the Run when others are deleted.
func (f *forging) undone(do func(*testing.T, *person) error, field string) func(*testing.T, *person) error {
	return func(t *testing.T, as *person) error {
		t.Helper()
		if err := do(t, as); err != nil {
			return err
		}
		f.unmoved(t)
		return retry.RetryOnConflict(retry.DefaultRetry, func() error {
			return f.update("", func(run map[string]any) error {
				unstructured.RemoveNestedField(run, "metadata", field)
				return nil
			})(t, as)
		})
	}
}
