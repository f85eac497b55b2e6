// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"encoding/json"
	"fmt"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/engine"
)

// What an InnerCall keeps of arguments and content, in bytes.
const maxInner = 1024

// Program is one program that runs on behalf of a call of the model and may call
// tools itself.
type Program struct {
	Set    *ToolSet
	RunUID string
	// Parent is the call of the model.
	Parent v1alpha1.CallID
	// Mark makes the watermark of an effect durable before anything is sent.
	Mark func(ctx context.Context, call v1alpha1.WatermarkedCall) error

	// Inner are the calls so far, for the log.
	Inner []v1alpha1.InnerCall
}

// Call takes one call of the program through every stage. A program cannot wait for
// a person, so what the gate would stop is refused before it is made. One call is
// made at a time.
func (p *Program) Call(ctx context.Context, tool string, arguments json.RawMessage) engine.Outcome {
	record := v1alpha1.CallRecord{Tool: tool, Arguments: string(arguments)}
	record.ID = engine.CallID(p.RunUID, int64(len(p.Inner)), 0, string(p.Parent)+" "+tool, record.Arguments, p.Set.Definition(tool))
	outcome := p.make(ctx, record)
	p.Inner = append(p.Inner, v1alpha1.InnerCall{
		ID: record.ID, Tool: shorten(named(tool), engine.MaxToolName), Arguments: shorten(record.Arguments, maxInner),
		Error: outcome.Error, Content: shorten(outcome.Content, maxInner),
	})
	return outcome
}

func named(tool string) string {
	if tool == "" {
		return "(no name)"
	}
	return tool
}

func (p *Program) make(ctx context.Context, record v1alpha1.CallRecord) engine.Outcome {
	passage := p.Set.judge(ctx, record)
	judgement := passage.judgement
	switch {
	case judgement.Refusal != nil:
		return engine.Outcome{Error: judgement.Refusal.Kind, Content: judgement.Refusal.Message}
	case passage.tool.Program:
		return engine.Outcome{Error: v1alpha1.ErrorInvalidArguments, Content: "A program cannot run a program: call its tools directly."}
	case passage.tool.Delegated:
		return engine.Outcome{Error: v1alpha1.ErrorInvalidArguments, Content: "A program cannot call a subagent: call it directly, outside of a program."}
	case judgement.Ask != "":
		return engine.Outcome{Error: v1alpha1.ErrorApprovalRequiredInProgram, Content: fmt.Sprintf(
			"A person must approve calls of %s (%s), and a program cannot wait for that. The call was not made. "+
				"Call the tool directly, outside of a program.", passage.tool.Name, judgement.Ask)}
	}
	execution := engine.Execution{Call: record, Effect: judgement.Effect}
	if refused, ok := p.Set.Prepare(ctx, []engine.Execution{execution})[record.ID]; ok {
		return refused
	}
	if judgement.Effect {
		if err := p.Mark(ctx, v1alpha1.WatermarkedCall{
			ID: record.ID, Tool: judgement.Tool, ArgumentsDigest: judgement.ArgumentsDigest, Parent: p.Parent,
			IdempotencyKey: engine.IdempotencyKey(p.RunUID, record.ID),
		}); err != nil {
			return engine.Outcome{Error: v1alpha1.ErrorServerUnavailable,
				Content: "The call was not made, because its intent could not be written down: " + err.Error()}
		}
	}
	return p.Set.Execute(ctx, p.RunUID, []engine.Execution{execution})[0]
}
