// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"

	"github.com/spf13/cobra"

	"remit.dev/remit/internal/offline"
)

func newDiffCommand() *cobra.Command {
	flags := &offlineFlags{}
	command := &cobra.Command{
		Use:   "diff [flags] OLD NEW",
		Short: "Show what differs in meaning between Specs",
		Long: "Show what differs in meaning between the Specs of two paths, and so makes another Version: neither layout,\n" +
			"nor the order of what has none, nor a default that is written out. Specs are paired by namespace and name,\n" +
			"or whatever their names if there is one on each side.\n\n" +
			pathsHelp + "\n\n" +
			"Exit codes: 0 if nothing differs, 1 if something does, 2 for findings, and for input or arguments that cannot be read.",
		Example: "  git show main:agents/helpdesk.yaml | remit diff - agents/helpdesk.yaml",
		Args:    cobra.ExactArgs(2),
		RunE:    func(command *cobra.Command, paths []string) error { return diff(command, flags, paths[0], paths[1]) },
	}
	flags.addTo(command, "text", "json")
	return unreadable(command)
}

func diff(command *cobra.Command, flags *offlineFlags, oldPath, newPath string) error {
	checker, err := flags.checker()
	if err != nil {
		return err
	}
	old, updated := specsOf(command, checker, oldPath), specsOf(command, checker, newPath)
	both := &offline.Report{}
	both.Add(old)
	both.Add(updated)
	if both.Err() != nil || !both.Clean() {
		return unusable(command, flags.output, both)
	}
	compared, err := offline.Compare(old.Objects, updated.Objects)
	if err != nil {
		return err
	}
	write := compared.WriteText
	if flags.output == "json" {
		write = compared.WriteJSON
	} else {
		writeNotices(command.ErrOrStderr(), both)
	}
	if err := write(command.OutOrStdout()); err != nil {
		return err
	}
	if !compared.Same() {
		return &exitError{code: exitDifferent}
	}
	return nil
}

// unusable writes why the Specs cannot be compared.
func unusable(command *cobra.Command, output string, both *offline.Report) error {
	var err error
	switch {
	case output == "json":
		err = (&offline.Comparisons{Unusable: both}).WriteJSON(command.OutOrStdout())
	case !both.Clean():
		err = both.WriteText(command.ErrOrStderr())
	}
	if !both.Clean() {
		err = errors.Join(err, errFindings)
	}
	return errors.Join(err, both.Err())
}

var errFindings = errors.New("there are findings")
