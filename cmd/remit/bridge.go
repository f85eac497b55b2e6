// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"remit.dev/remit/internal/mcp/bridge"
)

// bridgeFlags are the settings of the bridge.
type bridgeFlags struct {
	listen  string
	env     []string
	envFrom []string
	dir     string

	allowedHosts []string
}

func newBridgeCommand() *cobra.Command {
	flags := &bridgeFlags{}
	command := &cobra.Command{
		Use:   "bridge [flags] -- COMMAND [ARGUMENT...]",
		Short: "Serve an MCP server that speaks stdio over streamable HTTP",
		Long: "Serve an MCP server that speaks stdio over streamable HTTP at /mcp.\n" +
			"The server's environment is exactly what --env and --env-from say; nothing of the bridge's own is passed on.",
		Example: "  remit bridge --listen 127.0.0.1:9000 --env-from PATH -- mcp-server-memory",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			options, err := flags.options(args)
			if err != nil {
				return err
			}
			return bridge.Serve(command.Context(), options)
		},
	}
	f := command.Flags()
	f.StringVar(&flags.listen, "listen", "127.0.0.1:0", "address to listen on")
	f.StringArrayVar(&flags.env, "env", nil, "NAME=VALUE for the server's environment; repeat for more. Use --env-from for secrets")
	f.StringArrayVar(&flags.envFrom, "env-from", nil, "NAME of a variable of the bridge's environment to pass on; repeat for more")
	f.StringVar(&flags.dir, "dir", "", "working directory of the server")
	f.StringArrayVar(&flags.allowedHosts, "allow-host", nil, "host name that requests may be addressed to besides loopback's; repeat for more")
	return command
}

func (f *bridgeFlags) options(command []string) (bridge.Options, error) {
	environment := []string{}
	for _, entry := range f.env {
		if name, _, ok := strings.Cut(entry, "="); !ok || name == "" {
			return bridge.Options{}, fmt.Errorf("--env: %q is not NAME=VALUE", entry)
		}
		environment = append(environment, entry)
	}
	for _, name := range f.envFrom {
		value, ok := os.LookupEnv(name)
		if !ok {
			return bridge.Options{}, fmt.Errorf("--env-from: there is no variable %q", name)
		}
		environment = append(environment, name+"="+value)
	}
	return bridge.Options{
		Listen:       f.listen,
		AllowedHosts: f.allowedHosts,
		Command:      command,
		Env:          environment,
		Dir:          f.dir,
		Stderr:       os.Stderr,
		Logger:       slog.New(slog.NewTextHandler(os.Stderr, nil)),
		OnListen:     func(address net.Addr) { fmt.Printf("http://%s/mcp\n", address) },
	}, nil
}
