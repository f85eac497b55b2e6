// SPDX-License-Identifier: Apache-2.0

package main

import (
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
	report := specsOf(command, checker, paths...)
	if err := writeHashes(command, flags.output, report); err != nil {
		return err
	}
	if err := report.Err(); err != nil {
		return err
	}
	if !report.Clean() {
		return &exitError{code: exitDifferent}
	}
	return nil
}

// writeHashes writes the hashes if all is well, and else why it is not.
func writeHashes(command *cobra.Command, output string, report *offline.Report) error {
	if output == "json" {
		return report.WriteJSON(command.OutOrStdout())
	}
	writeNotices(command.ErrOrStderr(), report)
	if !report.Clean() {
		return report.WriteText(command.ErrOrStderr())
	}
	if report.Err() != nil {
		return nil
	}
	for i := range report.Objects {
		spec := &report.Objects[i]
		if _, err := fmt.Fprintf(command.OutOrStdout(), "%s  %s  %s\n", spec.Hash, spec.Version, spec); err != nil {
			return err
		}
	}
	return nil
}
