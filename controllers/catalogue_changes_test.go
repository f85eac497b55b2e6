// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/mcp"
)

func digest(c string) v1alpha1.Digest { return v1alpha1.Digest("sha256:" + strings.Repeat(c, 64)) }

// discovered projects a discovery of tools onto the status, each given as its name and the digit that
// its digest is made of.
func discovered(server *v1alpha1.MCPServer, now time.Time, tools ...string) *serverScope {
	catalogue := &mcp.Catalogue{}
	for _, tool := range tools {
		name, digit, _ := strings.Cut(tool, " ")
		catalogue.Tools = append(catalogue.Tools, mcp.Tool{Name: name, Digest: strings.Repeat(digit, 64)})
	}
	s := &serverScope{server: server, stored: server.Status.DeepCopy(), now: now, catalogue: catalogue,
		unusable: func(*mcp.Tool) string { return "" }}
	s.project()
	return s
}

// What came, went or changed since the last discovery is shown, the newest first, with both digests; the first
// discovery changes nothing, and neither does one that finds the same.
func TestCatalogueChanges(t *testing.T) {
	server := &v1alpha1.MCPServer{}
	first, second, third := time.Unix(1000, 0).UTC(), time.Unix(2000, 0).UTC(), time.Unix(3000, 0).UTC()
	if s := discovered(server, first, "a 1", "b 2", "c 3"); len(s.changes) > 0 || len(server.Status.Changes) > 0 {
		t.Fatalf("the first discovery changed %+v", s.changes)
	}
	discovered(server, second, "d 4", "b 9", "c 3")
	at := metav1.NewTime(second)
	old1, old2, new4, new9 := digest("1"), digest("2"), digest("4"), digest("9")
	want := []v1alpha1.CatalogueChange{
		{Tool: "b", Change: v1alpha1.ToolChanged, OldDigest: &old2, NewDigest: &new9, Time: at},
		{Tool: "a", Change: v1alpha1.ToolRemoved, OldDigest: &old1, Time: at},
		{Tool: "d", Change: v1alpha1.ToolAdded, NewDigest: &new4, Time: at},
	}
	if diff := cmp.Diff(want, server.Status.Changes); diff != "" {
		t.Errorf("the changes (-want +got):\n%s", diff)
	}
	before := server.Status.DeepCopy()
	if s := discovered(server, third, "d 4", "b 9", "c 3"); len(s.changes) > 0 {
		t.Errorf("the same again changed %+v", s.changes)
	}
	if diff := cmp.Diff(before, &server.Status); diff != "" {
		t.Errorf("the same again changed the status (-before +after):\n%s", diff)
	}
	discovered(server, third)
	if latest := server.Status.Changes[0]; latest.Tool != "b" || latest.Change != v1alpha1.ToolRemoved || !latest.Time.Time.Equal(third) {
		t.Errorf("the newest change is %+v", latest)
	}
	if len(server.Status.Changes) != 6 {
		t.Errorf("%d changes, want 3 and 3", len(server.Status.Changes))
	}
}

// A server that came back from nothing has tools that came: an empty list is a discovery.
func TestCatalogueChangesFromNothing(t *testing.T) {
	server := &v1alpha1.MCPServer{}
	discovered(server, time.Unix(1000, 0))
	if s := discovered(server, time.Unix(2000, 0), "a 1"); len(s.changes) != 1 || s.changes[0].Change != v1alpha1.ToolAdded {
		t.Errorf("changes: %+v", s.changes)
	}
}

// However many tools change at once: the status shows the newest sixteen, eight have Events of their own, and
// one counts the others. Those that changed under their names come first.
func TestCatalogueChangesAreBounded(t *testing.T) {
	server := &v1alpha1.MCPServer{}
	var before, after []string
	for i := range 20 {
		before = append(before, fmt.Sprintf("changed%02d 1", i), fmt.Sprintf("gone%02d 1", i))
		after = append(after, fmt.Sprintf("changed%02d 2", i), fmt.Sprintf("new%02d 1", i))
	}
	discovered(server, time.Unix(1000, 0), before...)
	s := discovered(server, time.Unix(2000, 0), after...)
	if len(s.changes) != 60 || len(server.Status.Changes) != maxChanges {
		t.Errorf("%d changes, %d shown; want 60 and %d", len(s.changes), len(server.Status.Changes), maxChanges)
	}
	for i, change := range server.Status.Changes {
		if want := fmt.Sprintf("changed%02d", i); change.Tool != want {
			t.Errorf("changes[%d] is of %s, want %s", i, change.Tool, want)
		}
	}
	recorder := events.NewFakeRecorder(100)
	(&MCPServerReconciler{events: recorder}).announce(s)
	close(recorder.Events)
	var said []string
	for event := range recorder.Events {
		said = append(said, event)
	}
	if len(said) != maxToolEvents+1 {
		t.Fatalf("%d Events: %q", len(said), said)
	}
	if want := fmt.Sprintf(`Warning ToolChanged the definition of tool "changed00" was %s and is %s`, digest("1"), digest("2")); said[0] != want {
		t.Errorf("the first Event is %q, want %q", said[0], want)
	}
	want := "Warning CatalogueChanged and 52 more tools: 12 changed, 20 are gone, 20 are new; status.tools has the digests of all"
	if said[maxToolEvents] != want {
		t.Errorf("the last Event is %q, want %q", said[maxToolEvents], want)
	}
}

// A name that a server made up to look like something else is quoted, and no Event is longer than the API takes.
func TestSayChange(t *testing.T) {
	old, now := digest("1"), digest("2")
	name := strings.Repeat(`"`, 128)
	for change, want := range map[v1alpha1.ToolChange]string{
		v1alpha1.ToolAdded: "is new", v1alpha1.ToolChanged: "was sha256:1", v1alpha1.ToolRemoved: "is gone",
	} {
		said := sayChange(&v1alpha1.CatalogueChange{Tool: name, Change: change, OldDigest: &old, NewDigest: &now})
		if !strings.Contains(said, want) || !strings.Contains(said, strings.Repeat(`\"`, 128)) || len(said) > 1024 {
			t.Errorf("%s: %d bytes: %s", change, len(said), said)
		}
	}
}
