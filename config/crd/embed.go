// SPDX-License-Identifier: Apache-2.0

// Package crd carries the CustomResourceDefinitions, for programs that check
// objects without a cluster.
package crd

import "embed"

// Bases holds one CustomResourceDefinition a file, in the directory bases.
//
//go:embed bases/*.yaml
var Bases embed.FS
