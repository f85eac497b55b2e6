// SPDX-License-Identifier: Apache-2.0

package narrowing

import (
	"crypto/sha256"
	"encoding/hex"
)

const (
	// MaxQualifiedName is the longest name that model providers take.
	MaxQualifiedName = 64
	// Separator stands between a Grant's name, which cannot hold it, and a tool's.
	Separator = "__"

	keptCharacters = 55
	hashCharacters = 8
)

// QualifiedName is the name by which a model calls a tool of a Grant:
// GRANT__TOOL. One that is too long, or that holds characters which providers
// refuse, keeps its first 55 characters, with those characters replaced, and
// ends in a digest of the whole; shortened says that this was done.
func QualifiedName(grant, tool string) (name string, shortened bool) {
	whole := grant + Separator + tool
	plain := []byte(whole)
	clean := true
	for i, c := range plain {
		if !nameCharacter(c) {
			plain[i] = '_'
			clean = false
		}
	}
	if clean && len(plain) <= MaxQualifiedName {
		return whole, false
	}
	digest := sha256.Sum256([]byte(whole))
	suffix := hex.EncodeToString(digest[:])[:hashCharacters]
	return string(plain[:min(len(plain), keptCharacters)]) + "_" + suffix, true
}

// sharedNames are the qualified names that several of the tools have. A server
// has to aim for that, since only shortened names, which end in a digest, can meet.
func sharedNames(tools []Tool, grant string) map[string]bool {
	seen := make(map[string]bool, len(tools))
	shared := map[string]bool{}
	for _, tool := range tools {
		name, _ := QualifiedName(grant, tool.Name)
		if seen[name] {
			shared[name] = true
		}
		seen[name] = true
	}
	return shared
}

func nameCharacter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}
