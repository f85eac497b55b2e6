// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/credentials"
	"remit.dev/remit/internal/hosting"
	"remit.dev/remit/internal/mcp/bridge"
)

// startLocally runs a stdio server in this process, by its command and without its image.
func (r *MCPServerReconciler) startLocally(ctx context.Context, server *v1alpha1.MCPServer) error {
	secrets, err := r.secretVariables(ctx, server)
	if problem, ok := errors.AsType[*credentials.Error](err); ok && problem.Reason == v1alpha1.ReasonCredentialRefused {
		r.stopLocally(server.Namespace, server.Name)
	}
	if err != nil {
		return err
	}
	options := localOptions(server.Spec.Transport.Stdio, secrets, r.Hosting.LookupEnv)
	name := server.Namespace + "/" + server.Name
	if err := r.Hosting.Local.Set(hosting.BridgeAddress(server.Namespace, server.Name), name, options); err != nil {
		return &hostingProblem{v1alpha1.ReasonDeployFailed, err.Error(), true}
	}
	return nil
}

func (r *MCPServerReconciler) stopLocally(namespace, name string) {
	if r.Hosting.Local != nil {
		r.Hosting.Local.Remove(hosting.BridgeAddress(namespace, name))
	}
}

// localOptions are what the container of the server would tell its bridge. The secrets are
// in the order of the variables that refer to them.
func localOptions(stdio *v1alpha1.StdioTransport, secrets []credentials.Variable, lookup func(string) (string, bool)) bridge.Options {
	options := bridge.Options{
		Env: []string{}, CredentialEnv: string(stdio.CredentialEnv), Shared: stdio.Sessions == v1alpha1.SessionsShared,
	}
	for _, argument := range append(append([]v1alpha1.Argument{}, stdio.Command...), stdio.Args...) {
		options.Command = append(options.Command, string(argument))
	}
	plain := func(name v1alpha1.EnvironmentName, value string) {
		options.Env = append(options.Env, string(name)+"="+value)
		options.Plain = append(options.Plain, string(name))
	}
	for _, variable := range stdio.Env {
		switch {
		case variable.SecretKeyRef != nil:
			options.Env = append(options.Env, string(variable.Name)+"="+secrets[0].Reveal())
			secrets = secrets[1:]
		case variable.Value != nil:
			plain(variable.Name, *variable.Value)
		}
	}
	for _, name := range stdio.InheritEnv {
		if value, ok := lookup(string(name)); ok {
			plain(name, value)
		}
	}
	return options
}
