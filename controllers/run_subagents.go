// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/engine"
	"remit.dev/remit/internal/narrowing"
	"remit.dev/remit/internal/tools"
)

// +kubebuilder:rbac:groups=remit.dev,resources=runs,verbs=create

// maxRunName is how long the name of a Run may be, in bytes.
const maxRunName = 63

// delegate starts a Run for each call and lists them in the status. Only then does
// any of them begin, so one that is left over from a step that broke off does nothing.
func (s *runScope) delegate(ctx context.Context, action engine.Delegate) error {
	left := s.input(ctx).Left()
	for _, call := range action.Calls {
		child, refused, err := s.startChild(ctx, call, left)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return s.keepRecords(ctx, err)
		}
		s.children[call.ID] = engine.Child{Outcome: refused}
		if refused == nil {
			s.run.Status.Children = append(s.run.Status.Children, childOf(child))
		}
	}
	return s.saveOutcome(ctx)
}

// startChild creates the Run that answers a call, or finds the one that a step which
// broke off has created. What the API server will never take is an outcome.
func (s *runScope) startChild(ctx context.Context, call v1alpha1.CallRecord, left time.Duration) (*v1alpha1.Run, *engine.Outcome, error) {
	asked, err := tools.ReadSubagentCall(call.Arguments)
	if err != nil { // the call was judged to fit its schema
		return nil, nil, end(v1alpha1.ReasonLogCorrupt, "call %s: %v", call.ID, err)
	}
	child := s.newChild(call.ID, asked, left)
	err = s.Create(ctx, child)
	switch {
	case apierrors.IsAlreadyExists(err):
		return s.adopt(ctx, child)
	case err != nil && !transient(err):
		return nil, &engine.Outcome{Error: v1alpha1.ErrorTool, Content: fmt.Sprintf(
			"The Run %s of the subagent could not be created: %v", child.Name, err)}, nil
	}
	return child, nil, err
}

// adopt takes a Run that has the name of the child, if it is the child.
func (s *runScope) adopt(ctx context.Context, child *v1alpha1.Run) (*v1alpha1.Run, *engine.Outcome, error) {
	there := &v1alpha1.Run{}
	if err := s.Reader.Get(ctx, client.ObjectKeyFromObject(child), there); err != nil {
		return nil, nil, err
	}
	if there.Spec.ParentRef == nil || *there.Spec.ParentRef != *child.Spec.ParentRef {
		return nil, &engine.Outcome{Error: v1alpha1.ErrorTool, Content: fmt.Sprintf(
			"The Run of the subagent could not be created: another Run has its name, %s.", child.Name)}, nil
	}
	return there, nil, nil
}

// newChild is the Run that answers a call: the parent's Version, creator and time.
func (s *runScope) newChild(id v1alpha1.CallID, asked tools.SubagentCall, left time.Duration) *v1alpha1.Run {
	limits := &v1alpha1.RunLimits{Deadline: &metav1.Duration{Duration: expressible(left)}}
	if own := s.run.Spec.Limits; own != nil {
		limits.Steps, limits.ApprovalExpiry = own.Steps, own.ApprovalExpiry
	}
	return &v1alpha1.Run{
		ObjectMeta: metav1.ObjectMeta{
			Name: childName(s.run.Name, id), Namespace: s.run.Namespace,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(s.run, v1alpha1.GroupVersion.WithKind("Run"))},
		},
		Spec: v1alpha1.RunSpec{
			VersionRef: &v1alpha1.NamedReference{Name: s.run.Status.Version},
			ParentRef:  &v1alpha1.RunParent{Name: s.run.Name, UID: string(s.run.UID), CallID: id},
			Subagent:   asked.Name,
			Input:      asked.Input,
			Limits:     limits,
			CreatedBy:  s.run.Spec.CreatedBy, CreatedByGroups: s.run.Spec.CreatedByGroups,
		},
	}
}

// childOf is a child as its parent's status lists it.
func childOf(child *v1alpha1.Run) v1alpha1.ChildRun {
	return v1alpha1.ChildRun{CallID: child.Spec.ParentRef.CallID, Name: child.Name, UID: string(child.UID)}
}

// childName is the same for the same call, whoever makes it.
func childName(parent string, id v1alpha1.CallID) string {
	suffix := strings.TrimPrefix(string(id), "call")
	return strings.TrimRight(parent[:min(len(parent), maxRunName-len(suffix))], "-.") + suffix
}

// expressible is the longest duration up to d that the field of a Run can hold: it
// takes no fractions.
func expressible(d time.Duration) time.Duration {
	if d >= time.Second {
		return d.Truncate(time.Second)
	}
	return max(d.Truncate(time.Millisecond), time.Millisecond)
}

// ofSubagent is the agent that a subagent of another one is: its own instructions, and
// of everything else at most what its parent has. The grants of the parent that its
// own ones are applied within come beside it; a list that is empty asks for all (P13).
func ofSubagent(parent *v1alpha1.AgentSpec, subagent *v1alpha1.Subagent) (*v1alpha1.AgentSpec, map[v1alpha1.Slug]*v1alpha1.MCPGrant) {
	body := &v1alpha1.AgentSpec{
		Instructions: subagent.Instructions,
		Models:       parent.Models,
		Sandbox:      parent.Sandbox,
		Limits:       parent.Limits,
	}
	for i := range parent.Tools {
		if len(subagent.Tools) == 0 || slices.Contains(subagent.Tools, v1alpha1.ToolLiteral(parent.Tools[i].Name)) {
			body.Tools = append(body.Tools, parent.Tools[i])
		}
	}
	if len(subagent.MCP) == 0 {
		body.MCP = parent.MCP
		return body, nil
	}
	within := make(map[v1alpha1.Slug]*v1alpha1.MCPGrant, len(parent.MCP))
	for i := range parent.MCP {
		within[parent.MCP[i].Grant] = &parent.MCP[i]
	}
	for i := range subagent.MCP {
		if within[subagent.MCP[i].Grant] != nil {
			body.MCP = append(body.MCP, subagent.MCP[i])
		}
	}
	return body, within
}

// narrow gives the tools on offer that a grant of the agent asks for. Those of a
// subagent are looked for in what its parent has.
func (s *runScope) narrow(offered []narrowing.Tool, permit []v1alpha1.ToolLiteral, asked *v1alpha1.MCPGrant) []narrowing.Tool {
	if parent := s.within[asked.Grant]; parent != nil {
		offered, permit = narrowing.Callable(offered, permit, parent), nil
	}
	return narrowing.Callable(offered, permit, asked)
}
