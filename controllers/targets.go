// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/credentials"
	"remit.dev/remit/internal/gate"
	"remit.dev/remit/internal/mcp"
	"remit.dev/remit/internal/narrowing"
)

// serverKey names the MCPServer of a Grant.
func serverKey(grant *v1alpha1.Grant) types.NamespacedName {
	key := types.NamespacedName{Namespace: grant.Spec.MCPServer.Namespace, Name: string(grant.Spec.MCPServer.Name)}
	if key.Namespace == "" {
		key.Namespace = grant.Namespace
	}
	return key
}

// grantedServer reads the MCPServer of a Grant. A server that does not exist and
// one that the Grant's namespace may not use give the same nil, so that a tenant
// learns nothing of a catalogue that is not open to it.
func grantedServer(ctx context.Context, reader client.Reader, grant *v1alpha1.Grant) (*v1alpha1.MCPServer, error) {
	server := &v1alpha1.MCPServer{}
	if err := reader.Get(ctx, serverKey(grant), server); err != nil {
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
	switch server.Spec.AllowedNamespaces.From {
	case v1alpha1.NamespacesAll:
		return true, nil
	case v1alpha1.NamespacesSelector:
		selector, err := metav1.LabelSelectorAsSelector(server.Spec.AllowedNamespaces.Selector)
		if err != nil {
			return false, nil
		}
		object := &corev1.Namespace{}
		if err := reader.Get(ctx, types.NamespacedName{Name: namespace}, object); apierrors.IsNotFound(err) {
			return false, nil
		} else if err != nil {
			return false, err
		}
		return selector.Matches(labels.Set(object.Labels)), nil
	default:
		return server.Namespace == namespace, nil
	}
}

// target is where a server is, for one namespace with one credential.
func target(server *v1alpha1.MCPServer, namespace string, credential credentials.Value) (mcp.Target, error) {
	transport := server.Spec.Transport.HTTP
	if transport == nil {
		return mcp.Target{}, fmt.Errorf("MCPServer %s/%s has no transport that this release knows", server.Namespace, server.Name)
	}
	headers := make(map[string]string, len(transport.Headers))
	for name, value := range transport.Headers {
		headers[name] = string(value)
	}
	return mcp.Target{
		Namespace:  namespace,
		Server:     server.Namespace + "/" + server.Name,
		URL:        transport.URL,
		Headers:    headers,
		Credential: mcp.Credential{Header: credential.Header(), Value: credential.Reveal()},
	}, nil
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

// offered is a server's catalogue as narrowing looks at it.
func offered(server *v1alpha1.MCPServer) []narrowing.Tool {
	tools := make([]narrowing.Tool, 0, len(server.Status.Tools))
	for _, tool := range server.Status.Tools {
		tools = append(tools, narrowing.Tool{Name: tool.Name, Class: tool.Class})
	}
	return tools
}

// definitionDigest is the digest of a tool's definition as the API writes it.
func definitionDigest(tool mcp.Tool) v1alpha1.Digest { return v1alpha1.Digest("sha256:" + tool.Digest) }
