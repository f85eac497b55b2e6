// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/mcp"
	"remit.dev/remit/internal/octool"
)

// maxObject is what etcd takes of one object, and maxAnnotations what the API server takes of metadata that
// somebody else writes.
const (
	maxObject      = 3 << 19
	maxAnnotations = 256 << 10
)

// atTheBounds is a catalogue in which everything is as large as the bounds let it be. Fill is what texts
// consist of: some characters take six bytes where the API server stores them.
func atTheBounds(tools int, name, fill string) *mcp.Catalogue {
	yes := true
	tags := make([]string, maxTags)
	for i := range tags {
		tags[i] = fmt.Sprintf("%q", fmt.Sprintf("%02d", i)+strings.Repeat("t", octool.MaxTagBytes-2))
	}
	tags[maxTags-1] = `"recommended"`
	catalogue := &mcp.Catalogue{
		ServerName: strings.Repeat(fill, mcp.MaxTitle), ServerVersion: strings.Repeat(fill, mcp.MaxTitle), ProtocolVersion: "2026-07-28",
		Findings: slices.Repeat([]string{strings.Repeat(fill, 1024)}, mcp.MaxFindings),
	}
	for i := range tools {
		catalogue.Tools = append(catalogue.Tools, mcp.Tool{
			Name: fmt.Sprintf("%s%04d", strings.Repeat(name, mcp.MaxToolName-4), i), Title: strings.Repeat(fill, mcp.MaxTitle),
			Annotations: mcp.Annotations{Present: true, ReadOnly: &yes, Destructive: &yes, Idempotent: &yes, OpenWorld: &yes},
			Meta:        map[string]json.RawMessage{octool.MetaPrefix + "tags": json.RawMessage("[" + strings.Join(tags, ",") + "]")},
			Digest:      fmt.Sprintf("%064d", i), Unusable: strings.Repeat(fill, maxUnusable),
		})
	}
	for i := range mcp.MaxPrompts {
		catalogue.Prompts = append(catalogue.Prompts, mcp.Prompt{
			Name: fmt.Sprintf("%s%04d", strings.Repeat(name, mcp.MaxToolName-4), i), Title: strings.Repeat(fill, mcp.MaxTitle),
			Digest: fmt.Sprintf("%064d", i),
		})
	}
	return catalogue
}

// show projects a catalogue onto a server that had other tools before, and returns the size of the object.
func show(t *testing.T, catalogue *mcp.Catalogue) (*v1alpha1.MCPServer, int) {
	t.Helper()
	server := &v1alpha1.MCPServer{ObjectMeta: metav1.ObjectMeta{Name: "desk", Namespace: "ns"}}
	discovered(server, time.Unix(1000, 0))
	s := &serverScope{server: server, stored: server.Status.DeepCopy(), now: time.Unix(2000, 0), catalogue: catalogue,
		unusable: NewCatalogue(nil).unusable}
	s.project()
	s.catalogue, s.failure = nil, &mcp.Error{Kind: mcp.Protocol, Detail: strings.Repeat("<", 2*mcp.MaxDetail)}
	s.project()
	text, err := json.Marshal(server)
	if err != nil {
		t.Fatal(err)
	}
	return server, len(text)
}

// However large a server makes its catalogue, the object stays below what etcd takes, with room for what
// people may write to its metadata; and every tool is shown unless the server aims for the opposite.
func TestStatusFits(t *testing.T) {
	for _, row := range []struct {
		name        string
		tools       int
		toolName    string
		fill        string
		shown       int
		recommended bool
	}{
		{"as large as plain text gets", mcp.MaxTools, "n", "x", mcp.MaxTools, true},
		{"characters that take six bytes", mcp.MaxTools, "n", "\x01", mcp.MaxTools, true},
		{"names that take six bytes a character", mcp.MaxTools, "<", "<", 500, true},
		{"one tool", 1, "n", "x", 1, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			server, size := show(t, atTheBounds(row.tools, row.toolName, row.fill))
			t.Logf("%d bytes, %d of %d tools, %d prompts; %q", size, len(server.Status.Tools), *server.Status.ToolCount,
				len(server.Status.Prompts), server.Status.Findings[:4])
			if size > maxObject-maxAnnotations-64<<10 {
				t.Errorf("the object has %d bytes", size)
			}
			if len(server.Status.Tools) < row.shown || int(*server.Status.ToolCount) != row.tools {
				t.Errorf("%d of %d tools are shown, want %d", len(server.Status.Tools), *server.Status.ToolCount, row.shown)
			}
			for _, tool := range server.Status.Tools {
				if slices.Contains(tool.Tags, v1alpha1.TagRecommended) != row.recommended || tool.Unusable == "" {
					t.Fatalf("what decides was left out: %+v", tool)
				}
			}
		})
	}
}

// What is cut is said, before anything else; what fits is not cut.
func TestFitTools(t *testing.T) {
	large, _ := show(t, atTheBounds(mcp.MaxTools, "n", "x"))
	first := large.Status.Findings[:4]
	if !strings.Contains(first[0], "left out of status.tools") || !strings.Contains(strings.Join(first, "\n"), "the titles are left out of status.tools") {
		t.Errorf("the first findings are %q", first)
	}
	small, _ := show(t, atTheBounds(100, "n", "x"))
	for _, tool := range small.Status.Tools {
		if tool.Title == "" || len(tool.Tags) != maxTags || len(tool.Unusable) != maxUnusable {
			t.Fatalf("cut without need: %+v", tool)
		}
	}
	if strings.Contains(small.Status.Findings[0], "left out of status") {
		t.Errorf("the first finding is %q", small.Status.Findings[0])
	}
}

// Of two thousand tools as servers give them, everything that the server said is shown. What was found wrong
// with each may not have room beside it.
func TestManyOrdinaryToolsAreShownWhole(t *testing.T) {
	yes := true
	catalogue := &mcp.Catalogue{}
	for i := range mcp.MaxTools {
		catalogue.Tools = append(catalogue.Tools, mcp.Tool{
			Name: fmt.Sprintf("service_resource_operation_number_%04d", i), Title: "Change an ordinary resource of a service by its number",
			Annotations: mcp.Annotations{Present: true, ReadOnly: &yes, Destructive: &yes, Idempotent: &yes, OpenWorld: &yes},
			InputSchema: json.RawMessage(`{"type": "object"}`), Digest: fmt.Sprintf("%064d", i),
		})
	}
	server, size := show(t, catalogue)
	t.Logf("%d bytes", size)
	if len(server.Status.Tools) != mcp.MaxTools {
		t.Errorf("%d tools, findings %q", len(server.Status.Tools), server.Status.Findings)
	}
	for _, tool := range server.Status.Tools {
		if tool.Title == "" || tool.Annotations == nil {
			t.Fatalf("cut: %+v; findings %q", tool, server.Status.Findings)
		}
	}
}
