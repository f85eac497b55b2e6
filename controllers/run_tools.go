// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/gate"
	"remit.dev/remit/internal/mcp"
	"remit.dev/remit/internal/narrowing"
	"remit.dev/remit/internal/pipeline"
	"remit.dev/remit/internal/tools"
)

// unreachableRetry is when a step that lacks a server's definitions is taken
// again, where no change of the MCPServer comes first.
const unreachableRetry = 15 * time.Second

// resolveTools computes anew which tools are callable in this step.
func (s *runScope) resolveTools(ctx context.Context) error {
	var callable []pipeline.Tool
	for i := range s.body.Tools {
		tool, err := s.ownTool(ctx, &s.body.Tools[i])
		if err != nil {
			return err
		}
		if tool != nil {
			callable = append(callable, *tool)
		}
	}
	for _, builtin := range s.body.Builtins {
		switch builtin {
		case v1alpha1.BuiltinRunCode:
			callable = append(callable, s.runCodeTool())
		case v1alpha1.BuiltinAskUser:
			callable = append(callable, tools.AskUser())
		case v1alpha1.BuiltinWaitWebhook:
			callable = append(callable, tools.WaitWebhook())
		}
	}
	if len(s.body.Subagents) > 0 {
		callable = append(callable, tools.RunSubagent(s.body.Subagents))
	}
	for i := range s.body.MCP {
		granted, err := s.mcpTools(ctx, &s.body.MCP[i])
		if err != nil {
			return err
		}
		callable = append(callable, granted...)
	}
	set, findings := pipeline.NewToolSet(callable, s.schemas, s.Options.DeferAbove)
	for _, finding := range findings { // the MCPServer and the Grant show them too
		log.FromContext(ctx).V(1).Info(finding)
	}
	set.Keep, set.IsNarrowed = s.keepArtifact, s.isNarrowed
	s.tools = set
	return nil
}

// isNarrowed says whether a name that is not callable in this step is one of the
// agent's own tools or of a Grant that it asks for.
func (s *runScope) isNarrowed(name string) bool {
	grant, _, qualified := strings.Cut(name, narrowing.Separator)
	if qualified {
		return slices.ContainsFunc(s.body.MCP, func(asked v1alpha1.MCPGrant) bool { return string(asked.Grant) == grant })
	}
	return slices.ContainsFunc(s.body.Tools, func(own v1alpha1.Tool) bool { return own.Name == name })
}

// mcpTools gives the tools of one grant of the Spec. A Grant or a server that was
// taken away since the Run began gives none.
func (s *runScope) mcpTools(ctx context.Context, asked *v1alpha1.MCPGrant) ([]pipeline.Tool, error) {
	grant, err := s.grant(ctx, asked.Grant)
	if err != nil || grant == nil || grant.Spec.MCPServer == nil {
		return nil, err
	}
	server, err := grantedServer(ctx, s.Client, grant)
	if err != nil || server == nil {
		return nil, err
	}
	narrowed := s.narrow(narrowing.Offered(server), grant.Spec.Tools, asked)
	if len(narrowed) == 0 {
		return nil, nil
	}
	definitions, err := s.definitions(ctx, server)
	if err != nil {
		return nil, err
	}
	var callable []pipeline.Tool
	for _, tool := range narrowed {
		if definition, ok := definitions[tool.Name]; ok && definition.Unusable == "" {
			callable = append(callable, s.mcpTool(asked, grant, server, tool, definition))
		}
	}
	return callable, nil
}

// definitions gives the whole definitions of the tools in the server's status. A
// tool whose definition differs from its digest there is left out until the
// MCPServer shows the new one.
func (s *runScope) definitions(ctx context.Context, server *v1alpha1.MCPServer) (map[string]mcp.Tool, error) {
	catalogue, kept := s.Catalogue.Kept(server.Namespace + "/" + server.Name)
	if kept {
		if found, complete := match(server, catalogue); complete {
			return found, nil
		}
	}
	catalogue, err := s.discover(ctx, server)
	if err != nil {
		return nil, &holdError{
			reason: v1alpha1.ReasonWaitingForServer,
			detail: fmt.Sprintf("the definitions of the tools of MCPServer %s/%s cannot be read: %v", server.Namespace, server.Name, err),
			after:  unreachableRetry,
		}
	}
	found, _ := match(server, catalogue)
	return found, nil
}

func (s *runScope) discover(ctx context.Context, server *v1alpha1.MCPServer) (mcp.Catalogue, error) {
	where, err := target(ctx, s.Credentials, server, server.Namespace, server.Spec.Credential)
	if err != nil {
		return mcp.Catalogue{}, err
	}
	return s.Catalogue.Refresh(ctx, where)
}

// match pairs the tools in a status with their definitions, by digest.
func match(server *v1alpha1.MCPServer, catalogue mcp.Catalogue) (found map[string]mcp.Tool, complete bool) {
	digests := make(map[string]v1alpha1.Digest, len(server.Status.Tools))
	for _, tool := range server.Status.Tools {
		digests[tool.Name] = tool.DefinitionDigest
	}
	found = make(map[string]mcp.Tool, len(digests))
	for _, tool := range catalogue.Tools {
		if digest, ok := digests[tool.Name]; ok && digest == definitionDigest(tool) {
			found[tool.Name] = tool
		}
	}
	return found, len(found) == len(digests)
}

func (s *runScope) mcpTool(asked *v1alpha1.MCPGrant, grant *v1alpha1.Grant, server *v1alpha1.MCPServer, tool narrowing.Tool, definition mcp.Tool) pipeline.Tool {
	name, _ := narrowing.QualifiedName(grant.Name, tool.Name)
	ask, _ := gate.ApprovalOf(&grant.Spec).Requires(s.Options.Selectors, tool.Name, tool.Class)
	claims := definition.Annotations
	return pipeline.Tool{
		Name:        name,
		Description: definition.Description,
		InputSchema: definition.InputSchema, OutputSchema: definition.OutputSchema, MaxPages: int(asked.MaxPages),
		Definition: definitionDigest(definition),
		Class:      tool.Class,
		Idempotent: gate.Idempotent(hints(definition.Annotations, server.Spec.Annotations)),
		Ask:        ask,
		Policy: s.policyOf(gated{grant: grant, name: tool.Name, qualifiedName: name, class: tool.Class,
			annotations: hintSet(claims.ReadOnly, claims.Destructive, claims.Idempotent, claims.OpenWorld)}),
		Preloaded: narrowing.Preloaded(tool, asked),
		Executor: &tools.MCPTool{
			Client: s.MCP,
			Name:   tool.Name,
			Target: func(ctx context.Context) (mcp.Target, error) {
				where, err := target(ctx, s.Credentials, server, grant.Namespace, grant.Spec.Credential)
				where.Report = s.report(grant, server)
				return where, err
			},
		},
	}
}

// grant reads a Grant of the Run's namespace, or gives nil.
func (s *runScope) grant(ctx context.Context, name v1alpha1.Slug) (*v1alpha1.Grant, error) {
	grant := &v1alpha1.Grant{}
	err := s.Get(ctx, types.NamespacedName{Namespace: s.run.Namespace, Name: string(name)}, grant)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return grant, err
}

// grantsExist holds a Run that has not begun until everything that its Version
// asks for has been granted and discovered, so that applying all of it at once
// does not start an agent without its tools.
func (s *runScope) grantsExist(ctx context.Context, body *v1alpha1.AgentSpec) error {
	for i := range body.Models {
		grant, err := s.grant(ctx, body.Models[i].Grant)
		if err != nil {
			return err
		}
		if grant == nil {
			return hold(v1alpha1.ReasonWaitingForGrant, "Grant %q of model %q does not exist in namespace %q: ask the platform team for it",
				body.Models[i].Grant, body.Models[i].Model, s.run.Namespace)
		}
	}
	for i := range body.Tools {
		if err := s.hostGranted(ctx, &body.Tools[i]); err != nil {
			return err
		}
	}
	for i := range body.MCP {
		grant, err := s.grant(ctx, body.MCP[i].Grant)
		if err != nil {
			return err
		}
		if grant == nil {
			return hold(v1alpha1.ReasonWaitingForGrant, "Grant %q does not exist in namespace %q: ask the platform team for it", body.MCP[i].Grant, s.run.Namespace)
		}
		if err := s.serverKnown(ctx, grant); err != nil {
			return err
		}
	}
	return nil
}

func (s *runScope) serverKnown(ctx context.Context, grant *v1alpha1.Grant) error {
	if grant.Spec.MCPServer == nil {
		return hold(v1alpha1.ReasonWaitingForGrant, "Grant %q grants no mcpServer", grant.Name)
	}
	server, err := grantedServer(ctx, s.Client, grant)
	if err != nil {
		return err
	}
	if server == nil {
		return hold(v1alpha1.ReasonWaitingForServer, "the MCPServer of Grant %q does not exist or is not open to namespace %q",
			grant.Name, grant.Namespace)
	}
	if server.Status.DiscoveredAt == nil {
		return hold(v1alpha1.ReasonWaitingForServer, "the MCPServer of Grant %q has not been discovered yet: %s", grant.Name, notReadyBecause(server.Status.Conditions))
	}
	return nil
}
