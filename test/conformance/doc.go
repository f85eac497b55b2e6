// SPDX-License-Identifier: Apache-2.0

// Package conformance runs the conformance suite of the Model Context Protocol against internal/mcp.
package conformance
