// SPDX-License-Identifier: Apache-2.0

// Package egress is the one way out of the operator: it decides, at the connection
// itself, which addresses a tenant's traffic may reach, and dials exactly the address
// it decided on.
//
// A name is resolved once, every address it gives is checked, and the connection goes
// to a checked address and never to the name again, so an answer that changes in
// between reaches nothing. Everything that is not publicly reachable is refused unless
// a prefix allows it; addresses that hand out a machine's credentials need a prefix
// that names exactly them.
package egress
