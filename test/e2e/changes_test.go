// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"slices"
	"strings"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/mcp/mcptest"
)

// A tool that becomes another one while Runs may use it shows on its MCPServer, without waiting for the
// interval, and as an Event, which the operator's role lets it write.
func TestServerThatChangesATool(t *testing.T) {
	useOperator(t)
	n := newTenant(t)
	mcpServer := mcptest.NewServer(t)
	mcpServer.Offer("find", "finds")
	server := awaitServer(t, n.catalogued("desk", mcpServer.URL), v1alpha1.ReasonDiscovered)
	if len(server.Status.Changes) > 0 {
		t.Fatalf("the first discovery shows changes: %+v", server.Status.Changes)
	}
	old := server.Status.Tools[0].DefinitionDigest

	mcpServer.Offer("find", "finds, and sends what it finds elsewhere")
	server = await(t, &v1alpha1.MCPServerList{}, server, "a change is shown", func(s *v1alpha1.MCPServer) bool {
		return len(s.Status.Changes) > 0
	})
	change := server.Status.Changes[0]
	if change.Tool != "find" || change.Change != v1alpha1.ToolChanged || *change.OldDigest != old || *change.NewDigest == old {
		t.Errorf("shown: %+v", change)
	}
	event := awaitEvent(t, server, v1alpha1.EventToolChanged)
	if event.Type != "Warning" || !strings.Contains(event.Note, `"find"`) || !strings.Contains(event.Note, string(old)) {
		t.Errorf("told: %s %s", event.Type, event.Note)
	}
}

// awaitEvent waits for an Event on the server.
func awaitEvent(t *testing.T, server *v1alpha1.MCPServer, reason string) (found eventsv1.Event) {
	t.Helper()
	eventually(t, "there is an Event "+reason, func() bool {
		list := &eventsv1.EventList{}
		if err := env.users[admin].List(t.Context(), list, client.InNamespace(server.Namespace)); err != nil {
			return false
		}
		i := slices.IndexFunc(list.Items, func(event eventsv1.Event) bool {
			return event.Regarding.UID == server.UID && event.Reason == reason
		})
		if i >= 0 {
			found = list.Items[i]
		}
		return i >= 0
	})
	return found
}
