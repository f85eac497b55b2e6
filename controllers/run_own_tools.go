// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"encoding/json"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/canonical"
	"remit.dev/remit/internal/engine"
	"remit.dev/remit/internal/gate"
	"remit.dev/remit/internal/httptool"
	"remit.dev/remit/internal/pipeline"
	"remit.dev/remit/internal/publish"
	"remit.dev/remit/internal/sandbox"
	"remit.dev/remit/internal/tools"
)

const ownToolDomain canonical.Domain = "remit.dev/own-tool/v1"

// ownTool gives a tool that the agent brings itself, or nil where its Grant was
// taken away since the Run began.
func (s *runScope) ownTool(ctx context.Context, tool *v1alpha1.Tool) (*pipeline.Tool, error) {
	var made *pipeline.Tool
	var err error
	switch {
	case tool.Function != nil:
		made, err = s.functionTool(tool)
	case tool.HTTP != nil:
		made, err = s.httpTool(ctx, tool)
	case tool.Code != nil:
		made = s.codeTool(tool)
	}
	if made == nil || err != nil {
		return nil, err
	}
	made.Name, made.Preloaded = tool.Name, true
	if tool.Description != "" {
		made.Description = tool.Description
	}
	if tool.InputSchema != nil {
		made.InputSchema = tool.InputSchema.Raw
	}
	content, err := json.Marshal(struct {
		Tool        *v1alpha1.Tool
		Description string
		InputSchema json.RawMessage
	}{tool, made.Description, made.InputSchema})
	made.Definition = v1alpha1.Digest(canonical.Hash(ownToolDomain, content).String())
	return made, err
}

// functionTool gives a registered function. What the author declares of it can only
// be read once it is published, so it stands beside the function's own word.
func (s *runScope) functionTool(tool *v1alpha1.Tool) (*pipeline.Tool, error) {
	function, ok := s.Functions.Find(tool.Function.Name)
	if !ok {
		return nil, end(v1alpha1.ReasonUnsupported,
			"tool %q names the function %q, which is not registered in this operator", tool.Name, tool.Function.Name)
	}
	class := gate.Classify(function.Hints)
	return &pipeline.Tool{
		Description:  function.Description,
		InputSchema:  function.InputSchema,
		OutputSchema: function.Descriptor.OutputSchema(),
		Class:        class,
		Idempotent:   gate.Idempotent(function.Hints),
		Ask:          s.askOf(gate.Approval{}, tool.Name, class),
		Timeout:      tool.Timeout.Duration,
		Executor:     function.Executor,
	}, nil
}

// httpTool gives a request to a host that a Grant permits.
func (s *runScope) httpTool(ctx context.Context, tool *v1alpha1.Tool) (*pipeline.Tool, error) {
	grant, err := s.grant(ctx, tool.HTTP.Grant)
	if err != nil || grant == nil {
		return nil, err
	}
	executor, err := s.HTTP.Tool(tool, grant)
	if err != nil {
		return nil, end(v1alpha1.ReasonUnsupported, "%v", err)
	}
	if executor.Granted() != nil {
		return nil, nil
	}
	hints := httptool.HintsOf(tool)
	class := gate.Classify(hints)
	return &pipeline.Tool{
		Class:      class,
		Idempotent: publish.Idempotent(tool),
		Ask:        s.askOf(gate.ApprovalOf(&grant.Spec), tool.Name, class),
		Policy: s.policyOf(gated{grant: grant, name: tool.Name, qualifiedName: tool.Name, class: class,
			annotations: authorHints(tool.Annotations)}),
		Timeout:  executor.Timeout(),
		Executor: executor,
	}, nil
}

// codeTool gives a program. The sandbox keeps it from having any effect, so the
// author's word that it only reads is as good as the operator's.
func (s *runScope) codeTool(tool *v1alpha1.Tool) *pipeline.Tool {
	hints := gate.Hints{Present: tool.Annotations != nil}
	if said := tool.Annotations; said != nil {
		hints.ReadOnly, hints.Destructive = said.ReadOnlyHint, said.DestructiveHint
	}
	class := gate.Classify(hints)
	return &pipeline.Tool{
		Class:      class,
		Idempotent: publish.Idempotent(tool),
		Ask:        s.askOf(gate.Approval{}, tool.Name, class),
		Timeout:    tool.Timeout.Duration,
		Executor:   tools.NewCodeTool(s.Sandbox, tool.Code.Source),
	}
}

func (s *runScope) askOf(approval gate.Approval, tool string, class v1alpha1.ToolClass) string {
	reason, _ := approval.Requires(s.Options.Selectors, tool, class)
	return reason
}

// authorHints are the hints that the author set.
func authorHints(said *v1alpha1.ToolAnnotations) map[string]bool {
	if said == nil {
		return nil
	}
	return hintSet(said.ReadOnlyHint, said.DestructiveHint, said.IdempotentHint, said.OpenWorldHint)
}

// hostGranted holds a Run until the Grant of an HTTP tool is there and permits it.
func (s *runScope) hostGranted(ctx context.Context, tool *v1alpha1.Tool) error {
	if tool.HTTP == nil {
		return nil
	}
	grant, err := s.grant(ctx, tool.HTTP.Grant)
	if err != nil {
		return err
	}
	if grant == nil {
		return hold(v1alpha1.ReasonWaitingForGrant, "Grant %q of tool %q does not exist in namespace %q: ask the platform team for it",
			tool.HTTP.Grant, tool.Name, s.run.Namespace)
	}
	executor, err := s.HTTP.Tool(tool, grant)
	if err != nil {
		return end(v1alpha1.ReasonUnsupported, "%v", err)
	}
	if err := executor.Granted(); err != nil {
		return hold(v1alpha1.ReasonWaitingForGrant, "tool %q: %v", tool.Name, err)
	}
	return nil
}

// runCodeTool gives the builtin that runs a program of the model's. It has an
// effect as far as the crash rule goes: what its program calls may have one.
func (s *runScope) runCodeTool() pipeline.Tool {
	return pipeline.Tool{
		Name:        tools.RunCodeName,
		Description: tools.RunCodeDescription,
		InputSchema: tools.RunCodeSchema,
		Definition:  v1alpha1.Digest(canonical.Hash(ownToolDomain, tools.RunCodeSchema).String()),
		Class:       v1alpha1.ClassReadOnly,
		Ask:         s.askOf(gate.Approval{}, tools.RunCodeName, v1alpha1.ClassReadOnly),
		Preloaded:   true,
		Program:     true,
		Timeout:     sandbox.MaxDuration,
		Executor:    programExecutor{s},
	}
}

// programExecutor runs programs whose calls go through the pipeline of the same step.
type programExecutor struct{ *runScope }

func (e programExecutor) Execute(ctx context.Context, invocation pipeline.Invocation) pipeline.Answer {
	program := &pipeline.Program{Set: e.tools, RunUID: e.state.RunUID(), Parent: invocation.ID, Mark: e.mark}
	answer := (&tools.RunCodeTool{Runner: e.Sandbox, Call: program.Call}).Execute(ctx, invocation)
	answer.Inner = program.Inner
	return answer
}

// mark makes the watermark of a program's call durable.
func (e programExecutor) mark(ctx context.Context, call v1alpha1.WatermarkedCall) error {
	watermark := &v1alpha1.WatermarkRecord{Calls: []v1alpha1.WatermarkedCall{call}}
	if err := e.state.Append(e.Now(), engine.Entry{Watermark: watermark}); err != nil {
		return err
	}
	return e.save(ctx)
}
