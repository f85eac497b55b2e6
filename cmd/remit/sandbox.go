// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"remit.dev/remit/internal/sandbox"
)

// sandboxCommand is the name of the command that runs one program.
const sandboxCommand = "sandbox"

func newSandboxCommand() *cobra.Command {
	return &cobra.Command{
		Use:    sandboxCommand,
		Short:  "Run one program for the operator, which starts this command itself",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return sandbox.Serve(os.Stdin, os.Stdout)
		},
	}
}

// newSandboxRunner runs each program in a child made of this same binary.
func newSandboxRunner() (*sandbox.Runner, error) {
	binary, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the operator's own binary for the sandbox: %w", err)
	}
	return sandbox.NewRunner(sandbox.Options{Command: []string{binary, sandboxCommand}})
}
