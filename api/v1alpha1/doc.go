// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the five kinds of the remit.dev API: MCPServer, Grant,
// Spec, Version and Run. It holds data and markers, and no logic.
//
// +kubebuilder:object:generate=true
// +groupName=remit.dev
package v1alpha1
