// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"strconv"
	"strings"

	yamlnode "go.yaml.in/yaml/v3"
)

// place is where in a source something is. Lines and columns count from 1.
type place struct{ line, column int }

// locate finds the place of a field path, or of the innermost thing around it
// that is there.
func (d *document) locate(path string) place {
	node := d.root()
	if node == nil {
		return place{d.line, 1}
	}
	at := place{node.Line, node.Column}
	for path != "" {
		key, value, rest := step(node, path)
		if value == nil {
			break
		}
		at = place{key.Line, key.Column}
		node, path = value, rest
	}
	at.line += d.line - 1
	return at
}

// step takes the first step of a path from node: to a value, and to the node that
// a person would look at, which is a key if there is one.
func step(node *yamlnode.Node, path string) (key, value *yamlnode.Node, rest string) {
	if node.Kind == yamlnode.AliasNode {
		node = node.Alias
	}
	switch node.Kind {
	case yamlnode.SequenceNode:
		number, rest, _ := strings.Cut(strings.TrimPrefix(path, "["), "]")
		index, err := strconv.Atoi(number)
		if err != nil || index < 0 || index >= len(node.Content) {
			return nil, nil, ""
		}
		return node.Content[index], node.Content[index], rest
	case yamlnode.MappingNode:
		// Keys may hold dots, so the longest that fits is meant; of two that are
		// the same the last counts.
		longest := -1
		for i := 0; i+1 < len(node.Content); i += 2 {
			name := node.Content[i].Value
			if after, ok := afterKey(path, name); ok && len(name) >= longest {
				longest = len(name)
				key, value, rest = node.Content[i], node.Content[i+1], after
			}
		}
		return key, value, rest
	default:
		return nil, nil, ""
	}
}

// afterKey gives what follows a key at the start of a path: "key", ".key" or
// "[key]".
func afterKey(path, key string) (string, bool) {
	if rest, ok := strings.CutPrefix(path, "["+key+"]"); ok {
		return rest, true
	}
	rest, ok := strings.CutPrefix(strings.TrimPrefix(path, "."), key)
	if !ok || rest != "" && rest[0] != '.' && rest[0] != '[' {
		return "", false
	}
	return rest, true
}
