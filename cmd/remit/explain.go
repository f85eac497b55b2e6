// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/explain"
	"remit.dev/remit/internal/gate"
	"remit.dev/remit/internal/narrowing"
	"remit.dev/remit/internal/offline"
	"remit.dev/remit/internal/publish"
)

type explainFlags struct {
	clusterFlags
	output     string
	paths      []string
	selectors  []string
	deferAbove int
}

func newExplainCommand() *cobra.Command {
	flags := &explainFlags{}
	command := &cobra.Command{
		Use:   "explain [flags] [SPEC]...",
		Short: "Explain which tools an agent can call, and why not the others",
		Long: "Explain for each tool of the agent's MCP servers at which plane it fell out and why: what the server offers, what the\n" +
			"Grant permits, what the Spec grants and enables, and what can be called. Without SPEC every Spec of the namespace is\n" +
			"explained.\n\n" +
			"The objects are read from the cluster, or with --filename from files, which need the Spec, its Grants and the\n" +
			"MCPServers with their status, and the Namespace where a server selects namespaces by labels. A server that cannot be\n" +
			"read, as in the catalogue of a platform team, is explained from the status of the Grant.\n\n" +
			"Exit codes: 0 for an explanation, 2 for input or arguments that cannot be read.",
		Example: "  remit explain helpdesk -n team-a\n" +
			"  kubectl get specs,grants,mcpservers -A -o yaml | remit explain -f -",
		Args: cobra.ArbitraryArgs,
		RunE: func(command *cobra.Command, specs []string) error { return runExplain(command, flags, specs) },
	}
	flags.addTo(command)
	f := command.Flags()
	f.StringVarP(&flags.output, "output", "o", "text", "form of the output: text, json")
	f.StringArrayVarP(&flags.paths, "filename", "f", nil, "read this file or directory, or - for standard input, in place of the cluster; repeat for more")
	f.StringSliceVar(&flags.selectors, "approval-selectors", selectorStrings(gate.DefaultSelectors), "the operator's --approval-selectors")
	f.IntVar(&flags.deferAbove, "defer-tools-above", narrowing.DefaultDeferAbove, "the operator's --defer-tools-above")
	return unreadable(command)
}

func runExplain(command *cobra.Command, flags *explainFlags, names []string) error {
	selectors, err := approvalSelectors(flags.selectors)
	if err != nil {
		return err
	}
	if flags.output != "text" && flags.output != "json" {
		return fmt.Errorf("--output: %q is none of text, json", flags.output)
	}
	world, err := flags.read(command, names)
	if err != nil {
		return err
	}
	reports, err := world.explain(names, selectors, flags.deferAbove)
	if err != nil {
		return err
	}
	return writeReports(command.OutOrStdout(), flags.output, reports)
}

// world is the objects that an explanation looks at, from files or a cluster.
type world struct {
	specs      []v1alpha1.Spec
	grants     map[string]map[string]*v1alpha1.Grant // by namespace and name
	servers    map[types.NamespacedName]*v1alpha1.MCPServer
	namespaces map[string]labels.Set
}

func (f *explainFlags) read(command *cobra.Command, names []string) (*world, error) {
	if len(f.paths) == 0 {
		return f.readCluster(command.Context(), names)
	}
	checker, err := offline.NewChecker(sets.New[string]())
	if err != nil {
		return nil, err
	}
	var objects offline.Manifests
	var failed []error
	for source, err := range offline.Sources(command.Context(), f.paths, command.InOrStdin()) {
		if err == nil {
			err = checker.Load(command.Context(), source, &objects)
		}
		if err != nil {
			failed = append(failed, err)
		}
	}
	return f.fromFiles(&objects), errors.Join(failed...)
}

func (f *explainFlags) fromFiles(objects *offline.Manifests) *world {
	w := &world{grants: map[string]map[string]*v1alpha1.Grant{},
		servers: map[types.NamespacedName]*v1alpha1.MCPServer{}, namespaces: map[string]labels.Set{}}
	for i := range objects.Specs {
		if spec := &objects.Specs[i]; f.namespace == "" || spec.Namespace == f.namespace {
			w.specs = append(w.specs, *spec)
		}
	}
	for i := range objects.Grants {
		w.addGrant(&objects.Grants[i])
	}
	for i := range objects.Servers {
		server := &objects.Servers[i]
		w.servers[types.NamespacedName{Namespace: server.Namespace, Name: server.Name}] = server
	}
	for i := range objects.Namespaces {
		w.namespaces[objects.Namespaces[i].Name] = labelsOf(objects.Namespaces[i].Labels)
	}
	return w
}

func (w *world) addGrant(grant *v1alpha1.Grant) {
	if w.grants[grant.Namespace] == nil {
		w.grants[grant.Namespace] = map[string]*v1alpha1.Grant{}
	}
	w.grants[grant.Namespace][grant.Name] = grant
}

// labelsOf is never nil: a Namespace without labels is known to have none.
func labelsOf(object map[string]string) labels.Set {
	return labels.Merge(labels.Set{}, object)
}

// explain explains the named Specs, or all.
func (w *world) explain(names []string, selectors []v1alpha1.ApprovalSelector, deferAbove int) ([]explain.Report, error) {
	reports := []explain.Report{}
	for i := range w.specs {
		spec := &w.specs[i]
		if len(names) > 0 && !slices.Contains(names, spec.Name) {
			continue
		}
		publish.Default(&spec.Spec)
		reports = append(reports, explain.Agent(spec.Name, &explain.Input{
			Namespace: spec.Namespace, Spec: &spec.Spec, Grants: w.grants[spec.Namespace], Servers: w.servers,
			Labels: w.namespaces[spec.Namespace], Selectors: selectors, DeferAbove: deferAbove,
		}))
	}
	for _, name := range names {
		if !slices.ContainsFunc(reports, func(r explain.Report) bool { return r.Spec == name }) {
			return nil, fmt.Errorf("there is no Spec %q", name)
		}
	}
	if len(reports) == 0 {
		return nil, errors.New("there is no Spec")
	}
	return reports, nil
}

func writeReports(w io.Writer, output string, reports []explain.Report) error {
	if output == "json" {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(reports)
	}
	for i := range reports {
		if i > 0 {
			if _, err := fmt.Fprintln(w, strings.Repeat("-", 3)); err != nil {
				return err
			}
		}
		if err := reports[i].WriteText(w); err != nil {
			return err
		}
	}
	return nil
}
