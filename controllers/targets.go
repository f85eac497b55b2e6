// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/credentials"
	"remit.dev/remit/internal/gate"
	"remit.dev/remit/internal/hosting"
	"remit.dev/remit/internal/mcp"
	"remit.dev/remit/internal/narrowing"
)

// grantedServer reads the MCPServer of a Grant. A server that does not exist and
// one that the Grant's namespace may not use give the same nil, so that a tenant
// learns nothing of a catalogue that is not open to it.
func grantedServer(ctx context.Context, reader client.Reader, grant *v1alpha1.Grant) (*v1alpha1.MCPServer, error) {
	server := &v1alpha1.MCPServer{}
	if err := reader.Get(ctx, narrowing.ServerKey(grant), server); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	allowed, err := allows(ctx, reader, server, grant.Namespace)
	if err != nil || !allowed {
		return nil, err
	}
	return server, nil
}

// allows says whether a Grant in that namespace may name the server.
func allows(ctx context.Context, reader client.Reader, server *v1alpha1.MCPServer, namespace string) (bool, error) {
	object := &corev1.Namespace{}
	if narrowing.NeedsLabels(server) {
		if err := reader.Get(ctx, types.NamespacedName{Name: namespace}, object); err != nil {
			return false, client.IgnoreNotFound(err)
		}
	}
	return narrowing.Allows(server, namespace, object.Labels), nil
}

// target is where a server is, for one namespace, with its credential as it is now.
func target(ctx context.Context, secrets *credentials.Resolver, server *v1alpha1.MCPServer, namespace string, credential *v1alpha1.Credential) (mcp.Target, error) {
	where, err := endpoint(server)
	if err != nil {
		return mcp.Target{}, err
	}
	use := credentials.Use{Namespace: namespace, Credential: credential, URL: where.URL}
	value, err := secrets.Resolve(ctx, use)
	if err != nil {
		return mcp.Target{}, err
	}
	where.Namespace, where.Credential = namespace, sent(value)
	if credential != nil {
		where.Renew = func(ctx context.Context) (mcp.Credential, error) {
			renewed, err := secrets.Renew(ctx, use, value)
			return sent(renewed), err
		}
	}
	return where, nil
}

func sent(value credentials.Value) mcp.Credential {
	return mcp.Credential{Header: value.Header(), Value: value.Reveal()}
}

// endpoint is where a server is, for whomever.
func endpoint(server *v1alpha1.MCPServer) (mcp.Target, error) {
	where := mcp.Target{Server: server.Namespace + "/" + server.Name}
	if hosting.Hosted(server) {
		where.URL, where.ClusterInternal = hosting.URL(server), true
		where.Bridged = server.Spec.Transport.Stdio != nil
		return where, nil
	}
	transport := server.Spec.Transport.HTTP
	if transport == nil {
		return mcp.Target{}, fmt.Errorf("MCPServer %s has no transport that this release knows", where.Server)
	}
	where.URL, where.ClusterInternal = transport.URL, transport.Network == v1alpha1.NetworkClusterInternal
	where.Headers = make(map[string]string, len(transport.Headers))
	for name, value := range transport.Headers {
		where.Headers[name] = string(value)
	}
	return where, nil
}

// hints are a tool's annotations as far as they are believed.
func hints(annotations mcp.Annotations, trust v1alpha1.AnnotationTrust) gate.Hints {
	return gate.Hints{
		Present:     annotations.Present,
		ReadOnly:    annotations.ReadOnly,
		Destructive: annotations.Destructive,
		Idempotent:  annotations.Idempotent,
	}.Believe(trust)
}

// hintSet are the hints that were set, by their MCP names, believed or not: a rule of
// the platform team may want to know what a server or an author claims.
func hintSet(readOnly, destructive, idempotent, openWorld *bool) map[string]bool {
	set := map[string]bool{}
	for name, hint := range map[string]*bool{
		"readOnlyHint": readOnly, "destructiveHint": destructive, "idempotentHint": idempotent, "openWorldHint": openWorld,
	} {
		if hint != nil {
			set[name] = *hint
		}
	}
	return set
}

// definitionDigest is the digest of a tool's definition as the API writes it.
func definitionDigest(tool mcp.Tool) v1alpha1.Digest { return v1alpha1.Digest("sha256:" + tool.Digest) }
