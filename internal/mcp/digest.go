package mcp

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
)

// toolMembers and promptMembers are the members of a definition that decide what it is and how it presents
// itself. Icons and the like may change without it being another one.
var (
	toolMembers   = []string{"name", "title", "description", "inputSchema", "outputSchema", "annotations", "_meta"}
	promptMembers = []string{"name", "title", "description", "arguments", "_meta"}
)

// The domains keep the digest of a tool from being that of a prompt.
const (
	toolDomain   = "remit.dev/tool-definition/v1\x00"
	promptDomain = "remit.dev/prompt-definition/v1\x00"
)

// digestOf is the SHA-256, in hex, over the definition as sent. Keys are sorted at every level, since JSON
// objects have no order; numbers keep the digits that the server wrote, and absent differs from null.
func digestOf(domain string, names []string, members map[string]json.RawMessage) (string, error) {
	kept := make(map[string]any, len(names))
	for _, name := range names {
		raw, ok := members[name]
		if !ok {
			continue
		}
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.UseNumber()
		var value any
		if err := decoder.Decode(&value); err != nil {
			return "", err
		}
		kept[name] = value
	}
	canonical, err := json.Marshal(kept) // sorts the keys of maps
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	sum.Write([]byte(domain))
	sum.Write(canonical)
	return hex.EncodeToString(sum.Sum(nil)), nil
}

var errTooDeep = errors.New("nests too deep")

// checkDepth refuses valid JSON that nests deeper than limit. What reads schemas later recurses.
func checkDepth(raw []byte, limit int) error {
	depth, inString, escaped := 0, false, false
	for _, c := range raw {
		switch {
		case escaped:
			escaped = false
		case inString:
			escaped = c == '\\'
			inString = c != '"'
		case c == '"':
			inString = true
		case c == '{', c == '[':
			if depth++; depth > limit {
				return errTooDeep
			}
		case c == '}', c == ']':
			depth--
		}
	}
	return nil
}
