// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"fmt"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/engine"
	"remit.dev/remit/internal/gate"
)

// Judge takes a call through the stages that judge it, once a step.
func (s *ToolSet) Judge(ctx context.Context, call v1alpha1.CallRecord) engine.Judgement {
	return s.judge(ctx, call).judgement
}

func (s *ToolSet) judge(ctx context.Context, call v1alpha1.CallRecord) *passage {
	if p := s.passages[call]; p != nil {
		return p
	}
	p := &passage{set: s, call: call}
	p.through(ctx, judging)
	s.passages[call] = p
	s.order = append(s.order, p)
	return p
}

// resolve finds out whether the name is one that the operator or the agent gives.
// What cannot be looked at might do anything.
func resolve(_ context.Context, p *passage) *engine.Failure {
	p.tool = p.set.byName[p.call.Tool]
	if p.tool == nil && !p.set.narrowed(p.call.Tool) {
		p.judgement.Class = v1alpha1.ClassDestructive
		return unknownTool(p.call.Tool)
	}
	return nil
}

// narrow refuses a tool that exists and is not callable in this step. The model
// reads the same as of a name that nobody gives.
func narrow(_ context.Context, p *passage) *engine.Failure {
	if p.tool == nil {
		p.judgement.Class = v1alpha1.ClassDestructive
		return unknownTool(p.call.Tool)
	}
	p.judgement.Tool = p.tool.Name
	p.judgement.DefinitionDigest = p.tool.Definition
	return nil
}

func unknownTool(name string) *engine.Failure {
	return &engine.Failure{Kind: v1alpha1.ErrorUnknownTool,
		Message: fmt.Sprintf("There is no tool %q. Use one of the tools you were given, by its exact name.", name)}
}

// decode reads the arguments, which must be one JSON object.
func decode(_ context.Context, p *passage) *engine.Failure {
	arguments, err := engine.ReadArguments(p.call.Arguments)
	if err != nil {
		return invalidArguments(err.Error())
	}
	p.arguments = arguments.JSON
	p.judgement.ArgumentsDigest, p.judgement.Arguments = arguments.Digest, arguments.Indented
	return nil
}

// validate checks the arguments against the tool's schema.
func validate(_ context.Context, p *passage) *engine.Failure {
	if p.tool.schema == nil {
		return nil
	}
	if err := p.tool.schema.Validate(p.arguments); err != nil {
		return invalidArguments(err.Error())
	}
	if p.tool.Name == CallTool {
		return invalidArguments(notACall) // a call that names a tool was unwrapped
	}
	return nil
}

// classify says what the call may do, by the hints that are believed.
func classify(_ context.Context, p *passage) *engine.Failure {
	p.judgement.Class = p.tool.Class
	p.judgement.Effect = !p.tool.Idempotent
	p.judgement.Delegated = p.tool.Delegated
	return nil
}

// policy asks what the platform team allows now. A denial beats everything else.
func policy(ctx context.Context, p *passage) *engine.Failure {
	p.policy = gate.Allowed()
	if p.tool.Policy != nil {
		p.policy = p.tool.Policy(ctx, p.arguments)
	}
	if p.policy.Verdict == gate.Deny {
		return &engine.Failure{Kind: v1alpha1.ErrorDenied, Message: "Policy denies this call: " + p.policy.Reason}
	}
	return nil
}

// approve says why a person must approve, if one must.
func approve(_ context.Context, p *passage) *engine.Failure {
	if decision := gate.Decide(p.policy, p.tool.Ask); decision.Verdict == gate.Ask {
		p.judgement.Ask = decision.Reason
	}
	return nil
}

func invalidArguments(detail string) *engine.Failure {
	return &engine.Failure{Kind: v1alpha1.ErrorInvalidArguments,
		Message: "The call was not made, because its arguments do not fit: " + detail}
}
