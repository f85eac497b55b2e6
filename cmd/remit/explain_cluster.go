// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/narrowing"
)

// readCluster reads what the Specs need with the rights of the user.
func (f *explainFlags) readCluster(ctx context.Context, names []string) (*world, error) {
	reader, namespace, err := f.connect()
	if err != nil {
		return nil, err
	}
	w := &world{grants: map[string]map[string]*v1alpha1.Grant{},
		servers: map[types.NamespacedName]*v1alpha1.MCPServer{}, namespaces: map[string]labels.Set{}}
	if err := w.readSpecs(ctx, reader, namespace, names); err != nil {
		return nil, err
	}
	var grants v1alpha1.GrantList
	if err := reader.List(ctx, &grants, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list the Grants of namespace %q: %w", namespace, err)
	}
	for i := range grants.Items {
		w.addGrant(&grants.Items[i])
		if err := w.readServer(ctx, reader, &grants.Items[i]); err != nil {
			return nil, err
		}
	}
	object := &corev1.Namespace{}
	switch err := reader.Get(ctx, types.NamespacedName{Name: namespace}, object); {
	case err == nil:
		w.namespaces[namespace] = labelsOf(object.Labels)
	case !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("get Namespace %q: %w", namespace, err)
	}
	return w, nil
}

func (w *world) readSpecs(ctx context.Context, reader client.Reader, namespace string, names []string) error {
	for _, name := range names {
		spec := v1alpha1.Spec{}
		if err := reader.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, &spec); err != nil {
			return fmt.Errorf("get Spec %q of namespace %q: %w", name, namespace, err)
		}
		w.specs = append(w.specs, spec)
	}
	if len(names) > 0 {
		return nil
	}
	var specs v1alpha1.SpecList
	if err := reader.List(ctx, &specs, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("list the Specs of namespace %q: %w", namespace, err)
	}
	w.specs = specs.Items
	return nil
}

// readServer reads the server of a Grant. Where the user may not look at it, it
// stays unknown.
func (w *world) readServer(ctx context.Context, reader client.Reader, grant *v1alpha1.Grant) error {
	if grant.Spec.MCPServer == nil {
		return nil
	}
	key := narrowing.ServerKey(grant)
	server := &v1alpha1.MCPServer{}
	switch err := reader.Get(ctx, key, server); {
	case err == nil:
		w.servers[key] = server
	case apierrors.IsNotFound(err):
		w.servers[key] = nil
	case !apierrors.IsForbidden(err):
		return fmt.Errorf("get MCPServer %s: %w", key, err)
	}
	return nil
}
