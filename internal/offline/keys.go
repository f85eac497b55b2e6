// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"encoding/json"
	"strings"

	yamlnode "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// key is a key of a mapping as kubectl would send it.
type key struct {
	name string
	from keyKinds
}

// keyKinds are what YAML read keys as that were sent by one name. Only of one kind
// they are one key for YAML; of both, which one is kept is a matter of chance.
type keyKinds uint8

const (
	keyText   keyKinds = 1 << iota
	keyScalar          // a number, a boolean or null
)

// keyReader reads keys, and remembers what it read.
type keyReader struct {
	plain    map[string]key
	mappings map[*yamlnode.Node]map[string]keyKinds
}

func newKeyReader() *keyReader {
	return &keyReader{plain: map[string]key{}, mappings: map[*yamlnode.Node]map[string]keyKinds{}}
}

const quotedStyles = yamlnode.SingleQuotedStyle | yamlnode.DoubleQuotedStyle | yamlnode.LiteralStyle | yamlnode.FoldedStyle

// read gives what becomes of a key.
func (r *keyReader) read(node *yamlnode.Node) key {
	node = dereference(node)
	switch {
	case node.Style&yamlnode.TaggedStyle != 0:
		return convert("!<"+node.LongTag()+"> ", node)
	case node.Style&quotedStyles != 0 || !maybeScalar(node.Value):
		return key{node.Value, keyText}
	}
	known, ok := r.plain[node.Value]
	if !ok {
		known = convert("", node)
		r.plain[node.Value] = known
	}
	return known
}

// maybeScalar says whether a plain key may be something else than text: what is
// begins like a number, or like one of the words true, false, yes, no, on, off, null.
func maybeScalar(value string) bool {
	if value == "" {
		return true
	}
	first := value[0]
	isLetter := 'a' <= first && first <= 'z' || 'A' <= first && first <= 'Z'
	return !isLetter || strings.IndexByte("yYnNtTfFoO", first) >= 0
}

// convert asks the library that kubectl asks, with a document of its own: which
// plain words are text differs from one YAML library to the next.
func convert(tag string, node *yamlnode.Node) key {
	asText := key{node.Value, keyText}
	scalar := tag + node.Value
	if node.Style&quotedStyles != 0 {
		quoted, err := json.Marshal(node.Value)
		if err != nil {
			return asText
		}
		scalar = tag + string(quoted)
	}
	if name, isText, ok := sent(scalar, scalar); ok && isText {
		return key{name, keyText}
	}
	if name, _, ok := sent(scalar, "0"); ok {
		return key{name, keyScalar}
	}
	return asText
}

// sent is what becomes of a key, and whether what becomes of the value is text.
func sent(scalar, value string) (name string, isText, ok bool) {
	text, err := yaml.YAMLToJSON([]byte(scalar + ": " + value + "\n"))
	if err != nil {
		return "", false, false
	}
	var members map[string]any
	if json.Unmarshal(text, &members) != nil || len(members) != 1 {
		return "", false, false
	}
	for name, value := range members {
		_, isText = value.(string)
		return name, isText, true
	}
	return "", false, false
}

// names are those of a mapping, with what merge keys ("<<") bring into it.
func (r *keyReader) names(mapping *yamlnode.Node) map[string]keyKinds {
	if known, ok := r.mappings[mapping]; ok {
		return known
	}
	names := map[string]keyKinds{}
	r.mappings[mapping] = names // ends what contains itself
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if isMerge(mapping.Content[i]) {
			r.merge(names, mapping.Content[i+1])
			continue
		}
		k := r.read(mapping.Content[i])
		names[k.name] |= k.from
	}
	return names
}

func (r *keyReader) merge(names map[string]keyKinds, source *yamlnode.Node) {
	source = dereference(source)
	switch source.Kind {
	case yamlnode.SequenceNode:
		for _, element := range source.Content {
			r.merge(names, element)
		}
	case yamlnode.MappingNode:
		for name, from := range r.names(source) {
			names[name] |= from
		}
	default: // nothing else can be merged
	}
}

func dereference(node *yamlnode.Node) *yamlnode.Node {
	if node.Kind == yamlnode.AliasNode {
		return node.Alias
	}
	return node
}

func isMerge(node *yamlnode.Node) bool {
	return node.Kind == yamlnode.ScalarNode && node.ShortTag() == "!!merge"
}
