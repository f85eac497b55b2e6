// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/engine"
	"remit.dev/remit/internal/gate"
)

// maxShownInput is how much of a Run's input stands in the question whether it may
// begin, in bytes.
const maxShownInput = 8 << 10

// askWhetherToBegin asks the policy of the Grants that the agent uses about the whole
// Run. A denial keeps it from beginning; a question is the first entry of its log.
func (s *runScope) askWhetherToBegin(ctx context.Context, version string) ([]engine.ModelCall, error) {
	decision := s.policyOfRun(ctx, version)
	if ctx.Err() != nil { // which may be why it denies
		return nil, context.Cause(ctx)
	}
	switch decision.Verdict {
	case gate.Deny:
		return nil, end(v1alpha1.ReasonPolicyDenied, "policy does not let the Run begin: %s", decision.Reason)
	case gate.Ask:
		call, err := s.wholeCall(version)
		return []engine.ModelCall{call}, err
	case gate.Allow:
	}
	return nil, nil
}

// wholeCall stands for the whole Run: who lets it begin does so for this Version and
// this input.
func (s *runScope) wholeCall(version string) (engine.ModelCall, error) {
	shown := struct {
		Spec    string `json:"spec,omitempty"`
		Version string `json:"version"`
		Input   string `json:"input,omitempty"`
		// InputBytes is the size of an input that is not shown whole.
		InputBytes int `json:"inputBytes,omitempty"`
	}{Version: version, Input: bounded(s.run.Spec.Input, maxShownInput)}
	if whole := len(s.run.Spec.Input); whole > maxShownInput {
		shown.InputBytes = whole
	}
	if s.run.Spec.SpecRef != nil {
		shown.Spec = s.run.Spec.SpecRef.Name
	}
	arguments, err := json.Marshal(shown)
	return engine.ModelCall{Tool: v1alpha1.RunItem, Arguments: string(arguments), Definition: s.hash, Whole: true}, err
}

// judgeWhole asks the policy again whether the Run may begin.
func (s *runScope) judgeWhole(ctx context.Context, call v1alpha1.CallRecord) engine.Judgement {
	judgement := engine.Judgement{Tool: v1alpha1.RunItem, DefinitionDigest: s.hash}
	arguments, err := engine.ReadArguments(call.Arguments)
	if err != nil {
		judgement.Refusal = &engine.Failure{Kind: v1alpha1.ErrorInvalidArguments, Message: err.Error()}
		return judgement
	}
	judgement.Arguments, judgement.ArgumentsDigest = arguments.Indented, arguments.Digest
	switch decision := s.policyOfRun(ctx, s.run.Status.Version); decision.Verdict {
	case gate.Deny:
		judgement.Refusal = &engine.Failure{Kind: v1alpha1.ErrorDenied, Message: "Policy does not let the Run begin: " + decision.Reason}
	case gate.Ask:
		judgement.Ask = decision.Reason
	case gate.Allow:
	}
	return judgement
}

// policyOfRun joins what the policies of the Grants say, in the order of their names.
func (s *runScope) policyOfRun(ctx context.Context, version string) gate.Decision {
	question := s.question(version)
	var asks []func() gate.Decision
	for _, name := range grantsOf(s.body) {
		grant, err := s.grant(ctx, name)
		if err != nil {
			return gate.Denied(fmt.Sprintf("Grant %q could not be read: %v", name, err))
		}
		if grant == nil {
			continue
		}
		if len(grant.Spec.RunPolicy) > 0 {
			asks = append(asks, func() gate.Decision { return s.askRules(ctx, grant, s.policies.ofRuns, question) })
		}
		if endpoint := grant.Spec.DecisionEndpoint; endpoint != nil && endpoint.Runs {
			asks = append(asks, func() gate.Decision { return s.askEndpoint(ctx, grant, question) })
		}
	}
	decision := strictest(asks...)
	if decision.Verdict == gate.Ask && decision.Reason == "" {
		decision.Reason = "policy asks"
	}
	return decision
}

// grantsOf names the Grants that an agent uses, each once, in the order of the names.
func grantsOf(body *v1alpha1.AgentSpec) []v1alpha1.Slug {
	var names []v1alpha1.Slug
	for i := range body.Models {
		names = append(names, body.Models[i].Grant)
	}
	for i := range body.Tools {
		if http := body.Tools[i].HTTP; http != nil {
			names = append(names, http.Grant)
		}
	}
	for i := range body.MCP {
		names = append(names, body.MCP[i].Grant)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
