// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/narrowing"
)

func slugs(grants []v1alpha1.MCPGrant) []v1alpha1.Slug {
	var names []v1alpha1.Slug
	for _, grant := range grants {
		names = append(names, grant.Grant)
	}
	return names
}

func toolNames(tools []v1alpha1.Tool) []string {
	var names []string
	for _, tool := range tools {
		names = append(names, tool.Name)
	}
	return names
}

// P13 and B3 to B5: an empty list asks for all that the parent has, and a list for no more than that, also
// in a Version that was never checked.
func TestOfSubagent(t *testing.T) {
	parent := &v1alpha1.AgentSpec{
		Instructions: "You lead.",
		Models:       []v1alpha1.Model{{Grant: "model", Model: "small"}},
		Tools:        []v1alpha1.Tool{{Name: "track"}, {Name: "weigh"}},
		MCP:          []v1alpha1.MCPGrant{{Grant: "desk"}, {Grant: "shop"}},
		Builtins:     []v1alpha1.Builtin{v1alpha1.BuiltinRunCode, v1alpha1.BuiltinAskUser},
		Subagents:    []v1alpha1.Subagent{{Name: "refunds"}},
		Workflow:     &v1alpha1.Workflow{Steps: []v1alpha1.WorkflowStep{{ID: "first", Tool: "track"}}},
		Sandbox:      v1alpha1.Sandbox{Enabled: true},
		Limits:       v1alpha1.Limits{Steps: 7},
	}
	for name, test := range map[string]struct {
		subagent v1alpha1.Subagent
		tools    []string
		grants   []v1alpha1.Slug
	}{
		"empty lists":     {v1alpha1.Subagent{}, []string{"track", "weigh"}, []v1alpha1.Slug{"desk", "shop"}},
		"one of each":     {v1alpha1.Subagent{Tools: []v1alpha1.ToolLiteral{"weigh"}, MCP: []v1alpha1.MCPGrant{{Grant: "shop"}}}, []string{"weigh"}, []v1alpha1.Slug{"shop"}},
		"more than there": {v1alpha1.Subagent{Tools: []v1alpha1.ToolLiteral{"drill", "@all"}, MCP: []v1alpha1.MCPGrant{{Grant: "bank"}, {Grant: "desk"}}}, nil, []v1alpha1.Slug{"desk"}},
		"only others":     {v1alpha1.Subagent{MCP: []v1alpha1.MCPGrant{{Grant: "bank"}}}, []string{"track", "weigh"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			test.subagent.Instructions = "You follow."
			body, _ := ofSubagent(parent, &test.subagent)
			if diff := cmp.Diff(test.tools, toolNames(body.Tools)); diff != "" {
				t.Errorf("tools (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.grants, slugs(body.MCP)); diff != "" {
				t.Errorf("grants (-want +got):\n%s", diff)
			}
			rest := *body
			rest.Tools, rest.MCP = nil, nil
			want := v1alpha1.AgentSpec{Instructions: "You follow.", Models: parent.Models, Sandbox: parent.Sandbox, Limits: parent.Limits}
			if diff := cmp.Diff(want, rest); diff != "" {
				t.Errorf("the rest (-want +got):\n%s", diff)
			}
		})
	}
}

// D14 and B5: what a subagent may call of a server is within what its parent may, whatever both ask for,
// and is exactly what both ask for.
func TestNarrowWithinTheParent(t *testing.T) {
	names := []string{"a", "b", "c", "d", "a*"}
	name := rapid.SampledFrom(names)
	selector := rapid.OneOf(
		rapid.Map(name, func(n string) v1alpha1.AccessSelector { return v1alpha1.AccessSelector(n) }),
		rapid.SampledFrom([]v1alpha1.AccessSelector{v1alpha1.AccessAll, v1alpha1.AccessReadOnly}))
	literals := rapid.SliceOfN(rapid.Map(name, func(n string) v1alpha1.ToolLiteral { return v1alpha1.ToolLiteral(n) }), 0, 4)
	grant := rapid.Custom(func(t *rapid.T) v1alpha1.MCPGrant {
		return v1alpha1.MCPGrant{Grant: "desk", Tools: literals.Draw(t, "tools"),
			Enable: rapid.SliceOfN(selector, 0, 4).Draw(t, "enable"), Disable: rapid.SliceOfN(selector, 0, 3).Draw(t, "disable")}
	})
	rapid.Check(t, func(t *rapid.T) {
		var offered []narrowing.Tool
		for _, n := range rapid.SliceOfNDistinct(name, 0, len(names), rapid.ID[string]).Draw(t, "offered") {
			class := rapid.SampledFrom([]v1alpha1.ToolClass{v1alpha1.ClassReadOnly, v1alpha1.ClassDestructive}).Draw(t, "class")
			offered = append(offered, narrowing.Tool{Name: n, Class: class})
		}
		permit := literals.Draw(t, "permit")
		parent := v1alpha1.AgentSpec{MCP: []v1alpha1.MCPGrant{grant.Draw(t, "parent")}}
		subagent := v1alpha1.Subagent{MCP: []v1alpha1.MCPGrant{grant.Draw(t, "subagent")}}
		s := &runScope{}
		s.body, s.within = ofSubagent(&parent, &subagent)
		got := s.narrow(offered, permit, &s.body.MCP[0])

		ofParent := narrowing.Callable(offered, permit, &parent.MCP[0])
		alone := narrowing.Callable(offered, permit, &subagent.MCP[0])
		for _, tool := range offered {
			want := slices.Contains(ofParent, tool) && slices.Contains(alone, tool)
			if slices.Contains(got, tool) != want {
				t.Fatalf("%s: callable %t, want %t", tool.Name, !want, want)
			}
		}
	})
}

func TestChildName(t *testing.T) {
	const id, other = v1alpha1.CallID("call-0123456789abcdef"), v1alpha1.CallID("call-fedcba9876543210")
	for parent, want := range map[string]string{
		"run":                           "run-0123456789abcdef",
		strings.Repeat("x", 63):         strings.Repeat("x", 46) + "-0123456789abcdef",
		strings.Repeat("x", 44) + "-.y": strings.Repeat("x", 44) + "-0123456789abcdef",
		"a." + strings.Repeat("x", 42) + "." + "yyyyyyyy": "a." + strings.Repeat("x", 42) + ".y-0123456789abcdef",
	} {
		got := childName(parent, id)
		if got != want || len(got) > maxRunName || len(validation.IsDNS1123Subdomain(got)) > 0 {
			t.Errorf("%s: got %q, want %q", parent, got, want)
		}
		if childName(parent, other) == got {
			t.Errorf("%s: two calls share the name %q", parent, got)
		}
	}
}

func TestExpressible(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Hour:                  "1h0m0s",
		90*time.Second + 999999999: "1m30s",
		time.Second:                "1s",
		999*time.Millisecond + 999*time.Microsecond: "999ms",
		time.Microsecond: "1ms",
		0:                "1ms",
	} {
		if got := expressible(d).String(); got != want {
			t.Errorf("%s: got %s, want %s", d, got, want)
		}
	}
}

// parentAndChild are a Run that waits for a call of a subagent, and the Run that answers it.
func parentAndChild() (parent, child *v1alpha1.Run) {
	const id = v1alpha1.CallID("call-0123456789abcdef")
	parent = &v1alpha1.Run{}
	parent.Namespace, parent.Name, parent.UID = "team", "run", "uid-of-parent"
	parent.Status.Version, parent.Status.Phase = "agent-1", v1alpha1.RunRunning
	parent.Status.Children = []v1alpha1.ChildRun{{CallID: id, Name: "run-0123456789abcdef", UID: "uid-of-child"}}
	parent.Status.Log.Records = []v1alpha1.Record{{Message: &v1alpha1.MessageRecord{Calls: []v1alpha1.CallRecord{
		{ID: "call-1111111111111111", Tool: "desk__find"},
		{ID: id, Tool: v1alpha1.RunSubagent, Arguments: `{"input": "Pay it back.", "name": "refunds"}`}}}}}
	child = &v1alpha1.Run{}
	child.Namespace, child.Name, child.UID = "team", "run-0123456789abcdef", "uid-of-child"
	child.Spec = v1alpha1.RunSpec{VersionRef: &v1alpha1.NamedReference{Name: "agent-1"}, Subagent: "refunds", Input: "Pay it back.",
		ParentRef: &v1alpha1.RunParent{Name: "run", UID: "uid-of-parent", CallID: id}}
	return parent, child
}

// A Run whose parent does not wait for exactly it does not run, whoever made it.
func TestStandingTo(t *testing.T) {
	result := func(id v1alpha1.CallID) v1alpha1.Record {
		return v1alpha1.Record{Result: &v1alpha1.ResultRecord{ID: id}}
	}
	for name, test := range map[string]struct {
		change func(parent, child *v1alpha1.Run)
		want   standing
	}{
		"the child":      {func(_, _ *v1alpha1.Run) {}, awaited},
		"that has begun": {func(_, c *v1alpha1.Run) { c.Status.Version = "agent-1" }, awaited},
		"another call is answered": {func(p, _ *v1alpha1.Run) {
			p.Status.Log.Records = append(p.Status.Log.Records, result("call-1111111111111111"))
		}, awaited},
		"not listed yet":              {func(p, _ *v1alpha1.Run) { p.Status.Children = nil }, wanted},
		"neither listed nor recorded": {func(p, _ *v1alpha1.Run) { p.Status.Children, p.Status.Log.Records = nil, nil }, early},
		"no longer listed":            {func(p, c *v1alpha1.Run) { p.Status.Children, c.Status.Version = nil, "agent-1" }, over},
		"its call is answered": {func(p, c *v1alpha1.Run) {
			p.Status.Log.Records = append(p.Status.Log.Records, result(c.Spec.ParentRef.CallID))
		}, over},
		"made again after a deletion":  {func(_, c *v1alpha1.Run) { c.UID = "another" }, over},
		"another name":                 {func(_, c *v1alpha1.Run) { c.Name = "mine" }, over},
		"another subagent":             {func(_, c *v1alpha1.Run) { c.Spec.Subagent = "admin" }, over},
		"another input":                {func(_, c *v1alpha1.Run) { c.Spec.Input = "Pay me." }, over},
		"another Version":              {func(_, c *v1alpha1.Run) { c.Spec.VersionRef.Name = "agent-2" }, over},
		"a Spec in place of a Version": {func(_, c *v1alpha1.Run) { c.Spec.VersionRef = nil }, over},
		"a call of another tool":       {func(_, c *v1alpha1.Run) { c.Spec.ParentRef.CallID = "call-1111111111111111" }, over},
		"a call that there is not":     {func(_, c *v1alpha1.Run) { c.Spec.ParentRef.CallID = "call-2222222222222222" }, early},
	} {
		t.Run(name, func(t *testing.T) {
			parent, child := parentAndChild()
			test.change(parent, child)
			if got := standingTo(parent, child); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

// H28: every ending of a child is an outcome that the parent's model reads.
func TestOutcomeOf(t *testing.T) {
	ended := func(phase v1alpha1.RunPhase, reason, message string) func(*v1alpha1.Run) {
		return func(c *v1alpha1.Run) {
			c.Status.Phase, c.Status.Output = phase, "Paid."
			(&runScope{RunReconciler: &RunReconciler{Now: time.Now}, run: c}).condition(v1alpha1.ConditionComplete, "False", reason, message)
		}
	}
	const where = "The subagent refunds did not come to an answer: its Run run-0123456789abcdef is "
	for name, test := range map[string]struct {
		change func(child *v1alpha1.Run)
		kind   v1alpha1.ErrorKind
		want   string
	}{
		"new":       {func(*v1alpha1.Run) {}, "", "(goes on)"},
		"running":   {ended(v1alpha1.RunRunning, "InProgress", "1 model calls so far"), "", "(goes on)"},
		"suspended": {ended(v1alpha1.RunSuspended, "ApprovalRequired", "waits"), "", "(goes on)"},
		"complete":  {ended(v1alpha1.RunComplete, "Succeeded", "the model answered"), "", "Paid."},
		"failed":    {ended(v1alpha1.RunFailed, "StepLimit", "the limit"), v1alpha1.ErrorTool, where + "Failed. StepLimit: the limit"},
		"abandoned": {ended(v1alpha1.RunAbandoned, "SuspensionExpired", "nobody"), v1alpha1.ErrorTool, where + "Abandoned. SuspensionExpired: nobody"},
		"cancelled": {ended(v1alpha1.RunCancelled, "Cancelled", "spec.cancel is set"), v1alpha1.ErrorCancelled, where + "Cancelled. Cancelled: spec.cancel is set"},
		"no reason": {func(c *v1alpha1.Run) { c.Status.Phase = v1alpha1.RunFailed }, v1alpha1.ErrorTool, where + "Failed."},
	} {
		t.Run(name, func(t *testing.T) {
			_, child := parentAndChild()
			test.change(child)
			outcome := outcomeOf(childOf(child), child)
			if outcome == nil {
				if test.want != "(goes on)" {
					t.Error("it goes on")
				}
				return
			}
			if outcome.Error != test.kind || outcome.Content != test.want {
				t.Errorf("got %s %q", outcome.Error, outcome.Content)
			}
		})
	}
	listed := v1alpha1.ChildRun{Name: "run-0123456789abcdef"}
	if gone := outcomeOf(listed, nil); gone == nil || gone.Error != v1alpha1.ErrorTool || !strings.Contains(gone.Content, "was deleted") {
		t.Errorf("a child that is gone: %+v", gone)
	}
}
