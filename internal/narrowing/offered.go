// SPDX-License-Identifier: Apache-2.0

package narrowing

import (
	"slices"

	"remit.dev/remit/api/v1alpha1"
)

// Offered is a server's catalogue as narrowing looks at it.
func Offered(server *v1alpha1.MCPServer) []Tool {
	tools := make([]Tool, 0, len(server.Status.Tools))
	for i := range server.Status.Tools {
		tool := &server.Status.Tools[i]
		tools = append(tools, Tool{
			Name: tool.Name, Class: tool.Class, Unusable: tool.Unusable,
			Recommended: slices.Contains(tool.Tags, v1alpha1.TagRecommended),
		})
	}
	return tools
}
