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

// RuleDuplicateKey is the rule of a key that is there twice, of which an API
// server would keep one.
const RuleDuplicateKey = string(canonical.RuleDuplicateKey)

// checkLiterals reports what is lost when the text is read: a number that would
// be stored as another one, and a key that is there twice.
func (d *document) checkLiterals() []v1alpha1.Finding {
	var c literalCheck
	if d.isJSON {
		c.addErrors(nil, canonical.CheckNumbers(d.text))
	} else if root := d.root(); root != nil {
		c.node(nil, root)
	}
	return c.findings
}

type literalCheck struct{ findings []v1alpha1.Finding }

// node walks the nodes as they are written: an alias is checked where its anchor
// is.
func (c *literalCheck) node(path *field.Path, node *yamlnode.Node) {
	switch node.Kind {
	case yamlnode.MappingNode:
		seen := map[string]bool{}
		for i := 0; i+1 < len(node.Content); i += 2 {
			key, value := node.Content[i], node.Content[i+1]
			child := path.Child(key.Value)
			if seen[key.Value] {
				c.add(RuleDuplicateKey, child, "the key is there more than once; keep one")
			}
			seen[key.Value] = true
			c.node(child, value)
		}
	case yamlnode.SequenceNode:
		for i, value := range node.Content {
			c.node(path.Index(i), value)
		}
	case yamlnode.ScalarNode:
		if tag := node.ShortTag(); tag == "!!int" || tag == "!!float" {
			c.addErrors(path, canonical.CheckNumbers([]byte(jsonNumber(node.Value))))
		}
	case yamlnode.AliasNode, yamlnode.DocumentNode:
	}
}

func (c *literalCheck) add(rule string, path *field.Path, message string) {
	c.findings = append(c.findings, v1alpha1.Finding{Rule: rule, Path: path.String(), Message: message})
}

// addErrors takes joined *canonical.Errors apart.
func (c *literalCheck) addErrors(path *field.Path, err error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			c.addErrors(path, err)
		}
		return
	}
	// A number that YAML takes and JSON does not, as in .inf, is refused before.
	if located, ok := errors.AsType[*canonical.Error](err); ok && located.Rule != canonical.RuleSyntax {
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
