// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"bytes"
	"encoding/json"
	"fmt"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/canonical"
	"remit.dev/remit/internal/engine"
)

const argumentsDomain canonical.Domain = "remit.dev/arguments/v1"

// judging is one call on its way through the stages before the watermark. A stage
// reads what those before it have set.
type judging struct {
	set       *ToolSet
	call      v1alpha1.CallRecord
	tool      *Tool
	arguments []byte
	judgement engine.Judgement
}

// beforeWatermark are the stages that judge a call, in their order. Each returns
// a refusal or nothing; narrowing has been done when the set was made.
var beforeWatermark = []func(*judging) *engine.Failure{
	resolve, decode, validate, classify, approve,
}

// Judge takes a call through the stages before the watermark. The whole call is
// judged anew at each step, so what was revoked meanwhile is refused.
func (s *ToolSet) Judge(call v1alpha1.CallRecord) engine.Judgement {
	return s.judge(call).judgement
}

func (s *ToolSet) judge(call v1alpha1.CallRecord) *judging {
	j := &judging{set: s, call: call}
	for _, stage := range beforeWatermark {
		if refusal := stage(j); refusal != nil {
			j.judgement.Refusal = refusal
			break
		}
	}
	return j
}

func resolve(j *judging) *engine.Failure {
	j.tool = j.set.byName[j.call.Tool]
	if j.tool == nil {
		return &engine.Failure{Kind: v1alpha1.ErrorUnknownTool,
			Message: fmt.Sprintf("There is no tool %q. Use one of the tools you were given, by its exact name.", j.call.Tool)}
	}
	j.judgement.Tool = j.tool.Name
	j.judgement.DefinitionDigest = j.tool.Definition
	return nil
}

func decode(j *judging) *engine.Failure {
	text := []byte(j.call.Arguments)
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}")
	}
	arguments, err := canonical.JSON(text)
	if err != nil {
		return invalidArguments(err.Error())
	}
	if arguments[0] != '{' {
		return invalidArguments("they must be a JSON object")
	}
	j.arguments = arguments
	j.judgement.ArgumentsDigest = v1alpha1.Digest(canonical.Hash(argumentsDomain, arguments).String())
	var indented bytes.Buffer
	if err := json.Indent(&indented, arguments, "", "  "); err != nil {
		return invalidArguments(err.Error())
	}
	j.judgement.Arguments = indented.String()
	return nil
}

func validate(j *judging) *engine.Failure {
	if j.tool.schema == nil {
		return nil
	}
	if err := j.tool.schema.Validate(j.arguments); err != nil {
		return invalidArguments(err.Error())
	}
	return nil
}

func classify(j *judging) *engine.Failure {
	j.judgement.Class = j.tool.Class
	j.judgement.Effect = !j.tool.Idempotent
	return nil
}

func approve(j *judging) *engine.Failure {
	j.judgement.Ask = j.tool.Ask
	return nil
}

func invalidArguments(detail string) *engine.Failure {
	return &engine.Failure{Kind: v1alpha1.ErrorInvalidArguments,
		Message: "The call was not made, because its arguments do not fit: " + detail}
}
