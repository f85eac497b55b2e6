// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"fmt"
	"strings"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/gate"
	"remit.dev/remit/internal/narrowing"
)

// What a Grant shows at most.
const (
	maxStale    = 64
	maxWithheld = 256
)

// project computes the whole status. While the server cannot be read, what was
// permitted stays as it was last seen.
func (s *grantScope) project(defaults []v1alpha1.ApprovalSelector) {
	status := &s.grant.Status
	status.ObservedGeneration = s.grant.Generation
	if s.server != nil {
		s.projectTools(status, defaults)
	}
	c := conditionSet{conditions: &status.Conditions, generation: s.grant.Generation, now: s.now}
	if s.problem != nil {
		c.notReady(s.problem.reason, s.problem.message, s.problem.stalled)
		return
	}
	c.ready(v1alpha1.ReasonGranted, s.summary())
}

func (s *grantScope) projectTools(status *v1alpha1.GrantStatus, defaults []v1alpha1.ApprovalSelector) {
	spec := &s.grant.Spec
	offer := narrowing.Offered(s.server)
	permitted := narrowing.Permitted(offer, spec.Tools)
	offeredCount, permittedCount := int32(len(offer)), int32(len(permitted))
	status.Offered, status.Permitted = &offeredCount, &permittedCount

	approval := gate.ApprovalOf(spec)
	status.Tools = make([]v1alpha1.PermittedTool, 0, len(permitted))
	for _, tool := range permitted {
		name, _ := narrowing.QualifiedName(s.grant.Name, tool.Name)
		need := v1alpha1.ApprovalNotRequired
		if _, required := approval.Requires(defaults, tool.Name, tool.Class); required {
			need = v1alpha1.ApprovalRequired
		}
		status.Tools = append(status.Tools, v1alpha1.PermittedTool{
			Name: tool.Name, QualifiedName: name, Class: tool.Class, Approval: need})
	}
	status.Withheld = withheld(narrowing.Explain(offer, spec.Tools, &v1alpha1.MCPGrant{Grant: v1alpha1.Slug(s.grant.Name)}))
	status.Stale = staleEntries(offer, spec)
}

// withheld lists the tools on offer that the Grant does not give. Names that
// nobody offers stand among the stale entries.
func withheld(verdicts []narrowing.Verdict) []v1alpha1.WithheldTool {
	var tools []v1alpha1.WithheldTool
	for _, verdict := range verdicts {
		if verdict.LostAt == "" || verdict.LostAt == v1alpha1.PlaneOffered || len(tools) == maxWithheld {
			continue
		}
		tools = append(tools, v1alpha1.WithheldTool{Name: verdict.Name, LostAt: verdict.LostAt, Message: verdict.Why})
	}
	return tools
}

// staleEntries lists the entries that name no tool of the server, so that a typing
// error in an allow-list does not stay unseen.
func staleEntries(offer []narrowing.Tool, spec *v1alpha1.GrantSpec) []v1alpha1.StaleEntry {
	var stale []v1alpha1.StaleEntry
	stale = addStale(stale, "spec.tools", narrowing.Stale(offer, spec.Tools))
	stale = addStale(stale, "spec.approval", narrowing.Stale(offer, spec.Approval))
	stale = addStale(stale, "spec.always", narrowing.Stale(offer, spec.Always))
	stale = addStale(stale, "spec.never", narrowing.Stale(offer, spec.Never))
	return stale[:min(len(stale), maxStale)]
}

func addStale[S ~string](stale []v1alpha1.StaleEntry, field string, entries []S) []v1alpha1.StaleEntry {
	for _, entry := range entries {
		stale = append(stale, v1alpha1.StaleEntry{Field: field, Value: string(entry)})
	}
	return stale
}

func (s *grantScope) summary() string {
	spec, status := &s.grant.Spec, &s.grant.Status
	switch {
	case spec.Model != nil && len(spec.Model.Models) > 0:
		return "grants the models " + strings.Join(spec.Model.Models, ", ")
	case spec.Model != nil:
		return "grants every model of the endpoint"
	case spec.HTTP != nil:
		return "grants the hosts " + strings.Join(spec.HTTP.Hosts, ", ")
	}
	text := fmt.Sprintf("permits %d of %d tools", *status.Permitted, *status.Offered)
	if len(status.Stale) > 0 {
		text += fmt.Sprintf("; %d entries name no tool of the server, see status.stale", len(status.Stale))
	}
	if s.shortened() {
		text += "; some names are shortened, see status.tools"
	}
	if shared := s.sharedNames(); len(shared) > 0 {
		text += "; several tools would be called " + strings.Join(shared, ", ") + ", so none of them is callable"
	}
	return text
}

// sharedNames are the qualified names that more than one permitted tool has. A
// server has to aim for that, since they end in a digest.
func (s *grantScope) sharedNames() []string {
	count := map[string]int{}
	var shared []string
	for _, tool := range s.grant.Status.Tools {
		if count[tool.QualifiedName]++; count[tool.QualifiedName] == 2 {
			shared = append(shared, tool.QualifiedName)
		}
	}
	return shared
}

func (s *grantScope) shortened() bool {
	for _, tool := range s.grant.Status.Tools {
		if tool.QualifiedName != s.grant.Name+narrowing.Separator+tool.Name {
			return true
		}
	}
	return false
}
