// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
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

const exitCodes = "Exit codes: 0 for none, 1 for findings, 2 for input or arguments that cannot be read."

const pathsHelp = "A PATH is a file, a directory, of which every .yaml, .yml and .json file is read, or - for standard input,\n" +
	"so what kustomize builds can be piped in. Objects of other groups than remit.dev are left out."

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

// check checks all paths. What cannot be read is joined, so that one run shows
// all there is to correct.
func check(ctx context.Context, checker *offline.Checker, paths []string, stdin io.Reader) (*offline.Report, error) {
	report := &offline.Report{}
	var failed []error
	for source, err := range offline.Sources(paths, stdin) {
		var objects []offline.Object
		if err == nil {
			objects, err = checker.Check(ctx, source)
		}
		if err != nil {
			failed = append(failed, err)
		}
		report.Objects = append(report.Objects, objects...)
	}
	return report, errors.Join(failed...)
}

// checkedSpecs are the Specs of some paths, at least one. Findings are written to
// stderr and make an error.
func checkedSpecs(command *cobra.Command, checker *offline.Checker, paths ...string) ([]offline.Object, error) {
	report, err := check(command.Context(), checker, paths, command.InOrStdin())
	if err != nil {
		return nil, err
	}
	specs := slices.DeleteFunc(report.Objects, func(o offline.Object) bool { return o.Kind != offline.SpecKind })
	if len(specs) == 0 {
		return nil, fmt.Errorf("no Spec in %s", strings.Join(paths, ", "))
	}
	found := &offline.Report{Objects: specs}
	if found.Findings() > 0 {
		if err := found.WriteText(command.ErrOrStderr()); err != nil {
			return nil, err
		}
		return specs, errFindings
	}
	return specs, nil
}

// errFindings: what there is to say was written already.
var errFindings = errors.New("there are findings")
