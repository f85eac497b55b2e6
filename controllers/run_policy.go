// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/types"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/credentials"
	"remit.dev/remit/internal/egress"
	"remit.dev/remit/internal/gate"
	"remit.dev/remit/internal/pipeline"
	"remit.dev/remit/internal/policy"
)

// maxPolicies bounds the compiled policies that are kept.
const maxPolicies = 1024

// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

// policies keeps the compiled rules of Grants, each generation once.
type policies struct {
	cache *lru.Cache[policyKey, compiledPolicy]
}

type policyKey struct {
	uid        types.UID
	generation int64
	// ofRuns says that these are the rules about whole Runs.
	ofRuns bool
}

type compiledPolicy struct {
	rules *policy.Rules
	err   error
}

func newPolicies() *policies {
	cache, err := lru.New[policyKey, compiledPolicy](maxPolicies)
	if err != nil {
		panic(err) // the size is a positive constant
	}
	return &policies{cache}
}

// ofCalls are the rules of a Grant about calls.
func (p *policies) ofCalls(grant *v1alpha1.Grant) (*policy.Rules, error) {
	return p.of(policyKey{grant.UID, grant.Generation, false}, func() (*policy.Rules, error) { return policy.Compile(grant.Spec.Policy) })
}

// ofRuns are its rules about whole Runs.
func (p *policies) ofRuns(grant *v1alpha1.Grant) (*policy.Rules, error) {
	return p.of(policyKey{grant.UID, grant.Generation, true}, func() (*policy.Rules, error) { return policy.CompileRuns(grant.Spec.RunPolicy) })
}

func (p *policies) of(key policyKey, compile func() (*policy.Rules, error)) (*policy.Rules, error) {
	if kept, ok := p.cache.Get(key); ok {
		return kept.rules, kept.err
	}
	rules, err := compile()
	p.cache.Add(key, compiledPolicy{rules, err})
	return rules, err
}

// gated is a tool as policy looks at it.
type gated struct {
	grant *v1alpha1.Grant
	// name as the server or the Spec gives it, and by which the model calls it.
	name, qualifiedName string
	class               v1alpha1.ToolClass
	annotations         map[string]bool
}

// policyOf gives the policy of a tool's Grant, or nil where it has none.
func (s *runScope) policyOf(tool gated) pipeline.Policy {
	spec := &tool.grant.Spec
	if len(spec.Policy) == 0 && !spec.RequireAccess && spec.DecisionEndpoint == nil {
		return nil
	}
	return func(ctx context.Context, arguments json.RawMessage) gate.Decision {
		question := s.question(s.run.Status.Version)
		question.Tool, question.Args, question.Annotations, question.Class = tool.name, arguments, tool.annotations, string(tool.class)
		return strictest(
			func() gate.Decision { return s.askAuthorizer(ctx, tool, question) },
			func() gate.Decision { return s.askRules(ctx, tool.grant, s.policies.ofCalls, question) },
			func() gate.Decision { return s.askEndpoint(ctx, tool.grant, question) },
		)
	}
}

// strictest asks until somebody denies, and gives the first question otherwise.
func strictest(asks ...func() gate.Decision) gate.Decision {
	decision := gate.Allowed()
	for _, ask := range asks {
		switch next := ask(); next.Verdict {
		case gate.Deny:
			return next
		case gate.Ask:
			if decision.Verdict == gate.Allow {
				decision = next
			}
		case gate.Allow:
		}
	}
	return decision
}

// question is about the whole Run.
func (s *runScope) question(version string) *policy.Question {
	run := policy.Run{Name: s.run.Name, UID: string(s.run.UID), Version: version, Input: s.run.Spec.Input}
	if spec := s.specRef(); spec != nil {
		run.Spec = spec.Name
	}
	return &policy.Question{
		Run:   run,
		Scope: policy.Scope{Namespace: s.run.Namespace, Principal: s.run.Spec.CreatedBy, Groups: s.run.Spec.CreatedByGroups},
	}
}

// askAuthorizer asks the cluster whether the Run's creator may call the tool.
func (s *runScope) askAuthorizer(ctx context.Context, tool gated, question *policy.Question) gate.Decision {
	if !tool.grant.Spec.RequireAccess {
		return gate.Allowed()
	}
	if question.Scope.Principal == "" {
		return gate.Denied("the Run does not say who created it")
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: question.Scope.Principal, Groups: question.Scope.Groups,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: s.run.Namespace, Verb: "call", Group: v1alpha1.GroupVersion.Group, Resource: "tools", Name: tool.qualifiedName,
		},
	}}
	if err := s.Create(ctx, review); err != nil {
		return gate.Denied("the cluster could not be asked who may call it: " + err.Error())
	}
	if !review.Status.Allowed || review.Status.Denied {
		return gate.Denied(fmt.Sprintf("user %q may not call tools/%s of %s in namespace %q",
			question.Scope.Principal, tool.qualifiedName, v1alpha1.GroupVersion.Group, s.run.Namespace))
	}
	return gate.Allowed()
}

func (s *runScope) askRules(ctx context.Context, grant *v1alpha1.Grant, of func(*v1alpha1.Grant) (*policy.Rules, error),
	question *policy.Question,
) gate.Decision {
	rules, err := of(grant)
	if err != nil {
		return gate.Denied(fmt.Sprintf("the policy of Grant %q cannot be used: %v", grant.Name, err))
	}
	return rules.Evaluate(ctx, question)
}

func (s *runScope) askEndpoint(ctx context.Context, grant *v1alpha1.Grant, question *policy.Question) gate.Decision {
	spec := grant.Spec.DecisionEndpoint
	if spec == nil {
		return gate.Allowed()
	}
	use := credentials.Use{Namespace: grant.Namespace, Credential: spec.Credential, URL: spec.URL}
	credential, err := s.Credentials.Resolve(ctx, use)
	if err != nil {
		return gate.Denied("the decision endpoint could not be asked: " + err.Error())
	}
	scope := egress.For(grant.Namespace, spec.URL, credential.Header() != "")
	scope.CABundle = spec.CABundle
	endpoint := &policy.Endpoint{URL: spec.URL, Timeout: max(spec.Timeout.Duration, time.Millisecond), Client: &http.Client{
		Transport:     s.Guard.Transport(scope),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if credential.Header() != "" {
		endpoint.Header = http.Header{credential.Header(): {credential.Reveal()}}
	}
	decision := endpoint.Decide(ctx, question)
	decision.Reason = credential.Redact(decision.Reason)
	return decision
}
