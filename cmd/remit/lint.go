// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"remit.dev/remit/internal/offline"
)

func newLintCommand() *cobra.Command {
	flags := &offlineFlags{}
	command := &cobra.Command{
		Use:   "lint [flags] PATH...",
		Short: "Check Specs and the other kinds without a cluster",
		Long: "Check objects of remit.dev as the API server and the operator would, without a cluster.\n" +
			"Unknown fields, keys that are there twice and numbers that Kubernetes would round are findings too. Where the\n" +
			"schema has findings some rules cannot be checked, which the report says.\n\n" +
			pathsHelp + "\n\n" + exitCodes,
		Example: "  remit lint agents/\n" +
			"  kustomize build overlays/prod | remit lint -\n" +
			"  remit lint -o sarif agents/ > remit.sarif",
		Args: cobra.MinimumNArgs(1),
		RunE: func(command *cobra.Command, paths []string) error { return lint(command, flags, paths) },
	}
	flags.addTo(command, "text", "json", "sarif")
	return unreadable(command)
}

// lint writes the report even if some of the input cannot be read.
func lint(command *cobra.Command, flags *offlineFlags, paths []string) error {
	checker, err := flags.checker()
	if err != nil {
		return err
	}
	report := checker.CheckAll(command.Context(), paths, command.InOrStdin())
	if err := writeReport(command, flags.output, report); err != nil {
		return err
	}
	if err := report.Err(); err != nil {
		return err
	}
	if len(report.Objects) == 0 {
		fmt.Fprintln(command.ErrOrStderr(), "remit: there is no object of remit.dev in the input")
	}
	if !report.Clean() {
		return &exitError{code: exitDifferent}
	}
	return nil
}

func writeReport(command *cobra.Command, output string, report *offline.Report) error {
	w := command.OutOrStdout()
	switch output {
	case "json":
		return report.WriteJSON(w)
	case "sarif":
		dir, err := os.Getwd()
		if err != nil {
			return err
		}
		return report.WriteSARIF(w, dir)
	default:
		writeNotices(command.ErrOrStderr(), report)
		return report.WriteText(w)
	}
}
