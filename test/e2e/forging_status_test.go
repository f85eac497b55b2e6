// SPDX-License-Identifier: Apache-2.0

package e2e

import "encoding/json"

// statusPatches are what a forger would write into a status, beside the whole of it.
var statusPatches = []struct{ path, mediaType, body string }{
	{"phase", mergePatch, `{"status":{"phase":"Running"}}`},
	{"pending, taken out", mergePatch, `{"status":{"pending":null,"waitingFor":null}}`},
	{"pending, renamed", jsonPatch, `[{"op":"replace","path":"/status/pending/0/id","value":"$DENIED"}]`},
	{"pending, with other arguments", jsonPatch, `[{"op":"replace","path":"/status/pending/0/arguments","value":"{\"cents\": 1}"}]`},
	{"decided", mergePatch, `{"status":{"decided":[{"id":"$REFUND","tool":"desk__refund_order","approved":true,"by":"approver","decidedAt":"2026-01-01T00:00:00Z"}]}}`},
	{"the condition Approved", mergePatch, `{"status":{"conditions":[{"type":"Approved","status":"True","reason":"Decided","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`},
}

// statuses are the ways through the status, the subresources that there are, and those that there are not.
func (f *forging) statuses() []attempt {
	f.words["FORGED"] = jsonOf(f.T, forgedStatus(f.T, f.run))
	const forged = `{"status":$FORGED}`
	refused := func(verb, what string, users ...string) map[string]string {
		wants := map[string]string{}
		for _, user := range users {
			wants[user] = `User "$USER" cannot ` + verb + ` resource "` + what + `" in API group "remit.dev" in the namespace "$NS"`
		}
		return wants
	}
	var attempts []attempt
	add := func(more []attempt) { attempts = append(attempts, more...) }
	for _, p := range statusPatches {
		add(each("patch of status: "+p.path, f.request("PATCH", "$RUN/status", p.mediaType, p.body),
			refused("patch", "runs/status", author, approver, lead, theOperator)))
		add(each("patch of the Run: status: "+p.path, f.request("PATCH", "$RUN", p.mediaType, p.body), map[string]string{author: "", approver: ""}))
	}
	add(each("patch of status: all of it, with decisions in the log", f.request("PATCH", "$RUN/status", mergePatch, forged),
		refused("patch", "runs/status", author, approver, lead, viewer, platform, neighbour, theOperator)))
	add(each("server-side apply of status with force", f.request("PATCH", "$RUN/status?fieldManager=gitops&force=true", applyPatch,
		`{"apiVersion":"remit.dev/v1alpha1","kind":"Run","metadata":{"name":"teapot"},"status":$FORGED}`),
		refused("patch", "runs/status", author, approver, lead)))
	add(each("update of status: all of it, with decisions in the log", f.update("/status", f.withForgedStatus),
		refused("update", "runs/status", author, approver, lead, viewer, platform, neighbour)))
	add(each("patch of the Run: the whole status, with decisions in the log", f.request("PATCH", "$RUN", mergePatch, forged),
		map[string]string{author: "", approver: "", lead: ""}))
	add(each("update of the Run: the whole status, with decisions in the log", f.update("", f.withForgedStatus), map[string]string{author: "", approver: ""}))
	add(each("a status without pending beside decisions", f.request("PATCH", "$RUN", mergePatch,
		`{"spec":{"decisions":{"$REFUND":{"approved":true}}},"status":{"pending":null}}`), map[string]string{author: notAll, approver: notAll}))

	add(each("patch of scale", f.request("PATCH", "$RUN/scale", mergePatch, `{"spec":{"decisions":$YES}}`), refused("patch", "runs/scale", author, approver)))
	add(each("patch of approval", f.request("PATCH", "$RUN/approval", mergePatch, `{"spec":{"decisions":$YES}}`), refused("patch", "runs/approval", author, approver)))
	add(each("create of approval", f.request("POST", "$RUN/approval", plainJSON, `{"approved":true}`), refused("create", "runs/approval", author, approver)))
	for _, subresource := range []string{"scale", "approval", "finalizers", "decisions"} {
		attempts = append(attempts, attempt{"patch of " + subresource + ", which does not exist", admin,
			f.request("PATCH", "$RUN/"+subresource, mergePatch, `{"spec":{"decisions":$YES}}`), "not found"})
	}
	return attempts
}

// withForgedStatus puts the forged status into a Run.
func (f *forging) withForgedStatus(run map[string]any) error {
	var status map[string]any
	if err := json.Unmarshal([]byte(f.words["FORGED"]), &status); err != nil {
		return err
	}
	run["status"] = status
	return nil
}
