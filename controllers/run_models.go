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
	credential, err := s.Credentials.Resolve(ctx, grant.Namespace, grant.Spec.Credential)
	if err != nil {
		return model.Unusable(err.Error()), nil
	}
	options := model.OpenAIOptions{
		BaseURL:   grant.Spec.Model.Endpoint,
		Transport: s.Guard.Transport(egress.Scope{Tenant: grant.Namespace}),
		Timeout:   s.Options.ModelTimeout,
	}
	switch {
	case credential.Header() == "":
	case grant.Spec.Credential.Type == v1alpha1.CredentialBearer:
		options.Key = model.NewAPIKey(strings.TrimPrefix(credential.Reveal(), "Bearer "))
	default:
		options.Header, options.Key = credential.Header(), model.NewAPIKey(credential.Reveal())
	}
	provider, err := model.NewOpenAI(options)
	if err != nil {
		return model.Unusable(err.Error()), nil
	}
	return provider, nil
}
