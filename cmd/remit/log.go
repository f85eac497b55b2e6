// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/engine"
	"remit.dev/remit/internal/offline"
	"remit.dev/remit/internal/show"
)

type logFlags struct {
	clusterFlags
	path    string
	options show.Options
}

func newLogCommand() *cobra.Command {
	flags := &logFlags{options: show.DefaultOptions}
	command := &cobra.Command{
		Use:   "log [flags] RUN",
		Short: "Show what happened in a Run",
		Long: "Show the log of a Run: what the model said and called, who decided, and what tools returned, tables as tables.\n" +
			"The Run is read from the cluster with the sealed parts of its log, or with --filename from a file, or - for standard\n" +
			"input, without them.\n\n" +
			"Exit codes: 0 for a log, 2 for input or arguments that cannot be read.",
		Example: "  remit log refund-4711 -n team-a\n" +
			"  kubectl get run refund-4711 -o yaml | remit log -f -",
		Args: func(_ *cobra.Command, args []string) error {
			if (len(args) == 1) == (flags.path != "") || len(args) > 1 {
				return errors.New("name one Run, or give a file with --filename")
			}
			return nil
		},
		RunE: func(command *cobra.Command, args []string) error { return runLog(command, flags, args) },
	}
	flags.addTo(command)
	f := command.Flags()
	f.StringVarP(&flags.path, "filename", "f", "", "read the Run from this file, or - for standard input")
	f.IntVar(&flags.options.Rows, "rows", flags.options.Rows, "rows of a table to show, 1 to 100000")
	f.IntVar(&flags.options.Text, "text", flags.options.Text, "bytes of each text to show, 1 to 1000000")
	return unreadable(command)
}

func runLog(command *cobra.Command, flags *logFlags, args []string) error {
	switch {
	case flags.options.Rows < 1 || flags.options.Rows > 100_000:
		return fmt.Errorf("--rows: %d is not between 1 and 100000", flags.options.Rows)
	case flags.options.Text < 1 || flags.options.Text > 1_000_000:
		return fmt.Errorf("--text: %d is not between 1 and 1000000", flags.options.Text)
	}
	run, sealed, err := flags.read(command, args)
	if err != nil {
		return err
	}
	return show.Log(command.OutOrStdout(), run, sealed, flags.options)
}

func (f *logFlags) read(command *cobra.Command, args []string) (*v1alpha1.Run, []v1alpha1.Record, error) {
	if f.path != "" {
		run, err := runFromFile(command.Context(), f.path, command.InOrStdin())
		return run, nil, err
	}
	reader, namespace, err := f.connect()
	if err != nil {
		return nil, nil, err
	}
	run := &v1alpha1.Run{}
	if err := reader.Get(command.Context(), types.NamespacedName{Namespace: namespace, Name: args[0]}, run); err != nil {
		return nil, nil, fmt.Errorf("get Run %q of namespace %q: %w", args[0], namespace, err)
	}
	sealed, err := sealedRecords(command.Context(), reader, run)
	return run, sealed, err
}

func runFromFile(ctx context.Context, path string, stdin io.Reader) (*v1alpha1.Run, error) {
	for source, err := range offline.Sources(ctx, []string{path}, stdin) {
		if err != nil {
			return nil, err
		}
		run := &v1alpha1.Run{}
		if err := yaml.Unmarshal(source.Content, run); err != nil {
			return nil, fmt.Errorf("%s: %w", source.Name, err)
		}
		if run.Kind != "Run" {
			return nil, fmt.Errorf("%s: a Run is needed, and this is kind %q", source.Name, run.Kind)
		}
		return run, nil
	}
	return nil, fmt.Errorf("%s: there is no Run", path)
}

// sealedRecords reads the parts of the log that are no longer in the status.
func sealedRecords(ctx context.Context, reader client.Reader, run *v1alpha1.Run) ([]v1alpha1.Record, error) {
	var all []v1alpha1.Record
	for _, segment := range run.Status.Log.Sealed {
		stored := &corev1.ConfigMap{}
		if err := reader.Get(ctx, types.NamespacedName{Namespace: run.Namespace, Name: segment.ConfigMap}, stored); err != nil {
			return nil, fmt.Errorf("get ConfigMap %q, which holds a part of the log: %w", segment.ConfigMap, err)
		}
		records, err := engine.Open([]byte(stored.Data[engine.SegmentKey]), segment)
		if err != nil {
			return nil, err
		}
		all = append(all, records...)
	}
	return all, nil
}
