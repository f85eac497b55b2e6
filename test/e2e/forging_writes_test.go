// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// The media types of patches.
const (
	mergePatch     = string(types.MergePatchType)
	jsonPatch      = string(types.JSONPatchType)
	strategicPatch = string(types.StrategicMergePatchType)
	applyPatch     = string(types.ApplyYAMLPatchType)
	plainJSON      = "application/json"
)

// denial is how the approver decided on the first call.
const denial = `{"approved":false,"reason":"Ask the carrier first."}`

// What those who try are told.
const (
	mayNotApprove = `user "$USER" may not approve: the verb "approve" on runs.remit.dev/approval in namespace "$NS" is required`
	mayNotPatch   = `User "$USER" cannot patch resource "runs" in API group "remit.dev" in the namespace "$NS"`
	mayNotUpdate  = `User "$USER" cannot update resource "runs" in API group "remit.dev" in the namespace "$NS"`
	notPending    = "a decision must name a call that is pending in status.pending"
	notAll        = "one update must decide every call in status.pending"
	neverChanges  = "a recorded decision never changes"
)

// request is one request; the words in its path and its body are those of the forging.
func (f *forging) request(verb, path, mediaType, body string, headers ...string) func(*testing.T, *person) error {
	return func(t *testing.T, as *person) error {
		t.Helper()
		expanded := make([]string, len(headers))
		for i, header := range headers {
			expanded[i] = f.expand(header)
		}
		return as.send(t, verb, f.expand(path), mediaType, f.expand(body), expanded...)
	}
}

// update puts the Run as somebody reads it, with one change.
func (f *forging) update(subresource string, change func(run map[string]any) error) func(*testing.T, *person) error {
	return func(t *testing.T, as *person) error {
		t.Helper()
		run := as.get(t, f.expand("$RUN"))
		if err := change(run.Object); err != nil {
			t.Fatal(err)
		}
		body, err := run.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		return as.send(t, "PUT", f.expand("$RUN"+subresource), plainJSON, string(body))
	}
}

// approving adds the decisions that everybody wants.
func (f *forging) approving(run map[string]any) error {
	return errors.Join(
		unstructured.SetNestedField(run, map[string]any{"approved": true}, "spec", "decisions", f.words["REFUND"]),
		unstructured.SetNestedField(run, map[string]any{"approved": true}, "spec", "decisions", f.words["LOOKUP"]))
}

// applied is a manifest for server-side apply with some spec.
func applied(spec string) string {
	return `{"apiVersion":"remit.dev/v1alpha1","kind":"Run","metadata":{"name":"teapot"},"spec":` + spec + `}`
}

// apply is a server-side apply of some spec, by a field manager and further parameters of the query.
func (f *forging) apply(manager, spec string) func(*testing.T, *person) error {
	return f.request("PATCH", "$RUN?fieldManager="+manager, applyPatch, applied(spec))
}

// clientSideApply is the real kubectl's, which has a kubeconfig of those who have one.
func (f *forging) clientSideApply(user string) func(*testing.T, *person) error {
	return func(t *testing.T, _ *person) error {
		t.Helper()
		manifest := filepath.Join(t.TempDir(), "run.yaml")
		text := f.expand(applied(`{"specRef":{"name":"agent"},"input":"My teapot arrived in pieces.","decisions":$YES}`))
		if err := os.WriteFile(manifest, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := kubectl(t, user, "apply", "--namespace", f.namespace, "--filename", manifest); err != nil {
			return errors.New(out)
		}
		return nil
	}
}

// writes are the ways to write a decision, each of them tried by all who have no right to.
func (f *forging) writes() []attempt {
	const decided = `{"decisions":$YES}`
	// Whoever may write Runs meets the admission policy, and everybody else RBAC.
	patching := map[string]string{
		author: mayNotApprove, lead: mayNotApprove, neighbour: mayNotApprove, mechanic: mayNotApprove, platform: mayNotApprove,
		viewer: mayNotPatch, theOperator: mayNotPatch,
	}
	updating := map[string]string{
		author: mayNotApprove, lead: mayNotApprove, neighbour: mayNotApprove, mechanic: mayNotApprove, platform: mayNotApprove,
		viewer: mayNotUpdate, theOperator: mayNotUpdate,
	}
	unknown := map[string]string{
		author: "the body of the request was in an unknown format", approver: "the body of the request was in an unknown format",
		platform: "the body of the request was in an unknown format",
		viewer:   mayNotPatch, theOperator: mayNotPatch,
	}
	const both = `"$REFUND":{"approved":true},"$LOOKUP":{"approved":true}`
	attempts := all([]way{
		{"merge patch", f.request("PATCH", "$RUN", mergePatch, `{"spec":`+decided+`}`)},
		{"merge patch that names another user", f.request("PATCH", "$RUN", mergePatch,
			`{"spec":{"decisions":{"$REFUND":{"approved":true,"by":"approver"},"$LOOKUP":{"approved":true,"by":"approver"}}}}`)},
		{"merge patch that denies", f.request("PATCH", "$RUN", mergePatch,
			`{"spec":{"decisions":{"$REFUND":{"approved":false},"$LOOKUP":{"approved":false}}}}`)},
		{"JSON patch", f.request("PATCH", "$RUN", jsonPatch, `[{"op":"add","path":"/spec/decisions/$REFUND","value":{"approved":true}},`+
			`{"op":"add","path":"/spec/decisions/$LOOKUP","value":{"approved":true}}]`)},
		{"server-side apply", f.apply("gitops", decided)},
		{"server-side apply with force, as another field manager", f.apply("gitops&force=true", decided)},
		{"server-side apply with force, as the approver's field manager",
			f.apply("console&force=true", `{"decisions":{"$DENIED":`+denial+`,`+both+`}}`)},
	}, patching)
	attempts = append(attempts, each("update", f.update("", f.approving), updating)...)
	attempts = append(attempts, each("strategic merge patch", f.request("PATCH", "$RUN", strategicPatch, `{"spec":`+decided+`}`), unknown)...)
	return append(attempts,
		attempt{"client-side apply", author, f.clientSideApply(author), mayNotApprove},
		attempt{"patch of decisions beside something allowed", author, f.request("PATCH", "$RUN", mergePatch,
			`{"metadata":{"labels":{"a":"b"}},"spec":`+decided+`}`), mayNotApprove},
		attempt{"names in another case, which are no fields", author, f.request("PATCH", "$RUN", mergePatch,
			`{"Spec":`+decided+`,"spec":{"Decisions":$YES}}`), ""},
		attempt{"name twice, the second time with decisions", author, f.request("PATCH", "$RUN", mergePatch,
			`{"spec":{},"spec":`+decided+`}`), mayNotApprove},
		attempt{"dry run, for its answer alone", author, f.request("PATCH", "$RUN?dryRun=All", mergePatch, `{"spec":`+decided+`}`), mayNotApprove},
		attempt{"headers of an authenticating proxy", author, f.request("PATCH", "$RUN", mergePatch, `{"spec":`+decided+`}`,
			"X-Remote-User", "approver", "X-Remote-Group", "remit:approvers"), mayNotApprove},
		attempt{"one call of two", approver, f.request("PATCH", "$RUN", mergePatch,
			`{"spec":{"decisions":{"$REFUND":{"approved":true}}}}`), notAll},
		attempt{"a call that never was", approver, f.request("PATCH", "$RUN", mergePatch,
			`{"spec":{"decisions":{"$REFUND":{"approved":true},"$LOOKUP":{"approved":true},"call-0123456789abcdef":{"approved":true}}}}`), notPending},
	)
}

// changesOfARecordedDecision turn the denial of the first call into something else. They are tried by
// those who may write Runs, the approver included.
func (f *forging) changesOfARecordedDecision() []attempt {
	const recorded, flipped = `{"decisions":{"$DENIED":` + denial + `}}`, `{"decisions":{"$DENIED":{"approved":true}}}`
	one := func(change func(decision map[string]any)) func(run map[string]any) error {
		return func(run map[string]any) error {
			decision, _, err := unstructured.NestedMap(run, "spec", "decisions", f.words["DENIED"])
			if err != nil {
				return err
			}
			change(decision)
			return unstructured.SetNestedMap(run, decision, "spec", "decisions", f.words["DENIED"])
		}
	}
	ways := []way{
		{"merge patch the other way", f.request("PATCH", "$RUN", mergePatch, `{"spec":{"decisions":{"$DENIED":{"approved":true}}}}`)},
		{"merge patch of by", f.request("PATCH", "$RUN", mergePatch, `{"spec":{"decisions":{"$DENIED":{"by":"somebody"}}}}`)},
		{"merge patch of the reason", f.request("PATCH", "$RUN", mergePatch, `{"spec":{"decisions":{"$DENIED":{"reason":"Pay."}}}}`)},
		{"merge patch without it", f.request("PATCH", "$RUN", mergePatch, `{"spec":{"decisions":{"$DENIED":null}}}`)},
		{"merge patch without any", f.request("PATCH", "$RUN", mergePatch, `{"spec":{"decisions":null}}`)},
		{"JSON patch the other way", f.request("PATCH", "$RUN", jsonPatch, `[{"op":"replace","path":"/spec/decisions/$DENIED/approved","value":true}]`)},
		{"JSON patch that takes it out", f.request("PATCH", "$RUN", jsonPatch, `[{"op":"remove","path":"/spec/decisions/$DENIED"}]`)},
		{"JSON patch that moves it to a pending call", f.request("PATCH", "$RUN", jsonPatch,
			`[{"op":"move","from":"/spec/decisions/$DENIED","path":"/spec/decisions/$REFUND"}]`)},
		{"update the other way", f.update("", one(func(d map[string]any) { d["approved"] = true }))},
		{"update without it", f.update("", func(run map[string]any) error {
			unstructured.RemoveNestedField(run, "spec", "decisions")
			return nil
		})},
		{"server-side apply without it, as the approver's field manager", f.apply("console", `{}`)},
		{"server-side apply with force the other way, as the approver's field manager", f.apply("console&force=true", flipped)},
		{"server-side apply with force the other way, as another field manager", f.apply("gitops&force=true", flipped)},
	}
	attempts := all(ways, map[string]string{author: neverChanges, approver: neverChanges, lead: neverChanges})
	return append(attempts,
		attempt{"server-side apply without force the other way", author, f.apply("gitops", flipped),
			`conflict with "console": .spec.decisions.$DENIED.approved`},
		attempt{"taking over the ownership of the fields", author, f.apply("gitops&force=true", recorded), ""},
		attempt{"letting go of the ownership again", author, f.apply("gitops&force=true", `{}`), ""},
		attempt{"wiping out who owns what", author, f.request("PATCH", "$RUN", mergePatch, `{"metadata":{"managedFields":[{}]}}`), ""},
		attempt{"server-side apply as the approver's field manager, which owns nothing any more", author, f.apply("console", recorded), ""},
		attempt{"server-side apply without it, as that field manager", author, f.apply("console", `{}`), ""},
	)
}
