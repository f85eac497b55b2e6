// SPDX-License-Identifier: Apache-2.0

// Command remit is the operator, the bridge for stdio MCP servers, and the offline
// tools for pull requests.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// version is set when a release is built.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal asks for an end, and the next one is one.
	context.AfterFunc(ctx, stop)
	if err := newRootCommand().ExecuteContext(ctx); err != nil {
		if text := err.Error(); text != "" {
			fmt.Fprintln(os.Stderr, "remit:", text)
		}
		stop()
		os.Exit(exitCode(err))
	}
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "remit",
		Short:         "Publish AI agents, narrow what they reach, and run them with approvals",
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(
		newOperatorCommand(), newBridgeCommand(), newSandboxCommand(),
		newLintCommand(), newHashCommand(), newDiffCommand(), newExplainCommand(), newLogCommand(),
	)
	return root
}
