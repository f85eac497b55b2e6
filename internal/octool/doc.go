// SPDX-License-Identifier: Apache-2.0

// Package octool describes tools and reads what they return: descriptors and the
// rules that judge them, the subset of JSON Schema that models accept under
// strict calling, and the three result envelopes with a strict and a tolerant
// reader. It is pure and knows nothing of Kubernetes.
package octool

// SpecVersion is the version of the descriptor and envelope format. A minor only
// adds; readers look at the major alone.
const SpecVersion = "1.3"
