// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/mcp"
	"remit.dev/remit/internal/octool"
)

const (
	maxToolFindings   = 16
	maxFindingPath    = 128
	maxFindingMessage = 160
)

// judged gives the rules of tool descriptors that a definition breaks, in the order
// in which they were found first.
func judged(tool *mcp.Tool) []v1alpha1.ToolFinding {
	described, _ := octool.ReadMeta(tool.Meta)
	var findings []v1alpha1.ToolFinding
	at := map[string]int{}
	for _, found := range octool.JudgeDescribed(octool.DescribedTool{
		Name: tool.Name, Description: tool.Description, InputSchema: tool.InputSchema, OutputSchema: tool.OutputSchema,
		Described: described,
	}) {
		if i, ok := at[found.Rule]; ok {
			findings[i].Count++
			continue
		}
		if len(findings) == maxToolFindings {
			break
		}
		at[found.Rule] = len(findings)
		findings = append(findings, v1alpha1.ToolFinding{
			Rule: found.Rule, Count: 1, Path: bounded(printable(found.Path), maxFindingPath), Message: bounded(printable(found.Message), maxFindingMessage)})
	}
	return findings
}
