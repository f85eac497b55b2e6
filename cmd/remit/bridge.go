// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/mcp/bridge"
)

// bridgeFlags are the settings of the bridge.
type bridgeFlags struct {
	listen        string
	env           []string
	envFrom       []string
	inheritEnv    []string
	credentialEnv string
	sessions      string
	dir           string
	install       string

	allowedHosts []string
}

func newBridgeCommand() *cobra.Command { return newBridgeCommandFor(&bridgeFlags{}) }

func newBridgeCommandFor(flags *bridgeFlags) *cobra.Command {
	command := &cobra.Command{
		Use:   "bridge [flags] -- COMMAND [ARGUMENT...]",
		Short: "Serve an MCP server that speaks stdio over streamable HTTP",
		Long: "Serve an MCP server that speaks stdio over streamable HTTP at /mcp.\n" +
			"The server's environment is exactly what --env, --env-from, --inherit-env and --credential-env say;\n" +
			"nothing else of the bridge's own is passed on, neither PATH nor HOME.",
		Example: "  remit bridge --listen 127.0.0.1:9000 --inherit-env PATH -- mcp-server-memory",
		RunE: func(command *cobra.Command, args []string) error {
			if flags.install != "" {
				return bridge.Install(flags.install)
			}
			options, err := flags.options(args, os.LookupEnv)
			if err != nil {
				return err
			}
			return bridge.Serve(command.Context(), options)
		},
	}
	f := command.Flags()
	f.StringVar(&flags.listen, "listen", "127.0.0.1:0", "address to listen on")
	f.StringArrayVar(&flags.env, "env", nil, "NAME=VALUE for the server's environment; repeat for more. Use --env-from for secrets")
	f.StringArrayVar(&flags.envFrom, "env-from", nil,
		"NAME of a variable of the bridge's environment to pass on, or NAME=VARIABLE to pass it on as NAME; its value is kept out of the log. Repeat for more")
	f.StringArrayVar(&flags.inheritEnv, "inherit-env", nil, "NAME of a variable to pass on if it is set, whose value may be logged; repeat for more")
	f.StringVar(&flags.credentialEnv, "credential-env", "", "NAME of the variable in which the server gets the bearer token that its session is opened with")
	f.StringVar(&flags.sessions, "sessions", string(v1alpha1.SessionsPerSession), "PerSession starts one process for each client session, Shared one for all")
	f.StringVar(&flags.dir, "dir", "", "working directory of the server")
	f.StringArrayVar(&flags.allowedHosts, "allow-host", nil, "host name that requests may be addressed to besides loopback's; repeat for more")
	f.StringVar(&flags.install, "install", "", "copy this program to a path instead, for a container that starts it")
	return command
}

// options reads the flags; the lookup is that of the bridge's own environment.
func (f *bridgeFlags) options(command []string, lookup func(string) (string, bool)) (bridge.Options, error) {
	if len(command) == 0 {
		return bridge.Options{}, errors.New("there is no command: give the server's after --")
	}
	options := bridge.Options{
		Listen:        f.listen,
		AllowedHosts:  f.allowedHosts,
		Command:       command,
		Env:           []string{},
		CredentialEnv: f.credentialEnv,
		Dir:           f.dir,
		Stderr:        os.Stderr,
		Logger:        slog.New(slog.NewTextHandler(os.Stderr, nil)),
		OnListen:      func(address net.Addr) { fmt.Printf("http://%s/mcp\n", address) },
	}
	switch mode := v1alpha1.SessionMode(f.sessions); mode {
	case v1alpha1.SessionsPerSession, v1alpha1.SessionsShared:
		options.Shared = mode == v1alpha1.SessionsShared
	default:
		return options, fmt.Errorf("--sessions: %q is neither PerSession nor Shared", f.sessions)
	}
	return options, f.environment(&options, lookup)
}

func (f *bridgeFlags) environment(options *bridge.Options, lookup func(string) (string, bool)) error {
	for _, entry := range f.env {
		name, _, ok := strings.Cut(entry, "=")
		if !ok || name == "" {
			return fmt.Errorf("--env: %q is not NAME=VALUE", entry)
		}
		options.Env = append(options.Env, entry)
		options.Plain = append(options.Plain, name)
	}
	for _, entry := range f.envFrom {
		name, variable, renamed := strings.Cut(entry, "=")
		if !renamed {
			variable = name
		}
		value, ok := lookup(variable)
		if !ok {
			return fmt.Errorf("--env-from: there is no variable %q", variable)
		}
		options.Env = append(options.Env, name+"="+value)
	}
	for _, name := range f.inheritEnv {
		if value, ok := lookup(name); ok {
			options.Env = append(options.Env, name+"="+value)
			options.Plain = append(options.Plain, name)
		}
	}
	return nil
}
