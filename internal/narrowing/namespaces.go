// SPDX-License-Identifier: Apache-2.0

package narrowing

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"remit.dev/remit/api/v1alpha1"
)

// ServerKey names the MCPServer of a Grant that grants one.
func ServerKey(grant *v1alpha1.Grant) types.NamespacedName {
	key := types.NamespacedName{Namespace: grant.Spec.MCPServer.Namespace, Name: string(grant.Spec.MCPServer.Name)}
	if key.Namespace == "" {
		key.Namespace = grant.Namespace
	}
	return key
}

// NeedsLabels says whether Allows looks at the labels of the namespace.
func NeedsLabels(server *v1alpha1.MCPServer) bool {
	return server.Spec.AllowedNamespaces.From == v1alpha1.NamespacesSelector
}

// Allows says whether a Grant in a namespace with those labels may name the
// server. A selector that cannot be read allows nobody.
func Allows(server *v1alpha1.MCPServer, namespace string, of labels.Set) bool {
	switch server.Spec.AllowedNamespaces.From {
	case v1alpha1.NamespacesAll:
		return true
	case v1alpha1.NamespacesSelector:
		selector, err := metav1.LabelSelectorAsSelector(server.Spec.AllowedNamespaces.Selector)
		return err == nil && selector.Matches(of)
	default:
		return server.Namespace == namespace
	}
}
