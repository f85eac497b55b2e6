// SPDX-License-Identifier: Apache-2.0

package httptool

import (
	"net/http"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/gate"
)

// HintsOf gives the hints by which gate.Classify puts an HTTP tool into a class. An
// author's annotation tightens; by itself it loosens nothing (requirements G3, G6):
//
//   - Without annotations a tool is Write, whatever its method: a GET whose author forgot
//     them is not exempt.
//   - readOnlyHint counts only for GET and HEAD, which are safe by their definition (RFC
//     9110 section 9.2.1), which the Grant permits and which Remit itself enforces.
//   - DELETE is destructive, whatever the annotations say.
//
// Whether a call may be repeated is not among them: publish.Idempotent says that.
func HintsOf(tool *v1alpha1.Tool) gate.Hints {
	var hints gate.Hints
	if said := tool.Annotations; said != nil {
		hints = gate.Hints{Present: true, ReadOnly: said.ReadOnlyHint, Destructive: said.DestructiveHint}
	}
	if tool.HTTP == nil || !reads(string(tool.HTTP.Method)) {
		hints.ReadOnly = nil
	}
	if tool.HTTP != nil && tool.HTTP.Method == http.MethodDelete {
		destructive := true
		hints.Present, hints.Destructive = true, &destructive
	}
	return hints
}
