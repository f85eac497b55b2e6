// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/gate"
)

var deskKey = types.NamespacedName{Namespace: "catalogue", Name: "desk"}

// desk is a server with a reading, a writing and a destructive tool.
func desk(allowed v1alpha1.AllowedNamespaces) *v1alpha1.MCPServer {
	server := &v1alpha1.MCPServer{ObjectMeta: metav1.ObjectMeta{Namespace: deskKey.Namespace, Name: deskKey.Name}}
	server.Spec.AllowedNamespaces = allowed
	server.Status.DiscoveredAt = &metav1.Time{}
	server.Status.Tools = []v1alpha1.CataloguedTool{
		{Name: "find", Class: v1alpha1.ClassReadOnly, Tags: []string{v1alpha1.TagRecommended}},
		{Name: "note", Class: v1alpha1.ClassWrite},
		{Name: "wipe", Class: v1alpha1.ClassDestructive},
	}
	return server
}

func deskGrant(change func(*v1alpha1.Grant)) *v1alpha1.Grant {
	grant := &v1alpha1.Grant{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "desk"}}
	grant.Spec.MCPServer = &v1alpha1.MCPServerReference{Namespace: deskKey.Namespace, Name: "desk"}
	if change != nil {
		change(grant)
	}
	return grant
}

func explainDesk(in Input, asked v1alpha1.MCPGrant, grant *v1alpha1.Grant) Report {
	asked.Grant = "desk"
	in.Namespace, in.Spec = "team-a", &v1alpha1.AgentSpec{MCP: []v1alpha1.MCPGrant{asked}}
	in.Grants = map[string]*v1alpha1.Grant{}
	if grant != nil {
		in.Grants["desk"] = grant
	}
	in.Selectors = gate.DefaultSelectors
	return Agent("helpdesk", &in)
}

func servers(server *v1alpha1.MCPServer) map[types.NamespacedName]*v1alpha1.MCPServer {
	return map[types.NamespacedName]*v1alpha1.MCPServer{deskKey: server}
}

var everybody = v1alpha1.AllowedNamespaces{From: v1alpha1.NamespacesAll}

func TestToolsOfAServer(t *testing.T) {
	grant := deskGrant(func(g *v1alpha1.Grant) { g.Spec.Never = []v1alpha1.ToolLiteral{"note"} })
	got := explainDesk(Input{Servers: servers(desk(everybody)), DeferAbove: 1}, v1alpha1.MCPGrant{
		Disable: []v1alpha1.AccessSelector{"wipe"}, Enable: []v1alpha1.AccessSelector{"@all", "fnid"}}, grant)
	want := Report{Namespace: "team-a", Spec: "helpdesk", Callable: 2, Grants: []GrantReport{{
		Grant: "desk", Server: "catalogue/desk", Tools: []ToolReport{
			{Tool: "find", QualifiedName: "desk__find", Class: v1alpha1.ClassReadOnly,
				Approval: v1alpha1.ApprovalNotRequired, Prompt: PromptListed},
			{Tool: "note", QualifiedName: "desk__note", Class: v1alpha1.ClassWrite,
				Approval: v1alpha1.ApprovalNotRequired, Prompt: PromptDeferred},
			{Tool: "wipe", Class: v1alpha1.ClassDestructive, LostAt: v1alpha1.PlaneEnabled,
				Why: "disable of the Spec's grant matches it by wipe"},
			{Tool: "fnid", LostAt: v1alpha1.PlaneOffered, Why: "enable of the Spec's grant names it, and the server does not offer it"},
		}}}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(ToolReport{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	asked := explainDesk(Input{Servers: servers(desk(everybody)), DeferAbove: 3}, v1alpha1.MCPGrant{}, deskGrant(nil)).Grants[0].Tools[2]
	if asked.Approval != v1alpha1.ApprovalRequired || asked.ApprovalReason != "class Destructive, matched by @destructive" || asked.Prompt != PromptListed {
		t.Errorf("wipe: %+v", asked)
	}
}

// TestProblems: what keeps a whole grant from giving anything has one reason.
func TestProblems(t *testing.T) {
	byLabel := v1alpha1.AllowedNamespaces{From: v1alpha1.NamespacesSelector,
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "gold"}}}
	waiting := desk(everybody)
	waiting.Status.DiscoveredAt = nil
	model := deskGrant(func(g *v1alpha1.Grant) { g.Spec.MCPServer, g.Spec.Model = nil, &v1alpha1.ModelEndpoint{} })
	for name, test := range map[string]struct {
		grant   *v1alpha1.Grant
		servers map[types.NamespacedName]*v1alpha1.MCPServer
		labels  labels.Set
		problem string
		tools   int
	}{
		"no Grant":                {nil, nil, nil, `Grant "desk" does not exist`, 0},
		"a Grant of a model":      {model, nil, nil, "grants no mcpServer", 0},
		"no server":               {deskGrant(nil), servers(nil), nil, "MCPServer catalogue/desk does not exist", 0},
		"not open":                {deskGrant(nil), servers(desk(v1alpha1.AllowedNamespaces{})), nil, "not open to namespace", 0},
		"not discovered":          {deskGrant(nil), servers(waiting), nil, "has not been discovered yet", 0},
		"labels that are unknown": {deskGrant(nil), servers(desk(byLabel)), nil, "what the status of the Grant shows", 0},
		"labels that do not fit":  {deskGrant(nil), servers(desk(byLabel)), labels.Set{}, "not open to namespace", 0},
		"labels that fit":         {deskGrant(nil), servers(desk(byLabel)), labels.Set{"tier": "gold"}, "", 3},
	} {
		t.Run(name, func(t *testing.T) {
			got := explainDesk(Input{Servers: test.servers, Labels: test.labels}, v1alpha1.MCPGrant{}, test.grant).Grants[0]
			if !strings.Contains(got.Problem, test.problem) || (got.Problem == "") != (test.problem == "") || len(got.Tools) != test.tools {
				t.Errorf("%q and %d tools, want %q and %d", got.Problem, len(got.Tools), test.problem, test.tools)
			}
		})
	}
}

// TestServerThatMayNotBeRead: a tenant reads from its Grant what became of the
// tools of a catalogue that it may not look at.
func TestServerThatMayNotBeRead(t *testing.T) {
	grant := deskGrant(func(g *v1alpha1.Grant) {
		g.Status.Tools = []v1alpha1.PermittedTool{{Name: "note", Class: v1alpha1.ClassWrite}, {Name: "odd", Class: v1alpha1.ClassWrite}}
		g.Status.Withheld = []v1alpha1.WithheldTool{
			{Name: "wipe", LostAt: v1alpha1.PlanePermitted, Message: "not listed"},
			{Name: "odd", LostAt: v1alpha1.PlaneCallable, Message: "its schema is none"},
		}
		g.Status.Stale = []v1alpha1.StaleEntry{{Field: "spec.tools", Value: "gone"}, {Field: "spec.never", Value: "nosuch"}}
	})
	got := explainDesk(Input{}, v1alpha1.MCPGrant{}, grant)
	want := []ToolReport{
		{Tool: "note", QualifiedName: "desk__note", Class: v1alpha1.ClassWrite, Approval: v1alpha1.ApprovalRequired,
			ApprovalReason: "class Write, matched by @write", Prompt: PromptDeferred},
		{Tool: "odd", Class: v1alpha1.ClassWrite, LostAt: v1alpha1.PlaneCallable, Why: "its schema is none"},
		{Tool: "gone", LostAt: v1alpha1.PlaneOffered, Why: "tools of the Grant names it, and the server does not offer it"},
		{Tool: "wipe", LostAt: v1alpha1.PlanePermitted, Why: "not listed"},
	}
	if diff := cmp.Diff(want, got.Grants[0].Tools, cmpopts.IgnoreUnexported(ToolReport{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !strings.Contains(got.Grants[0].Problem, "status of the Grant") || got.Callable != 1 {
		t.Errorf("%d callable, %q", got.Callable, got.Grants[0].Problem)
	}
}

func TestWriteText(t *testing.T) {
	report := Report{Namespace: "team-a", Spec: "helpdesk", Callable: 1, Grants: []GrantReport{
		{Grant: "desk", Server: "catalogue/desk", Tools: []ToolReport{
			{Tool: "find", Class: v1alpha1.ClassReadOnly, Approval: v1alpha1.ApprovalNotRequired, Prompt: PromptListed},
			{Tool: "wi\x1b[2Jpe", LostAt: v1alpha1.PlanePermitted, Why: "not listed"},
		}},
		{Grant: "wiki", Problem: "it is not there"},
	}}
	var text strings.Builder
	if err := report.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(text.String()) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	want := []string{
		"Spec team-a/helpdesk: 1 tools callable",
		"",
		"Grant desk of MCPServer catalogue/desk",
		"TOOL CLASS PLANE APPROVAL PROMPT WHY",
		"find ReadOnly Callable NotRequired Listed",
		`wi\x1b[2Jpe - not Permitted - - not listed`,
		"",
		"Grant wiki",
		"it is not there",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
}

// H31: what depends on the call itself is named, as the lists do not tell what comes of it.
func TestWhatJudgesBesides(t *testing.T) {
	report := explainDesk(Input{Servers: servers(desk(everybody))}, v1alpha1.MCPGrant{}, deskGrant(func(g *v1alpha1.Grant) {
		g.Spec.Policy = []v1alpha1.PolicyRule{{Name: "large"}, {Name: "huge"}}
		g.Spec.RequireAccess, g.Spec.DecisionEndpoint = true, &v1alpha1.DecisionEndpoint{}
		g.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Reason: v1alpha1.ReasonPolicyInvalid, Message: "spec.policy[huge]: no"}}
	}))
	want := []string{"policy[large]", "policy[huge]", "requireAccess", "decisionEndpoint", "spec.policy[huge]: no"}
	if diff := cmp.Diff(want, report.Grants[0].JudgedBy); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var text strings.Builder
	if err := report.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	const line = "  Each call is judged besides, and may be denied or need approval, by policy[large], policy[huge], requireAccess, decisionEndpoint, spec.policy[huge]: no\n"
	if !strings.Contains(text.String(), line) {
		t.Errorf("the text is\n%s", text.String())
	}
	if plain := explainDesk(Input{Servers: servers(desk(everybody))}, v1alpha1.MCPGrant{}, deskGrant(nil)); plain.Grants[0].JudgedBy != nil {
		t.Errorf("without policy: %q", plain.Grants[0].JudgedBy)
	}
}
