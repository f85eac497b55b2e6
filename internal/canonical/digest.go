// SPDX-License-Identifier: Apache-2.0

package canonical

import (
	"crypto/sha256"
	"encoding/hex"
)

// Domain says what a digest is a digest of. Equal bytes in two domains have
// different digests, so that none can be passed off as another.
type Domain string

// VersionDomain is the domain of the bodies of Versions.
const VersionDomain Domain = "remit.dev/version/v1"

// Digest is a SHA-256 digest.
type Digest [sha256.Size]byte

// String gives "sha256:" and 64 lower-case hexadecimal digits.
func (d Digest) String() string {
	return "sha256:" + hex.EncodeToString(d[:])
}

// Hash digests canonical bytes: the domain, a zero byte, the bytes. Canonical
// JSON holds no zero byte, so no two pairs of domain and bytes run together.
func Hash(domain Domain, canonical []byte) Digest {
	var digest Digest
	h := sha256.New()
	h.Write([]byte(domain))
	h.Write([]byte{0})
	h.Write(canonical)
	h.Sum(digest[:0])
	return digest
}

// versionNameDigits is how much of the digest a Version's name shows.
const versionNameDigits = 20

// VersionName gives the name of the Version with this digest: "v-" and the
// first 20 hexadecimal digits.
func VersionName(d Digest) string {
	return "v-" + hex.EncodeToString(d[:versionNameDigits/2])
}
