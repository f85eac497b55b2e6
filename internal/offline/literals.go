// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"errors"
	"math/big"
	"strings"

	yamlnode "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/canonical"
	"remit.dev/remit/internal/publish"
)

// checkLiterals reports what is lost when the text is read: a number that would
// be stored as another one, and a key that is there twice or would be another one.
// Where it reports canonical.MaxFound of them there may be more.
func (d *document) checkLiterals() []v1alpha1.Finding {
	c := literalCheck{keys: newKeyReader()}
	if d.isJSON {
		c.addErrors(nil, canonical.CheckText(d.text))
	} else if root := d.root(); root != nil {
		c.node(nil, root)
	}
	return c.findings
}

type literalCheck struct {
	keys     *keyReader
	findings []v1alpha1.Finding
}

// node walks the nodes as they are written: an alias is checked where its anchor
// is.
func (c *literalCheck) node(path *field.Path, node *yamlnode.Node) {
	switch node.Kind {
	case yamlnode.MappingNode:
		c.mapping(path, node)
	case yamlnode.SequenceNode:
		for i, value := range node.Content {
			c.node(path.Index(i), value)
		}
	case yamlnode.ScalarNode:
		if tag := node.ShortTag(); tag == "!!int" || tag == "!!float" {
			c.addErrors(path, canonical.CheckText([]byte(jsonNumber(node.Value))))
		}
	case yamlnode.AliasNode, yamlnode.DocumentNode:
	}
}

func (c *literalCheck) mapping(path *field.Path, mapping *yamlnode.Node) {
	seen := map[string]int{}
	merges := false
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		node, value := dereference(mapping.Content[i]), mapping.Content[i+1]
		child := path.Child(node.Value)
		c.node(child, value)
		if isMerge(node) {
			merges = true
			continue
		}
		k := c.keys.read(node)
		if k.name != node.Value {
			c.add(RuleKeyNotText, child, "YAML does not read this key as text, and Kubernetes would store "+quoted(k.name)+": put it in quotes")
		}
		if seen[k.name]++; seen[k.name] > 1 {
			c.add(RuleDuplicateKey, child, duplicateKey(k.name, node.Value))
		}
	}
	if !merges {
		return
	}
	for name, from := range c.keys.names(mapping) {
		if from == keyText|keyScalar && seen[name] < 2 {
			c.add(RuleDuplicateKey, path.Child(name), "the key is there more than once, as text and as something else; keep one")
		}
	}
}

func duplicateKey(name, written string) string {
	if name == written {
		return "the key is there more than once; keep one"
	}
	return "the key becomes " + quoted(name) + ", which is there more than once; keep one"
}

// maxPath bounds a path, in bytes. A longer one leads to what is around the place.
const maxPath = 4096

func (c *literalCheck) add(rule string, path *field.Path, message string) {
	if len(c.findings) < canonical.MaxFound {
		text := path.String()
		text = strings.ToValidUTF8(text[:min(len(text), maxPath)], "")
		c.findings = append(c.findings, v1alpha1.Finding{Rule: rule, Path: text, Message: message})
	}
}

// addErrors takes joined *canonical.Errors apart.
func (c *literalCheck) addErrors(path *field.Path, err error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			c.addErrors(path, err)
		}
		return
	}
	// A number that YAML takes and JSON does not, as in .inf, is refused before; how
	// deep a value may be is for publication to say.
	located, ok := errors.AsType[*canonical.Error](err)
	if ok && located.Rule != canonical.RuleSyntax && located.Rule != canonical.RuleTooDeep {
		c.add(string(located.Rule), publish.PointerPath(path, located.Path), located.Detail)
	}
}

// jsonNumber spells a YAML number as JSON does, digit for digit.
func jsonNumber(literal string) string {
	text := strings.ReplaceAll(literal, "_", "")
	sign := ""
	if rest, ok := strings.CutPrefix(text, "-"); ok {
		sign, text = "-", rest
	}
	text = strings.TrimPrefix(text, "+")
	if len(text) > 1 && text[0] == '0' && !strings.ContainsAny(text, ".") {
		// 0x, 0o, 0b, or octal by its zero; a digit too large makes it decimal.
		if i, ok := new(big.Int).SetString(text, 0); ok {
			return sign + i.String()
		}
	}
	whole, fraction, dotted := strings.Cut(text, ".")
	if !dotted {
		return sign + trimZeros(whole)
	}
	if fraction == "" || fraction[0] == 'e' || fraction[0] == 'E' {
		fraction = "0" + fraction
	}
	return sign + trimZeros(whole) + "." + fraction
}

// trimZeros takes the leading zeros of a decimal away, but for one.
func trimZeros(digits string) string {
	trimmed := strings.TrimLeft(digits, "0")
	if trimmed == "" || trimmed[0] < '0' || trimmed[0] > '9' {
		return "0" + trimmed
	}
	return trimmed
}
