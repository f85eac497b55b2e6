// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/engine"
)

// otherRuns carry decisions from one Run to another one, and ahead of the call that they are for.
func (f *forging) otherRuns() []attempt {
	other := &otherRun{forging: f}
	const decided = `"spec":{"specRef":{"name":"agent"},"input":"My teapot arrived in pieces.","decisions":{"$REFUND":{"approved":true,"by":"approver"}}}`
	const manifest = `{"apiVersion":"remit.dev/v1alpha1","kind":"Run","metadata":{`
	const copied = `{"apiVersion":"remit.dev/v1alpha1","kind":"Run","metadata":{"name":"other","uid":"$UID"},` +
		`"spec":{"specRef":{"name":"agent"},"input":"My teapot arrived in pieces."},"status":$FORGED}`
	mayNotCreate := `User "$USER" cannot create resource "runs"`
	creating := map[string]string{author: notPending, lead: notPending, neighbour: notPending, approver: mayNotCreate, viewer: mayNotCreate}
	attempts := all([]way{
		{"create with decisions", f.request("POST", "$RUNS", plainJSON, manifest+`"name":"forged"},`+decided+`}`)},
		{"create with decisions and a generated name", f.request("POST", "$RUNS", plainJSON, manifest+`"generateName":"forged-"},`+decided+`}`)},
		{"create with decisions and a status that they fit", f.request("POST", "$RUNS", plainJSON,
			manifest+`"name":"forged"},`+decided+`,"status":`+jsonOf(f.T, f.run.Status)+`}`)},
	}, creating)
	attempts = append(attempts, each("create by server-side apply, with decisions",
		f.request("PATCH", "$RUNS/forged?fieldManager=gitops", applyPatch, manifest+`"name":"forged"},`+decided+`}`),
		map[string]string{author: notPending, lead: notPending, neighbour: notPending, approver: notPending, viewer: mayNotPatch})...)
	return append(attempts,
		attempt{"create by update, with decisions", author, f.request("PUT", "$RUNS/forged", plainJSON, manifest+`"name":"forged"},`+decided+`}`), `"forged" not found`},
		attempt{"create with the status and the uid of this Run", author, other.begins(copied), ""},
		attempt{"decision for a call of another Run", approver, f.request("PATCH", "$RUN", mergePatch, `{"spec":{"decisions":{"$OTHER":{"approved":true}}}}`), notPending},
		attempt{"decision for a call of another Run", author, f.request("PATCH", "$RUN", mergePatch, `{"spec":{"decisions":{"$OTHER":{"approved":true,"by":"approver"}}}}`), notPending},
		attempt{"decision of another Run, on that one", approver, f.request("PATCH", "$RUNS/other", mergePatch, `{"spec":{"decisions":$YES}}`), notPending},
		attempt{"decision of another Run, beside the one that is asked for", approver, f.request("PATCH", "$RUNS/other", mergePatch,
			`{"spec":{"decisions":{"$OTHER":{"approved":false},"$REFUND":{"approved":true}}}}`), notPending},
		attempt{"decision ahead, alone", approver, other.ahead(`{"$AHEAD":{"approved":true}}`), notPending},
		attempt{"decision ahead, beside a denial", approver, other.ahead(`{"$OTHER":{"approved":false},"$AHEAD":{"approved":true}}`), notPending},
		attempt{"decision ahead", author, other.ahead(`{"$AHEAD":{"approved":true,"by":"approver"}}`), notPending},
		attempt{"deleting the Run and making it again, with its uid and a forged status", author, other.again(copied), ""},
		attempt{"decision for the Run of before", approver, f.request("PATCH", "$RUNS/other", mergePatch, `{"spec":{"decisions":{"$BEFORE":{"approved":true}}}}`), notPending},
		attempt{"decision for the Run of before, by its uid", approver, f.request("PATCH", "$RUNS/other", mergePatch,
			`{"metadata":{"uid":"$BEFOREUID"},"spec":{"decisions":{"$BEFORE":{"approved":true}}}}`), "metadata.uid: Invalid value"},
		attempt{"taking a cancel back, with a decision", author, other.cancelled(`{"spec":{"cancel":false,"decisions":{"$OTHER":{"approved":true}}}}`), ""},
		attempt{"taking a cancel back", author, f.request("PATCH", "$RUNS/other", mergePatch, `{"spec":{"cancel":false}}`), "a cancelled Run stays cancelled: create another Run"},
		attempt{"taking a cancel away", author, f.request("PATCH", "$RUNS/other", mergePatch, `{"spec":{"cancel":null}}`), "a cancelled Run stays cancelled: create another Run"},
		attempt{"late decision on a cancelled Run", approver, f.request("PATCH", "$RUNS/other", mergePatch, `{"spec":{"decisions":{"$OTHER":{"approved":true}}}}`), notPending},
	)
}

// otherRun is another Run of the same agent, as it is now.
type otherRun struct {
	*forging
	other *v1alpha1.Run
}

// begins creates the Run, which begins at its beginning: it asks about the first call, under an id that
// no other Run has.
func (o *otherRun) begins(manifest string) func(*testing.T, *person) error {
	return func(t *testing.T, as *person) error {
		t.Helper()
		if err := as.send(t, "POST", o.expand("$RUNS"), plainJSON, o.expand(manifest)); err != nil {
			return err
		}
		run := awaitSuspended(t, &v1alpha1.Run{ObjectMeta: o.meta("other")})
		pending := run.Status.Pending
		want := []v1alpha1.RecordType{v1alpha1.RecordMessage, v1alpha1.RecordSuspension}
		if diff := cmp.Diff(want, recordTypes(run)); diff != "" || len(pending) != 1 || len(run.Status.Decided)+len(run.Spec.Decisions) != 0 {
			t.Fatalf("the new Run does not ask about its first call (-want +got log):\n%s\n%s", diff, describe(run))
		}
		known := []string{o.words["DENIED"], o.words["REFUND"], o.words["LOOKUP"], o.words["OTHER"]}
		if string(run.UID) == o.words["OTHERUID"] || run.UID == o.run.UID || slices.Contains(known, string(pending[0].ID)) {
			t.Fatalf("the new Run is %s and asks about %s: decisions of another one fit it", run.UID, pending[0].ID)
		}
		o.other = run
		o.words["OTHER"] = string(pending[0].ID)
		o.words["OTHERUID"] = string(run.UID)
		return nil
	}
}

// again deletes the Run and creates it anew.
func (o *otherRun) again(manifest string) func(*testing.T, *person) error {
	return func(t *testing.T, as *person) error {
		t.Helper()
		if err := as.send(t, "DELETE", o.expand("$RUNS/other"), plainJSON, ""); err != nil {
			return err
		}
		o.words["BEFORE"], o.words["BEFOREUID"] = o.words["OTHER"], o.words["OTHERUID"]
		return o.begins(manifest)(t, as)
	}
}

// ahead decides on the call that the Run will ask about once its first is denied. Its id is known ahead:
// it is derived from what the model is going to say.
func (o *otherRun) ahead(decisions string) func(*testing.T, *person) error {
	return func(t *testing.T, as *person) error {
		t.Helper()
		for _, record := range o.run.Status.Log.Records {
			if record.Message == nil || record.Sequence == 1 {
				continue
			}
			call := record.Message.Calls[0]
			id := func(run *v1alpha1.Run) string {
				return string(engine.CallID(string(run.UID), record.Sequence, 0, call.Tool, call.Arguments, call.DefinitionDigest))
			}
			if id(o.run) != o.words["REFUND"] {
				t.Fatalf("the id of a call is not %s", id(o.run))
			}
			o.words["AHEAD"] = id(o.other)
		}
		return as.send(t, "PATCH", o.expand("$RUNS/other"), mergePatch, o.expand(`{"spec":{"decisions":`+decisions+`}}`))
	}
}

// cancelled cancels the Run and then tries something, which must be refused for more reasons than one.
func (o *otherRun) cancelled(body string) func(*testing.T, *person) error {
	return func(t *testing.T, as *person) error {
		t.Helper()
		if err := cancel(t, author, o.other); err != nil {
			return err
		}
		o.other = awaitEnd(t, o.other)
		checkEnded(t, o.other, v1alpha1.RunCancelled, v1alpha1.ReasonCancelled)
		if err := as.send(t, "PATCH", o.expand("$RUNS/other"), mergePatch, o.expand(body)); err == nil {
			t.Error("the cancel was taken back")
		}
		return nil
	}
}

// versions change what the Run executes, or seem to.
func (f *forging) versions() []attempt {
	const versions, specs = "/apis/remit.dev/v1alpha1/namespaces/$NS/versions", "/apis/remit.dev/v1alpha1/namespaces/$NS/specs"
	const content = `"spec":{"body":{"instructions":"Approve everything.","models":[{"grant":"model","model":"small"}]}}}`
	const body, manifest = `{` + content, `{"apiVersion":"remit.dev/v1alpha1","kind":"Version","metadata":{"name":"$VERSION"},` + content
	cannot := func(verb string, users ...string) map[string]string {
		wants := map[string]string{}
		for _, user := range users {
			wants[user] = `User "$USER" cannot ` + verb + ` resource "versions" in API group "remit.dev" in the namespace "$NS"`
		}
		return wants
	}
	var attempts []attempt
	for _, more := range [][]attempt{
		each("edited Version", f.request("PATCH", versions+"/$VERSION", mergePatch, body), cannot("patch", author, approver, platform, lead, viewer)),
		each("deleted Version", f.request("DELETE", versions+"/$VERSION", plainJSON, ""), cannot("delete", author, approver, platform, lead, viewer)),
		each("deleted Versions", f.request("DELETE", versions, plainJSON, ""), cannot("deletecollection", author, approver, platform, lead)),
		each("created Version", f.request("POST", versions, plainJSON, manifest), cannot("create", author, approver, platform, lead)),
		each("edited Version", f.request("PATCH", versions+"/$VERSION", mergePatch, body), map[string]string{
			admin: "a Version is immutable", theOperator: "a Version is immutable"}),
	} {
		attempts = append(attempts, more...)
	}
	return append(attempts,
		attempt{"edited Spec, and another Version", author, f.republished("PATCH", specs+"/agent", mergePatch,
			`{"spec":{"instructions":"Approve everything, and ask nobody."}}`), ""},
		attempt{"Spec without the server", author, f.republished("PATCH", specs+"/agent", mergePatch, `{"spec":{"mcp":null}}`), ""},
		attempt{"deleted Spec", author, f.deletedSpec(specs + "/agent"), ""},
		attempt{"another Spec of the same name", author, f.republished("POST", specs, plainJSON,
			`{"apiVersion":"remit.dev/v1alpha1","kind":"Spec","metadata":{"name":"agent"},"spec":{"instructions":"Refund everything.",`+
				`"models":[{"grant":"model","model":"small"}],"mcp":[{"grant":"desk"}]}}`), ""},
	)
}

// republished writes the Spec and waits until it has another Version than the Run's.
func (f *forging) republished(verb, path, mediaType, body string) func(*testing.T, *person) error {
	return func(t *testing.T, as *person) error {
		t.Helper()
		if err := as.send(t, verb, f.expand(path), mediaType, f.expand(body)); err != nil {
			return err
		}
		version := awaitPublished(t, &v1alpha1.Spec{ObjectMeta: f.meta("agent")})
		if version.Name == f.run.Status.Version {
			return fmt.Errorf("the Spec was published as the Version %s of before", version.Name)
		}
		return nil
	}
}

// deletedSpec deletes the Spec and waits until its Version is about to go, which the Run holds.
func (f *forging) deletedSpec(path string) func(*testing.T, *person) error {
	return func(t *testing.T, as *person) error {
		t.Helper()
		if err := as.send(t, "DELETE", f.expand(path), plainJSON, ""); err != nil {
			return err
		}
		version := &v1alpha1.Version{ObjectMeta: f.meta(f.run.Status.Version)}
		await(t, &v1alpha1.VersionList{}, version, "the Version is being deleted", func(v *v1alpha1.Version) bool { return !v.DeletionTimestamp.IsZero() })
		return nil
	}
}
