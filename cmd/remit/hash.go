// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"remit.dev/remit/internal/offline"
)

func newHashCommand() *cobra.Command {
	flags := &offlineFlags{}
	command := &cobra.Command{
		Use:   "hash [flags] PATH...",
		Short: "Give the hash that each Spec will have in a cluster",
		Long: "Give the hash of each Spec, and the name of the Version that it will be, without a cluster.\n" +
			"Specs of equal meaning have equal hashes, however they are written and named.\n\n" +
			pathsHelp + "\n\n" + exitCodes,
		Example: "  remit hash agents/helpdesk.yaml\n" +
			"  kustomize build overlays/prod | remit hash -o json -",
		Args: cobra.MinimumNArgs(1),
		RunE: func(command *cobra.Command, paths []string) error { return hash(command, flags, paths) },
	}
	flags.addTo(command, "text", "json")
	return unreadable(command)
}

func hash(command *cobra.Command, flags *offlineFlags, paths []string) error {
	checker, err := flags.checker()
	if err != nil {
		return err
	}
	specs, err := checkedSpecs(command, checker, paths...)
	switch {
	case errors.Is(err, errFindings):
		return &exitError{code: exitDifferent}
	case err != nil:
		return err
	case flags.output == "json":
		return (&offline.Report{Objects: specs}).WriteJSON(command.OutOrStdout())
	}
	for i := range specs {
		if _, err := fmt.Fprintf(command.OutOrStdout(), "%s  %s  %s\n", specs[i].Hash, specs[i].Version, &specs[i]); err != nil {
			return err
		}
	}
	return nil
}
