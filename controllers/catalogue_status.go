// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/gate"
	"remit.dev/remit/internal/mcp"
	"remit.dev/remit/internal/octool"
)

const (
	maxServerFindings = 32
	maxFinding        = 256
	maxTitle          = 128
	maxUnusable       = 256
	maxTags           = 16
)

// projectCatalogue shows what the server offers, and what of it differs from before.
func (s *serverScope) projectCatalogue(status *v1alpha1.MCPServerStatus) {
	before, now := status.DeepCopy(), metav1.NewTime(s.now)
	catalogue, trust := s.catalogue, s.server.Spec.Annotations
	tools := make([]v1alpha1.CataloguedTool, 0, len(catalogue.Tools))
	for i := range catalogue.Tools {
		tool := cataloguedTool(&catalogue.Tools[i], trust)
		tool.Unusable = s.unusable(&catalogue.Tools[i])
		if tool.Unusable == "" {
			tool.Findings = judged(&catalogue.Tools[i])
		}
		tools = append(tools, tool)
	}
	slices.SortFunc(tools, func(a, b v1alpha1.CataloguedTool) int { return strings.Compare(a.Name, b.Name) })
	findings := unusableFindings(tools)
	shownTools, cutTools := fitTools(tools)
	shownPrompts, cutPrompts := fitPrompts(cataloguedPrompts(catalogue.Prompts))

	count := int32(len(catalogue.Tools))
	status.ServerName = bounded(catalogue.ServerName, maxTitle)
	status.ServerVersion = bounded(catalogue.ServerVersion, maxTitle)
	status.ProtocolVersion = bounded(catalogue.ProtocolVersion, 32)
	status.ToolCount = &count
	status.Tools, status.Prompts = shownTools, shownPrompts
	status.Findings = serverFindings(slices.Concat(cutTools, cutPrompts, catalogue.Findings, findings))
	if before.ToolCount != nil { // at first there is nothing to compare with
		s.changes = catalogueChanges(before.Tools, status.Tools, now)
		changes := slices.Concat(s.changes, before.Changes)
		status.Changes = changes[:min(len(changes), maxChanges)]
	}
	if status.DiscoveredAt == nil || !equality.Semantic.DeepEqual(before, status) {
		status.DiscoveredAt = &now
	}
}

func cataloguedTool(tool *mcp.Tool, trust v1alpha1.AnnotationTrust) v1alpha1.CataloguedTool {
	believed := hints(tool.Annotations, trust)
	return v1alpha1.CataloguedTool{
		Name:             tool.Name,
		Title:            bounded(tool.Title, maxTitle),
		Class:            gate.Classify(believed),
		Idempotent:       gate.Idempotent(believed),
		Tags:             tagsOf(tool.Meta),
		Annotations:      cataloguedAnnotations(tool.Annotations),
		DefinitionDigest: definitionDigest(*tool),
	}
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

// tagsOf reads the tags of a tool, each once. What is malformed or too long is let pass,
// as a reader does with a tag that it does not know.
func tagsOf(meta map[string]json.RawMessage) []string {
	described, _ := octool.ReadMeta(meta)
	var tags []string
	for _, tag := range described.Tags {
		if len(tags) < maxTags && tag == printable(tag) && !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	return tags
}

func cataloguedPrompts(prompts []mcp.Prompt) []v1alpha1.CataloguedPrompt {
	catalogued := make([]v1alpha1.CataloguedPrompt, 0, len(prompts))
	for _, prompt := range prompts {
		catalogued = append(catalogued, v1alpha1.CataloguedPrompt{
			Name: prompt.Name, Title: bounded(prompt.Title, maxTitle), Digest: v1alpha1.Digest("sha256:" + prompt.Digest),
		})
	}
	slices.SortFunc(catalogued, func(a, b v1alpha1.CataloguedPrompt) int { return strings.Compare(a.Name, b.Name) })
	return catalogued
}

// unusableFindings lists the tools whose calls could not be judged.
func unusableFindings(tools []v1alpha1.CataloguedTool) []string {
	var findings []string
	for i := range tools {
		if why := tools[i].Unusable; why != "" {
			findings = append(findings, fmt.Sprintf("tool %q is never callable: %s", tools[i].Name, why))
		}
	}
	return findings
}

// serverFindings bounds what was wrong with the server's answers.
func serverFindings(all []string) []string {
	findings := make([]string, 0, min(len(all), maxServerFindings))
	for _, finding := range all[:min(len(all), maxServerFindings)] {
		findings = append(findings, bounded(finding, maxFinding))
	}
	if over := len(all) - maxServerFindings; over > 0 {
		findings[maxServerFindings-1] = fmt.Sprintf("and %d more", over+1)
	}
	return findings
}
