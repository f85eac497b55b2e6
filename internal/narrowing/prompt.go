// SPDX-License-Identifier: Apache-2.0

package narrowing

import "remit.dev/remit/api/v1alpha1"

// DefaultDeferAbove is the number of tools of a Run above which those that are
// not preloaded are deferred, where the operator sets no other.
const DefaultDeferAbove = 40

// Preloaded says whether the definition of a callable tool is in every prompt,
// however many tools a Run has: the Spec's grant preloads it, or its server
// recommends it.
func Preloaded(tool Tool, grant *v1alpha1.MCPGrant) bool {
	return tool.Recommended || Matches(grant.Preload, tool)
}
