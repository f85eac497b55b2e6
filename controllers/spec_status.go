// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"fmt"
	"strings"

	"remit.dev/remit/api/v1alpha1"
)

// project computes what the status says. The last good Version stays current
// while there are findings, and the history with it.
func (s *specScope) project() {
	status := &s.spec.Status
	status.ObservedGeneration = s.spec.Generation
	status.Findings = s.findings
	c := conditionSet{conditions: &status.Conditions, generation: s.spec.Generation, now: s.now}
	switch {
	case len(s.findings) > 0:
		c.notReady(v1alpha1.ReasonValidationFailed, s.summary(), true)
	case s.problem != nil:
		c.notReady(s.problem.reason, s.problem.message, s.problem.terminal != nil)
	default:
		c.ready(v1alpha1.ReasonPublished, fmt.Sprintf("published as Version %s, %s", s.result.Name, s.result.Hash))
	}
}

// summarised is how many findings the condition shows; status.findings has all.
const summarised = 3

func (s *specScope) summary() string {
	var text strings.Builder
	if len(s.findings) == 1 {
		text.WriteString("1 finding")
	} else {
		fmt.Fprintf(&text, "%d findings", len(s.findings))
	}
	separator := ": "
	for _, f := range s.findings[:min(len(s.findings), summarised)] {
		fmt.Fprintf(&text, "%s%s: %s (%s)", separator, f.Path, f.Message, f.Rule)
		separator = "; "
	}
	if more := len(s.findings) - summarised; more > 0 {
		fmt.Fprintf(&text, "; and %d more in status.findings", more)
	}
	if current := s.spec.Status.Version; current != "" {
		fmt.Fprintf(&text, ". Version %s stays current", current)
	}
	return text.String()
}
