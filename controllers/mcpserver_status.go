// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/credentials"
	"remit.dev/remit/internal/egress"
	"remit.dev/remit/internal/gate"
	"remit.dev/remit/internal/mcp"
	"remit.dev/remit/internal/schema"
)

const (
	maxServerFindings = 32
	maxFinding        = 256
	maxTitle          = 128
)

// project computes the whole status from the outcome of a discovery. A failed one
// leaves the catalogue as it was.
func (s *serverScope) project() {
	status := &s.server.Status
	status.ObservedGeneration = s.server.Generation
	if s.catalogue != nil {
		s.projectCatalogue(status)
	}
	c := conditionSet{conditions: &status.Conditions, generation: s.server.Generation, now: s.now}
	if s.failure == nil {
		message := fmt.Sprintf("offers %d tools", len(status.Tools))
		c.set(v1alpha1.ConditionReachable, metav1.ConditionTrue, v1alpha1.ReasonDiscovered, "the server answered")
		c.set(v1alpha1.ConditionAuthenticated, metav1.ConditionTrue, v1alpha1.ReasonDiscovered, "the server took the request")
		c.ready(v1alpha1.ReasonDiscovered, message)
		return
	}
	failure := explain(s.failure)
	c.set(v1alpha1.ConditionReachable, failure.reachable, failure.reason, failure.message)
	c.set(v1alpha1.ConditionAuthenticated, failure.authenticated, failure.reason, failure.message)
	c.notReady(failure.reason, failure.message, failure.stalled)
}

func (s *serverScope) projectCatalogue(status *v1alpha1.MCPServerStatus) {
	before := status.DeepCopy()
	count := int32(len(s.catalogue.Tools))
	status.ServerName = bounded(s.catalogue.ServerName, maxTitle)
	status.ServerVersion = bounded(s.catalogue.ServerVersion, maxTitle)
	status.ProtocolVersion = bounded(s.catalogue.ProtocolVersion, 32)
	status.ToolCount = &count
	status.Tools = cataloguedTools(s.catalogue.Tools, s.server.Spec.Annotations)
	status.Findings = serverFindings(s.catalogue)
	if status.DiscoveredAt == nil || !equality.Semantic.DeepEqual(before, status) {
		now := metav1.NewTime(s.now)
		status.DiscoveredAt = &now
	}
}

func cataloguedTools(tools []mcp.Tool, trust v1alpha1.AnnotationTrust) []v1alpha1.CataloguedTool {
	catalogued := make([]v1alpha1.CataloguedTool, 0, len(tools))
	for _, tool := range tools {
		believed := hints(tool.Annotations, trust)
		catalogued = append(catalogued, v1alpha1.CataloguedTool{
			Name:             tool.Name,
			Title:            bounded(tool.Title, maxTitle),
			Class:            gate.Classify(believed),
			Idempotent:       gate.Idempotent(believed),
			Annotations:      cataloguedAnnotations(tool.Annotations),
			DefinitionDigest: definitionDigest(tool),
		})
	}
	slices.SortFunc(catalogued, func(a, b v1alpha1.CataloguedTool) int { return strings.Compare(a.Name, b.Name) })
	return catalogued
}

// cataloguedAnnotations keeps every hint in the state in which it came.
func cataloguedAnnotations(annotations mcp.Annotations) *v1alpha1.CataloguedAnnotations {
	if !annotations.Present {
		return nil
	}
	return &v1alpha1.CataloguedAnnotations{
		ReadOnlyHint:    annotations.ReadOnly,
		DestructiveHint: annotations.Destructive,
		IdempotentHint:  annotations.Idempotent,
		OpenWorldHint:   annotations.OpenWorld,
	}
}

// serverFindings lists what was wrong with the server's answers, and the tools
// whose calls could not be judged.
func serverFindings(catalogue *mcp.Catalogue) []string {
	var findings []string
	add := func(text string) { findings = append(findings, bounded(text, maxFinding)) }
	for _, finding := range catalogue.Findings {
		add(finding)
	}
	for _, tool := range catalogue.Tools {
		if _, err := schema.Compile(tool.InputSchema); err != nil {
			add(fmt.Sprintf("tool %q is never callable: inputSchema: %v", tool.Name, err))
		}
	}
	if over := len(findings) - maxServerFindings; over > 0 {
		findings = append(findings[:maxServerFindings-1], fmt.Sprintf("and %d more", over+1))
	}
	return findings
}

// explained is a failure as conditions show it.
type explained struct {
	reason        string
	message       string
	reachable     metav1.ConditionStatus
	authenticated metav1.ConditionStatus
	// stalled says that somebody has to change something; else time may help.
	stalled bool
}

// explain reads a failed discovery: what happened, and what to do about it.
func explain(err error) explained {
	unknown := metav1.ConditionUnknown
	if credential, ok := errors.AsType[*credentials.Error](err); ok {
		return explained{credential.Reason, credential.Detail, unknown, metav1.ConditionFalse, true}
	}
	if denied, ok := errors.AsType[*egress.Denied](err); ok {
		return explained{v1alpha1.ReasonEgressDenied, stable(denied.Error()), metav1.ConditionFalse, unknown, true}
	}
	var failure *mcp.Error
	if !errors.As(err, &failure) {
		return explained{v1alpha1.ReasonUnreachable, stable(err.Error()), unknown, unknown, false}
	}
	detail := stable(failure.Detail)
	switch failure.Kind {
	case mcp.Unauthorized:
		return explained{v1alpha1.ReasonUnauthorized, detail + ": check spec.credential and the Secret that it names",
			metav1.ConditionTrue, metav1.ConditionFalse, true}
	case mcp.Timeout:
		return explained{v1alpha1.ReasonTimeout, detail + ": check that the server is up and answers in time",
			metav1.ConditionFalse, unknown, false}
	case mcp.Protocol, mcp.Rejected, mcp.TooLarge, mcp.Invalid:
		return explained{v1alpha1.ReasonProtocolError, detail + ": check that spec.transport names an MCP endpoint",
			metav1.ConditionTrue, unknown, true}
	default:
		return explained{v1alpha1.ReasonUnreachable, detail + ": check spec.transport and that the server is up",
			metav1.ConditionFalse, unknown, false}
	}
}

// localPort is the end of a connection that is another one at each attempt.
var localPort = regexp.MustCompile(`(\d+\.\d+\.\d+\.\d+|\[[0-9a-f:]+\]):\d+->`)

// stable makes a message the same at each attempt, so that a server that stays
// away does not make a write for each of them.
func stable(message string) string {
	return bounded(localPort.ReplaceAllString(message, ""), 1024)
}
