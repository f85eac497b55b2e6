// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"encoding/json"
	"fmt"

	"remit.dev/remit/api/v1alpha1"
)

// etcd takes objects of up to 1.5 MiB. With everything else that an MCPServer may
// hold, these leave room enough.
const (
	maxToolsBytes   = 896 << 10
	maxPromptsBytes = 128 << 10
)

// unusableInShort stands in for a reason that there is no room for.
const unusableInShort = "see status.findings"

// fitTools cuts what a status shows of the tools until there is room for it: first
// what nobody decides on, and tools at the end at last. The findings say what.
func fitTools(tools []v1alpha1.CataloguedTool) (shown []v1alpha1.CataloguedTool, findings []string) {
	for _, cut := range []struct {
		what string
		of   func(*v1alpha1.CataloguedTool)
	}{
		{"messages of the tools' findings", func(tool *v1alpha1.CataloguedTool) {
			for i := range tool.Findings {
				tool.Findings[i].Path, tool.Findings[i].Message = "", ""
			}
		}},
		{"findings of the tools", func(tool *v1alpha1.CataloguedTool) { tool.Findings = nil }},
		{"titles", func(tool *v1alpha1.CataloguedTool) { tool.Title = "" }},
		{"tags", func(tool *v1alpha1.CataloguedTool) { tool.Tags = recommended(tool.Tags) }},
		{"reasons why tools are unusable", func(tool *v1alpha1.CataloguedTool) {
			if tool.Unusable != "" {
				tool.Unusable = unusableInShort
			}
		}},
	} {
		if encodedSize(tools) <= maxToolsBytes {
			return tools, findings
		}
		for i := range tools {
			cut.of(&tools[i])
		}
		findings = append(findings, fmt.Sprintf("the %s are left out of status.tools: it would have more than %d bytes", cut.what, maxToolsBytes))
	}
	if shown = prefix(tools, maxToolsBytes); len(shown) < len(tools) {
		findings = append(findings, fmt.Sprintf("%d tools are left out: status.tools would have more than %d bytes", len(tools)-len(shown), maxToolsBytes))
	}
	return shown, findings
}

// fitPrompts does the same for prompts.
func fitPrompts(prompts []v1alpha1.CataloguedPrompt) (shown []v1alpha1.CataloguedPrompt, findings []string) {
	if encodedSize(prompts) <= maxPromptsBytes {
		return prompts, nil
	}
	for i := range prompts {
		prompts[i].Title = ""
	}
	findings = append(findings, fmt.Sprintf("the titles are left out of status.prompts: it would have more than %d bytes", maxPromptsBytes))
	if shown = prefix(prompts, maxPromptsBytes); len(shown) < len(prompts) {
		findings = append(findings, fmt.Sprintf("%d prompts are left out: status.prompts would have more than %d bytes", len(prompts)-len(shown), maxPromptsBytes))
	}
	return shown, findings
}

// encodedSize is the length of a list as the API server stores it, brackets aside.
func encodedSize[T any](list []T) int {
	size := 0
	for i := range list {
		size += itemSize(&list[i])
	}
	return size
}

// prefix is the most of a list that has room in limit bytes.
func prefix[T any](list []T, limit int) []T {
	size := 0
	for i := range list {
		if size += itemSize(&list[i]); size > limit {
			return list[:i]
		}
	}
	return list
}

func itemSize[T any](item *T) int {
	text, err := json.Marshal(item)
	if err != nil {
		panic(err) // these types hold nothing that JSON cannot
	}
	return len(text) + len(",")
}

// recommended keeps the one tag that has an effect.
func recommended(tags []string) []string {
	for _, tag := range tags {
		if tag == v1alpha1.TagRecommended {
			return []string{tag}
		}
	}
	return nil
}
