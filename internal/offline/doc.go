// SPDX-License-Identifier: Apache-2.0

// Package offline checks and hashes objects of remit.dev without a cluster: for
// pull requests. What an API server does with an object it does with the API
// server's own code and the CRDs that the operator is installed with: unknown
// fields, defaults, the schema and its CEL rules. A Spec is then published by the
// operator's code, so its hash is the one that the cluster will give.
//
// It is stricter than an API server in what it reads: it refuses an unknown
// field, a key that is there twice or would be stored as another one, a number
// that would be, and an object that is there twice.
package offline
