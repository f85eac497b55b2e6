// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"fmt"
	"slices"
	"strings"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/publish"
)

// project computes what the status says. The last good Version stays current
// while there are findings, and the history with it.
func (s *specScope) project() {
	status := &s.spec.Status
	status.ObservedGeneration = s.spec.Generation
	status.Findings = s.findings
	c := conditionSet{conditions: &status.Conditions, generation: s.spec.Generation, now: s.now}
	switch {
	case publish.Refused(s.findings):
		c.notReady(v1alpha1.ReasonValidationFailed, s.summary(), true)
	case s.problem != nil:
		c.notReady(s.problem.reason, s.problem.message, s.problem.terminal != nil)
	default:
		c.ready(v1alpha1.ReasonPublished, fmt.Sprintf("published as Version %s, %s%s", s.result.Name, s.result.Hash, advice(len(s.findings))))
	}
}

func advice(warnings int) string {
	switch warnings {
	case 0:
		return ""
	case 1:
		return "; 1 warning in status.findings"
	default:
		return fmt.Sprintf("; %d warnings in status.findings", warnings)
	}
}

// summarised is how many findings the condition shows; status.findings has all.
const summarised = 3

func (s *specScope) summary() string {
	var text strings.Builder
	refusing := slices.DeleteFunc(slices.Clone(s.findings), func(f v1alpha1.Finding) bool { return f.Severity == v1alpha1.SeverityWarning })
	if len(refusing) == 1 {
		text.WriteString("1 finding")
	} else {
		fmt.Fprintf(&text, "%d findings", len(refusing))
	}
	separator := ": "
	for _, f := range refusing[:min(len(refusing), summarised)] {
		fmt.Fprintf(&text, "%s%s: %s (%s)", separator, f.Path, f.Message, f.Rule)
		separator = "; "
	}
	if more := len(refusing) - summarised; more > 0 {
		fmt.Fprintf(&text, "; and %d more in status.findings", more)
	}
	if current := s.spec.Status.Version; current != "" {
		fmt.Fprintf(&text, ". Version %s stays current", current)
	}
	return text.String()
}
