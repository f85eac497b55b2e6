// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/mcp"
	"remit.dev/remit/internal/octool"
)

// J16, J29: the tags are the texts in the tool's _meta, as far as they fit; what is malformed costs itself.
func TestTagsOf(t *testing.T) {
	var many, want []string
	for i := range maxTags + 4 {
		many = append(many, fmt.Sprintf("%q", fmt.Sprintf("tag%d", i)))
		want = append(want, fmt.Sprintf("tag%d", i))
	}
	for _, row := range []struct {
		name string
		meta string
		want []string
	}{
		{"none", `{}`, nil},
		{"null", `{"com.opscogs.octools/tags": null}`, nil},
		{"not a list", `{"com.opscogs.octools/tags": "recommended"}`, nil},
		{"an object", `{"com.opscogs.octools/tags": {"recommended": true}}`, nil},
		{"under another key", `{"tags": ["recommended"], "com.opscogs.octools/Tags": ["recommended"]}`, nil},
		{"in their order", `{"com.opscogs.octools/tags": ["network", "recommended"]}`, []string{"network", "recommended"}},
		{"twice", `{"com.opscogs.octools/tags": ["a", "b", "a"]}`, []string{"a", "b"}},
		{"malformed ones", `{"com.opscogs.octools/tags": [1, null, "", ["a"], {"a": 1}, "recommended"]}`, []string{"recommended"}},
		{"too long", `{"com.opscogs.octools/tags": ["` + strings.Repeat("x", octool.MaxTagBytes+1) + `", "` + strings.Repeat("y", octool.MaxTagBytes) + `"]}`,
			[]string{strings.Repeat("y", octool.MaxTagBytes)}},
		{"of another major", `{"com.opscogs.octools/spec_version": "2.0", "com.opscogs.octools/tags": ["recommended"]}`, nil},
		{"too many", `{"com.opscogs.octools/tags": [` + strings.Join(many, ",") + `]}`, want[:maxTags]},
	} {
		t.Run(row.name, func(t *testing.T) {
			var meta map[string]json.RawMessage
			if err := json.Unmarshal([]byte(row.meta), &meta); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, tagsOf(meta)); diff != "" {
				t.Errorf("tags (-want +got):\n%s", diff)
			}
		})
	}
	if tags := tagsOf(nil); tags != nil {
		t.Errorf("no _meta has tags %q", tags)
	}
}

// A tool whose schema cannot be used says so within bounds, on one line, and is looked at once a definition.
func TestUnusable(t *testing.T) {
	c := NewCatalogue(nil)
	for _, row := range []struct {
		name string
		tool mcp.Tool
		want string // a part of it; empty when the tool is usable
	}{
		{"usable", mcp.Tool{InputSchema: json.RawMessage(`{"type": "object"}`)}, ""},
		{"says so itself", mcp.Tool{Unusable: "it has no inputSchema"}, "it has no inputSchema"},
		{"no schema", mcp.Tool{InputSchema: json.RawMessage(`{"type": 7}`)}, "inputSchema: the schema cannot be used"},
		{"leaves the schema", mcp.Tool{InputSchema: json.RawMessage(`{"$ref": "http://elsewhere.example/schema"}`)}, "inputSchema: "},
		{"key twice", mcp.Tool{InputSchema: json.RawMessage(`{"type": "object", "type": "object"}`)}, "inputSchema: "},
		{"too large", mcp.Tool{InputSchema: json.RawMessage(`{"title": "` + strings.Repeat("x", 256<<10) + `"}`)}, "262144"},
		{"hostile", mcp.Tool{InputSchema: json.RawMessage(`{"$ref": "` + strings.Repeat(`\u001b[31m\n`, 100) + `"}`)}, "inputSchema: "},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.tool.Digest = row.name
			got := c.unusable(&row.tool)
			if (got == "") != (row.want == "") || !strings.Contains(got, row.want) || len(got) > maxUnusable || strings.ContainsAny(got, "\n\x1b") {
				t.Errorf("got %q, want %q", got, row.want)
			}
			if again := c.unusable(&mcp.Tool{Digest: row.name}); again != got {
				t.Errorf("then %q, was %q", again, got)
			}
		})
	}
}

// G, P17: the class in the status is that of the hints as far as they are believed, and the hints stand there
// as they came.
func TestClassFollowsTrust(t *testing.T) {
	yes, no := true, false
	for _, row := range []struct {
		name        string
		annotations mcp.Annotations
		trusted     v1alpha1.ToolClass
		untrusted   v1alpha1.ToolClass
	}{
		{"none", mcp.Annotations{}, v1alpha1.ClassWrite, v1alpha1.ClassWrite},
		{"an empty object", mcp.Annotations{Present: true}, v1alpha1.ClassDestructive, v1alpha1.ClassDestructive},
		{"only reads", mcp.Annotations{Present: true, ReadOnly: &yes}, v1alpha1.ClassReadOnly, v1alpha1.ClassDestructive},
		{"does not only read", mcp.Annotations{Present: true, ReadOnly: &no}, v1alpha1.ClassDestructive, v1alpha1.ClassDestructive},
		{"does not destroy", mcp.Annotations{Present: true, Destructive: &no}, v1alpha1.ClassWrite, v1alpha1.ClassDestructive},
		{"destroys", mcp.Annotations{Present: true, Destructive: &yes}, v1alpha1.ClassDestructive, v1alpha1.ClassDestructive},
		{"only reads and destroys", mcp.Annotations{Present: true, ReadOnly: &yes, Destructive: &yes}, v1alpha1.ClassDestructive, v1alpha1.ClassDestructive},
		{"neither", mcp.Annotations{Present: true, ReadOnly: &no, Destructive: &no}, v1alpha1.ClassWrite, v1alpha1.ClassDestructive},
	} {
		t.Run(row.name, func(t *testing.T) {
			tool := &mcp.Tool{Name: "t", Annotations: row.annotations}
			for trust, want := range map[v1alpha1.AnnotationTrust]v1alpha1.ToolClass{
				v1alpha1.AnnotationsTrusted: row.trusted, v1alpha1.AnnotationsUntrusted: row.untrusted,
			} {
				got := cataloguedTool(tool, trust)
				if got.Class != want {
					t.Errorf("%s: %s, want %s", trust, got.Class, want)
				}
				if (got.Annotations != nil) != row.annotations.Present || got.Annotations != nil &&
					(got.Annotations.ReadOnlyHint != row.annotations.ReadOnly || got.Annotations.DestructiveHint != row.annotations.Destructive) {
					t.Errorf("%s: the hints are %+v", trust, got.Annotations)
				}
			}
		})
	}
}

// P39: a session that is lost again right after it was initialised anew shows as what it is, and what helps.
func TestServerUnavailable(t *testing.T) {
	server := &v1alpha1.MCPServer{}
	discovered(server, time.Unix(1000, 0), "a 1")
	healthy := server.DeepCopy()
	s := &serverScope{server: server, stored: server.Status.DeepCopy(), now: time.Unix(2000, 0),
		failure: &mcp.Error{Kind: mcp.SessionLost, Server: "ns/desk", Detail: "lost again"}}
	s.project()
	ready := condition(server.Status.Conditions, v1alpha1.ConditionReady)
	if ready.Status != metav1.ConditionFalse || ready.Reason != v1alpha1.ReasonServerUnavailable || !strings.Contains(ready.Message, "share their sessions") {
		t.Errorf("Ready is %+v", ready)
	}
	if reachable := condition(server.Status.Conditions, v1alpha1.ConditionReachable); reachable.Status != metav1.ConditionTrue {
		t.Errorf("Reachable is %+v: the server does answer", reachable)
	}
	if condition(server.Status.Conditions, v1alpha1.ConditionReconciling) == nil || len(server.Status.Tools) != 1 {
		t.Errorf("it is not asked again, or the catalogue is gone: %+v", server.Status)
	}
	other := server.DeepCopy()
	condition(other.Status.Conditions, v1alpha1.ConditionReady).Reason = v1alpha1.ReasonTimeout
	for _, row := range []struct {
		before, after *v1alpha1.MCPServer
		want          bool
	}{{healthy, server, true}, {other, server, true}, {server, server, false}, {server, healthy, false}, {healthy, other, false}} {
		if got := foundUnavailable.Update(event.UpdateEvent{ObjectOld: row.before, ObjectNew: row.after}); got != row.want {
			t.Errorf("asked again: %t, want %t", got, row.want)
		}
	}
}

// What is too much for the findings is counted, and none is longer than the API takes.
func TestServerFindingsAreBounded(t *testing.T) {
	var all []string
	for range 40 {
		all = append(all, strings.Repeat("é", 200))
	}
	got := serverFindings(all)
	if len(got) != maxServerFindings || got[maxServerFindings-1] != "and 9 more" || len(got[0]) > maxFinding {
		t.Errorf("%d findings, the last is %q", len(got), got[len(got)-1])
	}
	if got := serverFindings(all[:2]); len(got) != 2 {
		t.Errorf("two are %d", len(got))
	}
}
