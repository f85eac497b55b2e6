// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"remit.dev/remit/api/v1alpha1"
)

const (
	// maxChanges bounds the changes that a status shows.
	maxChanges = 16
	// maxToolEvents bounds the Events of single tools after one discovery.
	maxToolEvents = 8
)

// toolChanges are the order in which the changes of one discovery are shown, and the
// Events of each: what changed under a name that people know comes before what went,
// and that before what is new.
var toolChanges = map[v1alpha1.ToolChange]struct {
	rank         int
	kind, reason string
}{
	v1alpha1.ToolChanged: {0, corev1.EventTypeWarning, v1alpha1.EventToolChanged},
	v1alpha1.ToolRemoved: {1, corev1.EventTypeNormal, v1alpha1.EventToolRemoved},
	v1alpha1.ToolAdded:   {2, corev1.EventTypeNormal, v1alpha1.EventToolAdded},
}

// catalogueChanges says how the tools differ. Both lists have each name once.
func catalogueChanges(before, after []v1alpha1.CataloguedTool, now metav1.Time) []v1alpha1.CatalogueChange {
	digests := make(map[string]*v1alpha1.Digest, len(before))
	for i := range before {
		digests[before[i].Name] = &before[i].DefinitionDigest
	}
	var changes []v1alpha1.CatalogueChange
	for i := range after {
		tool := &after[i]
		old, known := digests[tool.Name]
		delete(digests, tool.Name)
		switch {
		case !known:
			changes = append(changes, v1alpha1.CatalogueChange{
				Tool: tool.Name, Change: v1alpha1.ToolAdded, NewDigest: &tool.DefinitionDigest, Time: now})
		case *old != tool.DefinitionDigest:
			changes = append(changes, v1alpha1.CatalogueChange{
				Tool: tool.Name, Change: v1alpha1.ToolChanged, OldDigest: old, NewDigest: &tool.DefinitionDigest, Time: now})
		}
	}
	for name, old := range digests {
		changes = append(changes, v1alpha1.CatalogueChange{Tool: name, Change: v1alpha1.ToolRemoved, OldDigest: old, Time: now})
	}
	slices.SortFunc(changes, func(a, b v1alpha1.CatalogueChange) int {
		return cmp.Or(cmp.Compare(toolChanges[a.Change].rank, toolChanges[b.Change].rank), cmp.Compare(a.Tool, b.Tool))
	})
	return changes
}

// announce makes Events of what the discovery found to differ, where somebody takes them.
func (r *MCPServerReconciler) announce(s *serverScope) {
	if r.events == nil {
		return
	}
	shown := s.changes[:min(len(s.changes), maxToolEvents)]
	for i := range shown {
		change := &shown[i]
		of := toolChanges[change.Change]
		r.events.Eventf(regarding(s.server, change.Tool), nil, of.kind, of.reason, "Discover", "%s", sayChange(change))
	}
	if rest := s.changes[len(shown):]; len(rest) > 0 {
		r.events.Eventf(regarding(s.server, ""), nil, corev1.EventTypeWarning, v1alpha1.EventCatalogueChanged, "Discover", "%s", countChanges(rest))
	}
}

// sayChange says in an Event what became of a tool.
func sayChange(change *v1alpha1.CatalogueChange) string {
	switch change.Change {
	case v1alpha1.ToolAdded:
		return fmt.Sprintf("tool %q is new; its definition is %s", change.Tool, *change.NewDigest)
	case v1alpha1.ToolRemoved:
		return fmt.Sprintf("tool %q is gone; its definition was %s", change.Tool, *change.OldDigest)
	default:
		return fmt.Sprintf("the definition of tool %q was %s and is %s", change.Tool, *change.OldDigest, *change.NewDigest)
	}
}

// regarding is a tool of the server, as a container is one of a Pod: Events that
// differ in nothing but their text would be counted as one.
func regarding(server *v1alpha1.MCPServer, tool string) *corev1.ObjectReference {
	reference := &corev1.ObjectReference{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "MCPServer", Namespace: server.Namespace, Name: server.Name,
		UID: server.UID, ResourceVersion: server.ResourceVersion,
	}
	if tool != "" {
		reference.FieldPath = "status.tools{" + tool + "}"
	}
	return reference
}

func countChanges(changes []v1alpha1.CatalogueChange) string {
	count := map[v1alpha1.ToolChange]int{}
	for i := range changes {
		count[changes[i].Change]++
	}
	return fmt.Sprintf("and %d more tools: %d changed, %d are gone, %d are new; status.tools has the digests of all", len(changes),
		count[v1alpha1.ToolChanged], count[v1alpha1.ToolRemoved], count[v1alpha1.ToolAdded])
}
