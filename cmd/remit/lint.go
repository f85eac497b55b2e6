// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"remit.dev/remit/internal/offline"
)

func newLintCommand() *cobra.Command {
	flags := &offlineFlags{}
	command := &cobra.Command{
		Use:   "lint [flags] PATH...",
		Short: "Check Specs and the other kinds without a cluster",
		Long: "Check objects of remit.dev as the API server and the operator would, without a cluster.\n" +
			"Unknown fields, keys that are there twice and numbers that Kubernetes would round are findings too.\n\n" +
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
	report, unread := check(command.Context(), checker, paths, command.InOrStdin())
	write := map[string]func(*offline.Report, io.Writer) error{
		"text": (*offline.Report).WriteText, "json": (*offline.Report).WriteJSON, "sarif": (*offline.Report).WriteSARIF,
	}[flags.output]
	if err := write(report, command.OutOrStdout()); err != nil {
		return err
	}
	if unread != nil {
		return unread
	}
	if len(report.Objects) == 0 {
		fmt.Fprintln(command.ErrOrStderr(), "remit: there is no object of remit.dev in the input")
	}
	if report.Findings() > 0 {
		return &exitError{code: exitDifferent}
	}
	return nil
}
