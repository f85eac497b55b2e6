// SPDX-License-Identifier: Apache-2.0

// Package explain says for each tool of an agent at which plane of the narrowing
// it fell out and why, whether a call of it needs approval, and whether it is in
// the prompt. It asks the packages that Runs ask, and is pure.
package explain

import (
	"fmt"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/gate"
	"remit.dev/remit/internal/narrowing"
)

// Input is what an explanation looks at.
type Input struct {
	Namespace string
	// Spec is the agent as it is published, or as it would be.
	Spec *v1alpha1.AgentSpec
	// Grants are those of the namespace, by name.
	Grants map[string]*v1alpha1.Grant
	// Servers are the MCPServers that could be looked for, by namespace and name;
	// nil for one that does not exist.
	Servers map[types.NamespacedName]*v1alpha1.MCPServer
	// Labels are those of the namespace; nil when they are not known.
	Labels labels.Set
	// Selectors and DeferAbove are settings of the operator.
	Selectors  []v1alpha1.ApprovalSelector
	DeferAbove int
}

// Report explains one agent.
type Report struct {
	Namespace string `json:"namespace"`
	Spec      string `json:"spec"`
	// Callable is the number of tools that a Run could call now.
	Callable int           `json:"callable"`
	Grants   []GrantReport `json:"grants"`
}

// GrantReport explains one grant of the agent.
type GrantReport struct {
	Grant string `json:"grant"`
	// Server is the MCPServer, as namespace/name.
	Server string `json:"server,omitempty"`
	// Problem says why the grant gives nothing, or what could not be looked at.
	Problem string `json:"problem,omitempty"`
	// JudgedBy is what judges each call beside the approval lists.
	JudgedBy []string     `json:"judgedBy,omitempty"`
	Tools    []ToolReport `json:"tools"`
}

// Prompt says how the model learns of a tool.
type Prompt string

// The values of Prompt.
const (
	// PromptListed is a tool whose definition is in the prompt.
	PromptListed Prompt = "Listed"
	// PromptDeferred is a tool that the model finds by search_tools.
	PromptDeferred Prompt = "Deferred"
)

// ToolReport explains one tool. One that is lost has a plane and a reason, and
// one that is not has a class, its name, and whether it needs approval.
type ToolReport struct {
	Tool string `json:"tool"`
	// QualifiedName is the name by which the model calls it.
	QualifiedName string             `json:"qualifiedName,omitempty"`
	Class         v1alpha1.ToolClass `json:"class,omitempty"`
	LostAt        v1alpha1.Plane     `json:"lostAt,omitempty"`
	Why           string             `json:"why,omitempty"`

	Approval       v1alpha1.ApprovalNeed `json:"approval,omitempty"`
	ApprovalReason string                `json:"approvalReason,omitempty"`
	Prompt         Prompt                `json:"prompt,omitempty"`

	preloaded bool
}

// Agent explains the MCP grants of one agent, in their order.
func Agent(name string, in *Input) Report {
	report := Report{Namespace: in.Namespace, Spec: name, Callable: len(in.Spec.Tools), Grants: []GrantReport{}}
	for i := range in.Spec.MCP {
		grant := in.explain(&in.Spec.MCP[i])
		for _, tool := range grant.Tools {
			if tool.LostAt == "" {
				report.Callable++
			}
		}
		report.Grants = append(report.Grants, grant)
	}
	for _, grant := range report.Grants {
		for i := range grant.Tools {
			grant.Tools[i].Prompt = prompt(&grant.Tools[i], report.Callable > in.DeferAbove)
		}
	}
	return report
}

func prompt(tool *ToolReport, deferring bool) Prompt {
	switch {
	case tool.LostAt != "":
		return ""
	case deferring && !tool.preloaded:
		return PromptDeferred
	default:
		return PromptListed
	}
}

func (in *Input) explain(asked *v1alpha1.MCPGrant) GrantReport {
	report := GrantReport{Grant: string(asked.Grant), Tools: []ToolReport{}}
	grant := in.Grants[report.Grant]
	switch {
	case grant == nil:
		report.Problem = fmt.Sprintf("Grant %q does not exist in namespace %q: ask the platform team for it", asked.Grant, in.Namespace)
		return report
	case grant.Spec.MCPServer == nil:
		report.Problem = fmt.Sprintf("Grant %q grants no mcpServer", asked.Grant)
		return report
	}
	key := narrowing.ServerKey(grant)
	report.Server, report.JudgedBy = key.String(), judgedBy(grant)
	verdicts, problem := in.verdicts(key, grant, asked)
	report.Problem = problem
	for i := range verdicts {
		report.Tools = append(report.Tools, in.tool(grant, asked, &verdicts[i]))
	}
	return report
}

// judgedBy names what judges each call beside the lists: only the call itself, and who
// created its Run, tell what comes of it.
func judgedBy(grant *v1alpha1.Grant) []string {
	var judges []string
	for i := range grant.Spec.Policy {
		judges = append(judges, "policy["+grant.Spec.Policy[i].Name+"]")
	}
	if grant.Spec.RequireAccess {
		judges = append(judges, "requireAccess")
	}
	if grant.Spec.DecisionEndpoint != nil {
		judges = append(judges, "decisionEndpoint")
	}
	for _, condition := range grant.Status.Conditions {
		if condition.Type == v1alpha1.ConditionReady && condition.Reason == v1alpha1.ReasonPolicyInvalid {
			judges = append(judges, condition.Message)
		}
	}
	return judges
}

// verdicts explain the tools of one server, and a problem what keeps them from it.
func (in *Input) verdicts(key types.NamespacedName, grant *v1alpha1.Grant, asked *v1alpha1.MCPGrant) (verdicts []narrowing.Verdict, problem string) {
	server, looked := in.Servers[key]
	switch {
	case server == nil && looked:
		return nil, fmt.Sprintf("MCPServer %s does not exist", key)
	case server == nil:
		return fromGrant(grant, asked), fmt.Sprintf("MCPServer %s could not be read, so this is what the status of the Grant shows", key)
	case narrowing.NeedsLabels(server) && in.Labels == nil:
		return fromGrant(grant, asked), fmt.Sprintf("MCPServer %s is open to namespaces by their labels, and those of %q are not known, "+
			"so this is what the status of the Grant shows", key, in.Namespace)
	case !narrowing.Allows(server, in.Namespace, in.Labels):
		return nil, fmt.Sprintf("MCPServer %s is not open to namespace %q: see its allowedNamespaces", key, in.Namespace)
	case server.Status.DiscoveredAt == nil:
		return nil, fmt.Sprintf("MCPServer %s has not been discovered yet: see its conditions", key)
	default:
		return narrowing.Explain(narrowing.Offered(server), grant.Spec.Tools, asked), ""
	}
}

// fromGrant explains from what a Grant shows of a server that its reader may not
// look at.
func fromGrant(grant *v1alpha1.Grant, asked *v1alpha1.MCPGrant) []narrowing.Verdict {
	permitted := make([]narrowing.Tool, 0, len(grant.Status.Tools))
	for _, tool := range grant.Status.Tools {
		permitted = append(permitted, narrowing.Tool{Name: tool.Name, Class: tool.Class})
	}
	withheld := make(map[string]v1alpha1.WithheldTool, len(grant.Status.Withheld))
	for _, tool := range grant.Status.Withheld {
		withheld[tool.Name] = tool
	}
	verdicts := narrowing.Explain(permitted, nil, asked)
	for i := range verdicts {
		if tool, ok := withheld[verdicts[i].Name]; ok {
			verdicts[i].LostAt, verdicts[i].Why = tool.LostAt, tool.Message
			delete(withheld, tool.Name)
		}
	}
	for _, entry := range grant.Status.Stale {
		if entry.Field == "spec.tools" {
			verdicts = append(verdicts, narrowing.Verdict{Tool: narrowing.Tool{Name: entry.Value},
				LostAt: v1alpha1.PlaneOffered, Why: "tools of the Grant names it, and the server does not offer it"})
		}
	}
	for _, tool := range grant.Status.Withheld {
		if _, left := withheld[tool.Name]; left {
			verdicts = append(verdicts, narrowing.Verdict{
				Tool: narrowing.Tool{Name: tool.Name}, LostAt: tool.LostAt, Why: tool.Message})
		}
	}
	return verdicts
}

func (in *Input) tool(grant *v1alpha1.Grant, asked *v1alpha1.MCPGrant, verdict *narrowing.Verdict) ToolReport {
	report := ToolReport{Tool: verdict.Name, Class: verdict.Class, LostAt: verdict.LostAt, Why: verdict.Why}
	if report.LostAt != "" {
		return report
	}
	report.QualifiedName, _ = narrowing.QualifiedName(grant.Name, verdict.Name)
	report.preloaded = narrowing.Preloaded(verdict.Tool, asked)
	report.Approval = v1alpha1.ApprovalNotRequired
	if reason, required := gate.ApprovalOf(&grant.Spec).Requires(in.Selectors, verdict.Name, verdict.Class); required {
		report.Approval, report.ApprovalReason = v1alpha1.ApprovalRequired, reason
	}
	return report
}
