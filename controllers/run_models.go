// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/credentials"
	"remit.dev/remit/internal/egress"
	"remit.dev/remit/internal/model"
)

// resolveModels makes the failover list. An entry that cannot be used stays in it
// and fails with its reason, so that the entries after it get their turn.
func (s *runScope) resolveModels(ctx context.Context) error {
	for i := range s.body.Models {
		entry := &s.body.Models[i]
		provider, err := s.provider(ctx, entry)
		if err != nil {
			return err
		}
		candidate := model.Candidate{Grant: string(entry.Grant), Model: entry.Model, Provider: provider}
		if entry.Parameters != nil {
			if candidate.Parameters, err = model.ParseParameters(entry.Parameters.Raw); err != nil {
				candidate.Provider = model.Unusable(err.Error())
			}
		}
		s.models = append(s.models, candidate)
	}
	return nil
}

// provider gives the provider of one entry; only a failure of the API server is
// an error.
func (s *runScope) provider(ctx context.Context, entry *v1alpha1.Model) (model.Provider, error) {
	grant, err := s.grant(ctx, entry.Grant)
	switch {
	case err != nil:
		return nil, err
	case grant == nil:
		return model.Unusable(fmt.Sprintf("Grant %q does not exist in namespace %q", entry.Grant, s.run.Namespace)), nil
	case grant.Spec.Model == nil:
		return model.Unusable(fmt.Sprintf("Grant %q grants no model", grant.Name)), nil
	case len(grant.Spec.Model.Models) > 0 && !slices.Contains(grant.Spec.Model.Models, entry.Model):
		return model.Unusable(fmt.Sprintf("Grant %q does not permit model %q", grant.Name, entry.Model)), nil
	case grant.Spec.Model.Provider == v1alpha1.ProviderScripted:
		return scriptedProvider(ctx, s.Reader, grant)
	default:
		return s.openAIProvider(ctx, grant)
	}
}

// scriptedProvider reads the script of a Grant.
func scriptedProvider(ctx context.Context, reader client.Reader, grant *v1alpha1.Grant) (model.Provider, error) {
	script, err := readScript(ctx, reader, grant)
	if problem, ok := errors.AsType[*scriptError](err); ok {
		return model.Unusable(problem.detail), nil
	}
	return script, err
}

// scriptError says why the script of a Grant cannot be used, as a reason of a
// condition.
type scriptError struct {
	reason string
	detail string
}

func (e *scriptError) Error() string { return e.detail }

func readScript(ctx context.Context, reader client.Reader, grant *v1alpha1.Grant) (*model.Script, error) {
	reference := grant.Spec.Model.ScriptRef
	stored := &corev1.ConfigMap{}
	err := reader.Get(ctx, types.NamespacedName{Namespace: grant.Namespace, Name: reference.Name}, stored)
	if apierrors.IsNotFound(err) {
		return nil, &scriptError{v1alpha1.ReasonScriptNotFound,
			fmt.Sprintf("ConfigMap %q does not exist in namespace %q", reference.Name, grant.Namespace)}
	}
	if err != nil {
		return nil, err
	}
	text, ok := stored.Data[reference.Key]
	if !ok {
		return nil, &scriptError{v1alpha1.ReasonScriptNotFound,
			fmt.Sprintf("ConfigMap %q has no key %q", reference.Name, reference.Key)}
	}
	script, err := model.ParseScript([]byte(text))
	if err != nil {
		return nil, &scriptError{v1alpha1.ReasonScriptInvalid,
			fmt.Sprintf("key %q of ConfigMap %q: %v", reference.Key, reference.Name, err)}
	}
	return script, nil
}

func (s *runScope) openAIProvider(ctx context.Context, grant *v1alpha1.Grant) (model.Provider, error) {
	use := credentials.Use{Namespace: grant.Namespace, Credential: grant.Spec.Credential, URL: grant.Spec.Model.Endpoint}
	credential, err := s.Credentials.Resolve(ctx, use)
	if err != nil {
		return model.Unusable(err.Error()), nil
	}
	provider, err := s.openAI(use, credential)
	if err != nil {
		return model.Unusable(err.Error()), nil
	}
	if credential.Header() == "" {
		return provider, nil
	}
	return &renewingProvider{Provider: provider, credential: credential, renew: func(ctx context.Context) (*renewingProvider, error) {
		renewed, err := s.Credentials.Renew(ctx, use, credential)
		if err != nil || renewed == credential {
			return nil, err
		}
		provider, err := s.openAI(use, renewed)
		return &renewingProvider{Provider: provider, credential: renewed}, err
	}}, nil
}

func (s *runScope) openAI(use credentials.Use, credential credentials.Value) (model.Provider, error) {
	options := model.OpenAIOptions{
		BaseURL:   use.URL,
		Transport: s.Guard.Transport(egress.For(use.Namespace, use.URL, credential.Header() != "")),
		Timeout:   s.Options.ModelTimeout,
	}
	if token, ok := strings.CutPrefix(credential.Reveal(), "Bearer "); ok && credential.Header() == "Authorization" {
		options.Key = model.NewAPIKey(token)
	} else {
		options.Header, options.Key = credential.Header(), model.NewAPIKey(credential.Reveal())
	}
	return model.NewOpenAI(options)
}

// renewingProvider asks once more where the endpoint refuses the credential and
// another one is to be had (requirement E10). A completion has no effect, so that to
// ask twice does no harm.
type renewingProvider struct {
	model.Provider
	credential credentials.Value
	// renew gives a provider with another credential, or nil where there is none.
	renew func(context.Context) (*renewingProvider, error)
}

// Complete implements model.Provider.
func (p *renewingProvider) Complete(ctx context.Context, request model.Request) (model.Completion, error) {
	completion, err := p.ask(ctx, request)
	failure, ok := errors.AsType[*model.Error](err)
	if !ok || failure.Kind != model.KindUnauthorized {
		return completion, err
	}
	renewed, problem := p.renew(ctx)
	switch {
	case problem != nil:
		failure.Detail += "; the credential could not be renewed: " + problem.Error()
		return completion, err
	case renewed == nil:
		return completion, err
	default:
		return renewed.ask(ctx, request)
	}
}

func (p *renewingProvider) ask(ctx context.Context, request model.Request) (model.Completion, error) {
	completion, err := p.Provider.Complete(ctx, request)
	if failure, ok := errors.AsType[*model.Error](err); ok {
		failure.Detail = p.credential.Redact(failure.Detail)
	}
	return completion, err
}
