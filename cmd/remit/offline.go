// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/sets"

	"remit.dev/remit/internal/offline"
	"remit.dev/remit/internal/tools"
)

// The exit codes of the offline commands, as diff(1) and linters have them.
const (
	exitDifferent  = 1 // there are findings, or differences
	exitUnreadable = 2 // the arguments or the input could not be read
)

const exitCodes = "Exit codes: 0 for no findings, 1 for findings, 2 for input or arguments that cannot be read."

const pathsHelp = "A PATH is a file, a directory, of which every .yaml, .yml and .json file is read, or - for standard input,\n" +
	"so what kustomize builds can be piped in. Objects of other groups than remit.dev are left out. A file that is\n" +
	"named must hold an object, of whatever group. In a directory values, templates and other files are left out too,\n" +
	"those that are no YAML with a notice; one that names an apiVersion of remit.dev has to be readable."

// exitError is an error with an exit code of its own. Without an error nothing
// is left to say.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// exitCode is what the process exits with after an error.
func exitCode(err error) int {
	if exit, ok := errors.AsType[*exitError](err); ok {
		return exit.code
	}
	return 1
}

// unreadable marks the errors of commands for which 1 means a finding.
func unreadable(command *cobra.Command) *cobra.Command {
	command.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &exitError{exitUnreadable, err} })
	args, run := command.Args, command.RunE
	wrap := func(inner func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
		return func(command *cobra.Command, args []string) error {
			err := inner(command, args)
			if _, ok := errors.AsType[*exitError](err); err != nil && !ok {
				return &exitError{exitUnreadable, err}
			}
			return err
		}
	}
	command.Args, command.RunE = wrap(args), wrap(run)
	return command
}

// offlineFlags are the settings that the offline commands share.
type offlineFlags struct {
	output    string
	outputs   []string
	functions []string
}

// addTo adds the flags. The first of the outputs is the default.
func (f *offlineFlags) addTo(command *cobra.Command, outputs ...string) {
	f.outputs = outputs
	flags := command.Flags()
	flags.StringVarP(&f.output, "output", "o", outputs[0], "form of the output: "+strings.Join(outputs, ", "))
	flags.StringArrayVar(&f.functions, "function", nil, "name of a function that your operator registers besides its own; repeat for more")
}

func (f *offlineFlags) checker() (*offline.Checker, error) {
	if !slices.Contains(f.outputs, f.output) {
		return nil, fmt.Errorf("--output: %q is none of %s", f.output, strings.Join(f.outputs, ", "))
	}
	// The clock is what one of the functions reads; none is called here.
	functions := sets.New(tools.NewFunctions(time.Now).Names()...)
	return offline.NewChecker(functions.Insert(f.functions...))
}

// specsOf is the report on the Specs of some paths.
func specsOf(command *cobra.Command, checker *offline.Checker, paths ...string) *offline.Report {
	report := checker.CheckAll(command.Context(), paths, command.InOrStdin())
	report.Objects = slices.DeleteFunc(report.Objects, func(o offline.Object) bool { return o.Kind != offline.SpecKind })
	if len(report.Objects) == 0 && len(report.Errors) == 0 {
		names := strings.Join(paths, ", ")
		if names == offline.StdinPath {
			names = offline.Stdin
		}
		report.Errors = append(report.Errors, &offline.ReadError{Source: names, Err: errNoSpec})
	}
	return report
}

var errNoSpec = errors.New("there is no Spec in it")

// writeNotices writes what a report in text leaves out. Other forms hold it.
func writeNotices(w io.Writer, report *offline.Report) {
	for _, notice := range report.Notices {
		fmt.Fprintln(w, "remit:", notice)
	}
}
